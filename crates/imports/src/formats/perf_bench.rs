//! perf bench, its output: whatever a benchmark counts, per second, or the time it took.
//!
//! Blocks begin with `# Running 'collection/benchmark' benchmark:`; blocks of the same benchmark in one file are rounds. Where a
//! benchmark prints each thread or each run, those are the samples; averages are left out then. With `-f simple` there are only
//! numbers, of which nobody can tell what they are: such a file must be forced, and is taken for seconds of one run each.

mod block;

use crate::runs::{Done, Draft, Series};
use crate::text::{Text, begins_with_digit};
use crate::{Format, ImportError, Imported, names};
use block::Block;

pub(super) const FORMAT: Format = Format {
    name: "perf-bench",
    summary: "perf bench, its output",
    detect: |head| head.lines().any(|line| heading(line).is_some()),
    parse,
};

/// `# Running 'sched/pipe' benchmark:`, of one among all `# Running sched/pipe benchmark...`.
fn heading(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix("# Running ")?.rsplit_once(" benchmark")?;
    let name = name.trim_matches('\'');
    name.contains('/').then_some(name)
}

fn parse(file: &str, text: &str) -> Result<Vec<Imported>, ImportError> {
    let text = Text::new(file, text);
    let mut draft = Draft::new(FORMAT.name);
    draft.command = vec!["perf".into(), "bench".into()];
    let mut block: Option<Block<'_>> = None;
    for line in text.lines() {
        if let Some(name) = heading(line.text) {
            if let Some(block) = block.take() {
                block.finish(&mut draft);
            }
            block = Some(Block::new(name, line.number));
        } else if let Some(block) = &mut block {
            block.take_line(&text, line, &mut draft)?;
        } else if begins_with_digit(line.text) {
            let seconds = text.number(line, "seconds", Some(line.text))?;
            simple(&text, seconds, &mut draft);
        }
    }
    if let Some(block) = block {
        block.finish(&mut draft);
    }
    Ok(vec![draft.finish(&text, text.stem())?])
}

fn simple(text: &Text<'_>, seconds: f64, draft: &mut Draft) {
    let series = Series::rate(names::workload("perf", text.stem())).unit("runs/s");
    let message =
        "a file of bare numbers: taken for seconds of one run each, of unknown tasks".into();
    draft.warn("tasks-unknown", message, "run perf bench without -f simple");
    match Done::in_seconds(1, seconds) {
        Some(done) => draft.round(&series, 1, &[done]),
        None => draft.warn(
            "no-figure",
            format!("{seconds} s is no time; left out"),
            "let it run longer",
        ),
    }
}
