//! will-it-scale, the CSV that `runtest.py` prints: mean operations per second of five seconds, all tasks together.
//!
//! Columns `tasks,processes,processes_idle,threads,threads_idle,linear`. The row of 0 tasks is always there and means nothing;
//! -1 says that the program died, 0 that nothing was measured; `linear` is computed from the row of one task and not read.

use crate::runs::{Draft, PROCESS, Series, THREAD};
use crate::text::{Line, Text, begins_with_digit};
use crate::{Format, ImportError, Imported, names};

pub(super) const FORMAT: Format = Format {
    name: "will-it-scale",
    summary: "will-it-scale, CSV of runtest.py",
    detect: |head| head.lines().any(is_header),
    parse,
};

fn is_header(line: &str) -> bool {
    let mut columns = line.split(',').map(str::trim);
    columns.next() == Some("tasks") && columns.any(|name| name == "processes" || name == "threads")
}

fn parse(file: &str, text: &str) -> Result<Vec<Imported>, ImportError> {
    let text = Text::new(file, text);
    let mut lines = text.lines();
    let header = lines.find(|line| is_header(line.text)).ok_or_else(|| {
        text.error_at(None, "a line of columns, tasks,processes,...,linear", "none")
    })?;
    let columns: Vec<&str> = header.text.split(',').map(str::trim).collect();
    let column = |name: &str| columns.iter().position(|column| *column == name);
    let modes: Vec<_> = [("processes", PROCESS), ("threads", THREAD)]
        .into_iter()
        .filter_map(|(name, mode)| Some((column(name)?, mode)))
        .collect();

    let test = text.stem();
    let mut draft = Draft::new(FORMAT.name);
    draft.command = vec!["will-it-scale".into(), test.into()];
    // What it writes on stderr may be among the lines.
    let rows = lines.filter(|line| begins_with_digit(line.text));
    let rows = rows.map(|line| row(&text, line, columns.len())).collect::<Result<Vec<_>, _>>()?;
    for (index, mode) in modes {
        let series = Series::rate(names::workload("wis", test)).mode(mode);
        let measured = |row: &Row<'_>| rate(&text, row, index).map(|rate| (row.tasks, rate));
        let mut rates = Vec::with_capacity(rows.len());
        for row in rows.iter().filter(|row| row.tasks > 0) {
            rates.push(measured(row)?);
        }
        if !rates.is_empty() && rates.iter().all(|(_, rate)| *rate == 0) {
            let message = format!("{mode} mode was not measured: all its rates are 0");
            draft.warn("mode-not-measured", message, "nothing, if that is what was asked for");
            continue;
        }
        for (tasks, rate) in rates {
            put(&mut draft, &series, tasks, rate);
        }
    }
    Ok(vec![draft.finish(&text, test)?])
}

struct Row<'a> {
    line: Line<'a>,
    tasks: u32,
}

fn row<'a>(text: &Text<'_>, line: Line<'a>, columns: usize) -> Result<Row<'a>, ImportError> {
    if line.text.split(',').count() != columns {
        return Err(text.error(line, format!("{columns} columns")));
    }
    let tasks = text.number(line, "tasks", line.text.split(',').next())?;
    Ok(Row { line, tasks })
}

fn rate(text: &Text<'_>, row: &Row<'_>, index: usize) -> Result<i64, ImportError> {
    text.number(row.line, "operations per second", row.line.text.split(',').nth(index))
}

fn put(draft: &mut Draft, series: &Series, tasks: u32, rate: i64) {
    if rate > 0 {
        draft.summary(series, tasks, rate as f64);
        return;
    }
    let what = if rate < 0 { "the program failed" } else { "no task did anything" };
    let message = format!("{} mode at {tasks} tasks: {rate}: {what}; left out", series.mode);
    draft.warn("failed", message, "run that test by hand and see what it writes on stderr");
}
