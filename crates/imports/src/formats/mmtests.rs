//! mmtests, the comparison that `compare-mmtests.pl` prints: a run for each kernel.
//!
//! Two lines name the kernels, right over their columns: the name up to its first dash, and the rest. A row is a statistic, a test
//! and for each kernel a value with the change against the first, `(   9.00%)`, or `*   9.00%*` where mmtests calls it
//! significant. The mean is read, Hmean for rates and Amean for times; a positive change is a better one, which tells the
//! direction. Deviations are no intervals.

use crate::runs::{Draft, PROCESS, Series, THREAD, UNKNOWN};
use crate::text::{Line, Text};
use crate::{Format, ImportError, Imported, names};

pub(super) const FORMAT: Format = Format {
    name: "mmtests",
    summary: "mmtests, comparison of kernels as text",
    detect: |head| head.lines().any(|line| Row::of(line).is_some()),
    parse,
};

/// Words that begin rows, besides BHmean-99 and such.
const STATISTICS: &[&str] = &[
    "Min",
    "Max",
    "Stddev",
    "CoeffVar",
    "1st-qrtle",
    "2nd-qrtle",
    "3rd-qrtle",
    "Hmean",
    "Gmean",
    "Amean",
];

/// More kernels than any table compares.
const MOST_KERNELS: usize = 32;

/// Characters of a line beyond which it is no heading.
const LONGEST_HEADING: usize = 4096;

/// A row of the table, whatever its statistic.
struct Row<'a> {
    statistic: &'a str,
    test: &'a str,
    /// Value and change in per cent.
    cells: Vec<(f64, f64)>,
}

