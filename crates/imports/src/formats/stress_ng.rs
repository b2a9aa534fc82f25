//! stress-ng, what it prints with `--metrics` or `--metrics-brief`, or its `--yaml` file: bogo operations per second of each stressor.
//!
//! A bogo operation is one turn of the stressor's loop, whatever that does; of two versions of stress-ng it may be another. The
//! further metrics of a stressor are curves of their own where their name says which way is better: `nanosecs per open`,
//! `unlink calls per sec`. All are summaries. An instance is a process. How many there were stands in the line about dispatching
//! them; a YAML file of older versions does not tell, but it follows from CPU time in all and by instance.

use crate::runs::{Draft, PROCESS, Series, Times};
use crate::text::{Line, Text, date};
use crate::{Format, ImportError, Imported, names};
use std::collections::BTreeMap;

pub(super) const FORMAT: Format = Format {
    name: "stress-ng",
    summary: "stress-ng, its output with --metrics, or YAML",
    detect: |head| head.lines().any(|line| is_yaml(line) || is_output(line)),
    parse,
};

fn is_yaml(line: &str) -> bool {
    line.trim_start().starts_with("stress-ng-version:")
        || line.trim_start().starts_with("- stressor:")
}

fn is_output(line: &str) -> bool {
    said(line)
        .is_some_and(|said| said.starts_with("dispatching hogs:") || said.starts_with("stressor "))
}

/// What comes after `stress-ng: metrc: [123]`, with a time before the brackets or without.
fn said(line: &str) -> Option<&str> {
    let (_, said) = line.strip_prefix("stress-ng:")?.split_once(']')?;
    Some(said.trim())
}

/// What there is of one stressor.
#[derive(Default)]
struct Stressor<'a> {
    name: &'a str,
    /// Bogo operations per second of real time.
    rate: Option<f64>,
    /// Seconds; user and system time of all instances together.
    real_s: f64,
    user_s: f64,
    sys_s: f64,
    /// Per cent of a CPU by instance.
    cpu: Option<f64>,
    /// If they were counted.
    instances: Option<u32>,
    metrics: Vec<(&'a str, f64)>,
}

impl Stressor<'_> {
    /// None if the file does not tell: an instance that got no measurable CPU time says nothing of how many there were.
    fn tasks(&self) -> Option<u32> {
        let share = self.cpu.filter(|cpu| *cpu > 0.0)? / 100.0;
        let found = (self.user_s + self.sys_s) / (self.real_s * share);
        // Six digits of the share, or two on the terminal.
        let near = (found - found.round()).abs() <= 0.1;
        (near && (1.0..1e6).contains(&found.round())).then(|| found.round() as u32)
    }

    fn put(self, draft: &mut Draft) {
        let Some(rate) = self.rate else { return };
        let tasks = self.instances.or_else(|| self.tasks()).unwrap_or_else(|| {
            let message = format!(
                "{}: the file does not tell how many instances ran; taken for one",
                self.name
            );
            draft.warn(
                "tasks-unknown",
                message,
                "import what stress-ng prints instead of its YAML",
            );
            1
        });
        let name = names::workload("stress-ng", self.name);
        let series = Series::rate(&*name).unit("bogo ops/s").mode(PROCESS);
        draft.summary(&series, tasks, rate);
        let each = f64::from(tasks.max(1));
        let (user_s, sys_s) = (self.user_s / each, self.sys_s / each);
        draft.times(&series, tasks, Times { real_s: self.real_s, user_s, sys_s });
        // What a stressor did not come to is printed as 0.
        for (metric, value) in self.metrics.iter().filter(|(_, value)| *value != 0.0) {
            let Some((unit, lower_is_better)) = unit(metric) else { continue };
            let series = Series::rate(format!("{name}/{}", metric.replace(' ', "-")));
            let series = series.unit(unit).lower_is_better(lower_is_better).mode(PROCESS);
            draft.summary(&series, tasks, *value);
        }
    }
}

