//! For programs: the comparison with both runs whole, every sample, as described in `docs/comparison-format.md`.

use super::ComparisonFormat;
use crate::json::rows;
use crate::{Medium, Style};
use results::Comparison;

pub(super) const FORMAT: ComparisonFormat = ComparisonFormat {
    name: "json",
    summary: "verdicts, every sample and the conditions, for programs (docs/comparison-format.md)",
    medium: Medium::Terminal,
    render,
};

fn render(comparison: &Comparison, _: &Style) -> String {
    rows(comparison)
}
