//! The default: the verdict first, then a table and a plot.

use super::{ComparisonFormat, labels, sentence, table};
use crate::layout::{emphasis, text as lay_out};
use crate::{Medium, Style, conditions, escape, locks, plot};
use results::{ComparedCurve, Comparison, Curve, Kind, Pairing, Warning};

pub(super) const FORMAT: ComparisonFormat = ComparisonFormat {
    name: "text",
    summary: "the verdict, a table and both curves, for a terminal",
    medium: Medium::Terminal,
    render,
};

fn render(comparison: &Comparison, style: &Style) -> String {
    let name = |name: &str| escape::plain(name).into_owned();
    let mut blocks: Vec<String> = Vec::new();
    let verdicts = sentence::verdict(comparison, name);
    blocks.push(verdicts.iter().map(|line| emphasis(line, style)).collect::<Vec<_>>().join("\n"));
    blocks.extend(sentence::pairing(comparison).map(|line| emphasis(&line, style)));
    blocks.extend(partial(comparison).map(|line| emphasis(&line, style)));
    blocks.push(differences(comparison).join("\n"));
    for (number, curve) in comparison.curves.iter().enumerate() {
        blocks.push(format!(
            "{}\n{}",
            emphasis(&heading(comparison, curve), style),
            lay_out(&table::of(comparison, number), style)
        ));
        blocks.push(notes(curve).join("\n"));
        if let Some((before, after)) = sides(comparison, curve) {
            let tables = locks::compared_tables(before, after, style);
            blocks.extend(tables.iter().map(|table| lay_out(table, style)));
            blocks.push(locks::both_said(before, after).join("\n"));
        }
        blocks.push(plot::plot_curves(&both(comparison, curve), style).join("\n"));
    }
    let unmatched: Vec<String> = unmatched(comparison).iter().map(|line| name(line)).collect();
    blocks.push(unmatched.join("\n"));
    if style.verbose {
        blocks.push(conditions_of(comparison).join("\n"));
    }
    blocks.push(warnings(comparison, style).join("\n"));
    blocks.retain(|block| !block.is_empty());
    blocks.join("\n\n") + "\n"
}

/// "PARTIAL: ..." if a side was interrupted.
pub(crate) fn partial(comparison: &Comparison) -> Option<String> {
    let runs = [&comparison.before, &comparison.after];
    runs.into_iter().find_map(crate::curves::partial)
}

/// One line per condition that differs.
pub(crate) fn differences(comparison: &Comparison) -> Vec<String> {
    let line = |difference: &results::Difference| {
        format!(
            "differs: {}: {} -> {}",
            escape::plain(&difference.what),
            escape::plain(&difference.before),
            escape::plain(&difference.after)
        )
    };
    comparison.differences.iter().map(line).collect()
}

pub(crate) fn heading(comparison: &Comparison, curve: &ComparedCurve) -> String {
    let [before, after] = labels(comparison, curve);
    format!(
        "{}: {} (before) and {} (after)",
        escape::plain(&title(comparison, curve)),
        escape::plain(before),
        escape::plain(after)
    )
}

/// What is compared: "open_close, process mode". That figures are simulated is said wherever they are shown; that only one side
/// is, stands among the differences.
pub(super) fn title(comparison: &Comparison, curve: &ComparedCurve) -> String {
    let sides = [(0, &comparison.before), (1, &comparison.after)];
    let simulated = sides.into_iter().all(|(side, run)| {
        table::side(run, curve, side).is_some_and(|curve| curve.kind == Kind::Simulated)
    });
    let simulated = if simulated { ", simulated in virtual time" } else { "" };
    format!("{}, {} mode{simulated}", curve.workload, curve.mode)
}

/// What is to be said below the table.
pub(crate) fn notes(curve: &ComparedCurve) -> Vec<String> {
    let mut lines: Vec<String> = sentence::method(curve).into_iter().collect();
    lines.extend(sentence::shape(curve));
    for point in &curve.points {
        let task = if point.tasks == 1 { "task" } else { "tasks" };
        let note = |note: &String| format!("at {} {task}: {}", point.tasks, escape::plain(note));
        lines.extend(point.notes.iter().map(note));
    }
    lines
}

/// Both sides' curves with the names that they have in the legend.
pub(crate) fn both<'a>(
    comparison: &'a Comparison,
    curve: &ComparedCurve,
) -> Vec<(String, &'a Curve)> {
    let sides = [("before", &comparison.before), ("after", &comparison.after)];
    let mut both = Vec::new();
    for (side, (word, run)) in sides.into_iter().enumerate() {
        let label = format!("{word}: {}", labels(comparison, curve)[side]);
        both.extend(table::side(run, curve, side).map(|found| (label, found)));
    }
    both
}

/// Both sides' curves.
pub(crate) fn sides<'a>(
    comparison: &'a Comparison,
    curve: &ComparedCurve,
) -> Option<(&'a Curve, &'a Curve)> {
    match &both(comparison, curve)[..] {
        [(_, before), (_, after)] => Some((before, after)),
        _ => None,
    }
}

fn conditions_of(comparison: &Comparison) -> Vec<String> {
    let of = |run: &results::Run| -> Vec<(&'static str, String)> { conditions::conditions(run) };
    let (before, after) = (of(&comparison.before), of(&comparison.after));
    let label = before.iter().chain(&after).map(|(label, _)| label.len()).max().unwrap_or(0);
    let line = |(what, value): &(&str, String)| format!("{what:label$}  {}", escape::plain(value));
    let mut lines: Vec<String> = before.iter().map(line).collect();
    let new: Vec<String> =
        after.iter().filter(|condition| !before.contains(condition)).map(line).collect();
    if !new.is_empty() {
        lines.push("and on the second side:".to_owned());
        lines.extend(new);
    }
    lines
}

fn warnings(comparison: &Comparison, style: &Style) -> Vec<String> {
    let line = |warning: &Warning| {
        format!(
            "{} {}\n  {}",
            emphasis("warning:", style),
            escape::plain(&warning.message),
            escape::plain(&warning.advice)
        )
    };
    warned(comparison).iter().map(line).collect()
}

/// The warnings of both sides, each once. Of stored runs, one that only one side has says which.
pub(crate) fn warned(comparison: &Comparison) -> Vec<Warning> {
    let (before, after) = (&comparison.before.warnings, &comparison.after.warnings);
    let mut seen: Vec<Warning> = Vec::new();
    for (side, own, other) in [("before", before, after), ("after", after, before)] {
        for warning in own {
            let mut warning = warning.clone();
            if comparison.pairing == Pairing::Stored && !other.contains(&warning) {
                warning.message = format!("{side}: {}", warning.message);
            }
            if !seen.contains(&warning) {
                seen.push(warning);
            }
        }
    }
    seen
}

/// What has no other side.
pub(super) fn unmatched(comparison: &Comparison) -> Vec<String> {
    comparison.unmatched.iter().map(|what| format!("not compared: {what}")).collect()
}