/// Unit of a metric and whether less of it is better; none if its name does not say so.
fn unit(metric: &str) -> Option<(&'static str, bool)> {
    let begins = |word: &str| metric.starts_with(word);
    if begins("nanosecs per ") || begins("nanosecs-per-") || begins("nanoseconds-per-") {
        Some(("ns", true))
    } else if metric.ends_with(" per sec") || metric.ends_with("-per-sec") {
        Some(("1/s", false))
    } else {
        None
    }
}

fn parse(file: &str, text: &str) -> Result<Vec<Imported>, ImportError> {
    let text = Text::new(file, text);
    let mut draft = Draft::new(FORMAT.name);
    draft.command = vec!["stress-ng".into()];
    if text.lines().any(|line| is_yaml(line.text)) {
        yaml(&text, &mut draft)?;
    } else {
        output(&text, &mut draft)?;
    }
    Ok(vec![draft.finish(&text, text.stem())?])
}

/// Where in the file a line of YAML stands.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Head,
    Stressor,
    /// Of one instance each; the sums stand before.
    Instances,
}

/// The YAML that stress-ng writes: a key in each line, blocks by indentation.
fn yaml(text: &Text<'_>, draft: &mut Draft) -> Result<(), ImportError> {
    let mut part = Part::Head;
    let mut stressor = Stressor::default();
    for line in text.lines() {
        let top = !line.text.starts_with([' ', '-']) && !line.text.is_empty();
        let Some((key, value)) = line.text.trim_start().split_once(':') else { continue };
        let value = value.trim().trim_matches('\'');
        match (key, part) {
            ("- stressor", _) => {
                std::mem::take(&mut stressor).put(draft);
                (stressor.name, part) = (value, Part::Stressor);
            }
            _ if top => {
                std::mem::take(&mut stressor).put(draft);
                part = Part::Head;
            }
            ("instances", Part::Stressor) => part = Part::Instances,
            ("- instance", Part::Instances) => {
                stressor.instances = Some(stressor.instances.unwrap_or(0).saturating_add(1));
            }
            (_, Part::Stressor) => of_stressor(text, line, key, value, &mut stressor)?,
            ("epoch-secs", Part::Head) => {
                draft.started = value.parse().ok().and_then(date).unwrap_or_default()
            }
            ("release", Part::Head) => draft.host.kernel = value.into(),
            ("version", Part::Head) if !draft.host.kernel.is_empty() => {
                draft.host.kernel = format!("{} {value}", draft.host.kernel);
            }
            ("machine", Part::Head) => draft.host.arch = value.into(),
            ("totalram", Part::Head) => draft.host.memory_bytes = value.parse().unwrap_or(0),
            (_, Part::Head | Part::Instances) => {}
        }
    }
    stressor.put(draft);
    Ok(())
}

fn of_stressor<'a>(
    text: &Text<'_>,
    line: Line<'a>,
    key: &'a str,
    value: &'a str,
    stressor: &mut Stressor<'a>,
) -> Result<(), ImportError> {
    let number = || text.number::<f64>(line, key, Some(value));
    match key {
        "bogo-ops-per-second-real-time" => stressor.rate = Some(number()?),
        "wall-clock-time" => stressor.real_s = number()?,
        "user-time" => stressor.user_s = number()?,
        "system-time" => stressor.sys_s = number()?,
        "cpu-usage-per-instance" => stressor.cpu = Some(number()?),
        _ if unit(key).is_some() => stressor.metrics.push((key, number()?)),
        _ => {}
    }
    Ok(())
}

