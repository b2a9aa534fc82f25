//! The table of a curve: which columns, with how many digits. Shared by the formats that people read.

use crate::Style;
use crate::number::{self, WITHOUT_INTERVAL, round_to_interval, significant};
use results::{Curve, Point};

/// A table as texts, for a format to lay out. Columns of numbers are right-aligned, and padded on the right so that their
/// decimal points stand below each other; see [`holds_words`].
pub(crate) struct Table {
    /// Two lines a column.
    pub(crate) header: Vec<[String; 2]>,
    /// As many cells a row as the header has columns.
    pub(crate) rows: Vec<Vec<String>>,
    /// What a mark in the table means.
    pub(crate) footnote: Option<String>,
}

impl Table {
    /// A table without foot-note whose columns are aligned.
    pub(crate) fn new(header: Vec<[&str; 2]>, mut rows: Vec<Vec<String>>) -> Table {
        for column in 0..header.len() {
            if !holds_words(&rows, column) {
                align_decimals(&mut rows, column);
            }
        }
        let header = header.into_iter().map(|lines| lines.map(str::to_owned)).collect();
        Table { header, rows, footnote: None }
    }

    /// With the names in `column` cut to what the style's width leaves for them. Of a path the end tells most.
    pub(crate) fn shortened(mut self, column: usize, style: &Style) -> Table {
        /// Shorter names tell nothing.
        const LEAST: usize = 12;
        let length = |text: &String| text.chars().count();
        let width = |at: usize| {
            let header = self.header[at].iter().map(length);
            header.chain(self.rows.iter().map(|row| length(&row[at]))).max().unwrap_or(0)
        };
        // A blank between columns.
        let others: usize =
            (0..self.header.len()).filter(|at| *at != column).map(|at| width(at) + 1).sum();
        let room = usize::from(style.width).saturating_sub(others).max(LEAST);
        let mark = if style.unicode { "…" } else { ".." };
        for row in &mut self.rows {
            let name = &mut row[column];
            let long = length(name);
            if long > room {
                let kept = room - mark.chars().count();
                *name = mark.chars().chain(name.chars().skip(long - kept)).collect();
            }
        }
        self
    }

    /// One row per point. `cpus` is the number of usable CPUs; counts beyond it are marked.
    pub(crate) fn of_curve(curve: &Curve, cpus: usize) -> Table {
        let seconds = seconds_decimals(&curve.points);
        let rows = curve.points.iter().map(|point| row(point, cpus, seconds)).collect();
        let mut header = HEADER.to_vec();
        header[1][1] = &curve.metric.unit;
        let mut table = Table::new(header, rows);
        let mut notes = Vec::new();
        if curve.points.iter().any(|point| takes_turns(point, cpus)) {
            notes.push(format!("* more tasks than CPUs ({cpus}): they take turns"));
        }
        if curve.points.iter().any(|point| point.ci95.is_none()) {
            notes.push("- too few or too unsteady rounds for an interval".to_owned());
        }
        table.footnote = (!notes.is_empty()).then(|| notes.join("\n"));
        if curve.metric.lower_is_better {
            table = table.without(|column| column >= RATES_ONLY);
        }
        table
    }

    /// [`Table::of_curve`] without the columns that make it wider than a mail.
    pub(crate) fn of_curve_short(curve: &Curve, cpus: usize) -> Table {
        Table::of_curve(curve, cpus).without(|column| LONG_ONLY.contains(&column))
    }

    fn without(mut self, left_out: impl Fn(usize) -> bool) -> Table {
        let mut column = 0..;
        self.header.retain(|_| column.next().is_none_or(|column| !left_out(column)));
        for row in &mut self.rows {
            let mut column = 0..;
            row.retain(|_| column.next().is_none_or(|column| !left_out(column)));
        }
        self
    }
}

/// The first of the columns that follow from a rate. A cost, like instructions for an operation, has no such time or speed-up.
const RATES_ONLY: usize = 3;
/// Columns that a mail leaves out: what one can work out, and the times.
const LONG_ONLY: [usize; 4] = [4, 5, 6, 7];

