//! The Universal Scalability Law (Gunther 1993): X(n) = λn / (1 + σ(n-1) + κn(n-1)) fitted to a curve, where it fits.
//!
//! n/X is linear in 1/λ, σ/λ and κ/λ, so that the best fit with σ, κ ≥ 0 is found exactly, without a start to guess: of
//! the four ways to hold σ or κ at 0 the best that is allowed. What is made small is the relative distance of the curve,
//! each point weighted by its spread. Intervals are percentiles of a bootstrap over rounds.

use crate::confidence::Confidence;
use crate::curve::{CurveRounds, LogCurve, Place, Points, draw, percentiles};
use crate::effective::Worth;
use crate::estimate::MIN_EFFECTIVE_ROUNDS;
use crate::trimmed::Sorted;

/// Three coefficients go through any three points, which proves nothing.
const MIN_COUNTS: usize = 4;

/// A point farther than this from the fit, as a logarithm and beyond two standard errors, refutes it.
const MISFIT: f64 = 0.1;

/// Relative error that the law itself is allowed: a very precise point must not dictate the fit.
const MODEL_ERROR: f64 = 0.01;

/// Reweighting steps; three or four suffice.
const STEPS: usize = 12;

const RESAMPLES: usize = 500;

const SEED: u64 = 0x0075_736c;

/// A number with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranged {
    /// The estimate.
    pub value: f64,
    /// Interval with the confidence asked for.
    pub ci: [f64; 2],
}

/// A curve that follows the law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usl {
    /// Rate of one task, operations per second.
    pub lambda: Ranged,
    /// Contention: share of the work that only one task can do at a time.
    pub sigma: Ranged,
    /// Coherency: cost of each pair of tasks.
    pub kappa: Ranged,
    /// Task count with the highest rate; not reached if κ = 0.
    pub peak: Place,
    /// Task count at which the efficiency has fallen to a half.
    pub knee: Place,
    /// Largest relative distance (logarithm) of a measured point from the fit.
    pub misfit: f64,
}

/// Why the law is not fitted.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum NoFit {
    /// Fewer than four task counts.
    #[error("{counts} task counts are too few for the three coefficients, at least 4 are needed")]
    TooFewCounts {
        /// That there are.
        counts: usize,
    },
    /// Fewer than six effective rounds at a task count.
    #[error("too few rounds at {tasks} tasks for an interval")]
    TooFewRounds {
        /// Task count.
        tasks: u32,
    },
    /// No round at a task count, or one without an operation.
    #[error("no operation was done in a round of {tasks} tasks")]
    ZeroRate {
        /// Task count.
        tasks: u32,
    },
    /// A point is more than 10 % from the fit, beyond two standard errors.
    #[error("the law is {:.0} % off at {tasks} tasks", 100.0 * .off.exp_m1().abs())]
    Misfit {
        /// Task count of the worst point.
        tasks: u32,
        /// ln(measured / fitted).
        off: f64,
    },
}

/// Fits the law to the rounds of a curve.
///
/// # Errors
///
/// See [`NoFit`]: the fit is refused where a measured point is more than 10 % away from it and two standard errors do not
/// explain it.
pub fn usl(curve: &[CurveRounds], confidence: Confidence) -> Result<Usl, NoFit> {
    let (logs, fitter) = prepare(curve)?;
    let (best, misfit) = fitter.fit_checked(&logs)?;
    let (block, rounds) = (logs.block(), logs.shortest());
    let mut random = fastrand::Rng::with_seed(SEED);
    let resamples: Vec<Coefficients> = (0..RESAMPLES)
        .map(|_| fitter.fit(&logs.of_rounds(&draw(rounds, block, &mut random))))
        .collect();

    let alpha = confidence.alpha();
    let all = |of: fn(&Coefficients) -> f64| resamples.iter().map(of).collect::<Vec<f64>>();
    let ranged = |of: fn(&Coefficients) -> f64| {
        let value = of(&best);
        let ci = percentiles(&mut all(of), alpha).unwrap_or([value; 2]);
        Ranged { value, ci: [ci[0].min(value), ci[1].max(value)] }
    };
    let place =
        |of: fn(&Coefficients) -> f64| Place::from_resamples(of(&best), &mut all(of), alpha);
    Ok(Usl {
        lambda: ranged(|one| one.lambda),
        sigma: ranged(|one| one.sigma),
        kappa: ranged(|one| one.kappa),
        peak: place(Coefficients::peak),
        knee: place(Coefficients::knee),
        misfit,
    })
}

