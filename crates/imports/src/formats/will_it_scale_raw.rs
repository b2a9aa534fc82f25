//! will-it-scale, what one of its programs prints: operations of each second, least, most and total over the tasks.
//!
//! The lines after `measurement` count; those before are warm-up. A rate is per `sleep(1)`, so an operation count is one of a
//! second. With `-v` each task has a line, `   3 -> 12345`. Otherwise the number of tasks is not in the output; it is found where
//! least, most and total allow only one. A task that died is counted as 0 without a word: then there is no result.

use crate::runs::{Done, Draft, PROCESS, Series, THREAD, UNKNOWN};
use crate::text::{Line, Text};
use crate::{Format, ImportError, Imported, names};

pub(super) const FORMAT: Format = Format {
    name: "will-it-scale-raw",
    summary: "will-it-scale, output of a single program",
    detect: |head| {
        head.lines().any(|line| line.starts_with("testcase:"))
            && head.lines().any(|line| line.starts_with("min:"))
    },
    parse,
};

/// Descriptions that are of one test only; open2 and unlink2 share theirs.
const DESCRIPTIONS: &[(&str, &str)] = &[
    ("Separate file open/close", "open1"),
    ("Same file open/close", "open3"),
    ("Separate file open/close/unlink", "unlink1"),
];

const SECOND_NS: u64 = 1_000_000_000;

/// One second of all tasks.
struct Second {
    min: u64,
    max: u64,
    total: u64,
    /// Operations of each task, empty without `-v`.
    tasks: Vec<u64>,
}

fn parse(file: &str, text: &str) -> Result<Vec<Imported>, ImportError> {
    let text = Text::new(file, text);
    let mut draft = Draft::new(FORMAT.name);
    draft.command = vec!["will-it-scale".into(), text.stem().into()];
    draft.slice_s = 1.0;
    let mut block: Option<Block<'_>> = None;
    for line in text.lines() {
        if let Some(description) = line.text.strip_prefix("testcase:") {
            if let Some(block) = block.take() {
                block.put(&text, &mut draft)?;
            }
            block = Some(Block::new(line, description));
        } else if let Some(block) = &mut block {
            block.take_line(&text, line)?;
        }
    }
    match block {
        Some(block) => block.put(&text, &mut draft)?,
        None => return Err(text.error_at(None, "a line testcase:...", "none")),
    }
    Ok(vec![draft.finish(&text, text.stem())?])
}

/// From one `testcase:` to the next.
struct Block<'a> {
    line: Line<'a>,
    description: &'a str,
    measuring: bool,
    warmup: u32,
    /// Of the second whose total has not come yet.
    tasks: Vec<u64>,
    seconds: Vec<Second>,
}

