//! Did the shape of the curve change? Peak, knee, retrograde point and the law's coefficients, before against after.
//!
//! All from one bootstrap over rounds: a round of a comparison has both sides at all task counts, so that a resample draws
//! whole rounds and what the machine did to both sides stays paired. A change is called sure if it has the same direction
//! in so many resamples as the confidence says. The questions are not adjusted for each other: they describe one change
//! of shape, whose existence the verdicts per task count establish.

use crate::confidence::Confidence;
use crate::curve::{CurveRounds, LogCurve, Place, Points, draw, percentiles};
use crate::estimate::MIN_EFFECTIVE_ROUNDS;
use crate::usl::{Coefficients, Fitter, NoFit, Ranged, prepare};

const RESAMPLES: usize = 1000;

/// Of these resamples the law is fitted to as many.
const FITTED: usize = 400;

const SEED: u64 = 0x6375_7276;

/// How the shape of a curve changed.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveChange {
    /// Measured task count with the highest rate.
    pub peak: PeakChange,
    /// Task count at which the efficiency, related to the smallest count, falls to a half; interpolated.
    pub knee: KneeChange,
    /// First measured task count after the peak with a rate more than 5 % below it.
    pub retrograde: RetrogradeChange,
    /// Coefficients of the Universal Scalability Law, if both curves follow it.
    pub law: Result<LawChange, NoFit>,
}

/// Where the peak was and is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PeakChange {
    /// Task count.
    pub before: u32,
    /// Task count.
    pub after: u32,
    /// Did it surely move in this direction?
    pub sure: bool,
}

/// Where the knee was and is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KneeChange {
    /// With interval.
    pub before: Place,
    /// With interval.
    pub after: Place,
    /// Did it surely move in this direction? "Not reached" is beyond all task counts.
    pub sure: bool,
}

/// What became of the retrograde point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetrogradeChange {
    /// Task count; none if the curve does not fall.
    pub before: Option<u32>,
    /// Task count; none if the curve does not fall.
    pub after: Option<u32>,
    /// If it appeared or disappeared: surely? If neither, never.
    pub sure: bool,
}

/// What became of the coefficients: after - before, with intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LawChange {
    /// Of σ.
    pub sigma: Ranged,
    /// Of κ.
    pub kappa: Ranged,
}

/// Why two curves are not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoChange {
    /// No round at a task count, or one without an operation.
    #[error("no operation was done in a round of {tasks} tasks")]
    ZeroRate {
        /// Task count.
        tasks: u32,
    },
    /// The two do not have the same task counts.
    #[error("the curves have different task counts")]
    DifferentCounts,
    /// Fewer than two task counts have no shape.
    #[error("{counts} task counts have no shape")]
    TooFewCounts {
        /// That there are.
        counts: usize,
    },
    /// Fewer than six rounds.
    #[error("{rounds} rounds are too few to compare curves, at least 6 are needed")]
    TooFewRounds {
        /// That there are at each task count.
        rounds: usize,
    },
}

/// Compares the shapes of two curves measured in the same interleaved rounds: round i of every task count and of both sides
/// belong together. Where some have fewer rounds, only as many are used of the others' resamples.
///
/// # Errors
///
/// See [`NoChange`].
pub fn curve_change(
    before: &[CurveRounds],
    after: &[CurveRounds],
    confidence: Confidence,
) -> Result<CurveChange, NoChange> {
    let logs = |curve| LogCurve::of(curve).map_err(|tasks| NoChange::ZeroRate { tasks });
    let sides = [logs(before)?, logs(after)?];
    let counts = sides[0].counts();
    if counts != sides[1].counts() {
        return Err(NoChange::DifferentCounts);
    }
    if counts.len() < 2 {
        return Err(NoChange::TooFewCounts { counts: counts.len() });
    }
    let rounds = sides[0].shortest().min(sides[1].shortest());
    if (rounds as f64) < MIN_EFFECTIVE_ROUNDS {
        return Err(NoChange::TooFewRounds { rounds });
    }
    let block = sides[0].block().max(sides[1].block()).min(rounds);
    let mut random = fastrand::Rng::with_seed(SEED);
    let resamples: Vec<[Points; 2]> = (0..RESAMPLES)
        .map(|_| {
            let drawn = draw(rounds, block, &mut random);
            sides.each_ref().map(|side| side.of_rounds(&drawn))
        })
        .collect();
    let whole = sides.each_ref().map(LogCurve::whole);
    let law = law_change(before, after, &resamples[..FITTED], confidence);
    let comparison = Comparison { whole, resamples, confidence };
    Ok(CurveChange {
        peak: comparison.peak(),
        knee: comparison.knee(),
        retrograde: comparison.retrograde(),
        law,
    })
}

