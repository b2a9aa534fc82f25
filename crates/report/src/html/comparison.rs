//! The page of a comparison: before, after, and their ratio.

use super::figure::{Figures, Level};
use super::run::{ROOM, behind_curve};
use super::{conditions_of, page, table, warnings};
use crate::comparison::{self, differences, pairing, partial, table_of, verdict, warned};
use crate::figures::compared;
use crate::{escape, locks};
use maud::{Markup, html};
use results::{Comparison, Curve};

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
        let locks = comparison::sides(comparison, curve).map(|sides| locks_of(&caption, sides));
        sections.push(html! {
            section { (picture) (table::of(&caption, &table_of(comparison, number))) (locks.unwrap_or_default()) }
        });
    }
    let mut behind: Vec<Markup> = Vec::new();
    let curves = runs.iter().map(|(_, run)| run.curves.len()).sum();
    for (side, run) in runs {
        let twins = run.curves.windows(2).any(|pair| pair[0].target != pair[1].target);
        for curve in &run.curves {
            let target = if twins { format!(" on {}", curve.target) } else { String::new() };
            let label = format!("{side}: {}{target}, {} mode", curve.workload, curve.mode);
            behind.push(behind_curve(run, curve, (&label, curves), &mut figures));
        }
    }
    let graphs: Vec<Markup> =
        runs.into_iter().filter_map(|(side, run)| figures.flame(run, side)).collect();
    let body = html! {
        (differing(&differences(comparison)))
        (warnings(warned(comparison).iter()))
        @for section in sections { (section) }
        @if !comparison.unmatched.is_empty() {
            section {
                h2 { "Not compared" }
                ul { @for what in &comparison.unmatched { li { (escape::plain(what)) } } }
            }
        }
        @for graph in graphs { (graph) }
        @for section in behind { (section) }
        section {
            h2 { "Command" }
            pre tabindex="0" { code { (escape::plain(&crate::conditions::shell(&comparison.command))) } }
        }
        (conditions_of("Conditions before", &comparison.before))
        (conditions_of("Conditions after", &comparison.after))
    };
    let [before, after] = &comparison.labels;
    page(&format!("{before} and {after} compared"), &sentences, body, &figures)
}

/// Who waited for which lock on either side; nothing where nobody looked.
fn locks_of(caption: &str, (before, after): (&Curve, &Curve)) -> Markup {
    let said = locks::both_said(before, after);
    html! {
        @for seen in locks::compared_tables(before, after, &ROOM) { (table::of(&format!("{caption}: {}", locks::subject(&seen)), &seen)) }
        @if !said.is_empty() { ul { @for line in said { li { (escape::plain(&line)) } } } }
    }
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
