//! What can be said about numbers, and how surely: medians with intervals, warm-up, drift, the shape of a scaling curve,
//! and what changed between before and after.
//!
//! Pure: no I/O, no clock, randomness only from fixed seeds, so that the same numbers always give the same answer. Nothing
//! here assumes a normal distribution: short slices on a shared machine have heavy one-sided tails, so everything goes by
//! order statistics, ranks and trimmed means. Numbers handed in are finite.

mod bimodal;
mod changepoint;
mod confidence;
mod curve;
mod curve_change;
mod early;
mod effective;
mod estimate;
mod holm;
mod median;
mod paired;
mod power;
mod series;
mod shape;
#[cfg(test)]
mod simulate;
mod trimmed;
mod usl;
mod verdict;
mod warmup;
mod welch;

pub use changepoint::{ChangePoint, HistoryPoint, change_points};
pub use confidence::Confidence;
pub use curve::{CurveRounds, Place, knee};
pub use curve_change::{
    CurveChange, KneeChange, LawChange, NoChange, PeakChange, RetrogradeChange, curve_change,
};
pub use early::{next_look, precise_enough};
pub use estimate::{
    Estimate, MIN_EFFECTIVE_ROUNDS, Method, NoEstimate, Note, log_ratio_of_percent, percent,
};
pub use holm::holm;
pub use median::{geometric_mean, median, median_ci95};
pub use paired::{estimate, log_ratios};
pub use power::{Noise, Power};
pub use series::{drift, lag1_autocorrelation};
pub use shape::{Shape, ShapePoint, shape};
pub use trimmed::trimmed_mean;
pub use usl::{NoFit, Ranged, Usl, usl};
pub use verdict::{Judged, Verdict, judge};
pub use warmup::WarmUp;
pub use welch::welch;
