//! How small a change can be seen: from A/A rounds, in which both sides are the same.

use crate::confidence::{Confidence, t_quantile};
use crate::effective::Worth;
use crate::estimate::{MIN_EFFECTIVE_ROUNDS, NoEstimate};
use crate::trimmed::Sorted;

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

/// The noise of A/A rounds, from which any number of rounds can be foretold.
#[derive(Clone, Copy, Debug)]
pub struct Noise {
    /// Standard error that one effective round would have.
    error_of_one: f64,
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
        let (rounds, effective) = (log_ratios.len(), Worth::of(log_ratios).effective_rounds);
        let Some(sorted) = Sorted::new(log_ratios).filter(|_| effective >= MIN_EFFECTIVE_ROUNDS)
        else {
            return Err(NoEstimate::TooFewRounds { rounds, effective });
        };
        let error = sorted.standard_error(effective).value;
        Ok(Noise { error_of_one: error * effective.sqrt(), worth: effective / rounds as f64 })
    }

    /// What `rounds` rounds show in a share `power` of the comparisons (0.8, 0.9), each of `counts` task counts judged
    /// together with `confidence`. The first of Holm's steps is meant, so that it holds for each count whatever the others
    /// do.
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
        let error = self.error_of_one / effective.sqrt();
        let freedom = (0.6 * effective - 1.0).max(1.0);
        let each = confidence.for_each_of(counts);
        let half_width = each.reach(freedom) * error;
        let one_sided = t_quantile(1.0 - each.alpha(), freedom) * error;
        Ok(Power {
            detects: half_width + t_quantile(power.level(), freedom) * error,
            // Both ends have to be inside.
            shows_equal_within: one_sided + power.reach(freedom) * error,
            half_width,
        })
    }
}
