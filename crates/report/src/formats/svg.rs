//! For a paper or a wiki: the curves as a picture without script.

use crate::figures::{Named, scaling};
use crate::{Format, Medium, Style, svg};
use results::Run;

pub(super) const FORMAT: Format = Format {
    name: "svg",
    summary: "the curves as a picture, for a paper or a wiki",
    medium: Medium::File,
    render,
};

fn render(run: &Run, _: &Style) -> String {
    svg::document(&scaling(&[Named { name: "", run }]))
}
