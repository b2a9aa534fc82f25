//! The table of a compared curve, for the formats that people read.

use super::sentence::{percent, word_in};
use crate::number::round_to_interval;
use crate::table::{NONE, Table, finite};
use results::{ComparedCurve, ComparedPoint, Comparison, Point, Run};

/// One row per task count: before, after, change with its interval, verdict, rounds.
pub(crate) fn of(comparison: &Comparison, number: usize) -> Table {
    let curve = &comparison.curves[number];
    let unit = curve.metric.unit.as_str();
    let header = vec![
        ["", "tasks"],
        ["before", unit],
        ["after", unit],
        ["change", "%"],
        ["interval", "%"],
        ["", "verdict"],
        ["", "rounds"],
    ];
    let rows = curve.points.iter().map(|point| row(comparison, curve, point)).collect();
    Table::new(header, rows)
}

fn row(comparison: &Comparison, curve: &ComparedCurve, point: &ComparedPoint) -> Vec<String> {
    let rate = |run: &Run, side: usize, value: f64| {
        let half = find(run, curve, side, point.tasks)
            .and_then(|point| point.ci95)
            .map(|[low, high]| (high - low) / 2.0);
        match half {
            Some(half) if value.is_finite() => round_to_interval(value, half).to_string(),
            _ => finite(value, 3),
        }
    };
    let half = point.interval.map_or(0.0, |[low, high]| (high - low) / 2.0);
    let signed = |share: f64| {
        let text = percent(share, half);
        if share > 0.0 && text.chars().any(|c| matches!(c, '1'..='9')) {
            format!("+{text}")
        } else {
            text
        }
    };
    vec![
        point.tasks.to_string(),
        rate(&comparison.before, 0, point.before),
        rate(&comparison.after, 1, point.after),
        point.change.map_or(NONE.to_owned(), signed),
        point
            .interval
            .map_or(NONE.to_owned(), |[low, high]| format!("{} to {}", signed(low), signed(high))),
        word_in(curve, &point.verdict).to_owned(),
        point.rounds.to_string(),
    ]
}

/// The point of a side's run that a compared point was made of.
pub(super) fn find<'a>(
    run: &'a Run,
    curve: &ComparedCurve,
    side: usize,
    tasks: u32,
) -> Option<&'a Point> {
    run.curves
        .iter()
        .find(|c| {
            c.workload == curve.workload && c.mode == curve.mode && c.target == curve.targets[side]
        })
        .and_then(|c| c.points.iter().find(|point| point.tasks == tasks))
}
