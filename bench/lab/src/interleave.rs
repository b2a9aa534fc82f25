//! Slices of several loops in one run, in random order within rounds, and what the ratios of their rounds say.

use crate::Contender;
use std::time::{Duration, Instant};

/// Nanoseconds an operation took, by contender and round.
pub struct Measured {
    names: Vec<&'static str>,
    ns: Vec<Vec<f64>>,
}

/// Median of the ratios of rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The median.
    pub median: f64,
    /// 95 % interval; none if the rounds are too few, or drift so much that they are worth too few.
    pub ci95: Option<[f64; 2]>,
}

impl Ratio {
    /// Of the numbers of two in the same rounds; none if there are no rounds. A round with a 0 to divide by says nothing.
    pub fn of(numerators: &[f64], denominators: &[f64]) -> Option<Ratio> {
        let pairs = numerators.iter().zip(denominators).filter(|&(_, &d)| d > 0.0);
        let ratios: Vec<f64> = pairs.map(|(n, d)| n / d).collect();
        Some(Ratio { median: stats::median(&ratios)?, ci95: stats::median_ci95(&ratios) })
    }

    /// What it says of rates: `name` did so many times what the other did.
    pub fn verdict(&self, name: &str, other: &str) -> String {
        let percent = |ratio: f64| (ratio - 1.0) * 100.0;
        let change = percent(self.median);
        match self.ci95 {
            None => format!(
                "{name} against {other}: no interval, too few rounds or too much drift ({change:+.1} %)"
            ),
            Some([low, high]) if low > 1.0 => {
                let (low, high) = (percent(low), percent(high));
                format!("{name} is faster than {other} by {change:.1} % [{low:.1}, {high:.1}]")
            }
            Some([low, high]) if high < 1.0 => {
                let (low, high) = (-percent(high), -percent(low));
                format!("{name} is slower than {other} by {:.1} % [{low:.1}, {high:.1}]", -change)
            }
            Some([low, high]) => {
                let (low, high) = (percent(low), percent(high));
                format!(
                    "{name} against {other}: no difference seen ({change:+.1} % [{low:+.1}, {high:+.1}])"
                )
            }
        }
    }
}

impl std::fmt::Display for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.ci95 {
            Some([low, high]) => write!(f, "{:.3} [{low:.3}, {high:.3}]", self.median),
            None => write!(f, "{:.3} [no interval]", self.median),
        }
    }
}

fn timed(contender: &mut Contender, times: u64) -> Duration {
    let began = Instant::now();
    contender.run(times);
    began.elapsed()
}

/// How many operations take about `slice`. Also warms up.
fn calibrate(contender: &mut Contender, slice: Duration) -> u64 {
    let mut times = 64;
    loop {
        let took = timed(contender, times);
        if took * 2 >= slice {
            let exact = times as f64 * slice.as_secs_f64() / took.as_secs_f64();
            return (exact as u64).max(1);
        }
        times *= 2;
    }
}

/// Measures `rounds` rounds: in each, a slice of each contender, in random order.
pub fn measure(contenders: &mut [Contender], slice: Duration, rounds: u32) -> Measured {
    let times: Vec<u64> = contenders.iter_mut().map(|c| calibrate(c, slice)).collect();
    let mut order: Vec<usize> = (0..contenders.len()).collect();
    let mut random = fastrand::Rng::with_seed(1);
    let mut ns = vec![Vec::new(); contenders.len()];
    for _ in 0..rounds {
        random.shuffle(&mut order);
        for &at in &order {
            let took = timed(&mut contenders[at], times[at]);
            ns[at].push(took.as_nanos() as f64 / times[at] as f64);
        }
    }
    Measured { names: contenders.iter().map(|c| c.name).collect(), ns }
}

impl Measured {
    fn of(&self, name: &str) -> &[f64] {
        let at = self.names.iter().position(|&n| n == name);
        &self.ns[at.expect("the name of a contender")]
    }

    /// Time of `name` / time of `base`.
    pub fn time_ratio(&self, name: &str, base: &str) -> Option<Ratio> {
        Ratio::of(self.of(name), self.of(base))
    }

    /// Prints everybody's time and its ratio to that of `base`.
    pub fn print(&self, base: &str) {
        let width = self.names.iter().map(|name| name.len()).max().unwrap_or(0);
        println!("{:<width$}  {:>9}  time / {base}", "", "ns");
        for (name, ns) in self.names.iter().zip(&self.ns) {
            if let (Some(median), Some(ratio)) = (stats::median(ns), self.time_ratio(name, base)) {
                println!("{name:<width$}  {median:>9.1}  {ratio}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contender_gets_a_slice_a_round() {
        let sleep = |ns: u64| move |times| std::thread::sleep(Duration::from_nanos(ns * times));
        let mut contenders = [Contender::new("a", sleep(1000)), Contender::new("b", sleep(10_000))];
        let measured = measure(&mut contenders, Duration::from_millis(1), 7);
        assert_eq!(measured.ns.iter().map(Vec::len).collect::<Vec<_>>(), [7, 7]);
        // A sleep is never shorter than asked for.
        assert!(measured.of("a").iter().all(|&ns| ns >= 1000.0));
        assert!(measured.of("b").iter().all(|&ns| ns >= 10_000.0));
    }

    #[test]
    fn a_ratio_is_the_median_of_rounds() {
        let measured = Measured {
            names: vec!["a", "b"],
            ns: vec![vec![1.0, 0.0, 4.0, 2.0], vec![2.0, 1.0, 4.0, 6.0]],
        };
        assert_eq!(measured.time_ratio("b", "a"), Some(Ratio { median: 2.0, ci95: None }));
    }

    #[test]
    fn a_verdict_needs_an_interval_on_one_side_of_one() {
        let verdict = |median, ci95| Ratio { median, ci95 }.verdict("b", "a");
        assert_eq!(verdict(1.12, Some([1.08, 1.15])), "b is faster than a by 12.0 % [8.0, 15.0]");
        assert_eq!(verdict(0.88, Some([0.85, 0.92])), "b is slower than a by 12.0 % [8.0, 15.0]");
        let unsure = "b against a: no difference seen (+1.0 % [-2.0, +4.0])";
        assert_eq!(verdict(1.01, Some([0.98, 1.04])), unsure);
        assert_eq!(
            verdict(1.5, None),
            "b against a: no interval, too few rounds or too much drift (+50.0 %)"
        );
        assert_eq!(Ratio::of(&[], &[]), None);
    }
}