impl<'a> Row<'a> {
    fn of(line: &'a str) -> Option<Row<'a>> {
        let (statistic, rest) = line.trim_start().split_once(char::is_whitespace)?;
        let known = STATISTICS.contains(&statistic)
            || statistic.starts_with("BHmean-")
            || statistic.starts_with("BAmean-");
        let rest = rest.trim_start();
        let (test, mut rest) = known.then(|| rest.split_once(char::is_whitespace))??;
        let mut cells = Vec::new();
        while !rest.trim().is_empty() {
            let open = rest.find(['(', '*'])?;
            let value = rest[..open].trim().parse().ok()?;
            let change = &rest[open + 1..];
            let close = change.find([')', '*'])?;
            let per_cent = change[..close].trim().strip_suffix('%')?.trim();
            cells.push((value, per_cent.parse().unwrap_or(f64::NAN)));
            rest = &change[close + 1..];
            if cells.len() > MOST_KERNELS {
                return None;
            }
        }
        (!cells.is_empty()).then_some(Row { statistic, test, cells })
    }

    fn is_mean(&self) -> bool {
        matches!(self.statistic, "Hmean" | "Amean" | "Gmean")
    }

    /// Unless all kernels are equal, the sign of the change tells; then times are what mmtests takes the arithmetic mean of.
    fn lower_is_better(&self) -> bool {
        let base = self.cells[0].0;
        let telling = self
            .cells
            .iter()
            .find(|(value, change)| *value != base && change.is_finite() && *change != 0.0);
        telling
            .map_or(self.statistic == "Amean", |(value, change)| (*value > base) != (*change > 0.0))
    }
}

fn parse(file: &str, text: &str) -> Result<Vec<Imported>, ImportError> {
    let text = Text::new(file, text);
    let mut kernels: Vec<(String, Draft)> = Vec::new();
    let mut before: [&str; 2] = ["", ""];
    let mut in_table = false;
    for line in text.lines() {
        let Some(row) = Row::of(line.text) else {
            let blank = line.text.trim().is_empty();
            in_table &= !blank;
            if !blank {
                before = [before[1], line.text];
            }
            continue;
        };
        if !in_table || kernels.is_empty() {
            in_table = true;
            enter_table(&text, line, before, row.cells.len(), &mut kernels)?;
        }
        if row.cells.len() != kernels.len() {
            return Err(text.error(line, format!("a value for each of {} kernels", kernels.len())));
        }
        if row.is_mean() {
            let (series, tasks) = series(&row);
            put(&mut kernels, &series, tasks, &row);
        }
    }
    if kernels.is_empty() {
        return Err(text.error_at(None, "a table of mmtests", "none"));
    }
    kernels.into_iter().map(|(kernel, draft)| draft.finish(&text, kernel)).collect()
}

/// Makes a run for each kernel, or finds them to be the same as in the table before.
fn enter_table(
    text: &Text<'_>,
    line: Line<'_>,
    heading: [&str; 2],
    columns: usize,
    kernels: &mut Vec<(String, Draft)>,
) -> Result<(), ImportError> {
    let names = kernel_names(heading, columns).ok_or_else(|| {
        text.error(line, format!("two lines with the names of {columns} kernels before"))
    })?;
    if kernels.is_empty() {
        kernels.extend(names.into_iter().map(|name| {
            let mut draft = Draft::new(FORMAT.name);
            draft.command = vec!["mmtests".into()];
            draft.host.kernel.clone_from(&name);
            (name, draft)
        }));
    } else if !kernels.iter().map(|(known, _)| known).eq(&names) {
        return Err(text.error(
            line,
            "a table of the same kernels as the first; import them from a file each",
        ));
    }
    Ok(())
}

/// Names out of the two lines over the table: the one whose words are as many as columns says where they end.
fn kernel_names([first, second]: [&str; 2], columns: usize) -> Option<Vec<String>> {
    if first.len().max(second.len()) > LONGEST_HEADING {
        return None;
    }
    let (first, second) = (words_with_ends(first), words_with_ends(second));
    if second.len() == columns && first.len() > columns {
        // What stands above is no heading.
        return Some(second.into_iter().map(|(word, _)| word.into()).collect());
    }
    let (full, other, full_is_first) = match (first.len() == columns, second.len() == columns) {
        (true, _) => (&first, &second, true),
        (_, true) => (&second, &first, false),
        _ => return None,
    };
    let name = |(word, end): &(&str, usize)| {
        let over = other.iter().find(|(_, other_end)| other_end == end);
        match (over, full_is_first) {
            (Some((rest, _)), true) => format!("{word}-{rest}"),
            (Some((begin, _)), false) => format!("{begin}-{word}"),
            (None, _) => (*word).to_owned(),
        }
    };
    Some(full.iter().map(name).collect())
}

fn words_with_ends(line: &str) -> Vec<(&str, usize)> {
    let end_of = |word: &str| word.as_ptr() as usize - line.as_ptr() as usize + word.len();
    line.split_whitespace().map(|word| (word, end_of(word))).collect()
}

/// `open1-processes-2` of will-it-scale, or a name that a number of tasks may end.
fn series(row: &Row<'_>) -> (Series, Option<u32>) {
    let (name, tasks) = match row.test.rsplit_once('-') {
        Some((name, number)) if number.bytes().all(|b| b.is_ascii_digit()) => {
            (name, number.parse().ok().filter(|tasks| *tasks > 0))
        }
        _ => (row.test, None),
    };
    let of_test = |(test, mode)| Series::rate(names::workload("wis", test)).mode(mode);
    let wis = name
        .strip_suffix("-processes")
        .map(|test| (test, PROCESS))
        .or_else(|| name.strip_suffix("-threads").map(|test| (test, THREAD)));
    let series = wis.map_or_else(
        || Series::rate(names::workload("mmtests", name)).unit("unit of the file").mode(UNKNOWN),
        of_test,
    );
    (series.lower_is_better(row.lower_is_better()), tasks)
}

fn put(kernels: &mut [(String, Draft)], series: &Series, tasks: Option<u32>, row: &Row<'_>) {
    for ((_, draft), (value, _)) in kernels.iter_mut().zip(&row.cells) {
        if tasks.is_none() {
            let message = format!("{} does not say how many tasks ran; the record has 1", row.test);
            draft.warn("tasks-unknown", message, "do not put these points into a curve over tasks");
        }
        draft.summary(series, tasks.unwrap_or(1), *value);
    }
}
