//! The flame graph of a run in its page: a drawing that a script lets one enlarge, a sentence, and the stacks as a table.

use super::figure::Figures;
use super::table;
use crate::escape;
use crate::flame::{self, Element};
use crate::number::significant;
use crate::stacks::{self, Stack};
use maud::{Markup, PreEscaped, html};
use results::Run;
use std::collections::BTreeMap;

/// Stacks in the table, the heaviest.
const STACKS: usize = 20;

/// How weights are shown.
struct Unit {
    heading: &'static str,
    /// In the table.
    column: &'static str,
    /// In the sentence and beside the boxes.
    name: &'static str,
    per: f64,
}

const WAITS: Unit =
    Unit { heading: "waits for locks, by stack", column: "ms waited", name: "ms waited", per: 1e6 };
const SAMPLES: Unit = Unit {
    heading: "CPU time in the kernel, by stack",
    column: "samples",
    name: "samples",
    per: 1.0,
};

impl Figures {
    /// What is known of the stacks of a run as an element; none where no stack was taken. `of` names the run where there are several.
    pub(super) fn flame(&mut self, run: &Run, of: &str) -> Option<Markup> {
        let (unit, mut all) = stacks::weighted(run);
        all.retain(|(_, weight)| *weight > 0);
        let total: u64 = all.iter().map(|(_, weight)| weight).sum();
        if total == 0 {
            return None;
        }
        let said = match unit {
            "ns" => &WAITS,
            _ => &SAMPLES,
        };
        let id = self.graph();
        let (heading, caption) = (format!("{id}-h"), format!("{id}-c"));
        let title =
            if of.is_empty() { said.heading.to_owned() } else { format!("{of}: {}", said.heading) };
        let in_boxes = if unit == "ns" { "ns waited" } else { unit };
        let Element { svg, left_out } = flame::element(&heading, in_boxes, &all);
        let ranked = ranked(all);
        Some(html! {
            section {
                figure.flame id=(id) aria-describedby=(caption) {
                    h2 id=(heading) { (escape::plain(&title)) }
                    div.graph { (PreEscaped(svg)) }
                    figcaption id=(caption) { ul {
                        li { (escape::plain(&heaviest(&ranked, total, said))) }
                        li { "a box is as wide as its share of the whole, and stands on what called it" }
                        @if left_out > 0 { li { (left_out) " boxes are too narrow to draw" } }
                    } }
                    details {
                        summary { "Numbers of this picture" }
                        (table::of_rows(&title, &rows(&ranked, total, said)))
                    }
                }
            }
        })
    }
}

/// Each stack once, the heaviest first.
fn ranked(stacks: Vec<Stack>) -> Vec<Stack> {
    let mut sums = BTreeMap::<Vec<String>, u64>::new();
    for (frames, weight) in stacks {
        *sums.entry(frames).or_default() += weight;
    }
    let mut ranked: Vec<Stack> = sums.into_iter().collect();
    ranked.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
    ranked
}

fn heaviest(ranked: &[Stack], total: u64, unit: &Unit) -> String {
    let (frames, weight) = &ranked[0];
    format!(
        "of {} {} {:.0} % are in one stack: {}",
        shown(total, unit),
        unit.name,
        share(*weight, total),
        frames.join(" → ")
    )
}

fn rows(ranked: &[Stack], total: u64, unit: &Unit) -> Vec<Vec<String>> {
    let row = |weight: u64, what: String| {
        vec![what, shown(weight, unit), format!("{:.2}", share(weight, total))]
    };
    let mut rows = vec![["stack", unit.column, "%"].map(str::to_owned).to_vec()];
    let (first, rest) = ranked.split_at(ranked.len().min(STACKS));
    rows.extend(first.iter().map(|(frames, weight)| row(*weight, frames.join(" → "))));
    if !rest.is_empty() {
        let weight = rest.iter().map(|(_, weight)| weight).sum();
        rows.push(row(weight, format!("{} others", rest.len())));
    }
    rows
}

fn shown(weight: u64, unit: &Unit) -> String {
    match unit.per {
        1.0 => weight.to_string(),
        per => significant(weight as f64 / per, 4).to_string(),
    }
}

fn share(weight: u64, total: u64) -> f64 {
    weight as f64 / total as f64 * 100.0
}
