//! Counts durations in buckets that grow with them: to the microsecond below 256 µs, within one part in 128 above.

use std::time::Duration;

/// Buckets in each doubling.
const FINE: u64 = 128;
const FINE_BITS: u32 = FINE.trailing_zeros();
/// Up to 2^36 µs, some nineteen hours.
const BUCKETS: usize = (FINE * (36 - FINE_BITS as u64 + 1)) as usize;

#[derive(Debug, Clone)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    longest: Duration,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { counts: vec![0; BUCKETS], total: 0, longest: Duration::ZERO }
    }
}

impl Histogram {
    pub fn record(&mut self, time: Duration) {
        let bucket = bucket(time.as_micros().try_into().unwrap_or(u64::MAX));
        self.counts[bucket] += 1;
        self.total += 1;
        self.longest = self.longest.max(time);
    }

    pub fn add(&mut self, other: &Histogram) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(ours, theirs)| *ours += theirs);
        self.total += other.total;
        self.longest = self.longest.max(other.longest);
    }

    pub fn count(&self) -> u64 {
        self.total
    }

    pub fn longest(&self) -> Duration {
        self.longest
    }

    /// The time within which so many of a hundred were done; nothing recorded is zero.
    pub fn percentile(&self, of_hundred: f64) -> Duration {
        let wanted = ((of_hundred / 100.0 * self.total as f64).ceil() as u64).clamp(1, self.total.max(1));
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return Duration::from_micros(upper(bucket)).min(self.longest);
            }
        }
        self.longest
    }
}

fn bucket(micros: u64) -> usize {
    let doublings = (micros | 1).ilog2().saturating_sub(FINE_BITS);
    ((u64::from(doublings) * FINE + (micros >> doublings)) as usize).min(BUCKETS - 1)
}

/// The largest value of a bucket.
fn upper(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let doublings = (bucket / FINE).saturating_sub(1);
    ((bucket - doublings * FINE + 1) << doublings) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_bucket_within_one_part_in_a_hundred() {
        let mut before = 0;
        for micros in (0..2000).chain((11..36).flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 7])) {
            let (bucket, top) = (bucket(micros), upper(bucket(micros)));
            assert!(top >= micros && top - micros <= micros / 100, "{micros}: {top}");
            assert!(bucket >= before, "{micros}");
            before = bucket;
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn percentiles_are_those_of_what_was_recorded() {
        let (mut one, mut other) = (Histogram::default(), Histogram::default());
        (1..=900).for_each(|_| one.record(Duration::from_micros(100)));
        (1..=100).for_each(|_| other.record(Duration::from_millis(50)));
        one.add(&other);
        let at = |of_hundred| one.percentile(of_hundred);
        assert_eq!((at(50.0), at(90.0)), (Duration::from_micros(100), Duration::from_micros(100)));
        assert_eq!((at(90.1), at(100.0), one.longest()), ([Duration::from_millis(50); 3]).into());
        assert_eq!((one.count(), Histogram::default().percentile(99.0)), (1000, Duration::ZERO));
    }
}
