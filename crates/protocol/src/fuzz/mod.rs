//! What must hold for every input, found out by changing known ones (`cargo xtask fuzz`). Each target compares the code
//! with a slower reading of its own.

mod bodies;
mod paths;
mod splices;
mod streams;
