//! mdtest, the summary that versions 1.9 to 4.x print: rates (or times) of each phase over the iterations.
//!
//! Of a row the last four numbers are max, min, mean and standard deviation over the iterations; before them versions differ. The
//! mean is the value. A log may have several tables, each after its line of tasks.

use crate::runs::{Draft, PROCESS, Series, UNKNOWN};
use crate::text::{Line, Text, kebab};
use crate::{Format, ImportError, Imported, names};

pub(super) const FORMAT: Format = Format {
    name: "mdtest",
    summary: "mdtest, its output with the summary table",
    detect: |head| {
        head.lines().any(|line| summary(line).is_some())
            && head.lines().any(|line| line.trim_start().starts_with("Operation"))
    },
    parse,
};

/// What a table holds.
#[derive(Clone, Copy, PartialEq)]
enum Table {
    Rates,
    Times,
}

fn summary(line: &str) -> Option<Table> {
    let rest = line.trim_start().strip_prefix("SUMMARY")?;
    let is_heading =
        rest.starts_with(':') || rest.starts_with(" rate") || rest.starts_with(" time");
    is_heading.then_some(if rest.starts_with(" time") { Table::Times } else { Table::Rates })
}

fn parse(file: &str, text: &str) -> Result<Vec<Imported>, ImportError> {
    let text = Text::new(file, text);
    let mut draft = Draft::new(FORMAT.name);
    let mut tasks = None;
    let mut target = UNKNOWN.to_owned();
    let mut table = None;
    for line in text.lines() {
        let trimmed = line.text.trim_start();
        if let Some(kind) = summary(line.text) {
            table = Some(kind);
        } else if let Some(command) = trimmed.strip_prefix("Command line used:") {
            draft.command = command.split_whitespace().map(|word| word.replace('\'', "")).collect();
        } else if let Some(path) = trimmed.strip_prefix("Path") {
            if let Some((_, path)) = path.split_once(':') {
                target = format!("dir:{}", path.split_whitespace().next().unwrap_or(UNKNOWN));
            }
        } else if trimmed.starts_with("WARNING") || trimmed.starts_with("ERROR") {
            let message = format!("line {}: {trimmed}", line.number);
            draft.warn(
                "failed",
                message,
                "mdtest counts failed operations too: do not trust that phase",
            );
        } else if let Some(number) = tasks_line(trimmed) {
            tasks = Some(number);
            table = None;
        } else if trimmed.starts_with("-- ") {
            table = None;
        } else if let Some(kind) = table.filter(|_| is_row(trimmed)) {
            let tasks =
                tasks.ok_or_else(|| text.error(line, "a line of tasks before the table"))?;
            row(&text, line, kind, tasks, &target, &mut draft)?;
        }
    }
    if draft.command.is_empty() {
        draft.command = vec!["mdtest".into()];
    }
    Ok(vec![draft.finish(&text, text.stem())?])
}

/// `8 tasks, 8000 files/directories`, and of old versions with `(leaf level only)` and such behind.
fn tasks_line(line: &str) -> Option<u32> {
    let (number, rest) = line.split_once(' ')?;
    let number = number.parse().ok()?;
    (rest.starts_with("tasks,") || rest.starts_with("task,")).then_some(number)
}

/// Heads, rules and blank lines are none.
fn is_row(line: &str) -> bool {
    const PHASES: [&str; 3] = ["Directory ", "File ", "Tree "];
    PHASES.iter().any(|phase| line.starts_with(phase))
}

fn row(
    text: &Text<'_>,
    line: Line<'_>,
    table: Table,
    tasks: u32,
    target: &str,
    draft: &mut Draft,
) -> Result<(), ImportError> {
    let words = || line.text.split_whitespace();
    let is_number = |word: &&str| word.parse::<f64>().is_ok();
    if words().rev().take_while(is_number).count() < 4 {
        return Err(text.error(line, "a phase with max, min, mean and standard deviation"));
    }
    let mean = text.number(line, "mean", words().rev().nth(1))?;
    // Up to version 3 a colon ends the name.
    let phase = words().take_while(|word| !is_number(word)).collect::<Vec<_>>().join(" ");
    let name = kebab(phase.trim_end_matches([':', ' ']));
    let series = match table {
        Table::Rates => Series::rate(names::workload("mdtest", &name)),
        Table::Times => {
            let name = names::workload("mdtest", &format!("{name}-time"));
            Series::rate(name).unit("ms/op").lower_is_better(true)
        }
    };
    draft.summary(&series.mode(PROCESS).target(target), tasks, mean);
    Ok(())
}
