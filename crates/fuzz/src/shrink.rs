//! Makes an input that fails smaller for as long as it goes on failing.

/// Tries, so that a slow target does not take for ever.
const TRIES: usize = 5000;

pub(crate) fn shrink(mut input: Vec<u8>, fails: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut tries = 0;
    let mut size = input.len().div_ceil(2);
    while size > 0 {
        let (mut at, before) = (0, input.len());
        while at < input.len() && tries < TRIES {
            tries += 1;
            let mut smaller = input.clone();
            smaller.drain(at..(at + size).min(input.len()));
            if fails(&smaller) {
                input = smaller;
            } else {
                at += size;
            }
        }
        // At the smallest size until nothing more can go.
        size = if size == 1 && input.len() < before && tries < TRIES { 1 } else { size / 2 };
    }
    input
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_failure_needs_is_left() {
        let input = b"the quick brown fox jumps over the lazy dog".to_vec();
        let needs = |input: &[u8]| input.contains(&b'q') && input.ends_with(b"g");
        assert_eq!(shrink(input, needs), b"qg");
        assert_eq!(shrink(b"anything".to_vec(), |_| true), b"");
    }
}
