//! Stopping early without fooling oneself: when to look, and when what is seen is precise enough.
//!
//! Looking at a p-value after every round until it is small finds a difference where there is none, sooner or later. So the
//! stop looks only at how wide the intervals are, not at where they lie; the effect and the width of its interval are close
//! to independent. What is left of the bias (a series that happened to be calm stops sooner and has too narrow an interval)
//! is kept small by looking seldom: [`next_look`] lets the rounds grow by a quarter between two looks.

use crate::confidence::Confidence;
use crate::estimate::{Estimate, NoEstimate};

/// Before the first look.
const FIRST_LOOK: u32 = 24;

/// The number of rounds at which to look next, if there are `rounds` now.
pub fn next_look(rounds: u32) -> u32 {
    let mut look = FIRST_LOOK;
    while look <= rounds {
        look = look.saturating_add(look / 4);
    }
    look
}

/// Is every interval at most `precision` wide to either side (as a log ratio), at the confidence that all of them share?
/// False if there is no estimate, or one is missing.
pub fn precise_enough(
    estimates: &[Result<Estimate, NoEstimate>],
    precision: f64,
    confidence: Confidence,
) -> bool {
    let each = confidence.for_each_of(estimates.len());
    let narrow = |estimate: &Result<Estimate, NoEstimate>| {
        estimate.as_ref().is_ok_and(|estimate| estimate.half_width(each) <= precision)
    };
    !estimates.is_empty() && estimates.iter().all(narrow)
}
