//! Before and after over tasks, and the ratio of both below on the same axis.

use super::{dots, panel, unit};
use crate::chart::{Axis, Chart, Dot, Form, Panel, Series};
use crate::comparison;
use results::{ComparedCurve, Comparison};

/// One chart per compared curve, each with its sentence.
pub(crate) fn compared(comparison: &Comparison) -> Vec<Chart> {
    let verdicts = comparison::verdict(comparison, str::to_owned);
    let curves = comparison.curves.iter().zip(verdicts);
    curves.map(|(curve, verdict)| chart(comparison, curve, verdict)).collect()
}

fn chart(comparison: &Comparison, curve: &ComparedCurve, verdict: String) -> Chart {
    let sides = comparison::both(comparison, curve);
    let series: Vec<Series> = sides
        .into_iter()
        .enumerate()
        .map(|(ink, (label, side))| Series::new(label, ink, Form::Curve, dots(side)))
        .collect();
    let x = Axis::of_tasks(&series);
    let mut panels = vec![panel(&unit(&curve.metric), series)];
    let ratios: Vec<Dot> = curve
        .points
        .iter()
        .filter_map(|point| {
            let ends = point.interval.map(|ends| ends.map(|end| 1.0 + end));
            Dot::new(f64::from(point.tasks), 1.0 + point.change?, ends)
        })
        .collect();
    if !ratios.is_empty() {
        let ratio = Series::new("after / before".to_owned(), RATIO, Form::Curve, ratios);
        panels.push(Panel {
            from_zero: false,
            reference: Some(1.0),
            minor: true,
            ..Panel::new("after / before", vec![ratio])
        });
    }
    let mut caption = vec![verdict];
    caption.extend(comparison::pairing(comparison));
    caption.extend(comparison::notes(curve));
    Chart { title: comparison::heading(comparison, curve), caption, x, panels }
}

/// Its look is neither side's.
const RATIO: usize = 3;
