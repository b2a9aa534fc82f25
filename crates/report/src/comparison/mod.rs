//! A comparison as text: one file per format, as for a run.

mod sentence;
mod table;
#[cfg(test)]
pub(crate) mod tests;

use crate::{Medium, Style};
use results::{ComparedCurve, Comparison};

pub(crate) use sentence::pairing;
pub use sentence::verdict;
pub(crate) use table::of as table_of;
pub(crate) use text::{both, differences, heading, notes, partial, sides, warned};

/// A way to write a comparison.
#[derive(Clone, Copy, Debug)]
pub struct ComparisonFormat {
    /// As on the command line.
    pub name: &'static str,
    /// One line for the help.
    pub summary: &'static str,
    /// Where it makes sense to write it to.
    pub medium: Medium,
    /// Writes the comparison. The text ends with a newline.
    pub render: fn(&Comparison, &Style) -> String,
}

impl ComparisonFormat {
    /// The format called `name`.
    pub fn by_name(name: &str) -> Option<&'static ComparisonFormat> {
        COMPARISON_FORMATS.iter().find(|format| format.name == name)
    }
}

/// Whether another curve has the same workload and mode: of one target on each side there are several then (a guest under two CPU
/// models), and only the targets tell them apart.
fn has_twin(comparison: &Comparison, curve: &ComparedCurve) -> bool {
    let alike =
        |other: &&ComparedCurve| (&other.workload, &other.mode) == (&curve.workload, &curve.mode);
    comparison.curves.iter().filter(alike).count() > 1
}

/// What the sides of a curve are called.
fn labels<'a>(comparison: &'a Comparison, curve: &'a ComparedCurve) -> &'a [String; 2] {
    if has_twin(comparison, curve) { &curve.targets } else { &comparison.labels }
}

macro_rules! formats {
    ($($module:ident),* $(,)?) => {
        $(mod $module;)*

        /// Every format of a comparison; the first is the default.
        pub const COMPARISON_FORMATS: &[ComparisonFormat] = &[$($module::FORMAT),*];
    };
}

// To add a format, write its file and add its name here.
formats!(text, markdown, csv, json, mail, lkp, svg, html);
