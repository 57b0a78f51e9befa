//! What a wall has to say.

/// What is wrong and the remedy, and where.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) says: String,
}

impl Finding {
    pub(crate) fn new(file: impl Into<String>, line: usize, says: impl Into<String>) -> Finding {
        Finding { file: file.into(), line, says: says.into() }
    }
}
