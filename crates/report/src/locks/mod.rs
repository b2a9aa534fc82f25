//! Who waited for which lock: of this kernel as a tracer saw it, of the lab and the simulator as they counted it.

mod compared;
mod rows;
mod said;

pub(crate) use compared::tables as compared_tables;
pub(crate) use said::{backlog, both_said, said, stacks};

use crate::Style;
use crate::table::{Table, finite, tasks_cell};
use results::{Curve, Point};
use rows::{Row, rows};

/// Rows per task count; the rest is summed up in one.
pub(crate) const ROWS: usize = 10;
/// Rows of samples per task count.
const FUNCTIONS: usize = 8;

/// The locks of a curve, and beside them where samples say that its tasks were; none where nobody looked.
pub(crate) fn tables(curve: &Curve, cpus: usize, style: &Style) -> Vec<Table> {
    tables_of(curve, cpus, style, ROWS)
}

/// The same with `most` rows per task count at most, and the rest in one.
pub(crate) fn tables_of(curve: &Curve, cpus: usize, style: &Style, most: usize) -> Vec<Table> {
    let functions = most.min(FUNCTIONS);
    [waits(curve, cpus, style, most), samples(curve, cpus, style, functions)]
        .into_iter()
        .flatten()
        .collect()
}

/// What one of [`tables`] or [`compared_tables`] shows, for its caption.
pub(crate) fn subject(table: &Table) -> &'static str {
    if table.header[1][0] == SPENT { "CPU time" } else { "locks" }
}

/// The head of the samples' functions.
const SPENT: &str = "CPU time";

/// One row per task count and lock, the longest wait first.
fn waits(curve: &Curve, cpus: usize, style: &Style, most: usize) -> Option<Table> {
    let mut header = vec![
        ["", "tasks"],
        ["", "lock"],
        ["", "kind"],
        ["per 1000", "ops"],
        ["wait", "ms"],
        ["mean", "usecs"],
        ["max", "usecs"],
        ["% of", "time"],
    ];
    let shown: Vec<(&Point, Row)> = curve
        .points
        .iter()
        .flat_map(|point| first(rows(point, style), most).into_iter().map(move |row| (point, row)))
        .collect();
    // Only what counts every acquisition knows more than waits.
    let counted = shown.iter().any(|(_, row)| row.taken.is_some());
    if counted {
        header.extend([["taken", "per op"], ["held", "ms"], ["held usecs", "mean"], ["", "max"]]);
    }
    let cells = |(point, row): &(&Point, Row)| {
        let mut cells = vec![tasks_cell(point, cpus)];
        cells.extend(row.cells(counted));
        cells
    };
    let rows: Vec<Vec<String>> = shown.iter().map(cells).collect();
    (!rows.is_empty()).then(|| Table::new(header, rows).shortened(1, style))
}

/// The first rows, and the rest in one.
fn first(mut rows: Vec<Row>, most: usize) -> Vec<Row> {
    if rows.len() > most + 1 {
        let rest = rows.split_off(most);
        rows.push(Row::sum(rest));
    }
    rows
}

