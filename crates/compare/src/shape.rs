//! How the shape of a curve changed: where it peaks, where it stops to gain, where it begins to fall.

use results::{Curve, Pairing, ShapeChange};
use stats::Shape;

/// Fewer task counts than this have no shape.
const COUNTS: usize = 3;

/// None where a side has fewer than three task counts.
pub(crate) fn change(before: &Curve, after: &Curve, _pairing: Pairing) -> Option<ShapeChange> {
    if before.points.len() < COUNTS || after.points.len() < COUNTS {
        return None;
    }
    let sides = [before, after];
    Some(ShapeChange {
        peak: sides.map(peak),
        knee: sides.map(|curve| match curve.shape(u32::MAX) {
            Shape::Flattens { at, .. } => Some(at),
            _ => None,
        }),
        retrograde: sides.map(|curve| match curve.shape(u32::MAX) {
            Shape::Falls { after, .. } => Some(after),
            _ => None,
        }),
        usl: [None, None],
    })
}

fn peak(curve: &Curve) -> u32 {
    let best = curve.points.iter().max_by(|a, b| a.ops_per_s.total_cmp(&b.ops_per_s));
    best.map_or(0, |point| point.tasks)
}
