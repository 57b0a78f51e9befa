//! Nothing: the tests in `tests/suite` ask the built binary over HTTP, and use no crate of ours.