/// The logarithms of a curve that can be fitted, and the weights of its points.
pub(crate) fn prepare(curve: &[CurveRounds]) -> Result<(LogCurve, Fitter), NoFit> {
    let logs = LogCurve::of(curve).map_err(|tasks| NoFit::ZeroRate { tasks })?;
    let counts = logs.counts();
    if counts.len() < MIN_COUNTS {
        return Err(NoFit::TooFewCounts { counts: counts.len() });
    }
    let error = |(logs, &tasks): (&[f64], &u32)| {
        let worth = Worth::of(logs).effective_rounds;
        let sorted = Sorted::new(logs).filter(|_| worth >= MIN_EFFECTIVE_ROUNDS);
        let sorted = sorted.ok_or(NoFit::TooFewRounds { tasks })?;
        Ok(sorted.standard_error(worth).value)
    };
    let errors = logs.rounds().zip(&counts).map(error).collect::<Result<_, _>>()?;
    Ok((logs, Fitter { errors }))
}

/// What is needed to fit resamples alike.
pub(crate) struct Fitter {
    /// Standard error of each point's logarithm.
    errors: Vec<f64>,
}

/// λ, σ and κ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Coefficients {
    pub(crate) lambda: f64,
    pub(crate) sigma: f64,
    pub(crate) kappa: f64,
}

impl Coefficients {
    fn log_rate(&self, tasks: f64) -> f64 {
        let slowed = 1.0 + self.sigma * (tasks - 1.0) + self.kappa * tasks * (tasks - 1.0);
        (self.lambda * tasks / slowed).ln()
    }

    /// Where the derivative is 0; infinite if nowhere.
    fn peak(&self) -> f64 {
        if self.kappa > 0.0 {
            ((1.0 - self.sigma).max(0.0) / self.kappa).sqrt().max(1.0)
        } else {
            f64::INFINITY
        }
    }

    /// Solution of 1 + σ(n-1) + κn(n-1) = 2; infinite if there is none.
    fn knee(&self) -> f64 {
        let linear = self.sigma - self.kappa;
        let root = (linear * linear + 4.0 * self.kappa * (self.sigma + 1.0)).sqrt();
        // Not the schoolbook form, which κ = 0 would divide by.
        2.0 * (self.sigma + 1.0) / (linear + root)
    }
}

impl Fitter {
    /// The fit and its largest distance.
    pub(crate) fn fit_checked(&self, logs: &LogCurve) -> Result<(Coefficients, f64), NoFit> {
        let points = logs.whole();
        let best = self.fit(&points);
        let mut misfit: f64 = 0.0;
        let mut worst = (MISFIT, None);
        for (&(tasks, log), error) in points.0.iter().zip(&self.errors) {
            let off = log - best.log_rate(tasks);
            misfit = misfit.max(off.abs());
            let unexplained = off.abs() - 2.0 * error;
            if unexplained > worst.0 {
                worst = (unexplained, Some(NoFit::Misfit { tasks: tasks as u32, off }));
            }
        }
        worst.1.map_or(Ok((best, misfit)), Err)
    }