impl<'a> Block<'a> {
    fn new(line: Line<'a>, description: &'a str) -> Block<'a> {
        let (tasks, seconds) = (Vec::new(), Vec::new());
        Block { line, description, measuring: false, warmup: 0, tasks, seconds }
    }

    fn take_line(&mut self, text: &Text<'_>, line: Line<'_>) -> Result<(), ImportError> {
        if line.text == "measurement" {
            self.measuring = true;
        } else if let Some((_, ops)) = line.text.split_once(" -> ") {
            self.tasks.push(text.number(line, "operations of a task", Some(ops))?);
        } else if line.text.starts_with("min:") {
            let value = |key: &str| {
                let word = line.text.split_whitespace().find_map(|word| word.strip_prefix(key));
                text.number(line, key, word)
            };
            let tasks = std::mem::take(&mut self.tasks);
            let (min, max, total) = (value("min:")?, value("max:")?, value("total:")?);
            if self.measuring {
                self.seconds.push(Second { min, max, total, tasks });
            } else {
                self.warmup += 1;
            }
        }
        Ok(())
    }

    fn put(self, text: &Text<'_>, draft: &mut Draft) -> Result<(), ImportError> {
        let advice = "run the test again and see what it writes on stderr";
        if self.seconds.is_empty() {
            let message = format!("line {}: interrupted before the measurement", self.line.number);
            draft.warn("interrupted", message, advice);
            return Ok(());
        }
        if self.seconds.iter().all(|second| second.min == 0) {
            let message = format!(
                "line {}: a task did nothing in all of the measurement, so it died; left out",
                self.line.number
            );
            draft.warn("failed", message, advice);
            return Ok(());
        }
        let tasks = self.number_of_tasks(text)?;
        let series = self.series(text);
        draft.warmup_rounds = draft.warmup_rounds.max(self.warmup);
        for second in &self.seconds {
            let done = |ops: u64| Done { ops, elapsed_ns: SECOND_NS };
            if second.tasks.is_empty() {
                draft.round(&series, tasks, &[done(second.total)]);
            } else {
                let tasks_done: Vec<Done> = second.tasks.iter().copied().map(done).collect();
                draft.round(&series, tasks, &tasks_done);
            }
        }
        // The slowest and the fastest task may change from second to second: it was at least so fair.
        let sum = |of: fn(&Second) -> u64| self.seconds.iter().map(|s| of(s) as f64).sum::<f64>();
        draft.fairness(&series, tasks, sum(|second| second.min) / sum(|second| second.max));
        Ok(())
    }

    fn number_of_tasks(&self, text: &Text<'_>) -> Result<u32, ImportError> {
        let counts = |second: &Second| second.tasks.len();
        let listed = self.seconds.first().map_or(0, counts);
        if listed > 0 {
            let same = self.seconds.iter().all(|second| counts(second) == listed);
            return u32::try_from(listed)
                .ok()
                .filter(|_| same)
                .ok_or_else(|| text.error(self.line, "a line for each task in each second (-v)"));
        }
        let mut bounds = (1, u64::MAX);
        for second in &self.seconds {
            let (low, high) = task_bounds(second).ok_or_else(|| {
                let found = format!("min {} max {} total {}", second.min, second.max, second.total);
                text.error_at(
                    Some(self.line.number),
                    "seconds that some number of tasks explains",
                    found,
                )
            })?;
            bounds = (bounds.0.max(low), bounds.1.min(high));
        }
        match bounds {
            (low, high) if low == high && low <= u64::from(u32::MAX) => Ok(low as u32),
            (low, high) => {
                let found = if high == u64::MAX {
                    format!("totals of {low} tasks or more")
                } else {
                    format!("totals of {low} to {high} tasks")
                };
                let expected = "a number of tasks; run the test with -v to have a line for each";
                Err(text.error_at(Some(self.line.number), expected, found))
            }
        }
    }

    fn series(&self, text: &Text<'_>) -> Series {
        let (stem, mode) = match text.stem() {
            stem if stem.contains("_processes") => (stem.split("_processes").next(), PROCESS),
            stem if stem.contains("_threads") => (stem.split("_threads").next(), THREAD),
            _ => (None, UNKNOWN),
        };
        let described =
            DESCRIPTIONS.iter().find(|(description, _)| *description == self.description);
        let test = stem.or(described.map(|(_, test)| *test)).unwrap_or(self.description);
        Series::rate(names::workload("wis", test)).mode(mode)
    }
}

/// The least and the largest number of tasks of which the slowest did `min`, the fastest `max` and all `total`; none if no
/// number fits.
fn task_bounds(second: &Second) -> Option<(u64, u64)> {
    let &Second { min, max, total, .. } = second;
    if min == max && total == min {
        return Some((1, 1));
    }
    // The slowest and the fastest aside, each did at least `min` and at most `max`.
    let rest = total.checked_sub(min)?.checked_sub(max)?;
    let low = if rest == 0 { 0 } else { rest.checked_div(max)? + u64::from(rest % max > 0) };
    let high = rest.checked_div(min).unwrap_or(u64::MAX - 2);
    (low <= high).then_some((low + 2, high.saturating_add(2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_tasks_follows_from_the_totals_where_it_can() {
        let bounds = |min, max, total| task_bounds(&Second { min, max, total, tasks: vec![] });
        assert_eq!(bounds(5, 5, 5), Some((1, 1)));
        assert_eq!(bounds(5, 5, 20), Some((4, 4)));
        assert_eq!(bounds(90, 110, 200), Some((2, 2)));
        assert_eq!(bounds(90, 110, 300), Some((3, 3)));
        // Sixteen tasks of about 100 could be fifteen or seventeen.
        assert_eq!(bounds(90, 110, 1600), Some((15, 17)));
        assert_eq!(bounds(0, 110, 110), Some((2, u64::MAX)));
        assert_eq!(bounds(90, 110, 100), None);
        assert_eq!(bounds(110, 90, 500), None);
        assert_eq!(bounds(0, 0, 7), None);
    }
}
