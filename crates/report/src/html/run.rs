//! The page of a run, or of several in the same pictures.

use super::figure::{Figures, Level};
use super::{conditions_of, page, table, warnings};
use crate::Style;
use crate::figures::{Named, detail, scaling};
use crate::table::Table;
use crate::{curves, escape, fixed, lines, locks, scheduling};
use maud::{Markup, html};
use results::{Curve, Run};

/// One page.
pub(crate) fn runs(runs: &[Named<'_>]) -> String {
    let mut figures = Figures::default();
    let all: Vec<&Curve> = runs.iter().flat_map(|named| &named.run.curves).collect();
    let mut labels = curves::labels(&all).into_iter();
    let partial = runs.iter().filter_map(|named| {
        let line = curves::partial(named.run)?;
        Some(if runs.len() > 1 { format!("{}: {line}", named.name) } else { line })
    });
    let sentences: Vec<String> = partial.collect();
    let charts = scaling(runs);
    let pictures: Vec<Markup> = charts
        .iter()
        .map(|chart| html! { section { (figures.draw(chart, Level::Second)) } })
        .collect();
    let mut behind = Vec::new();
    for named in runs {
        for curve in &named.run.curves {
            let label = labels.next().unwrap_or_default();
            let label = if runs.len() > 1 { format!("{}: {label}", named.name) } else { label };
            behind.push(behind_curve(named.run, curve, (&label, all.len()), &mut figures));
        }
    }
    let graphs: Vec<Markup> =
        runs.iter().filter_map(|named| figures.flame(named.run, named.name)).collect();
    let body = html! {
        (warnings(runs.iter().flat_map(|named| &named.run.warnings)))
        @for picture in pictures { (picture) }
        @for section in behind { (section) }
        @for graph in graphs { (graph) }
        @for named in runs { (as_printed(named.run)) }
        @for named in runs {
            @let heading = if runs.len() > 1 { format!("Conditions of {}", escape::plain(named.name)) } else { "Conditions".to_owned() };
            (conditions_of(&heading, named.run))
        }
    };
    page(&title(runs, &all), &sentences, body, &figures)
}

fn title(runs: &[Named<'_>], curves: &[&Curve]) -> String {
    let mut workloads: Vec<&str> = Vec::new();
    for curve in curves {
        if !workloads.contains(&curve.workload.as_str()) {
            workloads.push(&curve.workload);
        }
    }
    let what = match &workloads[..] {
        [] => "nothing was measured".to_owned(),
        [one] => format!("how {one} scales"),
        [some @ .., last] if some.len() < 4 => format!("how {} and {last} scale", some.join(", ")),
        _ => format!("how {} workloads scale", workloads.len()),
    };
    match runs {
        [_] => what,
        _ => format!("{what}, {} runs", runs.len()),
    }
}

/// The tables of tools that this one stands for, in their own layout.
fn as_printed(run: &Run) -> Markup {
    let blocks = fixed::tables(run);
    html! {
        @if !blocks.is_empty() {
            section {
                h2 { "As tiobench and AIM7 print it" }
                @for block in blocks { pre.printed tabindex="0" { (block) } }
            }
        }
    }
}

/// A page scrolls: long names are kept, up to a length.
pub(super) const ROOM: Style = Style { colour: false, unicode: true, width: 160, verbose: true };

/// Rows of locks in all tables of a page together, so that it stays small.
const LOCK_ROWS: usize = 200;

/// Of them for each task count of a curve, one of `curves`.
fn lock_rows(curve: &Curve, curves: usize) -> usize {
    (LOCK_ROWS / (curve.points.len() * curves).max(1)).clamp(1, locks::ROWS)
}

/// Everything about a curve but the picture of its rates. `label` is the curve's, beside the number of curves in the page.
pub(super) fn behind_curve(
    run: &Run,
    curve: &Curve,
    (label, curves): (&str, usize),
    figures: &mut Figures,
) -> Markup {
    let cpus = curves::cpus(run, curve);
    let said: Vec<String> = locks::said(curve).into_iter().chain(locks::backlog(curve)).collect();
    html! {
        section {
            h2 { (escape::plain(label)) }
            p { (curves::heading(run, curve, |name| escape::plain(name).into_owned())) "." }
            @if curve.points.is_empty() {
                p { "No point was measured." }
            } @else {
                (table::of(&format!("{label}: figures"), &Table::of_curve(curve, cpus)))
            }
            @for seen in locks::tables_of(curve, cpus, &ROOM, lock_rows(curve, curves)) { (table::of(&format!("{label}: {}", locks::subject(&seen)), &seen)) }
            @if !said.is_empty() { ul { @for line in said { li { (escape::plain(&line)) } } } }
            @if let Some(latencies) = fixed::latencies(curve, cpus) { (table::of(&format!("{label}: time of an operation"), &latencies)) }
            @if let Some(lines) = lines::table(curve, cpus) { (table::of(&format!("{label}: cache lines"), &lines)) }
            @if let Some(shares) = lines::shares(curve, cpus) { (table::of(&format!("{label}: time of the tasks"), &shares)) }
            @for chart in detail(run, curve, label, curves) { (figures.draw(&chart, Level::Third)) }
            @if !curve.points.is_empty() {
                details {
                    summary { "Scheduling of " (escape::plain(label)) }
                    (table::of(&format!("{label}: scheduling"), &scheduling::table(curve, cpus)))
                }
            }
        }
    }
}
