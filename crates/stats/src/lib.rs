//! What can be said about numbers, and how surely: medians with intervals, warm-up, drift, the shape of a scaling curve.
//!
//! Pure: no I/O, no clock, no randomness. Nothing here assumes a distribution: short slices on a shared machine have heavy
//! one-sided tails, so everything goes by order statistics and ranks. Numbers handed in are finite.

mod median;
mod series;
mod shape;
#[cfg(test)]
mod simulate;
mod warmup;

pub use median::{geometric_mean, median, median_ci95};
pub use series::{drift, lag1_autocorrelation};
pub use shape::{Shape, ShapePoint, shape};
pub use warmup::WarmUp;
