//! The page of `vfscale power`: the smallest change that is found, over the time spent.

use super::figure::{Figures, Level};
use super::{conditions_of, page, table, warnings};
use crate::figures::power;
use crate::power::tables;
use crate::svg;
use maud::{Markup, html};
use results::PowerReport;

/// As a page.
pub fn power_html(report: &PowerReport) -> String {
    let mut figures = Figures::default();
    let pictures: Vec<Markup> = power(report)
        .iter()
        .map(|chart| html! { section { (figures.draw(chart, Level::Second)) } })
        .collect();
    let about = format!(
        "The target was measured against itself for {:.1} s: every difference here is noise.",
        report.seconds
    );
    let body = html! {
        (warnings(report.run.warnings.iter()))
        @for picture in pictures { (picture) }
        @for (caption, rows) in tables(report) { section { (table::of(&caption, &rows)) } }
        (conditions_of("Conditions", &report.run))
    };
    page("how small a change can be seen here", &[about], body, &figures)
}

/// As a picture.
pub fn power_svg(report: &PowerReport) -> String {
    svg::document(&power(report))
}
