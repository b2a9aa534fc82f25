//! FxMark, its log: one line for each file system, benchmark and number of cores.
//!
//! `works` is the sum over the workers, `secs` their mean time. A worker that meets a full file system ends without a word, so a
//! point that ran much shorter than asked for has a warning. What could not be mounted or divided is left out with one.

use crate::runs::{Done, Draft, PROCESS, Series};
use crate::text::{Line, Text, assignment, begins_with_digit};
use crate::{Format, ImportError, Imported, names};

pub(super) const FORMAT: Format = Format {
    name: "fxmark",
    summary: "FxMark, its log",
    detect: |head| {
        head.lines().any(|line| line.starts_with("# ncpu secs works"))
            || (head
                .lines()
                .any(|line| assignment(line, "### ").is_some_and(|(key, _)| key == "SYSTEM"))
                && head.contains("BENCH_TYPES"))
    },
    parse,
};

/// Part of the time asked for below which the run was cut short.
const SHORT: f64 = 0.9;

/// `## media:fs:bench:cores:iomode`.
struct Configuration<'a> {
    target: String,
    bench: &'a str,
}

fn parse(file: &str, text: &str) -> Result<Vec<Imported>, ImportError> {
    let text = Text::new(file, text);
    let mut draft = Draft::new(FORMAT.name);
    draft.command = vec!["fxmark".into()];
    let mut duration = None;
    let mut current: Option<Configuration<'_>> = None;
    for line in text.lines() {
        if let Some((key, value)) = assignment(line.text, "### ") {
            if key == "DURATION" {
                duration = value.trim_end_matches('s').trim().parse().ok();
            }
            header(&mut draft, key, value);
        } else if let Some(names) = line.text.strip_prefix("## ") {
            current = Some(configuration(&text, line, names)?);
        } else if line.text.starts_with("# Fail") {
            let message =
                format!("line {}: {}; that point is missing", line.number, line.text[1..].trim());
            draft.warn("failed", message, "see why the file system cannot be made or mounted");
        } else if begins_with_digit(line.text) {
            let Some(configuration) = &current else {
                return Err(
                    text.error(line, "## media:fs:bench:cores:iomode before the first figures")
                );
            };
            row(&text, line, configuration, duration, &mut draft)?;
        }
    }
    Ok(vec![draft.finish(&text, text.stem())?])
}

fn header(draft: &mut Draft, key: &str, value: &str) {
    let topology = &mut draft.host.topology;
    match key {
        // uname -a: system, name of the host, release, ...
        "SYSTEM" => {
            let release = value.split_whitespace().nth(2).unwrap_or(value);
            draft.host.kernel = release.into();
        }
        "MODEL_NAME" if !value.is_empty() => draft.host.cpu_model = Some(value.into()),
        "PHYSICAL_CHIPS" => topology.sockets = value.parse().unwrap_or(0),
        // The sockets stand before.
        "CORE_PER_CHIP" => {
            topology.cores = value.parse::<u32>().unwrap_or(0).saturating_mul(topology.sockets);
        }
        "SMT_LEVEL" => topology.threads_per_core = value.parse().unwrap_or(0),
        _ => {}
    }
}

fn configuration<'a>(
    text: &Text<'_>,
    line: Line<'_>,
    names: &'a str,
) -> Result<Configuration<'a>, ImportError> {
    let mut parts = names.trim().split(':');
    match (parts.next(), parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(media), Some(fs), Some(bench), Some(_cores), iomode) => {
            let io = iomode.map_or(String::new(), |mode| format!(", {mode}"));
            Ok(Configuration { target: format!("{fs} on {media}{io}"), bench })
        }
        _ => Err(text.error(line, "## media:fs:bench:cores:iomode")),
    }
}

fn row(
    text: &Text<'_>,
    line: Line<'_>,
    configuration: &Configuration<'_>,
    duration: Option<f64>,
    draft: &mut Draft,
) -> Result<(), ImportError> {
    let mut words = line.text.split_whitespace();
    let tasks: u32 = text.number(line, "ncpu", words.next())?;
    let secs: f64 = text.number(line, "secs", words.next())?;
    let works: f64 = text.number(line, "works", words.next())?;
    let rate: f64 = text.number(line, "works/sec", words.next())?;
    let bench = configuration.bench;
    let done = Done::in_seconds(works as u64, secs).filter(|_| works >= 1.0 && rate.is_finite());
    let Some(done) = done else {
        let message = format!(
            "line {}: {bench} at {tasks} cores: {works} works in {secs} s are no rate; left out",
            line.number
        );
        draft.warn("no-figure", message, "see what the benchmark wrote on stderr");
        return Ok(());
    };
    if let Some(duration) = duration.filter(|duration| secs < SHORT * duration) {
        let message = format!(
            "line {}: {bench} at {tasks} cores ended after {secs} s instead of {duration} s",
            line.number
        );
        let advice = "look whether the file system was full: FxMark stops then and says nothing";
        draft.warn("cut-short", message, advice);
    }
    let series =
        Series::rate(names::workload("fxmark", bench)).mode(PROCESS).target(&*configuration.target);
    draft.round(&series, tasks, &[done]);
    Ok(())
}
