//! How long operations of fixed work took: recorded in the task, handed over in shared memory, summed up by the conductor.
//!
//! A histogram with two significant digits over a fixed range, so that recording allocates nothing; what must be exact (mean,
//! maximum, the shares that tiobench prints) is counted beside it.

use hdrhistogram::Histogram;
use results::Latency;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

/// The longest that is told from a longer one: ten minutes.
const LONGEST_NS: u64 = 600_000_000_000;
/// Significant digits.
const DIGITS: u8 = 2;
/// What tiobench counts as late.
const LATE_NS: u64 = 2_000_000_000;
const VERY_LATE_NS: u64 = 10_000_000_000;

/// Latencies of one task, or of several together.
#[derive(Clone, Debug)]
pub struct Latencies {
    histogram: Histogram<u64>,
    sum_ns: u64,
    max_ns: u64,
    late: u64,
    very_late: u64,
}

impl Latencies {
    pub(crate) fn new() -> Latencies {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, DIGITS);
        let histogram = histogram.expect("the bounds and digits are in the library's range");
        Latencies { histogram, sum_ns: 0, max_ns: 0, late: 0, very_late: 0 }
    }

    /// Takes down one operation.
    #[inline]
    pub(crate) fn record(&mut self, ns: u64) {
        self.histogram.saturating_record(ns);
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.max_ns = self.max_ns.max(ns);
        if ns > LATE_NS {
            self.late += 1;
            self.very_late += u64::from(ns > VERY_LATE_NS);
        }
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.histogram.reset();
        (self.sum_ns, self.max_ns, self.late, self.very_late) = (0, 0, 0, 0);
    }

    /// Adds those of another task or round.
    pub(crate) fn add(&mut self, other: &Latencies) {
        for bucket in other.histogram.iter_recorded() {
            self.histogram.saturating_record_n(
                bucket.value_iterated_to(),
                bucket.count_since_last_iteration(),
            );
        }
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.late += other.late;
        self.very_late += other.very_late;
    }

    /// As the record has them; none if nothing was timed.
    pub(crate) fn summary(&self) -> Option<Latency> {
        let count = self.histogram.len();
        // A bucket's upper end can be above the longest in it.
        let at = |quantile| self.histogram.value_at_quantile(quantile).min(self.max_ns);
        (count > 0).then(|| Latency {
            count,
            mean_ns: self.sum_ns as f64 / count as f64,
            max_ns: self.max_ns,
            p50_ns: at(0.5),
            p90_ns: at(0.9),
            p99_ns: at(0.99),
            p999_ns: at(0.999),
            over_2s: self.late,
            over_10s: self.very_late,
        })
    }
}

/// Buckets of a histogram with these digits and range, with some to spare; a test counts them.
const BUCKETS: usize = 4600;

/// A task's latencies in shared memory. Pages of it exist only once they are used.
pub(crate) struct LatencySlot {
    used: AtomicU32,
    totals: [AtomicU64; 4],
    buckets: [[AtomicU64; 2]; BUCKETS],
}

impl LatencySlot {
    /// Leaves them for the conductor.
    pub(crate) fn put(&self, latencies: &Latencies) {
        let Latencies { histogram, sum_ns, max_ns, late, very_late } = latencies;
        for (to, from) in self.totals.iter().zip([sum_ns, max_ns, late, very_late]) {
            to.store(*from, SeqCst);
        }
        let mut used = 0;
        for ([value, count], bucket) in self.buckets.iter().zip(histogram.iter_recorded()) {
            value.store(bucket.value_iterated_to(), SeqCst);
            count.store(bucket.count_since_last_iteration(), SeqCst);
            used += 1;
        }
        self.used.store(used, SeqCst);
    }

    /// Adds what [`LatencySlot::put`] left.
    pub(crate) fn add_to(&self, sum: &mut Latencies) {
        let [sum_ns, max_ns, late, very_late] = self.totals.each_ref().map(|n| n.load(SeqCst));
        for [value, count] in &self.buckets[..self.used.load(SeqCst) as usize] {
            sum.histogram.saturating_record_n(value.load(SeqCst), count.load(SeqCst));
        }
        sum.sum_ns = sum.sum_ns.saturating_add(sum_ns);
        sum.max_ns = sum.max_ns.max(max_ns);
        sum.late += late;
        sum.very_late += very_late;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::MaybeUninit;

    /// As it is mapped: zeroes.
    fn slot() -> Box<LatencySlot> {
        let zeroed: Box<MaybeUninit<LatencySlot>> = Box::new_zeroed();
        // SAFETY: it consists of atomic integers, for which zero bytes are valid.
        unsafe { zeroed.assume_init() }
    }

    #[test]
    fn every_bucket_has_its_place() {
        assert!(Latencies::new().histogram.distinct_values() <= BUCKETS);
    }

    #[test]
    fn figures_of_a_thousand_operations_worked_out_by_hand() {
        let mut latencies = Latencies::new();
        assert_eq!(latencies.summary(), None);
        (1..=1000).for_each(|us| latencies.record(us * 1000));
        let summary = latencies.summary().unwrap();
        assert_eq!((summary.count, summary.max_ns), (1000, 1_000_000));
        assert_eq!(summary.mean_ns, 500_500.0);
        for (is, should) in [
            (summary.p50_ns, 500_000.0),
            (summary.p90_ns, 900_000.0),
            (summary.p99_ns, 990_000.0),
            (summary.p999_ns, 999_000.0),
        ] {
            assert!((is as f64 / should - 1.0).abs() <= 0.01, "{is} is not {should}");
        }
        latencies.record(LATE_NS);
        latencies.record(3_000_000_000);
        latencies.record(11_000_000_000);
        let summary = latencies.summary().unwrap();
        assert_eq!((summary.over_2s, summary.over_10s), (2, 1));
        latencies.clear();
        assert_eq!(latencies.summary(), None);
    }

    #[test]
    fn two_tasks_together_are_what_one_would_have_recorded() {
        let (mut both, mut alone, mut sum) = (Latencies::new(), Latencies::new(), Latencies::new());
        let slot = slot();
        for task in 0..2u64 {
            let mut one = Latencies::new();
            for n in 0..5000u64 {
                let ns = (n + 1) * (n + 1) * (task + 1) * 17;
                one.record(ns);
                both.record(ns);
            }
            slot.put(&one);
            slot.add_to(&mut sum);
            alone.add(&one);
        }
        assert_eq!(sum.summary(), both.summary());
        assert_eq!(alone.summary(), both.summary());
        // A shorter one leaves nothing of the longer before it.
        let mut one = Latencies::new();
        one.record(5);
        slot.put(&one);
        let mut read = Latencies::new();
        slot.add_to(&mut read);
        assert_eq!(read.summary().unwrap().count, 1);
    }
}
