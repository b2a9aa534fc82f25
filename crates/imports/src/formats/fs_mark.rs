//! fs_mark, its output: a line for each iteration.
//!
//! `Count` is the sum over the iterations so far, `Files/sec` of one of them: the difference of counts and the rate give its time.
//! The rate is the sum of the tasks' own rates, which end at different times. "Threads" are processes. Version 3.1 has no App
//! Overhead; with `-v` times of each call follow; newer versions end with averages and percentiles, which are not needed.

use crate::runs::{Done, Draft, PROCESS, Series, UNKNOWN};
use crate::text::{Line, Text, begins_with_digit};
use crate::{Format, ImportError, Imported, names};

pub(super) const FORMAT: Format = Format {
    name: "fs_mark",
    summary: "fs_mark, its output",
    detect: |head| head.lines().any(is_heading),
    parse,
};

fn is_heading(line: &str) -> bool {
    line.contains("FSUse%") && line.contains("Files/sec")
}

/// What a command line says, and where in its table the reader is.
struct Block {
    tasks: Option<u32>,
    sync: String,
    target: String,
    in_table: bool,
    /// Files up to the last iteration.
    count: u64,
}

fn parse(file: &str, text: &str) -> Result<Vec<Imported>, ImportError> {
    let text = Text::new(file, text);
    let mut draft = Draft::new(FORMAT.name);
    let mut block = Block::after(&[]);
    for line in text.lines() {
        if let Some(comment) = line.text.strip_prefix('#') {
            let words: Vec<&str> = comment.split_whitespace().collect();
            if words.first().is_some_and(|word| word.ends_with("fs_mark")) {
                block = Block::after(&words);
                draft.command = words.iter().map(|word| (*word).into()).collect();
            } else if let Some(at) = words.iter().position(|word| word.starts_with("thread(s)")) {
                block.tasks = at.checked_sub(1).and_then(|at| words[at].parse().ok());
            }
        } else if is_heading(line.text) {
            (block.in_table, block.count) = (true, 0);
        } else if block.in_table && begins_with_digit(line.text) {
            row(&text, line, &mut block, &mut draft)?;
        }
    }
    if draft.command.is_empty() {
        draft.command = vec!["fs_mark".into()];
    }
    Ok(vec![draft.finish(&text, text.stem())?])
}

impl Block {
    /// After the command line of these words.
    fn after(words: &[&str]) -> Block {
        let option = |name| {
            let at = words.iter().position(|word| *word == name)?;
            words.get(at + 1).copied()
        };
        Block {
            tasks: None,
            // 1 is the default: fsync before close.
            sync: option("-S").unwrap_or("1").into(),
            target: option("-d").map_or(UNKNOWN.into(), |dir| format!("dir:{dir}")),
            in_table: false,
            count: 0,
        }
    }
}

fn row(
    text: &Text<'_>,
    line: Line<'_>,
    block: &mut Block,
    draft: &mut Draft,
) -> Result<(), ImportError> {
    let tasks = block.tasks.ok_or_else(|| {
        text.error(line, "# Version ..., N thread(s) starting at ... before the table")
    })?;
    let mut words = line.text.split_whitespace().skip(1);
    let count: u64 = text.number(line, "Count", words.next())?;
    let size: u64 = text.number(line, "Size", words.next())?;
    let rate: f64 = text.number(line, "Files/sec", words.next())?;
    let files = count
        .checked_sub(block.count)
        .ok_or_else(|| text.error(line, "a Count that does not fall from row to row"))?;
    block.count = count;
    let name = format!("create-{size}-S{}", block.sync);
    let series =
        Series::rate(names::workload("fs_mark", &name)).mode(PROCESS).target(&*block.target);
    match Done::in_seconds(files, files as f64 / rate).filter(|_| files > 0) {
        Some(done) => draft.round(&series, tasks, &[done]),
        None => {
            let message =
                format!("line {}: {files} files at {rate} per second; left out", line.number);
            draft.warn("no-figure", message, "see what fs_mark wrote on stderr");
        }
    }
    if tasks > 1 {
        let message = "fs_mark adds up rates of tasks that end at different times".into();
        draft.warn("rates-added", message, "take its rates of several tasks for too high");
    }
    Ok(())
}
