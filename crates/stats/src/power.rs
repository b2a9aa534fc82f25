//! How small a change can be seen: from A/A rounds, in which both sides are the same.

use crate::confidence::Confidence;
use crate::effective::Worth;
use crate::estimate::{MIN_EFFECTIVE_ROUNDS, NoEstimate};
use crate::trimmed::{Sorted, StandardError, trimmed_mean};

/// What a number of rounds can show on this machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// Smallest effect (log ratio) that is found as often as asked for.
    pub detects: f64,
    /// Smallest bound (log ratio) within which two equal sides are shown to be, as often as asked for.
    pub shows_equal_within: f64,
    /// Half-width of the interval (log ratio) that is to be expected.
    pub half_width: f64,
}

/// Comparisons that are drawn from the A/A rounds.
const DRAWS: usize = 1000;

/// One seed for all: the same rounds must give the same answer.
const SEED: u64 = 0x706f_7765;

/// The noise of A/A rounds, from which any number of rounds can be foretold.
#[derive(Clone, Debug)]
pub struct Noise {
    /// Log ratios about their own centre: whatever the A/A rounds happened to show, the truth is no effect.
    centred: Vec<f64>,
    /// Effective rounds in a round.
    worth: f64,
}

impl Noise {
    /// From the log ratios of rounds with both sides the same.
    ///
    /// # Errors
    ///
    /// Fewer than six effective rounds tell nothing about their noise.
    pub fn of(log_ratios: &[f64]) -> Result<Noise, NoEstimate> {
        let Worth { effective_rounds: effective, correlation } = Worth::of(log_ratios);
        let rounds = log_ratios.len();
        let centre = trimmed_mean(log_ratios).filter(|_| effective >= MIN_EFFECTIVE_ROUNDS);
        let centre = centre.ok_or(NoEstimate::TooFewRounds { rounds, effective })?;
        // What chance makes of independent rounds happens to the draws too.
        let worth = if correlation.is_some() { effective / rounds as f64 } else { 1.0 };
        Ok(Noise { centred: log_ratios.iter().map(|x| x - centre).collect(), worth })
    }

    /// What `rounds` rounds show in a share `power` of the comparisons (0.8, 0.9), each of `counts` task counts judged
    /// together with `confidence`. The first of Holm's steps is meant, so that it holds for each count whatever the others
    /// do.
    ///
    /// Not by a formula: comparisons of so many rounds are drawn from the A/A rounds, and each tells the least effect that
    /// it would have found and the least bound within which it shows none. So the noise need not be normal, and what few
    /// rounds cost is in it. The t interval stands for the bootstrap's, which is as wide within a few per cent.
    ///
    /// # Errors
    ///
    /// Too few rounds for a verdict.
    pub fn power(
        &self,
        rounds: usize,
        counts: usize,
        power: Confidence,
        confidence: Confidence,
    ) -> Result<Power, NoEstimate> {
        let effective = rounds as f64 * self.worth;
        if effective < MIN_EFFECTIVE_ROUNDS {
            return Err(NoEstimate::TooFewRounds { rounds, effective });
        }
        let each = confidence.for_each_of(counts);
        let mut random = fastrand::Rng::with_seed(SEED);
        let (mut detects, mut equal, mut widths) = (Vec::new(), Vec::new(), Vec::new());
        // Correlated rounds are as fewer independent ones.
        let size = effective.round() as usize;
        for _ in 0..DRAWS {
            let drawn: Vec<f64> =
                (0..size).map(|_| self.centred[random.usize(..self.centred.len())]).collect();
            let Some((effect, error)) = outcome(&drawn) else {
                // No interval: neither is found, whatever its size.
                detects.push(f64::INFINITY);
                equal.push(f64::INFINITY);
                continue;
            };
            let half_width = each.reach(error.freedom) * error.value;
            detects.push(half_width - effect);
            equal.push(each.two_sided_of_one().reach(error.freedom) * error.value + effect.abs());
            widths.push(half_width);
        }
        let too_few = NoEstimate::TooFewRounds { rounds, effective };
        let detects = finite_quantile(detects, power.level()).ok_or(too_few)?;
        let shows_equal_within = finite_quantile(equal, power.level()).ok_or(too_few)?;
        let half_width = finite_quantile(widths, 0.5).ok_or(too_few)?;
        Ok(Power { detects: detects.max(0.0), shows_equal_within, half_width })
    }
}