/// The interval's column carries a sign that not every terminal has; see [`ascii`].
const HEADER: [[&str; 2]; 11] = [
    ["", "tasks"],
    // The curve's unit.
    ["", ""],
    ["", "± 95 %"],
    ["", "usecs/op"],
    ["usecs/op", "per task"],
    ["real", "s"],
    ["user", "s"],
    ["sys", "s"],
    ["speed-", "up"],
    ["effi-", "ciency"],
    ["fair-", "ness"],
];

/// `text` without the one sign beyond ASCII that tables hold.
pub(crate) fn ascii(text: &str) -> String {
    text.replace('±', "+-")
}

/// The tasks in column one, with a mark if they have to take turns.
pub(crate) fn tasks_cell(point: &Point, cpus: usize) -> String {
    format!("{}{}", point.tasks, if takes_turns(point, cpus) { "*" } else { "" })
}

/// A cell that has nothing to say.
pub(crate) const NONE: &str = "-";

fn takes_turns(point: &Point, cpus: usize) -> bool {
    cpus > 0 && point.tasks as usize > cpus
}

fn row(point: &Point, cpus: usize, seconds: usize) -> Vec<String> {
    let half = point.ci95.map(|[low, high]| (high - low) / 2.0);
    let rate = point.ops_per_s;
    let rounded = rate.is_finite().then(|| match half {
        Some(half) => round_to_interval(rate, half),
        None => significant(rate, WITHOUT_INTERVAL),
    });
    let digits = rounded.map_or(1, number::Rounded::digits);
    // A ratio of two such rates is not known better than the rate, and nobody reads its fourth digit.
    let ratio_digits = digits.min(WITHOUT_INTERVAL);
    // The record has a 0 where the time of no operation would stand.
    let done = |cell: String| if rate == 0.0 { NONE.to_owned() } else { cell };
    vec![
        tasks_cell(point, cpus),
        rounded.map_or(NONE.to_owned(), |rounded| rounded.to_string()),
        half.map_or(NONE.to_owned(), |half| finite(half / rate * 100.0, 2)),
        done(finite(point.usecs_per_op, digits)),
        done(finite(point.usecs_per_op_task, digits)),
        format!("{:.seconds$}", point.real_s),
        format!("{:.seconds$}", point.user_s),
        format!("{:.seconds$}", point.sys_s),
        point.speedup.map_or(NONE.to_owned(), |speedup| finite(speedup, ratio_digits)),
        point.efficiency.map_or(NONE.to_owned(), |efficiency| finite(efficiency, ratio_digits)),
        finite(point.fairness, 2),
    ]
}

/// A number, or a dash for what came of a division by zero.
pub(crate) fn finite(value: f64, digits: usize) -> String {
    if value.is_finite() { significant(value, digits).to_string() } else { NONE.to_owned() }
}

/// Milliseconds as time(1) prints them, fewer decimals where the seconds already fill the column.
fn seconds_decimals(points: &[Point]) -> usize {
    match points.iter().map(|point| point.real_s).fold(0.0, f64::max) {
        longest if longest < 10.0 => 3,
        longest if longest < 1000.0 => 2,
        _ => 0,
    }
}

/// Whether a column is one of words: they begin on the left, and so does what stands among them, while numbers end on the right.
pub(crate) fn holds_words<Row: AsRef<[String]>>(rows: &[Row], column: usize) -> bool {
    let is_number = |cell: &str| {
        cell.is_empty() || cell.starts_with(|c: char| c.is_ascii_digit() || "-+.".contains(c))
    };
    rows.iter().filter_map(|row| row.as_ref().get(column)).any(|cell| !is_number(cell.trim()))
}