    /// The best fit, whether good or not.
    pub(crate) fn fit(&self, points: &Points) -> Coefficients {
        // Rates relative to the first, so that no unit can over- or underflow.
        let unit = points.0.first().map_or(0.0, |&(tasks, log)| log - tasks.ln());
        let per_task: Vec<f64> =
            points.0.iter().map(|&(tasks, log)| (tasks.ln() - log + unit).exp()).collect();
        let mut fitted = per_task.clone();
        let mut best = [1.0, 0.0, 0.0];
        for _ in 0..STEPS {
            let rows: Vec<Row> = points
                .0
                .iter()
                .zip(&self.errors)
                .zip(per_task.iter().zip(&fitted))
                .map(|((&(n, _), error), (&y, fitted))| {
                    let variance = error * error + MODEL_ERROR * MODEL_ERROR;
                    let weight = 1.0 / (fitted * fitted * variance);
                    Row { x: [1.0, n - 1.0, n * (n - 1.0)], y, weight }
                })
                .collect();
            best = least_squares(&rows).unwrap_or(best);
            fitted = rows.iter().map(|row| row.predicted(best)).collect();
        }
        let [a, b, c] = best;
        Coefficients { lambda: unit.exp() / a, sigma: b / a, kappa: c / a }
    }
}

/// One equation of the linear form.
struct Row {
    x: [f64; 3],
    y: f64,
    weight: f64,
}

impl Row {
    fn predicted(&self, coefficients: [f64; 3]) -> f64 {
        self.x.iter().zip(coefficients).map(|(x, c)| x * c).sum()
    }
}

/// The best coefficients of which the first is positive and none negative: of all choices which to hold at 0, the best
/// that is allowed. With two of them that is exact.
fn least_squares(rows: &[Row]) -> Option<[f64; 3]> {
    let squares = |coefficients: [f64; 3]| -> f64 {
        rows.iter().map(|row| row.weight * (row.y - row.predicted(coefficients)).powi(2)).sum()
    };
    [[true, true, true], [true, true, false], [true, false, true], [true, false, false]]
        .into_iter()
        .filter_map(|free| solve(rows, free))
        .filter(|found| found[0] > 0.0 && found.iter().all(|c| *c >= 0.0 && c.is_finite()))
        .min_by(|&a, &b| squares(a).total_cmp(&squares(b)))
}

