//! For a browser: one page with before, after and their ratio, works offline and can be asked.

use super::ComparisonFormat;
use crate::{Medium, Style, html};
use results::Comparison;

pub(super) const FORMAT: ComparisonFormat = ComparisonFormat {
    name: "html",
    summary: "a page with before, after and their ratio to ask and zoom, for a browser",
    medium: Medium::File,
    render,
};

fn render(comparison: &Comparison, _: &Style) -> String {
    html::comparison(comparison)
}
