//! The page of a comparison: before, after, and their ratio.

use super::figure::{Figures, Level};
use super::{conditions_of, page, table, warnings};
use crate::comparison::{differences, pairing, partial, table_of, verdict};
use crate::escape;
use crate::figures::{compared, detail};
use maud::{Markup, html};
use results::Comparison;

/// One page.
pub(crate) fn comparison(comparison: &Comparison) -> String {
    let mut figures = Figures::default();
    let sentences: Vec<String> = verdict(comparison, str::to_owned)
        .into_iter()
        .chain(pairing(comparison))
        .chain(partial(comparison))
        .collect();
    let runs = [("before", &comparison.before), ("after", &comparison.after)];
    let mut sections: Vec<Markup> = Vec::new();
    for (number, chart) in compared(comparison).iter().enumerate() {
        let picture = figures.draw(chart, Level::Second);
        let curve = &comparison.curves[number];
        let caption = format!("{}, {} mode: before and after", curve.workload, curve.mode);
        sections.push(
            html! { section { (picture) (table::of(&caption, &table_of(comparison, number))) } },
        );
    }
    let mut behind: Vec<Markup> = Vec::new();
    for (side, run) in runs {
        for curve in &run.curves {
            let label = format!("{side}: {}, {} mode", curve.workload, curve.mode);
            let charts = detail(run, curve, &label, 2 * comparison.curves.len());
            let drawn = charts.iter().map(|chart| figures.draw(chart, Level::Third));
            let drawn: Vec<Markup> = drawn.collect();
            behind.push(html! { section { h2 { (escape::plain(&label)) } @for figure in drawn { (figure) } } });
        }
    }
    let body = html! {
        (differing(&differences(comparison)))
        (warnings(runs.into_iter().flat_map(|(_, run)| &run.warnings)))
        @for section in sections { (section) }
        @if !comparison.unmatched.is_empty() {
            section {
                h2 { "Not compared" }
                ul { @for what in &comparison.unmatched { li { (escape::plain(what)) } } }
            }
        }
        @for section in behind { (section) }
        section {
            h2 { "Command" }
            pre tabindex="0" { code { (escape::plain(&super::shell(&comparison.command))) } }
        }
        (conditions_of("Conditions before", &comparison.before))
        (conditions_of("Conditions after", &comparison.after))
    };
    let [before, after] = &comparison.labels;
    page(&format!("{before} and {after} compared"), &sentences, body, &figures)
}

fn differing(lines: &[String]) -> Markup {
    html! {
        @if !lines.is_empty() {
            section.warnings {
                h2 { "Conditions that differ" }
                ul { @for line in lines { li { (line) } } }
            }
        }
    }
}