/// Normal equations in the coefficients that are free, by elimination; none if they are singular.
fn solve(rows: &[Row], free: [bool; 3]) -> Option<[f64; 3]> {
    let mut matrix = [[0.0; 4]; 3];
    for (i, equation) in matrix.iter_mut().enumerate() {
        if !free[i] {
            equation[i] = 1.0;
            continue;
        }
        for row in rows {
            for j in (0..3).filter(|&j| free[j]) {
                equation[j] += row.weight * row.x[i] * row.x[j];
            }
            equation[3] += row.weight * row.x[i] * row.y;
        }
    }
    for i in 0..3 {
        // The matrix is positive definite: no pivoting.
        let pivot = matrix[i][i];
        if pivot <= 0.0 {
            return None;
        }
        let equation = matrix[i].map(|x| x / pivot);
        matrix[i] = equation;
        for (j, other) in matrix.iter_mut().enumerate() {
            if j != i {
                let factor = other[i];
                other.iter_mut().zip(equation).for_each(|(x, y)| *x -= factor * y);
            }
        }
    }
    Some([matrix[0][3], matrix[1][3], matrix[2][3]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Random;
    use proptest::prelude::*;

    const COUNTS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];

    /// 40 rounds of a curve with `noise` (relative).
    fn curve(seed: u64, noise: f64, rate: impl Fn(f64) -> f64) -> Vec<CurveRounds> {
        let mut random = Random(seed);
        COUNTS
            .map(|tasks| CurveRounds {
                tasks,
                rates: (0..40)
                    .map(|_| rate(f64::from(tasks)) * (noise * random.normal()).exp())
                    .collect(),
            })
            .to_vec()
    }

    fn law(lambda: f64, sigma: f64, kappa: f64) -> impl Fn(f64) -> f64 {
        move |n| lambda * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0))
    }

    fn fit(curve: &[CurveRounds]) -> Result<Usl, NoFit> {
        usl(curve, Confidence::P95)
    }

    #[test]
    fn a_curve_of_the_law_gives_its_coefficients_back() {
        let one = fit(&curve(1, 0.0, law(1e6, 0.05, 0.001))).unwrap();
        assert!((one.lambda.value / 1e6 - 1.0).abs() < 1e-9);
        assert!((one.sigma.value - 0.05).abs() < 1e-9 && (one.kappa.value - 0.001).abs() < 1e-9);
        assert!((one.peak.at.unwrap() - (0.95f64 / 0.001).sqrt()).abs() < 1e-4);
        let n = one.knee.at.unwrap();
        assert!((0.05 * (n - 1.0) + 0.001 * n * (n - 1.0) - 1.0).abs() < 1e-6);
        assert!(one.misfit < 1e-9);
    }

    #[test]
    fn intervals_hold_the_truth() {
        let mut covered = 0;
        for seed in 0..40 {
            let one = fit(&curve(seed, 0.02, law(1e6, 0.05, 0.001))).unwrap();
            let holds = |ranged: Ranged, truth: f64| ranged.ci[0] <= truth && truth <= ranged.ci[1];
            covered += usize::from(holds(one.sigma, 0.05)) + usize::from(holds(one.kappa, 0.001));
        }
        assert!(covered >= 70, "{covered} of 80");
    }

    #[test]
    fn without_coherency_there_is_no_peak_and_without_contention_no_knee() {
        let amdahl = fit(&curve(2, 0.0, law(5.0, 0.1, 0.0))).unwrap();
        assert_eq!((amdahl.kappa.value, amdahl.peak.at), (0.0, None));
        assert!((amdahl.knee.at.unwrap() - 11.0).abs() < 1e-6);
        let linear = fit(&curve(2, 0.0, |n| 7.0 * n)).unwrap();
        assert!(linear.sigma.value < 1e-9, "{linear:?}");
    }

    #[test]
    fn what_does_not_follow_the_law_is_refused() {
        // Scales to 8 and then drops at once to a third: a lock that begins to sleep.
        let cliff = |n: f64| if n <= 8.0 { 100.0 * n } else { 260.0 };
        assert!(matches!(fit(&curve(3, 0.01, cliff)), Err(NoFit::Misfit { .. })));
        // More than linear, which σ and κ ≥ 0 exclude.
        assert!(matches!(fit(&curve(3, 0.01, |n| n.powf(1.3))), Err(NoFit::Misfit { .. })));
    }

    #[test]
    fn too_little_to_fit_has_a_reason() {
        let full = curve(4, 0.01, law(1e6, 0.05, 0.001));
        assert_eq!(fit(&full[..3]), Err(NoFit::TooFewCounts { counts: 3 }));
        let mut zero = full.clone();
        zero[2].rates[5] = 0.0;
        assert_eq!(fit(&zero), Err(NoFit::ZeroRate { tasks: 4 }));
        let mut short = full;
        short[1].rates.truncate(3);
        assert_eq!(fit(&short), Err(NoFit::TooFewRounds { tasks: 2 }));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn nothing_is_ever_negative_or_not_a_number(
            rates in prop::collection::vec(1e-3..1e9f64, 4..8),
        ) {
            let curve: Vec<CurveRounds> = rates
                .iter()
                .zip(COUNTS)
                .map(|(&rate, tasks)| CurveRounds { tasks, rates: vec![rate; 8] })
                .collect();
            let (logs, fitter) = prepare(&curve).unwrap();
            let one = fitter.fit(&logs.whole());
            prop_assert!(one.lambda > 0.0 && one.sigma >= 0.0 && one.kappa >= 0.0, "{:?}", one);
            prop_assert!(one.peak() >= 1.0 && one.knee() >= 1.0);
        }
    }
}
