//! Who waited for which lock: one row per task count and lock, the longest wait first.

use crate::table::{NONE, Table, finite, tasks_cell};
use results::{Curve, LockUse, Point};

/// Rows per task count; the rest is summed up in one.
const ROWS: usize = 10;

/// None where no locks were counted.
pub(crate) fn table(curve: &Curve, cpus: usize) -> Option<Table> {
    let counted = |point: &&Point| !point.locks.is_empty();
    let rows: Vec<Vec<String>> = curve
        .points
        .iter()
        .filter(counted)
        .flat_map(|point| {
            let ops = point.samples.iter().map(|sample| sample.ops).sum::<u64>();
            let time = point.samples.iter().map(|sample| sample.elapsed_ns).sum::<u64>();
            shown(point).into_iter().map(move |lock| row(point, &lock, ops, time, cpus))
        })
        .collect();
    let header = vec![
        ["", "tasks"],
        ["", "lock"],
        ["taken", "per op"],
        ["contended", "per 1000 ops"],
        ["wait ms", "total"],
        ["wait usecs", "mean"],
        ["wait usecs", "max"],
        ["wait, share", "of time"],
        ["hold ms", "total"],
        ["hold usecs", "mean"],
        ["hold usecs", "max"],
    ];
    (!rows.is_empty()).then(|| Table::new(header, rows))
}

/// The first rows, and the rest in one.
fn shown(point: &Point) -> Vec<LockUse> {
    let mut shown: Vec<LockUse> = point.locks.iter().take(ROWS).cloned().collect();
    let mut rest = Vec::new();
    for lock in point.locks.iter().skip(ROWS) {
        LockUse::merge(&mut rest, vec![LockUse { name: "others".to_owned(), ..lock.clone() }]);
    }
    shown.append(&mut rest);
    shown
}

fn row(point: &Point, lock: &LockUse, ops: u64, time_ns: u64, cpus: usize) -> Vec<String> {
    let quotient = |dividend: u64, divisor: u64, scale: f64| {
        if divisor == 0 {
            NONE.to_owned()
        } else {
            finite(dividend as f64 * scale / divisor as f64, 3)
        }
    };
    vec![
        tasks_cell(point, cpus),
        crate::escape::plain(&lock.name).into_owned(),
        quotient(lock.acquisitions, ops, 1.0),
        quotient(lock.contended, ops, 1000.0),
        finite(lock.wait_ns as f64 / 1e6, 3),
        quotient(lock.wait_ns, lock.contended, 1e-3),
        finite(lock.wait_max_ns as f64 / 1e3, 3),
        quotient(lock.wait_ns, time_ns, 1.0),
        finite(lock.hold_ns as f64 / 1e6, 3),
        quotient(lock.hold_ns, lock.acquisitions, 1e-3),
        finite(lock.hold_max_ns as f64 / 1e3, 3),
    ]
}

/// One line per point whose RCU callbacks piled up.
pub(crate) fn backlog(curve: &Curve) -> Vec<String> {
    let line = |point: &Point| {
        let rcu = point.rcu?;
        (rcu.peak > 0).then(|| {
            format!(
                "{} tasks: at most {} RCU callbacks waited, to free {} KiB",
                point.tasks,
                rcu.peak,
                rcu.peak_bytes >> 10
            )
        })
    };
    curve.points.iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_lock_s_row_relates_it_to_operations_and_time() {
        let mut run = fixture::run();
        let curve = &mut run.curves[0];
        assert!(table(curve, 2).is_none());
        let point = &mut curve.points[0];
        point.locks = fixture::locks();
        let ops: u64 = point.samples.iter().map(|sample| sample.ops).sum();
        let table = table(curve, 2).unwrap();
        assert_eq!(table.rows.len(), 2);
        let cell = |row: usize, column: usize| table.rows[row][column].trim();
        assert_eq!(cell(0, 1), "files_lock");
        assert_eq!(cell(0, 2), finite(2e6 / ops as f64, 3));
        assert_eq!((cell(0, 4), cell(0, 5), cell(0, 6)), ("250", "0.500", "1,200"));
        assert_eq!(cell(1, 5), NONE, "nobody waited");
    }

    #[test]
    fn beyond_ten_locks_the_rest_is_one_row() {
        let mut point = fixture::summary(1, 1.0);
        point.locks = (0..13)
            .map(|n| LockUse { name: format!("l{n}"), acquisitions: 1, ..LockUse::default() })
            .collect();
        let shown = shown(&point);
        assert_eq!(shown.len(), ROWS + 1);
        assert_eq!((shown[ROWS].name.as_str(), shown[ROWS].acquisitions), ("others", 3));
    }
}