/// Effect and error of one comparison; none if it has no interval.
fn outcome(rounds: &[f64]) -> Option<(f64, StandardError)> {
    let worth = Worth::of(rounds).effective_rounds;
    let sorted = Sorted::new(rounds).filter(|_| worth >= MIN_EFFECTIVE_ROUNDS)?;
    Some((sorted.trimmed_mean(), sorted.standard_error(worth)))
}

/// The value that a share `p` of `values` does not exceed; none if that is infinite.
fn finite_quantile(mut values: Vec<f64>, p: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let index = (p * values.len() as f64).ceil() as usize;
    values.get(index.max(1) - 1).copied().filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{self, Random};
    use crate::{Verdict, estimate, judge};

    const P80: f64 = 0.8;

    fn power_of(noise: simulate::Noise, rounds: usize) -> Power {
        let noise = Noise::of(&Random(1).log_ratios(noise, 400)).unwrap();
        let share = Confidence::new(P80).unwrap();
        noise.power(rounds, 1, share, Confidence::P95).unwrap()
    }

    #[test]
    fn is_that_of_the_formula_for_known_noise() {
        // Trimmed mean of normal values of 1 %: 1.04 times the error of the mean; (1.96 + 0.84) / √400.
        let power = power_of(simulate::Noise::Ar1(0.0), 400);
        assert!((power.detects / 0.001_46 - 1.0).abs() < 0.15, "{power:?}");
        // 1.645 + 1.282
        assert!((power.shows_equal_within / 0.001_52 - 1.0).abs() < 0.15, "{power:?}");
        assert!(power.half_width < power.detects);
    }

    #[test]
    fn what_it_promises_is_found_as_often() {
        for noise in [simulate::Noise::Tails, simulate::Noise::Ar1(0.0)] {
            let power = power_of(noise, 15);
            let mut random = Random(21);
            let mut share = |effect: f64, wanted: fn(Verdict) -> bool| {
                let found = (0..400).filter(|_| {
                    let run: Vec<f64> =
                        random.log_ratios(noise, 15).iter().map(|x| x + effect).collect();
                    let estimate = estimate(&run, Confidence::P95);
                    let bound = power.shows_equal_within;
                    wanted(judge(&[estimate], bound, Confidence::P95)[0].verdict)
                });
                found.count() as f64 / 400.0
            };
            let found = share(power.detects, |verdict| verdict == Verdict::Faster);
            let equal = share(0.0, |verdict| matches!(verdict, Verdict::NoDifference { .. }));
            assert!((found - P80).abs() < 0.08, "{noise:?}: found {found}");
            assert!((equal - P80).abs() < 0.08, "{noise:?}: shown equal {equal}");
        }
    }

    #[test]
    fn more_counts_and_more_power_need_larger_effects() {
        let noise = Noise::of(&Random(1).log_ratios(simulate::Noise::Tails, 100)).unwrap();
        let detects = |rounds, counts, share| {
            let share = Confidence::new(share).unwrap();
            noise.power(rounds, counts, share, Confidence::P95).unwrap().detects
        };
        assert!(detects(50, 1, 0.8) < detects(50, 1, 0.9));
        assert!(detects(50, 1, 0.8) < detects(50, 5, 0.8));
        assert!(detects(100, 1, 0.8) < detects(50, 1, 0.8));
    }

    #[test]
    fn too_few_rounds_are_said_so() {
        assert!(Noise::of(&[0.0; 5]).is_err());
        let noise = Noise::of(&Random(1).log_ratios(simulate::Noise::Tails, 40)).unwrap();
        assert!(noise.power(5, 1, Confidence::P95, Confidence::P95).is_err());
    }
}
