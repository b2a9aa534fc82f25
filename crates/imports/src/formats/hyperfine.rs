//! hyperfine, its JSON or CSV: time of a command. One operation is one run of it, so the unit is runs per second.
//!
//! JSON has the time of every run; each becomes a round. CSV has only mean, median and so on.

use crate::runs::{Done, Draft, Series, Times};
use crate::text::{Line, Text};
use crate::{Format, ImportError, Imported, names};
use serde::Deserialize;

pub(super) const FORMAT: Format = Format {
    name: "hyperfine",
    summary: "hyperfine, JSON or CSV",
    detect: |head| is_json(head) || head.lines().take(1).any(is_header),
    parse,
};

fn is_json(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    text.starts_with('{')
        && ["\"results\"", "\"command\"", "\"mean\""].iter().all(|key| text.contains(key))
}

fn is_header(line: &str) -> bool {
    line.trim_start_matches('\u{feff}').starts_with("command,mean,stddev,median")
}

#[derive(Deserialize)]
struct Output {
    results: Vec<Measured>,
}

/// Seconds.
#[derive(Deserialize)]
struct Measured {
    command: String,
    #[serde(default)]
    mean: Option<f64>,
    #[serde(default)]
    median: Option<f64>,
    #[serde(default)]
    user: Option<f64>,
    #[serde(default)]
    system: Option<f64>,
    #[serde(default)]
    times: Option<Vec<f64>>,
    #[serde(default)]
    exit_codes: Option<Vec<Option<i32>>>,
}

fn parse(file: &str, text: &str) -> Result<Vec<Imported>, ImportError> {
    let text = Text::new(file, text);
    let mut draft = Draft::new(FORMAT.name);
    draft.command = vec!["hyperfine".into()];
    if text.text.trim_start().starts_with('{') {
        let output: Output = serde_json::from_str(text.text).map_err(|error| {
            let line = (error.line() > 0).then_some(error.line());
            text.error_at(line, "JSON of hyperfine", error.to_string())
        })?;
        output.results.into_iter().for_each(|measured| put(&mut draft, measured));
    } else {
        let mut lines = text.lines();
        lines.next().filter(|line| is_header(line.text)).ok_or_else(|| {
            text.error_at(Some(1), "JSON, or the columns command,mean,stddev,median,...", "neither")
        })?;
        // Of files put together the heading comes again.
        for line in lines.filter(|line| !line.text.is_empty() && !is_header(line.text)) {
            put(&mut draft, row(&text, line)?);
        }
    }
    Ok(vec![draft.finish(&text, text.stem())?])
}

fn row(text: &Text<'_>, line: Line<'_>) -> Result<Measured, ImportError> {
    let (command, rest) = field(line.text)
        .ok_or_else(|| text.error(line, "a command on one line, quoted if it has commas"))?;
    let mut numbers = rest.split(',');
    let mut number = |what| text.number(line, what, numbers.next()).map(Some);
    let mean = number("mean")?;
    // Of one run there is no deviation.
    numbers.next();
    let mut number = |what| text.number(line, what, numbers.next()).map(Some);
    let (median, user, system) = (number("median")?, number("user")?, number("system")?);
    Ok(Measured { command, mean, median, user, system, times: None, exit_codes: None })
}

/// The first field as in RFC 4180, and what follows its comma.
fn field(line: &str) -> Option<(String, &str)> {
    let Some(quoted) = line.strip_prefix('"') else {
        return line.split_once(',').map(|(field, rest)| (field.into(), rest));
    };
    let mut after = 0;
    loop {
        let quote = after + quoted[after..].find('"')?;
        if quoted[quote + 1..].starts_with('"') {
            after = quote + 2;
        } else {
            let rest = quoted[quote + 1..].strip_prefix(',')?;
            return Some((quoted[..quote].replace("\"\"", "\""), rest));
        }
    }
}

fn put(draft: &mut Draft, measured: Measured) {
    let Measured { command, mean, median, user, system, times, exit_codes } = measured;
    let failed = exit_codes.iter().flatten().filter(|code| **code != Some(0)).count();
    if failed > 0 {
        let message = format!("{command}: {failed} runs did not exit with 0");
        draft.warn("failed", message, "see whether the command did its work in those runs");
    }
    let series = Series::rate(names::workload("hyperfine", &command)).unit("runs/s");
    let times = times.unwrap_or_default();
    let mut real_s = 0.0;
    for seconds in &times {
        if let Some(done) = Done::in_seconds(1, *seconds) {
            draft.round(&series, 1, &[done]);
            real_s += seconds;
        }
    }
    if times.is_empty() {
        let seconds = median.or(mean).unwrap_or(f64::NAN);
        draft.summary(&series, 1, 1.0 / seconds);
        real_s = mean.unwrap_or(0.0);
    }
    // They are means over the runs.
    let runs = times.len().max(1) as f64;
    if let (Some(user), Some(system)) = (user, system) {
        draft.times(&series, 1, Times { real_s, user_s: user * runs, sys_s: system * runs });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_command_may_have_commas_and_quotes() {
        let cases = [
            ("a,1", Some(("a", "1"))),
            ("\"a,b\",1,2", Some(("a,b", "1,2"))),
            ("\"a \"\"b\"\"\",1", Some(("a \"b\"", "1"))),
            ("\"\"\"\",1", Some(("\"", "1"))),
            ("\"a", None),
            ("\"a\"b,1", None),
            ("a", None),
        ];
        for (line, expected) in cases {
            let found = field(line);
            let found = found.as_ref().map(|(field, rest)| (field.as_str(), *rest));
            assert_eq!(found, expected, "of {line}");
        }
    }
}
