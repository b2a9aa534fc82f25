//! A record as one page: it works from a file without a network, with script and without, on a screen, read aloud and on paper.
//!
//! Every chart is there twice. As SVG it is part of the page; where scripts run, one that can be asked and zoomed takes its
//! place, drawn by uPlot (MIT, see `assets/uplot.LICENSE`) from the same data.

mod comparison;
mod figure;
mod flame;
mod power;
mod run;
mod table;

pub(crate) use comparison::comparison;
pub use power::{power_html, power_svg};
pub(crate) use run::runs;

use crate::chart::Chart;
use crate::{conditions, escape};
use figure::{Figures, Level};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use results::{Run, Warning};

const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");
const PLOT_STYLE: &str = include_str!("../../assets/uplot.min.css");
const PLOT_SCRIPT: &str = include_str!("../../assets/uplot.min.js");
/// To be part of every copy.
const PLOT_LICENCE: &str = include_str!("../../assets/uplot.LICENSE");

/// Nothing may be fetched, whatever a name in the record tries.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// A part of a page of figures that are no run. Names in it need not be escaped.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// Shown first.
    pub charts: Vec<Chart>,
    /// What is said about them.
    pub blocks: Vec<Block>,
}

/// A piece of text in a [`Section`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// Over what follows.
    Heading(String),
    /// A sentence or more.
    Item(String),
    /// A caption and rows, the first of which is the header.
    Table(String, Vec<Vec<String>>),
    /// argv, as a line that can be copied.
    Command(Vec<String>),
}

/// Figures that are no run, as a page.
pub fn sections_html(title: &str, sections: &[Section]) -> String {
    let mut figures = Figures::default();
    let mut parts: Vec<Markup> = Vec::new();
    for part in sections {
        parts.push(html! {
            section {
                h2 { (escape::plain(&part.title)) }
                @for chart in &part.charts { (figures.draw(chart, Level::Third)) }
                @for block in &part.blocks {
                    @match block {
                        Block::Heading(text) => h3 { (escape::plain(text)) },
                        Block::Item(text) => p { (escape::plain(text)) },
                        Block::Table(caption, rows) => (table::of_rows(caption, rows)),
                        Block::Command(command) => pre tabindex="0" { code { (escape::plain(&conditions::shell(command))) } },
                    }
                }
            }
        });
    }
    page(title, &[], html! { @for part in parts { (part) } }, &figures)
}

/// The whole document around `body`.
fn page(title: &str, sentences: &[String], body: Markup, figures: &Figures) -> String {
    let title = escape::plain(title);
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "vfscale: " (title) }
                style { (PreEscaped(PLOT_STYLE)) (PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 { (title) }
                    @for sentence in sentences { p.verdict { (escape::plain(sentence)) } }
                    (body)
                }
                footer { p { "Made by vfscale " (env!("CARGO_PKG_VERSION")) ". Curves are drawn by uPlot, MIT licence, copyright Leon Sorokin." } }
                (figures.swatches())
                script type="application/json" id="charts" { (PreEscaped(figures.json())) }
                script { "/*\n" (PreEscaped(PLOT_LICENCE)) "*/\n" (PreEscaped(PLOT_SCRIPT)) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    let mut text = markup.into_string();
    text.push('\n');
    text
}

/// The conditions of a run; the command is in a form that can be copied.
fn conditions_of(heading: &str, run: &Run) -> Markup {
    let facts: Vec<(&str, String)> =
        conditions::conditions(run).into_iter().filter(|(what, _)| *what != "command").collect();
    html! {
        section {
            h2 { (heading) }
            p { "Measured with this command:" }
            pre tabindex="0" { code { (escape::plain(&conditions::shell(&run.command))) } }
            (table::facts(&facts))
        }
    }
}

fn warnings<'a>(all: impl Iterator<Item = &'a Warning>) -> Markup {
    let mut seen: Vec<&Warning> = Vec::new();
    for warning in all {
        if !seen.contains(&warning) {
            seen.push(warning);
        }
    }
    html! {
        @if !seen.is_empty() {
            section.warnings {
                h2 { "Warnings" }
                ul {
                    @for warning in seen {
                        li { strong { (escape::plain(&warning.message)) } br; (escape::plain(&warning.advice)) }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
