//! From records to charts: what is worth a picture, and the sentences that say the same.

mod compared;
mod detail;
mod power;
mod scaling;

pub(crate) use compared::compared;
pub(crate) use detail::detail;
pub(crate) use power::power;
pub(crate) use scaling::scaling;

use crate::chart::{Dot, Panel, Series, Spread};
use results::{Curve, Metric, Run};

/// More curves in one picture cannot be told apart.
const CURVES: usize = 8;

/// Curves whose heights differ by more than this lie on the floor of a linear axis.
const TOO_FAR_APART: f64 = 40.0;

/// A run and what to call it; an empty name where there is only one.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// Of the store, or the file's.
    pub name: &'a str,
    /// The run.
    pub run: &'a Run,
}

/// The points of a curve that can be drawn.
fn dots(curve: &Curve) -> Vec<Dot> {
    let points = curve.points.iter().filter(|point| point.tasks > 0);
    points
        .filter_map(|point| Dot::new(f64::from(point.tasks), point.ops_per_s, point.ci95))
        .collect()
}

/// "ops/s", and which way is better where that is not obvious.
fn unit(metric: &Metric) -> String {
    if metric.lower_is_better {
        format!("{}, less is better", metric.unit)
    } else {
        metric.unit.clone()
    }
}

/// Linear where all curves can be seen so.
fn spread(series: &[Series]) -> Spread {
    let peaks = series.iter().filter_map(|one| one.dots.iter().map(|dot| dot.y).reduce(f64::max));
    let peaks: Vec<f64> = peaks.filter(|&peak| peak > 0.0).collect();
    let highest = peaks.iter().copied().fold(0.0, f64::max);
    let lowest = peaks.iter().copied().fold(f64::INFINITY, f64::min);
    if lowest * TOO_FAR_APART < highest { Spread::Log } else { Spread::Linear }
}

/// A panel of curves over tasks.
fn panel(unit: &str, series: Vec<Series>) -> Panel {
    let mut panel = Panel::new(unit, series);
    panel.y.spread = spread(&panel.series);
    panel
}
