//! How small a change can be seen, over the time that is spent on it.

use crate::chart::{Axis, Chart, Dot, Form, Panel, Series, Spread};
use results::{PowerPoint, PowerReport, Sees};

/// One chart per workload, target and mode, a line per task count.
pub(crate) fn power(report: &PowerReport) -> Vec<Chart> {
    let curve = |a: &PowerPoint, b: &PowerPoint| {
        (&a.workload, &a.target, &a.mode) == (&b.workload, &b.target, &b.mode)
    };
    report.points.chunk_by(curve).filter_map(chart).collect()
}

fn chart(points: &[PowerPoint]) -> Option<Chart> {
    let mut caption = Vec::new();
    let mut series = Vec::new();
    for (ink, point) in points.iter().enumerate() {
        let tasks = format!("{} task{}", point.tasks, if point.tasks == 1 { "" } else { "s" });
        caption.extend(point.why_not.as_ref().map(|why| format!("{tasks}: {why}")));
        let Some(last) = point.sees.last() else { continue };
        caption.push(format!(
            "at {tasks} a comparison of {:.0} s finds a change of {:.2} % four times of five",
            last.seconds,
            last.found_80 * 100.0
        ));
        // Hundredths of a second are more than was planned with.
        let seconds = |sees: &Sees| (sees.seconds * 100.0).round() / 100.0;
        let dot = |sees: &Sees| Dot::new(seconds(sees), sees.found_80 * 100.0, None);
        let dots = point.sees.iter().filter_map(dot).collect();
        series.push(Series::new(tasks, ink, Form::Curve, dots));
    }
    let first = points.first()?;
    (!series.is_empty()).then(|| Chart {
        title: format!(
            "{} on {}, {} mode: smallest change that is found",
            first.workload, first.target, first.mode
        ),
        caption,
        x: Axis { label: "length of the comparison, s".to_owned(), spread: Spread::Log },
        panels: vec![Panel::new("change in %, found 4 times of 5", series)],
    })
}