struct Comparison {
    whole: [Points; 2],
    resamples: Vec<[Points; 2]>,
    confidence: Confidence,
}

impl Comparison {
    fn peak(&self) -> PeakChange {
        let at = |points: &Points| points.peak().map_or(0.0, |(tasks, _)| tasks);
        let [before, after] = self.whole.each_ref().map(at);
        PeakChange { before: before as u32, after: after as u32, sure: self.moved_surely(at) }
    }

    fn knee(&self) -> KneeChange {
        let place = |side: usize| {
            let mut all: Vec<f64> = self.resamples.iter().map(|pair| pair[side].knee()).collect();
            Place::from_resamples(self.whole[side].knee(), &mut all, self.confidence.alpha())
        };
        KneeChange { before: place(0), after: place(1), sure: self.moved_surely(Points::knee) }
    }

    fn retrograde(&self) -> RetrogradeChange {
        let falls = |points: &Points| points.retrograde().is_some();
        let [before, after] = self.whole.each_ref().map(Points::retrograde);
        let here = self.whole.each_ref().map(falls);
        let sure = here[0] != here[1]
            && self.surely(|pair| pair.each_ref().map(falls) == here, self.confidence.alpha());
        let tasks = |at: Option<f64>| at.map(|tasks| tasks as u32);
        RetrogradeChange { before: tasks(before), after: tasks(after), sure }
    }

    /// Has it moved, and to the same side in so many resamples that a two-sided interval would leave out 0?
    fn moved_surely(&self, at: impl Fn(&Points) -> f64) -> bool {
        let direction = |pair: &[Points; 2]| at(&pair[1]).total_cmp(&at(&pair[0]));
        let moved = direction(&self.whole);
        moved.is_ne() && self.surely(|pair| direction(pair) == moved, self.confidence.alpha() / 2.0)
    }

    /// Is it so in all resamples but a share `alpha`?
    fn surely(&self, holds: impl Fn(&[Points; 2]) -> bool, alpha: f64) -> bool {
        let against = self.resamples.iter().filter(|pair| !holds(pair)).count();
        against as f64 <= alpha * self.resamples.len() as f64
    }
}

