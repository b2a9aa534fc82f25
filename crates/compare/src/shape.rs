//! How the shape of a curve changed: where it peaks, where it stops to gain, where it begins to fall, and which law it follows.

use results::{Curve, Moved, ShapeChange, UslFit};
use stats::{Confidence, CurveRounds};

/// Fewer task counts than this have no shape.
const COUNTS: usize = 3;

/// None where the sides have fewer than three task counts in common, or too few rounds.
pub(crate) fn change(before: &Curve, after: &Curve) -> Option<ShapeChange> {
    let common = |curve: &Curve, other: &Curve| -> Vec<CurveRounds> {
        let shared = curve.points.iter().filter(|point| {
            point.tasks > 0 && other.points.iter().any(|other| other.tasks == point.tasks)
        });
        shared.map(|point| CurveRounds { tasks: point.tasks, rates: point.round_rates() }).collect()
    };
    let sides = [common(before, after), common(after, before)];
    if sides[0].len() < COUNTS {
        return None;
    }
    let change = stats::curve_change(&sides[0], &sides[1], Confidence::P95).ok()?;
    let fits = sides.each_ref().map(|side| stats::usl(side, Confidence::P95));
    let no_fit = match &fits {
        [Ok(_), Ok(_)] => None,
        [Err(why), Ok(_)] => Some(format!("no fit before: {why}")),
        [Ok(_), Err(why)] => Some(format!("no fit after: {why}")),
        [Err(why), Err(_)] => Some(format!("no fit: {why}")),
    };
    Some(ShapeChange {
        peak: Moved {
            before: change.peak.before,
            after: change.peak.after,
            sure: change.peak.sure,
        },
        knee: Moved {
            before: change.knee.before.at,
            after: change.knee.after.at,
            sure: change.knee.sure,
        },
        retrograde: Moved {
            before: change.retrograde.before,
            after: change.retrograde.after,
            sure: change.retrograde.sure,
        },
        usl: fits.map(|fit| fit.ok().map(of)),
        no_fit,
    })
}

fn of(fit: stats::Usl) -> UslFit {
    UslFit {
        lambda: fit.lambda.value,
        sigma: fit.sigma.value,
        sigma_ci95: fit.sigma.ci,
        kappa: fit.kappa.value,
        kappa_ci95: fit.kappa.ci,
    }
}
