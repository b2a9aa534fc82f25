//! A run as text or as a picture: for a terminal, for a browser, for an issue, for a spreadsheet, for a program.
//!
//! Pure: what is written depends on the [`Run`] and the [`Style`] only; no clock, no terminal, no file is asked. One file per
//! format in `formats/`, and one word in the list of `formats/mod.rs` that registers it; the command line takes the names
//! and the one-line summaries from [`FORMATS`].

mod canvas;
pub mod chart;
mod comparison;
mod conditions;
mod curves;
mod escape;
mod figures;
mod fixed;
mod flame;
mod formats;
mod history;
mod html;
mod json;
mod layout;
mod lines;
mod locks;
mod mail;
mod number;
mod plot;
mod power;
mod scheduling;
mod stacks;
mod svg;
mod table;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod schema;

pub use comparison::{COMPARISON_FORMATS, ComparisonFormat, verdict};
pub use escape::is_unprintable;
pub use figures::Named;
pub use history::{history, history_json};
pub use html::{Block, Section, power_html, power_svg, sections_html};
pub use number::{Rounded, round_to_interval, significant};
pub use power::{power, power_json};

use results::Run;

/// How to write, where a format leaves a choice. Formats for programs ignore it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// ANSI colours. Nothing is told by colour alone.
    pub colour: bool,
    /// Braille plot and signs beyond ASCII.
    pub unicode: bool,
    /// Columns that the plot may take.
    pub width: u16,
    /// Also what a doubter asks for: scheduling, rounds, conditions.
    pub verbose: bool,
}

impl Default for Style {
    /// What is right for a pipe or a mail: no colour, 72 columns.
    fn default() -> Style {
        Style { colour: false, unicode: true, width: 72, verbose: false }
    }
}

/// Where a format makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// People can read it on a terminal, or in a file.
    Terminal,
    /// It takes another program to look at it.
    File,
}

/// A way to write a run.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// As on the command line.
    pub name: &'static str,
    /// One line for the help.
    pub summary: &'static str,
    /// Where it makes sense to write it to.
    pub medium: Medium,
    /// Writes the run. The text ends with a newline.
    pub render: fn(&Run, &Style) -> String,
}

impl Format {
    /// The format called `name`.
    pub fn by_name(name: &str) -> Option<&'static Format> {
        FORMATS.iter().find(|format| format.name == name)
    }
}

/// Several runs in one page.
pub fn runs_html(runs: &[Named<'_>]) -> String {
    html::runs(runs)
}

/// Several runs in one picture.
pub fn runs_svg(runs: &[Named<'_>]) -> String {
    svg::document(&figures::scaling(runs))
}

/// Charts as a picture.
pub fn charts_svg(charts: &[chart::Chart]) -> String {
    svg::document(charts)
}

pub use formats::FORMATS;
