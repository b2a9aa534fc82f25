//! LKP, the comparison of commits in a mail of the kernel test robot: a run for each commit.
//!
//! A row is value, maybe `±  N%`, then change and value for each further commit, then the name of the figure. It is read word by
//! word, for archives of mails collapse blanks and garble the sign. Only figures of the benchmark itself become curves; those
//! of the machine (`vmstat.*`, `perf-profile.*`, ...) have another meaning each. The deviation is no interval.

mod mail;
mod row;

use crate::runs::{Draft, PROCESS, Series, THREAD, UNKNOWN};
use crate::text::Text;
use crate::{Format, ImportError, Imported, names};
use mail::{Mail, Parameters};
use row::Row;

pub(super) const FORMAT: Format = Format {
    name: "lkp",
    summary: "LKP, comparison of commits in a mail of the kernel test robot",
    detect: |head| head.lines().any(|line| line.contains("%stddev") && line.contains("%change")),
    parse,
};

fn parse(file: &str, text: &str) -> Result<Vec<Imported>, ImportError> {
    let text = Text::new(file, text);
    let mut mail = Mail::default();
    let mut sides: Vec<(String, Draft)> = Vec::new();
    for line in text.lines() {
        if mail.take(line) || mail.commits.is_empty() {
            continue;
        }
        let Some(row) = Row::of(line.text) else { continue };
        let Some(figure) = Figure::of(row.key, &mail.parameters, mail.cpus) else { continue };
        for commit in sides.len()..mail.commits.len() {
            let mut draft = Draft::new(FORMAT.name);
            draft.command = vec!["lkp".into(), mail.parameters.suite().into()];
            draft.host.kernel = format!("commit {}", mail.commits[commit].hash);
            sides.push((mail.commits[commit].label.clone(), draft));
        }
        if row.values.len() != mail.commits.len() {
            for (_, draft) in &mut sides {
                let message =
                    format!("line {}: {} has not a value for each commit", line.number, row.key);
                draft.warn("no-figure", message, "see whether the benchmark failed on a commit");
            }
            continue;
        }
        for ((_, draft), value) in sides.iter_mut().zip(&row.values) {
            figure.put(draft, *value);
        }
    }
    if sides.is_empty() {
        let found = if mail.commits.is_empty() { "no commits" } else { "no such row" };
        let expected = "commits and a row of the benchmark in a comparison of LKP";
        return Err(text.error_at(None, expected, found));
    }
    sides
        .into_iter()
        .map(|(label, mut draft)| {
            draft.host.cpu_model.clone_from(&mail.cpu_model);
            draft.started.clone_from(&mail.date);
            draft.finish(&text, label)
        })
        .collect()
}

/// A row's key, understood.
struct Figure {
    series: Series,
    tasks: Option<u32>,
}

impl Figure {
    /// None if it is not one of the benchmark.
    fn of(key: &str, parameters: &Parameters, cpus: Option<u32>) -> Option<Figure> {
        let suite = parameters.suite();
        let name = key.strip_prefix(suite)?.strip_prefix('.')?;
        let ignored = ["time.", "linear", "workload", "scalability"];
        if suite.is_empty()
            || name.ends_with("_idle")
            || ignored.iter().any(|no| name.starts_with(no))
        {
            return None;
        }
        let tasks = parameters.tasks(cpus);
        if suite == "will-it-scale" {
            return will_it_scale(name, parameters, tasks);
        }
        let test = parameters.get("test");
        let unit = unit(name);
        // What is measured besides the rate keeps its own name.
        let workload = match test {
            Some(test) if is_rate(name) => names::workload(suite, &test.replace('_', "-")),
            Some(test) => names::workload(suite, &format!("{test}:{name}")),
            None => names::workload(suite, name),
        };
        let series = Series::rate(workload)
            .unit(unit)
            .lower_is_better(is_time(name))
            .mode(UNKNOWN)
            .target(parameters.get("fs").unwrap_or(UNKNOWN));
        Some(Figure { series, tasks })
    }

    fn put(&self, draft: &mut Draft, value: f64) {
        if self.tasks.is_none() {
            let message = "the mail does not say how many tasks ran; the record has 1".into();
            draft.warn("tasks-unknown", message, "do not put these points into a curve over tasks");
        }
        draft.summary(&self.series, self.tasks.unwrap_or(1), value);
    }
}

/// `16.processes`, or `per_process_ops`: those of one task, of which the number of tasks makes a total.
fn will_it_scale(name: &str, parameters: &Parameters, tasks: Option<u32>) -> Option<Figure> {
    let test = parameters.get("test").unwrap_or(UNKNOWN);
    let series = |mode| Series::rate(names::workload("wis", test)).mode(mode);
    let of_one = |mode| {
        let workload = format!("{}:per-task", names::workload("wis", test));
        Figure { series: Series::rate(workload).mode(mode), tasks }
    };
    match name {
        "per_process_ops" => Some(of_one(PROCESS)),
        "per_thread_ops" => Some(of_one(THREAD)),
        _ => {
            let (number, mode) = name.split_once('.')?;
            let mode = match mode {
                "processes" => PROCESS,
                "threads" => THREAD,
                _ => return None,
            };
            Some(Figure { series: series(mode), tasks: Some(number.parse().ok()?) })
        }
    }
}

fn is_rate(name: &str) -> bool {
    ["per_sec", "per-sec", "per_min", "per-min", "iops", "throughput", "works/sec", "works_sec"]
        .iter()
        .any(|rate| name.contains(rate))
}

fn is_time(name: &str) -> bool {
    ["latency", "_time", "lat_", "_us", "_ms", "seconds"].iter().any(|time| name.contains(time))
        && !is_rate(name)
}

/// The unit, as far as the name of the figure tells it.
fn unit(name: &str) -> &'static str {
    match name {
        _ if name.contains("per_min") || name.contains("per-min") => "jobs/min",
        _ if name.contains("MBps") || name.contains("MB/") => "MB/s",
        _ if is_rate(name) => "ops/s",
        _ => "unit of the file",
    }
}
