//! Readers of other tools' files: each makes runs of the record.
//!
//! A format is a file in `formats/` and a word in its registry. A reader takes text and gives runs; it opens nothing, so that
//! it can be tested and fuzzed as a function. [`read`] opens the file, with a limit, and finds out what it is.
//!
//! What all readers keep to:
//! - Raw values become samples, of which intervals can be made. Summaries become points without samples and without interval; a
//!   standard deviation in the file is no interval and is left out.
//! - What another tool writes in place of a figure (-1, 0, `-nan`, `####`) becomes a warning, never a rate.
//! - What is not known stays unknown: no target, no mode and no number of tasks is guessed without a warning.

mod error;
mod formats;
mod names;
mod read;
mod runs;
mod text;

pub use error::ImportError;
pub use formats::FORMATS;
pub use read::{LIMIT, detect, read, read_from};

use results::Run;

/// A run that was in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// Tells the runs of one file apart: the commit or kernel for a file that compares several, else the file's name without
    /// directories and extension.
    pub label: String,
    /// The run. Its curves are of [`results::Kind::Imported`], its `import` is set.
    pub run: Run,
}

/// A format that can be read.
#[derive(Debug)]
pub struct Format {
    /// What [`read`] takes to force it, and [`results::Import::tool`] of what it made.
    pub name: &'static str,
    /// One line for a list of formats.
    pub summary: &'static str,
    /// Does a file that begins like this look like the format?
    pub detect: fn(&str) -> bool,
    /// Takes the file's name, which some formats need for the name of the workload and all for messages, and its text.
    pub parse: fn(&str, &str) -> Result<Vec<Imported>, ImportError>,
}

impl Format {
    /// The format of that name.
    pub fn by_name(name: &str) -> Option<&'static Format> {
        FORMATS.iter().find(|format| format.name == name)
    }
}
