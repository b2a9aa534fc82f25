//! One benchmark of perf bench, from its heading to the next.

use crate::runs::{Done, Draft, PROCESS, Series, THREAD, UNKNOWN};
use crate::text::{Line, Text};
use crate::{ImportError, names};

/// What has been read of a block.
pub(super) struct Block<'a> {
    name: &'a str,
    line: usize,
    tasks: Option<u32>,
    mode: &'static str,
    /// Operations that were asked for.
    executed: Option<u64>,
    total_s: Option<f64>,
    usecs_per_op: Option<f64>,
    /// Rates of single threads, and how long they ran.
    threads: Vec<f64>,
    secs: f64,
    /// The mean rate of a thread.
    averaged: Option<f64>,
    /// The variant that the next figure is of.
    function: Option<&'a str>,
    /// Single runs or variants were put already.
    put: bool,
}

impl<'a> Block<'a> {
    pub(super) fn new(name: &'a str, line: usize) -> Block<'a> {
        Block {
            name,
            line,
            tasks: None,
            mode: UNKNOWN,
            executed: None,
            total_s: None,
            usecs_per_op: None,
            threads: Vec::new(),
            secs: 1.0,
            averaged: None,
            function: None,
            put: false,
        }
    }

    pub(super) fn take_line(
        &mut self,
        text: &Text<'_>,
        line: Line<'a>,
        draft: &mut Draft,
    ) -> Result<(), ImportError> {
        let words: Vec<&str> = line.text.split_whitespace().take(24).collect();
        match words[..] {
            ["#", "Executed", ops, ..] => {
                self.executed = ops.replace(',', "").parse().ok();
                // Executed 1000 pipe operations between two processes
                if let ["between", "two", kind] = words[words.len() - 3..] {
                    (self.tasks, self.mode) = (Some(2), mode(kind));
                }
            }
            ["#", "function", name, ..] => self.function = Some(name.trim_matches('\'')),
            // 10 groups == 400 processes run
            ["#", _, "groups", "==", number, kind, "run"] => {
                self.tasks = number.parse().ok();
                self.mode = mode(kind);
            }
            // Run summary [PID 7]: 2 threads, each ... for 1 secs.
            ["Run", "summary", "[PID", _, number, kind, ..] => {
                self.tasks = number.parse().ok();
                self.mode = mode(kind.trim_end_matches(','));
                let secs = words.len().checked_sub(2).filter(|_| line.text.ends_with("secs."));
                self.secs = secs.and_then(|at| words[at].parse().ok()).unwrap_or(1.0);
            }
            ["Total", "time:", seconds, ..] => {
                self.total_s = Some(text.number(line, "total time", Some(seconds))?);
            }
            [time, "usecs/op"] => {
                self.usecs_per_op = Some(text.number(line, "usecs/op", Some(time))?);
            }
            ["[thread", .., "[", rate, "ops/sec", "]"] => {
                self.threads.push(text.number(line, "ops/sec of a thread", Some(rate))?);
            }
            ["Averaged", rate, "operations/sec", ..] => {
                self.averaged = Some(text.number(line, "operations/sec", Some(rate))?);
            }
            [rate, unit @ ("GB/sec" | "MB/sec")] => {
                let rate = text.number(line, unit, Some(rate))?;
                let unit = if unit == "GB/sec" { "GB/s" } else { "MB/s" };
                draft.summary(&self.series().unit(unit), 1, rate);
                self.put = true;
            }
            // [Run 9]: Wokeup 4 of 4 threads in 0.1450 ms
            ["[Run", _, ref run @ ..] => self.single_run(text, line, run, draft)?,
            _ => {}
        }
        Ok(())
    }

    /// A run of a benchmark that repeats itself. What was done in that time stands first, if it is a number.
    fn single_run(
        &mut self,
        text: &Text<'_>,
        line: Line<'_>,
        words: &[&str],
        draft: &mut Draft,
    ) -> Result<(), ImportError> {
        let (ops, all, time) = match words[..] {
            [_verb, done, "of", all, "threads", "in", time, "ms", ..] => {
                (text.number(line, "threads", Some(done))?, Some(all), time)
            }
            [.., "in", time, "ms", _] | [.., "in", time, "ms"] => (1, None, time),
            _ => return Ok(()),
        };
        let tasks = match all {
            Some(all) => text.number(line, "threads", Some(all))?,
            None => self.tasks.unwrap_or(1),
        };
        let ms: f64 = text.number(line, "ms", Some(time))?;
        if let Some(done) = Done::in_seconds(ops, ms / 1e3) {
            draft.round(&self.series().mode(THREAD), tasks, &[done]);
        }
        self.put = true;
        Ok(())
    }

    fn series(&self) -> Series {
        let name = match self.function {
            Some(function) => format!("{}/{function}", self.name),
            None => self.name.to_owned(),
        };
        Series::rate(names::workload("perf", &name)).mode(self.mode)
    }

    /// Puts what belongs to the block as a whole.
    pub(super) fn finish(self, draft: &mut Draft) {
        if self.put {
            return;
        }
        let tasks = self.tasks.unwrap_or(1);
        let series = self.series();
        if !self.threads.is_empty() {
            let done = |rate: &f64| Done::in_seconds((rate * self.secs).round() as u64, self.secs);
            if let Some(done) = self.threads.iter().map(done).collect::<Option<Vec<_>>>() {
                draft.round(&series, done.len() as u32, &done);
            }
        } else if let Some(rate) = self.averaged {
            draft.summary(&series, tasks, rate * f64::from(tasks));
        } else if let Some((done, per_second)) = self.timed() {
            draft.round(&series.unit(per_second), tasks, &[done]);
        } else {
            let message =
                format!("line {}: {} has no figure that can be read", self.line, self.name);
            draft.warn("no-figure", message, "leave that benchmark out, or let it run longer");
        }
    }

    /// Operations and their time; the time per operation has more digits than the total.
    fn timed(&self) -> Option<(Done, &'static str)> {
        if let (Some(ops), Some(usecs)) = (self.executed, self.usecs_per_op) {
            return Some((Done::in_seconds(ops, ops as f64 * usecs / 1e6)?, "ops/s"));
        }
        if let Some(usecs) = self.usecs_per_op {
            return Some((Done::in_seconds(1, usecs / 1e6)?, "ops/s"));
        }
        Some((Done::in_seconds(1, self.total_s?)?, "runs/s"))
    }
}

fn mode(kind: &str) -> &'static str {
    match kind {
        "processes" => PROCESS,
        "threads" => THREAD,
        _ => UNKNOWN,
    }
}
