//! reaim and AIM7: jobs per minute over users, from reaim's output, its CSV or the output of AIM7's multitask.
//!
//! A user is a process. Standard deviation and job timing index tell of the spread between users, not between runs, so there is no
//! interval.

use crate::runs::{Draft, PROCESS, Series, Times};
use crate::text::{Line, Text, begins_with_digit};
use crate::{Format, ImportError, Imported};

pub(super) const FORMAT: Format = Format {
    name: "reaim",
    summary: "reaim (output or CSV) and AIM7 multitask",
    detect: |head| head.lines().any(|line| Table::of_heading(line).is_some()),
    parse,
};

/// The three layouts.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Table {
    Output,
    Csv,
    Aim7,
}

impl Table {
    fn of_heading(line: &str) -> Option<Table> {
        let words: Vec<&str> = line.split_whitespace().take(8).collect();
        match words[..] {
            ["Forked", "Time", "SysTime", "UTime", ..] => Some(Table::Output),
            ["Tasks", jobs, jti, ..]
                if jobs.eq_ignore_ascii_case("jobs/min") && jti.eq_ignore_ascii_case("jti") =>
            {
                Some(Table::Aim7)
            }
            [word, ..] if word.starts_with("Forks,JPM,") => Some(Table::Csv),
            _ => None,
        }
    }

    fn workload(self) -> &'static str {
        if self == Table::Aim7 { "aim7" } else { "reaim" }
    }

    /// Columns of users, jobs per minute and wall time.
    fn columns(self) -> [usize; 3] {
        match self {
            Table::Output => [0, 4, 1],
            Table::Csv | Table::Aim7 => [0, 1, 4],
        }
    }

    /// Columns of user and system time, summed over the users; AIM7 has only their sum.
    fn cpu_columns(self) -> Option<[usize; 2]> {
        match self {
            Table::Output => Some([3, 2]),
            Table::Csv => Some([5, 6]),
            Table::Aim7 => None,
        }
    }
}

fn parse(file: &str, text: &str) -> Result<Vec<Imported>, ImportError> {
    let text = Text::new(file, text);
    let mut draft = Draft::new(FORMAT.name);
    let mut table = None;
    for line in text.lines() {
        if let Some(heading) = Table::of_heading(line.text) {
            draft.command = vec![heading.workload().into()];
            table = Some(heading);
        } else if let Some(table) = table
            && begins_with_digit(line.text)
        {
            row(&text, line, table, &mut draft)?;
        }
    }
    if table.is_none() {
        return Err(text.error_at(None, "a table of reaim or AIM7", "none"));
    }
    Ok(vec![draft.finish(&text, text.stem())?])
}

fn row(
    text: &Text<'_>,
    line: Line<'_>,
    table: Table,
    draft: &mut Draft,
) -> Result<(), ImportError> {
    let words: Vec<&str> = match table {
        Table::Csv => line.text.split(',').take(16).collect(),
        Table::Output | Table::Aim7 => line.text.split_whitespace().take(16).collect(),
    };
    let number = |what, at: usize| text.number::<f64>(line, what, words.get(at).copied());
    let [users, jobs, wall] = table.columns();
    let users: u32 = text.number(line, "users", words.get(users).copied())?;
    let jobs_per_minute = number("jobs per minute", jobs)?;
    let real_s = number("wall time", wall)?;
    let series = Series::rate(table.workload()).unit("jobs/min").mode(PROCESS);
    draft.summary(&series, users, jobs_per_minute);
    let [user, sys] = match table.cpu_columns() {
        Some([user, sys]) => [number("user time", user)?, number("system time", sys)?],
        None => [0.0, 0.0],
    };
    let each = f64::from(users);
    draft.times(&series, users, Times { real_s, user_s: user / each, sys_s: sys / each });
    Ok(())
}