/// One row per task count and function of the kernel, the most samples first.
fn samples(curve: &Curve, cpus: usize, style: &Style, most: usize) -> Option<Table> {
    let header = vec![["", "tasks"], [SPENT, "spent in"], ["", "samples"], ["% of", "samples"]];
    let mut rows = Vec::new();
    for point in &curve.points {
        let Some(samples) = point.traced.as_ref().and_then(|traced| traced.samples.as_ref()) else {
            continue;
        };
        let mut add = |name: &str, count: u64| {
            let share = count as f64 * 100.0 / samples.total as f64;
            rows.push(vec![
                tasks_cell(point, cpus),
                crate::escape::plain(name).into_owned(),
                count.to_string(),
                finite(share, 3),
            ]);
        };
        let (shown, rest) = samples.functions.split_at(samples.functions.len().min(most));
        shown.iter().for_each(|function| add(&function.name, function.count));
        let rest: u64 = rest.iter().map(|function| function.count).sum();
        for (name, count) in [("elsewhere in the kernel", rest), ("user mode", samples.user)] {
            if count > 0 {
                add(name, count);
            }
        }
    }
    (!rows.is_empty()).then(|| Table::new(header, rows).shortened(1, style))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::table::NONE;
    use results::{KernelWait, LockUse};

    fn cells(table: &Table, row: usize) -> Vec<&str> {
        table.rows[row].iter().map(|cell| cell.trim()).collect()
    }

    #[test]
    fn a_counted_lock_s_row_relates_it_to_operations_and_time() {
        let mut run = fixture::run();
        let curve = &mut run.curves[0];
        assert!(tables(curve, 2, &Style::default()).is_empty());
        let point = &mut curve.points[0];
        point.locks = fixture::locks();
        let ops: u64 = point.samples.iter().map(|sample| sample.ops).sum();
        let tables = tables(curve, 2, &Style::default());
        let [table] = &tables[..] else { panic!("no samples") };
        assert_eq!(table.rows.len(), 2);
        assert_eq!(cells(table, 0)[1..3], ["files_lock", "spin"]);
        assert_eq!(cells(table, 0)[3], finite(5e8 / ops as f64, 3));
        assert_eq!(cells(table, 0)[4..7], ["250", "0.500", "1,200"]);
        assert_eq!(cells(table, 0)[8], finite(2e6 / ops as f64, 3));
        assert_eq!(cells(table, 1)[5], NONE, "nobody waited");
    }

    #[test]
    fn a_wait_s_row_names_who_waits_on_whose_behalf() {
        let run = fixture::traced_run();
        let style = Style { width: 100, ..Style::default() };
        let both = tables(&run.curves[0], 2, &style);
        let [waits, samples] = &both[..] else { panic!("waits and samples") };
        assert_eq!(
            cells(waits, 0),
            [
                "2",
                "sys_unlink → do_unlinkat",
                "rwsem write",
                "0.133",
                "81.2",
                "6,770",
                "20,300",
                "20.3"
            ]
        );
        let ascii = tables(&run.curves[0], 2, &Style { unicode: false, ..style });
        assert_eq!(cells(&ascii[0], 1)[1], "lookup_fast -> lockref_get_not_dead");
        assert_eq!(cells(samples, 0), ["2", "lockref_get_not_dead", "900", "60.0"]);
        assert_eq!(cells(samples, 2), ["2", "user mode", "300", "20.0"]);
    }

    #[test]
    fn a_lock_with_a_symbol_stands_before_its_path() {
        let mut run = fixture::traced_run();
        let traced = run.curves[0].points[1].traced.as_mut().expect("traced");
        traced.waits[0].lock = "rename_lock".into();
        traced.waits[1].path.clear();
        let table = &tables(&run.curves[0], 2, &Style { width: 120, ..Style::default() })[0];
        assert_eq!(cells(table, 0)[1], "rename_lock: sys_unlink → do_unlinkat");
        assert_eq!(cells(table, 1)[1], "lockref_get_not_dead");
    }

    #[test]
    fn beyond_ten_locks_the_rest_is_one_row() {
        let mut point = fixture::summary(1, 1.0);
        let lock = |n| LockUse { name: format!("l{n}"), acquisitions: 1, ..LockUse::default() };
        point.locks = (0..13).map(lock).collect();
        let shown = first(rows(&point, &Style::default()), ROWS);
        assert_eq!(shown.len(), ROWS + 1);
        let others = shown[ROWS].taken.expect("counted").acquisitions;
        assert_eq!((shown[ROWS].name.as_str(), others), ("3 others", 3));
        point.locks.truncate(11);
        assert_eq!(
            first(rows(&point, &Style::default()), ROWS)[10].name,
            "l10",
            "no row saved, none summed"
        );
    }

    #[test]
    fn the_table_fits_a_hundred_columns_whatever_the_names() {
        let mut run = fixture::traced_run();
        let traced = run.curves[0].points[1].traced.as_mut().expect("traced");
        let long =
            KernelWait { path: vec!["x".repeat(60), "y".repeat(60)], ..traced.waits[0].clone() };
        traced.waits.push(long);
        for unicode in [false, true] {
            let style = Style { width: 100, unicode, ..Style::default() };
            for table in tables(&run.curves[0], 2, &style) {
                let text = crate::layout::text(&table, &style);
                assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
                assert!(unicode || text.is_ascii(), "{text}");
            }
        }
    }
}
