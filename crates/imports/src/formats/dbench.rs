//! dbench, its output: throughput of a number of clients, and the mean latency of each operation.
//!
//! The lines of each second hold the mean since the start, not that second, so there are no samples. A client is a process.
//! Versions since 4 print the same for programs: `;MB/s;clients;processes;latency;` and `:operation:count:mean:max:`.

use crate::runs::{Draft, PROCESS, Series};
use crate::text::{Line, Text};
use crate::{Format, ImportError, Imported, names};

pub(super) const FORMAT: Format = Format {
    name: "dbench",
    summary: "dbench, its output",
    detect: |head| {
        head.lines().any(|line| {
            (line.starts_with("Throughput ") && line.contains(" MB/sec"))
                || line.starts_with("dbench version")
        })
    },
    parse,
};

fn parse(file: &str, text: &str) -> Result<Vec<Imported>, ImportError> {
    let text = Text::new(file, text);
    let mut draft = Draft::new(FORMAT.name);
    draft.command = vec!["dbench".into()];
    // The table of operations stands before the number of clients.
    let mut operations: Vec<(&str, f64)> = Vec::new();
    let mut in_table = false;
    for line in text.lines() {
        let words: Vec<&str> = line.text.split_whitespace().take(16).collect();
        let ended = match words[..] {
            ["Throughput", rate, "MB/sec", ..] => Some((rate, clients(&words))),
            ["Operation", "Count", "AvgLat", "MaxLat"] => {
                in_table = true;
                operations.clear();
                None
            }
            [name, _count, mean, _max] if in_table => {
                operations.push((name, text.number(line, "AvgLat", Some(mean))?));
                None
            }
            [word, ..] if word.starts_with([';', ':']) => {
                machine_line(&text, line, &mut operations)?
            }
            _ => None,
        };
        if let Some((rate, clients)) = ended {
            let clients = text.number(line, "clients", clients)?;
            let rate = text.number(line, "MB/sec", Some(rate))?;
            put(&mut draft, clients, rate, &operations);
            operations.clear();
            in_table = false;
        }
    }
    Ok(vec![draft.finish(&text, text.stem())?])
}

/// `2 clients  2 procs`; before version 4 only processes.
fn clients<'a>(words: &[&'a str]) -> Option<&'a str> {
    let before = |unit| {
        let at = words.iter().position(|word| *word == unit)?;
        words.get(at.checked_sub(1)?).copied()
    };
    before("clients").or_else(|| before("procs"))
}

/// Throughput and clients, if it is the last line of its kind.
fn machine_line<'a>(
    text: &Text<'_>,
    line: Line<'a>,
    operations: &mut Vec<(&'a str, f64)>,
) -> Result<Option<(&'a str, Option<&'a str>)>, ImportError> {
    if let Some(fields) = line.text.trim().strip_prefix(';') {
        let mut fields = fields.split(';');
        return Ok(fields.next().map(|rate| (rate, fields.next())));
    }
    let mut fields = line.text.trim().split(':').skip(1);
    if let Some(name) = fields.next() {
        operations.push((name, text.number(line, "mean latency", fields.nth(1))?));
    }
    Ok(None)
}

fn put(draft: &mut Draft, clients: u32, rate: f64, operations: &[(&str, f64)]) {
    draft.summary(&Series::rate("dbench").unit("MB/s").mode(PROCESS), clients, rate);
    // Faster than half a microsecond is printed as 0.
    for (name, mean_ms) in operations.iter().filter(|(_, mean_ms)| *mean_ms > 0.0) {
        let series = Series::rate(names::workload("dbench", name)).unit("ms").lower_is_better(true);
        draft.summary(&series.mode(PROCESS), clients, *mean_ms);
    }
}
