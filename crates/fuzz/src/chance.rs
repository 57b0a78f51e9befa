//! Numbers that look like chance and follow from a seed (splitmix64).

pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64, execution: u64) -> Chance {
        let mut chance = Chance(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ execution);
        chance.next();
        chance
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 up to and without `end`; 0 where there is nothing.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.next() % end as u64) as usize }
    }

    /// One of them; `None` where there is none.
    pub(crate) fn of<'t, T>(&mut self, choices: &'t [T]) -> Option<&'t T> {
        choices.get(self.below(choices.len()))
    }

    /// A stretch of something so long: begin and end, mostly short.
    pub(crate) fn stretch(&mut self, length: usize) -> std::ops::Range<usize> {
        let begin = self.below(length + 1);
        let most = if self.below(4) == 0 { length - begin } else { (length - begin).min(8) };
        begin..begin + self.below(most + 1)
    }
}
