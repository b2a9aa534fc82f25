//! From the samples of two curves to a verdict per task count.

use crate::shape;
use results::{ComparedCurve, ComparedPoint, Curve, Pairing, Point, Verdict};
use stats::{Confidence, Estimate, Judged, NoEstimate, Note};

/// How sure all verdicts of a curve are together.
const CONFIDENCE: Confidence = Confidence::P95;

/// The effects behind pairs of points, before any verdict. `lower_is_better` turns it round, so that more is always better.
fn estimate(
    before: &Point,
    after: &Point,
    pairing: Pairing,
    lower_is_better: bool,
) -> Result<Estimate, NoEstimate> {
    let (before, after) = match lower_is_better {
        false => (before.round_rates(), after.round_rates()),
        true => (after.round_rates(), before.round_rates()),
    };
    match pairing {
        Pairing::Interleaved => stats::estimate(&stats::log_ratios(&before, &after)?, CONFIDENCE),
        Pairing::Stored => stats::welch(&before, &after, CONFIDENCE),
    }
}

/// The effects at all task counts that both curves have, in ascending order of tasks.
pub fn estimates(
    before: &Curve,
    after: &Curve,
    pairing: Pairing,
) -> Vec<Result<Estimate, NoEstimate>> {
    let lower_is_better = before.metric.lower_is_better;
    common(before, after).map(|(b, a)| estimate(b, a, pairing, lower_is_better)).collect()
}

/// The points that both curves have.
pub(crate) fn common<'a>(
    before: &'a Curve,
    after: &'a Curve,
) -> impl Iterator<Item = (&'a Point, &'a Point)> {
    before
        .points
        .iter()
        .filter_map(|b| after.points.iter().find(|a| a.tasks == b.tasks).map(|a| (b, a)))
}

/// Compares two curves.
pub(crate) fn curve(before: &Curve, after: &Curve, pairing: Pairing, bound: f64) -> ComparedCurve {
    let estimates = estimates(before, after, pairing);
    let judged = stats::judge(&estimates, bound.ln_1p(), CONFIDENCE);
    let points = common(before, after).zip(estimates.iter().zip(judged));
    ComparedCurve {
        workload: before.workload.clone(),
        mode: before.mode.clone(),
        targets: [before.target.clone(), after.target.clone()],
        metric: before.metric.clone(),
        points: points
            .map(|((b, a), (estimate, judged))| {
                point(b, a, estimate, judged, bound, before.metric.lower_is_better)
            })
            .collect(),
        shape: shape::change(before, after),
    }
}

fn point(
    before: &Point,
    after: &Point,
    estimate: &Result<Estimate, NoEstimate>,
    judged: Judged,
    bound: f64,
    lower_is_better: bool,
) -> ComparedPoint {
    // What is better has a positive effect; of times the change itself then is negative.
    let share = |log_ratio: f64| match lower_is_better {
        false => log_ratio.exp_m1(),
        true => (-log_ratio).exp_m1(),
    };
    let interval = judged.interval.map(|ends| {
        let [a, b] = ends.map(share);
        [a.min(b), a.max(b)]
    });
    let rounds = before.round_rates().len().min(after.round_rates().len());
    let verdict = match judged.verdict {
        stats::Verdict::Faster => Verdict::Faster,
        stats::Verdict::Slower => Verdict::Slower,
        stats::Verdict::NoDifference { .. } => Verdict::NoDifference { bound },
        // A summary stays one: there is nothing that one could measure more of.
        stats::Verdict::Undecided { .. } if rounds == 0 => Verdict::Undecided { more_rounds: None },
        stats::Verdict::Undecided { more_rounds } => Verdict::Undecided { more_rounds },
    };
    let notes = match estimate {
        Ok(estimate) => estimate.notes.iter().map(note).collect(),
        Err(NoEstimate::TooFewRounds { rounds: 0, .. }) => {
            vec!["a side is a summary only: there is no interval".to_owned()]
        }
        Err(why) => vec![why.to_string()],
    };
    let change = match estimate {
        Ok(estimate) => Some(share(estimate.effect)),
        // Too few rounds still have a quotient; it just has no interval.
        Err(_) if before.ops_per_s > 0.0 && after.ops_per_s > 0.0 => {
            Some(after.ops_per_s / before.ops_per_s - 1.0)
        }
        Err(_) => None,
    };
    ComparedPoint {
        tasks: before.tasks,
        before: before.ops_per_s,
        after: after.ops_per_s,
        change,
        interval,
        p: judged.p,
        verdict,
        rounds: rounds as u32,
        method: estimate.as_ref().ok().map(|estimate| estimate.method.name().to_owned()),
        notes,
    }
}

/// A note in words.
fn note(note: &Note) -> String {
    let percent = |log_ratio: f64| format!("{:+.1} %", stats::percent(log_ratio));
    match *note {
        Note::Drift { change } => format!(
            "the difference itself drifted by {} from the first third of the rounds to the last",
            percent(change)
        ),
        Note::Autocorrelation { r, widened_by } => format!(
            "neighbouring rounds resemble each other (r = {r:.2}): the interval is {widened_by:.1} times as wide for it"
        ),
        Note::Bimodal { modes: [low, high], low_share, .. } => format!(
            "the rounds fall into two heaps, {:.0} % of them near {} and the others near {}: the figure is a mean of two states",
            low_share * 100.0,
            percent(low),
            percent(high)
        ),
        Note::Quantised { step, widened_by } => format!(
            "the ratios take few values, {} apart, for a slice has few operations: the interval is {widened_by:.1} times as wide for \
             it, and a longer --slice resolves more",
            percent(step)
        ),
    }
}