fn law_change(
    before: &[CurveRounds],
    after: &[CurveRounds],
    resamples: &[[Points; 2]],
    confidence: Confidence,
) -> Result<LawChange, NoFit> {
    let fitted = |curve| -> Result<(Coefficients, Fitter), NoFit> {
        let (logs, fitter) = prepare(curve)?;
        let (best, _) = fitter.fit_checked(&logs)?;
        Ok((best, fitter))
    };
    let ((before, fitter_before), (after, fitter_after)) = (fitted(before)?, fitted(after)?);
    let pairs: Vec<_> = resamples
        .iter()
        .map(|[before, after]| (fitter_before.fit(before), fitter_after.fit(after)))
        .collect();
    let change = |of: fn(&Coefficients) -> f64| {
        let value = of(&after) - of(&before);
        let mut all: Vec<f64> =
            pairs.iter().map(|(before, after)| of(after) - of(before)).collect();
        let [low, high] = percentiles(&mut all, confidence.alpha()).unwrap_or([value; 2]);
        Ranged { value, ci: [low.min(value), high.max(value)] }
    };
    Ok(LawChange { sigma: change(|one| one.sigma), kappa: change(|one| one.kappa) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Random;

    const COUNTS: [u32; 6] = [1, 2, 4, 8, 16, 32];

    /// Both sides in the same rounds: 5 % that they share, 1 % of their own.
    fn curves(
        seed: u64,
        before: impl Fn(f64) -> f64,
        after: impl Fn(f64) -> f64,
    ) -> [Vec<CurveRounds>; 2] {
        let mut random = Random(seed);
        let shared: Vec<f64> = (0..30).map(|_| 0.05 * random.normal()).collect();
        let mut side = |rate: &dyn Fn(f64) -> f64| -> Vec<CurveRounds> {
            COUNTS
                .iter()
                .map(|&tasks| {
                    let rate = rate(f64::from(tasks)).ln();
                    let round = |x: &f64| (rate + x + 0.01 * random.normal()).exp();
                    CurveRounds { tasks, rates: shared.iter().map(round).collect() }
                })
                .collect()
        };
        [side(&before), side(&after)]
    }

    fn law(sigma: f64, kappa: f64) -> impl Fn(f64) -> f64 {
        move |n| 1e6 * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0))
    }

    fn change([before, after]: &[Vec<CurveRounds>; 2]) -> CurveChange {
        curve_change(before, after, Confidence::P95).unwrap()
    }

    #[test]
    fn a_lock_that_is_gone_moves_everything() {
        let found = change(&curves(1, law(0.1, 0.02), law(0.01, 0.0)));
        assert!(found.peak.sure && found.peak.before == 8 && found.peak.after == 32, "{found:?}");
        assert!(found.knee.sure && found.knee.after.at.is_none(), "{:?}", found.knee);
        let knee = found.knee.before.at.unwrap();
        assert!((4.0..8.0).contains(&knee), "{knee}");
        let Place { ci, .. } = found.knee.before;
        assert!(ci[0].unwrap() <= knee && knee <= ci[1].unwrap());
        assert_eq!(
            found.retrograde,
            RetrogradeChange { before: Some(16), after: None, sure: true }
        );
        let law = found.law.unwrap();
        assert!(law.sigma.ci[1] < 0.0 && law.kappa.ci[1] < 0.0, "{law:?}");
        assert!((law.kappa.value + 0.02).abs() < 0.002, "{law:?}");
    }

    #[test]
    fn the_same_curve_twice_is_seldom_a_change() {
        let mut alarms = 0;
        for seed in 0..30 {
            let found = change(&curves(seed, law(0.1, 0.02), law(0.1, 0.02)));
            let law = found.law.unwrap();
            let zero = |ranged: Ranged| ranged.ci[0] <= 0.0 && 0.0 <= ranged.ci[1];
            alarms += usize::from(found.knee.sure) + usize::from(found.peak.sure);
            alarms += usize::from(found.retrograde.sure);
            alarms += usize::from(!zero(law.sigma)) + usize::from(!zero(law.kappa));
        }
        // 150 questions at 5 %, and two standard errors.
        assert!(alarms <= 13, "{alarms}");
    }

    #[test]
    fn a_curve_that_does_not_follow_the_law_still_has_a_shape() {
        let cliff = |n: f64| if n <= 8.0 { 100.0 * n } else { 260.0 };
        let found = change(&curves(2, cliff, |n| 100.0 * n));
        assert!(matches!(found.law, Err(NoFit::Misfit { .. })), "{:?}", found.law);
        assert!(found.retrograde.sure && found.retrograde.before == Some(16));
    }

    #[test]
    fn what_cannot_be_compared_has_a_reason() {
        let [before, after] = curves(3, law(0.1, 0.0), law(0.1, 0.0));
        let why = |before: &[CurveRounds], after: &[CurveRounds]| {
            curve_change(before, after, Confidence::P95).unwrap_err()
        };
        assert_eq!(why(&before[1..], &after), NoChange::DifferentCounts);
        assert_eq!(why(&before[..1], &after[..1]), NoChange::TooFewCounts { counts: 1 });
        let mut zero = after.clone();
        zero[3].rates[0] = 0.0;
        assert_eq!(why(&before, &zero), NoChange::ZeroRate { tasks: 8 });
        let mut short = after;
        short[0].rates.truncate(5);
        assert_eq!(why(&before, &short), NoChange::TooFewRounds { rounds: 5 });
    }
}
