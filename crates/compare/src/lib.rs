//! Two runs made into a comparison: which curves belong together, what is said about each task count, and which conditions
//! differ.
//!
//! Pure. The statistics are those of the `stats` crate; this crate decides what is put into them. Interleaved sides are paired
//! round by round; stored runs are two independent samples.

mod conditions;
mod judge;
mod matching;
mod power;
mod shape;

pub use judge::estimates;
pub use power::power;

use results::{Comparison, Pairing, Run};

/// A share below which a difference does not matter, unless the user says another.
pub const BOUND: f64 = 0.01;

/// How two runs are to be compared.
#[derive(Clone, Debug)]
pub struct Question {
    /// How the samples of the two sides belong together.
    pub pairing: Pairing,
    /// What the sides are called.
    pub labels: [String; 2],
    /// Share below which a difference does not matter, above 0 and below 1.
    pub bound: f64,
    /// argv, for the record.
    pub command: Vec<String>,
}

/// Compares `before` with `after`.
///
/// Interleaved sides are taken to have the same curves in the same order, with the same rounds.
pub fn compare(question: Question, before: Run, after: Run) -> Comparison {
    let Question { pairing, labels, bound, command } = question;
    let (pairs, unmatched) = matching::pairs(&before, &after, pairing);
    let curves = pairs.iter().map(|(b, a)| judge::curve(b, a, pairing, bound)).collect();
    Comparison {
        schema: Comparison::SCHEMA.into(),
        vfscale: env!("CARGO_PKG_VERSION").into(),
        command,
        pairing,
        labels,
        differences: conditions::differences(&before, &after, pairing, &pairs),
        bound,
        curves,
        unmatched,
        before,
        after,
    }
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
