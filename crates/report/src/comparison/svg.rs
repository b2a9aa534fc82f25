//! For a paper or a wiki: before and after as a picture without script, the ratio below.

use super::ComparisonFormat;
use crate::figures::compared;
use crate::{Medium, Style, svg};
use results::Comparison;

pub(super) const FORMAT: ComparisonFormat = ComparisonFormat {
    name: "svg",
    summary: "before, after and their ratio as a picture, for a paper or a wiki",
    medium: Medium::File,
    render,
};

fn render(comparison: &Comparison, _: &Style) -> String {
    svg::document(&compared(comparison))
}