/// Pads the cells of a column on the right so that their units stand below each other.
fn align_decimals(rows: &mut [Vec<String>], column: usize) {
    let tail = |cell: &str| cell.find(['.', '*']).map_or(0, |at| cell.len() - at);
    let longest = rows.iter().map(|row| tail(&row[column])).max().unwrap_or(0);
    for row in rows {
        let cell = &mut row[column];
        let pad = longest - tail(cell);
        cell.extend(std::iter::repeat_n(' ', pad));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn cells(point: &Point, cpus: usize) -> Vec<String> {
        row(point, cpus, 3)
    }

    #[test]
    fn points_of_numbers_stand_below_each_other_those_of_names_need_not() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let rows = vec![
            row(["super_block.s_files", "1.25"]),
            row(["files_lock", "33"]),
            row(["3 others", "-"]),
        ];
        let table = Table::new(vec![["cache", "line"], ["transfers", "per op"]], rows);
        assert!(holds_words(&table.rows, 0) && !holds_words(&table.rows, 1));
        assert_eq!(table.rows[1], ["files_lock", "33   "]);
        let text = crate::layout::text(&table, &Style::default());
        assert_eq!(
            text,
            "cache                transfers\nline                    per op\nsuper_block.s_files       1.25\nfiles_lock               33\n3 others                  -"
        );
    }

    #[test]
    fn derived_numbers_have_as_many_digits_as_the_rate() {
        let point = Point { ci95: Some([809_000.0, 829_000.0]), ..fixture::summary(2, 819_123.4) };
        assert_eq!(cells(&point, 2)[..5], ["2", "819,000", "1.2", "1.22", "2.44"]);
        let point = Point { ci95: None, ..point };
        assert_eq!(cells(&point, 2)[..5], ["2", "820,000", "-", "1.2", "2.4"]);
        let point = Point { ci95: Some([619_000.0, 1_019_000.0]), ..point };
        assert_eq!(cells(&point, 2)[..5], ["2", "800,000", "24", "1", "2"]);
    }

    #[test]
    fn more_tasks_than_cpus_are_marked() {
        let point = fixture::summary(4, 1e6);
        assert_eq!(cells(&point, 2)[0], "4*");
        assert_eq!(cells(&point, 4)[0], "4");
        let curve = Curve {
            kind: results::Kind::Measured,
            metric: results::Metric::default(),
            cpus: 0,
            points: vec![fixture::summary(2, 1e6), point],
            ..fixture::run().curves[0].clone()
        };
        let table = Table::of_curve(&curve, 2);
        assert_eq!(table.footnote.as_deref(), Some("* more tasks than CPUs (2): they take turns"));
        assert_eq!((table.rows[0][0].as_str(), table.rows[1][0].as_str()), ("2 ", "4*"));
        assert_eq!(Table::of_curve(&curve, 4).footnote, None);
    }

    #[test]
    fn a_cost_is_no_rate() {
        let mut curve = fixture::run().curves[0].clone();
        curve.metric = results::Metric { unit: "instructions/op".into(), lower_is_better: true };
        for table in [Table::of_curve(&curve, 2), Table::of_curve_short(&curve, 2)] {
            let names: Vec<&str> = table.header.iter().map(|lines| lines[1].as_str()).collect();
            assert_eq!(names, ["tasks", "instructions/op", "± 95 %"]);
            assert!(table.rows.iter().all(|row| row.len() == 3));
        }
    }

    #[test]
    fn nothing_done_is_no_number() {
        let point = Point {
            ops_per_s: 0.0,
            ci95: Some([0.0, 0.0]),
            usecs_per_op: 0.0,
            usecs_per_op_task: f64::NAN,
            ..fixture::summary(1, 1.0)
        };
        assert_eq!(cells(&point, 2)[1..5], ["0", "-", "-", "-"]);
    }

    #[test]
    fn decimal_points_stand_below_each_other() {
        let mut rows: Vec<Vec<String>> =
            ["12.25", "3", "-", "0.1"].iter().map(|cell| vec![(*cell).to_owned()]).collect();
        align_decimals(&mut rows, 0);
        assert_eq!(rows.concat(), ["12.25", "3   ", "-   ", "0.1 "]);
    }
}
