//! Two runs that were not interleaved: the ratio of their rates from independent rounds, after Welch.
//!
//! The interval knows the noise within each run, not what the machine changed between them (another host load, another
//! placement in memory): a difference found here may be the machine's. Only interleaved rounds tell the two apart.

use crate::confidence::Confidence;
use crate::effective::Worth;
use crate::estimate::{Basis, Estimate, MIN_EFFECTIVE_ROUNDS, Method, NoEstimate, Note, Spread};
use crate::series::shift;
use crate::trimmed::{Sorted, StandardError};

/// The effect of going from the rounds `before` to the rounds `after`, both rates in the order of their rounds; the runs
/// need not have equally many.
///
/// The difference of the 20 % trimmed means of the logarithms (Yuen 1974); each run has its own variance, number of
/// effective rounds and degrees of freedom (Welch and Satterthwaite).
///
/// # Errors
///
/// Fewer than six effective rounds in either run, or a rate of zero.
pub fn welch(
    before: &[f64],
    after: &[f64],
    confidence: Confidence,
) -> Result<Estimate, NoEstimate> {
    let (before, after) = (Side::of(before)?, Side::of(after)?);
    let effect = after.mean - before.mean;
    let (square_before, square_after) = (before.error.value.powi(2), after.error.value.powi(2));
    let square = square_before + square_after;
    let freedom = square * square
        / (square_before * square_before / before.error.freedom
            + square_after * square_after / after.error.freedom);
    let lesser = if after.worth < before.worth { &after } else { &before };
    let (method, spread) = if square > 0.0 {
        (Method::Welch, Spread::T { error: square.sqrt(), freedom, margin: 0.0 })
    } else {
        (Method::Sign, Spread::Equal { worth: lesser.worth })
    };
    let (rounds, effective_rounds) = (lesser.rounds, lesser.worth);
    let notes = before.notes.into_iter().chain(after.notes).collect();
    Ok(Estimate::new(effect, spread, Basis { method, rounds, effective_rounds, notes }, confidence))
}

/// What is known of one run.
struct Side {
    mean: f64,
    error: StandardError,
    rounds: usize,
    worth: f64,
    notes: Vec<Note>,
}

impl Side {
    fn of(rates: &[f64]) -> Result<Side, NoEstimate> {
        if let Some(round) = rates.iter().position(|&rate| rate <= 0.0) {
            return Err(NoEstimate::ZeroRate { round });
        }
        let logs: Vec<f64> = rates.iter().map(|rate| rate.ln()).collect();
        let worth = Worth::of(&logs);
        let Worth { effective_rounds: worth, correlation } = worth;
        let rounds = logs.len();
        let Some(sorted) = Sorted::new(&logs).filter(|_| worth >= MIN_EFFECTIVE_ROUNDS) else {
            return Err(NoEstimate::TooFewRounds { rounds, effective: worth });
        };
        let drift = shift(&logs).map(|change| Note::Drift { change });
        let widened_by = (rounds as f64 / worth).sqrt();
        let autocorrelation = correlation.map(|r| Note::Autocorrelation { r, widened_by });
        Ok(Side {
            mean: sorted.trimmed_mean(),
            error: sorted.standard_error(worth),
            rounds,
            worth,
            notes: drift.into_iter().chain(autocorrelation).collect(),
        })
    }
}
