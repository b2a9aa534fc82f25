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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Noise, Random};

    /// Rates about `centre`.
    fn run(random: &mut Random, noise: Noise, n: usize, centre: f64) -> Vec<f64> {
        random.log_ratios(noise, n).iter().map(|x| centre * x.exp()).collect()
    }

    #[test]
    fn agrees_with_the_formula_by_hand() {
        let before: Vec<f64> = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]
            .iter()
            .map(|x: &f64| x.exp())
            .collect();
        let shuffled = [5, 0, 7, 2, 9, 4, 1, 8, 3, 6].map(|i: usize| before[i]);
        let after = shuffled.map(|x| x * 2f64.exp());
        let one = welch(&shuffled, &after, Confidence::P95).unwrap();
        assert!((one.effect - 2.0).abs() < 1e-12);
        // Winsorised 3 3 3 4 5 6 7 8 8 8: squares 42.5; of either run 42.5 / (6 × 5); 10 degrees of freedom.
        let error = (2.0f64 * 42.5 / 30.0).sqrt();
        assert!((one.ci[1] - (2.0 + 2.228_14 * error)).abs() < 1e-3, "{:?}", one.ci);
        assert_eq!((one.method, one.rounds, one.effective_rounds), (Method::Welch, 10, 10.0));
    }

    #[test]
    fn covers_as_promised_with_unequal_numbers_and_noise() {
        let mut random = Random(4);
        let (mut covered, mut given) = (0, 0);
        for _ in 0..1000 {
            let before = run(&mut random, Noise::Tails, 20, 1000.0);
            let after = run(&mut random, Noise::Ar1(0.0), 50, 1100.0);
            let Ok(one) = welch(&before, &after, Confidence::P95) else { continue };
            given += 1;
            covered += usize::from(one.ci[0] <= 1.1f64.ln() && 1.1f64.ln() <= one.ci[1]);
        }
        assert!(given >= 950 && covered as f64 >= 0.94 * f64::from(given), "{covered} of {given}");
    }

    #[test]
    fn without_enough_rounds_or_with_a_zero_there_is_a_reason() {
        let good = run(&mut Random(1), Noise::Tails, 20, 5.0);
        let why =
            |before: &[f64], after: &[f64]| welch(before, after, Confidence::P95).unwrap_err();
        assert!(matches!(why(&good, &good[..5]), NoEstimate::TooFewRounds { rounds: 5, .. }));
        assert_eq!(why(&[1.0, 0.0], &good), NoEstimate::ZeroRate { round: 1 });
    }

    #[test]
    fn runs_without_any_noise_differ_by_exactly_so_much() {
        let one = welch(&[2.0; 8], &[4.0; 9], Confidence::P95).unwrap();
        assert_eq!((one.method, one.rounds), (Method::Sign, 8));
        assert!((one.effect - 2f64.ln()).abs() < 1e-12 && one.p < 0.01);
    }
}
