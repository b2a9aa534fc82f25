//! Before against after, round by round: the effect as the trimmed mean of the log ratios, and how sure it is.
//!
//! Both sides of a round meet the same machine, so that what the machine does cancels in the ratio; the median or trimmed
//! mean of the ratios spreads two to four times less than the ratio of the sums. See [`estimate`] for what is promised.

use crate::confidence::{Confidence, normal_quantile};
use crate::estimate::{
    Basis, Bca, Estimate, MIN_EFFECTIVE_ROUNDS, Method, NoEstimate, Note, Spread,
};
use crate::median::median;
use crate::series::{Correlation, shift};
use crate::trimmed::Sorted;

/// Resamples of the bootstrap. The interval's ends then vary by about 2 % of its width with the seed.
const RESAMPLES: usize = 4000;

/// Fewer effective rounds than this have a t interval: resamples of so few are too lumpy for a tail.
const MIN_FOR_BOOTSTRAP: f64 = 20.0;

/// One seed for all: the same rounds must give the same interval.
const SEED: u64 = 0x7363_616c;

/// ln(after / before) of each round from the rates of both sides in the order of the rounds.
///
/// # Errors
///
/// As many rounds on either side, and no rate of zero.
pub fn log_ratios(before: &[f64], after: &[f64]) -> Result<Vec<f64>, NoEstimate> {
    if before.len() != after.len() {
        return Err(NoEstimate::UnequalRounds { before: before.len(), after: after.len() });
    }
    let ratio = |(round, (&before, &after)): (usize, (&f64, &f64))| {
        // Each for itself: a quotient could overflow.
        if before > 0.0 && after > 0.0 {
            Ok(after.ln() - before.ln())
        } else {
            Err(NoEstimate::ZeroRate { round })
        }
    };
    before.iter().zip(after).enumerate().map(ratio).collect()
}

/// The effect behind `log_ratios`, one per round in the order of the rounds.
///
/// - The effect is the 20 % trimmed mean.
/// - From 20 effective rounds on the interval is BCa with 4000 resamples, Student's t quantiles in place of normal ones;
///   below it is t with the winsorised variance.
/// - Rounds that resemble their neighbours count as fewer: n(1-r)/(1+r), see [`Note::Autocorrelation`]. All the interval's
///   distances from the effect are stretched by the root of what is lost.
/// - Ratios that take few values widen the interval by half a step, see [`Note::Quantised`].
///
/// # Errors
///
/// Fewer than six effective rounds have no interval.
pub fn estimate(log_ratios: &[f64], confidence: Confidence) -> Result<Estimate, NoEstimate> {
    let correlation = Correlation::of(log_ratios);
    let (rounds, worth) = (log_ratios.len(), correlation.effective_rounds);
    let Some(sorted) = Sorted::new(log_ratios).filter(|_| worth >= MIN_EFFECTIVE_ROUNDS) else {
        return Err(NoEstimate::TooFewRounds { rounds, effective: worth });
    };
    let effect = sorted.trimmed_mean();
    let step = quantum(&sorted);
    let margin = step.unwrap_or(0.0) / 2.0;
    let (method, spread) = spread(&sorted, effect, worth, margin);

    let mut notes = Vec::new();
    notes.extend(shift(log_ratios).map(|change| Note::Drift { change }));
    notes.extend(
        correlation
            .significant
            .map(|r| Note::Autocorrelation { r, widened_by: (rounds as f64 / worth).sqrt() }),
    );
    notes.extend(step.map(|step| Note::Quantised { step }));
    let basis = Basis { method, rounds, effective_rounds: worth, notes };
    Ok(Estimate::new(effect, spread, basis, confidence))
}

fn spread(sorted: &Sorted, effect: f64, worth: f64, margin: f64) -> (Method, Spread) {
    let error = sorted.standard_error(worth);
    if error.value == 0.0 {
        let sorted = sorted.values().to_vec();
        return (Method::Sign, Spread::Sign { sorted, worth, margin });
    }
    let bootstrap = (worth >= MIN_FOR_BOOTSTRAP).then(|| bootstrap(sorted, effect)).flatten();
    match bootstrap {
        Some(bca) => {
            let n = sorted.values().len() as f64;
            let small_sample = (n / (n - 1.0)).sqrt();
            let (freedom, stretch) = (error.freedom, (n / worth).sqrt());
            (Method::Bca, Spread::Bca(Bca { freedom, small_sample, stretch, margin, ..bca }))
        }
        None => (Method::T, Spread::T { error: error.value, freedom: error.freedom, margin }),
    }
}

/// The bootstrap distribution of independent rounds; none if it has no spread.
fn bootstrap(sorted: &Sorted, effect: f64) -> Option<Bca> {
    let (mut random, mut counts) = (fastrand::Rng::with_seed(SEED), Vec::new());
    let mut replicates: Vec<f64> =
        (0..RESAMPLES).map(|_| sorted.resampled(&mut random, &mut counts)).collect();
    replicates.sort_by(f64::total_cmp);
    let count = replicates.len() as f64;
    let mean = replicates.iter().sum::<f64>() / count;
    let sd = (replicates.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count).sqrt();

    let below = replicates.partition_point(|&x| x < effect) as f64;
    let not_above = replicates.partition_point(|&x| x <= effect) as f64;
    let bias = normal_quantile((f64::midpoint(below, not_above) + 0.5) / (count + 1.0));
    let acceleration = acceleration(&sorted.jackknife());
    (sd > 0.0).then_some(Bca {
        replicates,
        sd,
        bias,
        acceleration,
        freedom: f64::INFINITY,
        small_sample: 1.0,
        stretch: 1.0,
        margin: 0.0,
    })
}

/// Efron's acceleration: a sixth of the skewness of the jackknife's influence values.
fn acceleration(jackknife: &[f64]) -> f64 {
    let mean = jackknife.iter().sum::<f64>() / jackknife.len() as f64;
    let moment = |power| jackknife.iter().map(|x| (mean - x).powi(power)).sum::<f64>();
    let squares = moment(2);
    if squares > 0.0 { moment(3) / (6.0 * squares.powf(1.5)) } else { 0.0 }
}

/// The distance of neighbouring values if more than half of the values repeat another one and not all are equal.
fn quantum(sorted: &Sorted) -> Option<f64> {
    let gaps = |values: &[f64]| -> Vec<f64> {
        values.windows(2).map(|pair| pair[1] - pair[0]).filter(|&gap| gap > 0.0).collect()
    };
    let all = gaps(sorted.values());
    if all.is_empty() || 2 * (all.len() + 1) > sorted.values().len() {
        return None;
    }
    // The steps where the bulk is; far out they may be any multiple.
    median(&gaps(sorted.middle())).or_else(|| all.into_iter().reduce(f64::min))
}