/// Lines of a program that may have been started several times into one file.
fn output(text: &Text<'_>, draft: &mut Draft) -> Result<(), ImportError> {
    let mut instances: BTreeMap<&str, u32> = BTreeMap::new();
    let mut stressors: Vec<Stressor<'_>> = Vec::new();
    let mut in_table = false;
    for line in text.lines() {
        let Some(said) = said(line.text) else { continue };
        if let Some(hogs) = said.strip_prefix("dispatching hogs:") {
            stressors.drain(..).for_each(|stressor| stressor.put(draft));
            // With --sequential there is such a line for each stressor, before any table.
            let counted = hogs.split(',').filter_map(|hog| hog.trim().split_once(' '));
            let counts = counted.filter_map(|(count, name)| Some((name, count.parse().ok()?)));
            instances.extend(counts);
            in_table = false;
        } else if said.starts_with("stressor ") {
            in_table = true;
        } else if said.starts_with("miscellaneous metrics") {
            in_table = false;
        } else if let Some(mut stressor) =
            in_table.then(|| row(text, line, said)).flatten().transpose()?
        {
            stressor.instances = instances.get(stressor.name).copied();
            stressors.push(stressor);
        } else if let Some((name, metric, value)) = metric(said)
            && let Some(stressor) = stressors.iter_mut().rev().find(|one| one.name == name)
        {
            stressor.metrics.push((metric, value));
        } else {
            failures(said, draft);
        }
    }
    stressors.into_iter().for_each(|stressor| stressor.put(draft));
    Ok(())
}

/// Name, bogo operations, real, user and system time, operations by real and by CPU time, and in full per cent of a CPU and
/// memory. None of the second line of the heading and of what comes after the table.
fn row<'a>(
    text: &Text<'_>,
    line: Line<'_>,
    said: &'a str,
) -> Option<Result<Stressor<'a>, ImportError>> {
    let mut words = said.split_whitespace();
    let (name, ops) = (words.next()?, words.next()?);
    // "failed: 0".
    if name.ends_with(':') || ops.parse::<f64>().is_err() {
        return None;
    }
    let mut number = |what| text.number::<f64>(line, what, words.next());
    let mut times = || {
        let [real_s, user_s, sys_s] =
            [number("real time")?, number("user time")?, number("system time")?];
        let rate = Some(number("bogo ops/s")?);
        Ok(Stressor { name, rate, real_s, user_s, sys_s, ..Stressor::default() })
    };
    let read = times();
    let cpu = words.nth(1).and_then(|cpu| cpu.parse().ok());
    Some(read.map(|stressor| Stressor { cpu, ..stressor }))
}

/// `open   228956.63 nanosecs per open (geometic mean of 2 instances)`.
fn metric(said: &str) -> Option<(&str, &str, f64)> {
    let (name, rest) = said.split_once(' ')?;
    let (value, metric) = rest.trim_start().split_once(' ')?;
    let metric = metric.split('(').next().unwrap_or(metric).trim();
    unit(metric)?;
    Some((name, metric, value.parse().ok()?))
}

/// `failed: 1: open (1)` and `metrics untrustworthy: 2`, which newer versions print at the end.
fn failures(said: &str, draft: &mut Draft) {
    for word in ["failed", "metrics untrustworthy"] {
        let count = said.strip_prefix(word).and_then(|rest| rest.strip_prefix(": "));
        if count.is_some_and(|count| !count.starts_with('0')) {
            draft.warn("failed", format!("stress-ng says: {said}"), "see what it printed before");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_follow_from_cpu_time_only_where_they_are_told_apart() {
        let tasks = |cpu, user_s, sys_s, real_s| {
            Stressor { cpu: Some(cpu), user_s, sys_s, real_s, ..Stressor::default() }.tasks()
        };
        assert_eq!(tasks(5.398_550, 0.013_756, 0.290_292, 2.816_016), Some(2));
        assert_eq!(tasks(98.5, 31.52, 0.0, 2.0), Some(16));
        assert_eq!(tasks(0.0, 0.0, 0.0, 2.0), None);
        // Two digits of a small share.
        assert_eq!(tasks(0.01, 0.0, 0.000_9, 2.0), None);
        assert_eq!(tasks(f64::NAN, 1.0, 1.0, 1.0), None);
    }

    #[test]
    fn metrics_have_a_direction_or_are_left_out() {
        assert_eq!(unit("nanosecs per open"), Some(("ns", true)));
        assert_eq!(unit("nanosecs-per-file-creation"), Some(("ns", true)));
        assert_eq!(unit("unlink calls per sec"), Some(("1/s", false)));
        assert_eq!(unit("% of time busy"), None);
        assert_eq!(unit("bogo-ops-per-second-real-time"), None);
    }
}
