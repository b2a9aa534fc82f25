//! What a simulated machine knows exactly: which cache lines moved, and what tasks spent their time with.

use crate::table::{NONE, Table, finite, tasks_cell};
use results::{Curve, Point};

/// Rows per task count.
const ROWS: usize = 8;

/// Transfers per operation by line; none for a curve that was measured.
pub(crate) fn table(curve: &Curve, cpus: usize) -> Option<Table> {
    let header =
        vec![["", "tasks"], ["", "cache line"], ["transfers", "per op"], ["wait usecs", "per op"]];
    let rows: Vec<Vec<String>> = curve
        .points
        .iter()
        .flat_map(|point| {
            let ops = point.samples.iter().map(|sample| sample.ops).sum::<u64>();
            let per_op = move |sum: f64| {
                if ops == 0 { NONE.to_owned() } else { finite(sum / ops as f64, 3) }
            };
            point.lines.iter().take(ROWS).map(move |line| {
                vec![
                    tasks_cell(point, cpus),
                    crate::escape::plain(&line.name).into_owned(),
                    per_op(line.transfers as f64),
                    per_op(line.wait_ns as f64 / 1e3),
                ]
            })
        })
        .collect();
    (!rows.is_empty()).then(|| Table::new(header, rows))
}

/// What the tasks spent their time with, in per cent; none for a curve that was measured.
pub(crate) fn shares(curve: &Curve, cpus: usize) -> Option<Table> {
    let header = vec![
        ["% of the tasks'", "tasks"],
        ["time:", "working"],
        ["waiting", "for lines"],
        ["", "spinning"],
        ["", "sleeping"],
        ["waiting", "for a CPU"],
    ];
    let row = |point: &Point| {
        let shares = point.shares?;
        let percent = |share: f64| finite(share * 100.0, 3);
        let mut cells = vec![tasks_cell(point, cpus)];
        let shares = [shares.work, shares.lines, shares.spin, shares.sleep, shares.ready];
        cells.extend(shares.map(percent));
        Some(cells)
    };
    let rows: Vec<Vec<String>> = curve.points.iter().filter_map(row).collect();
    (!rows.is_empty()).then(|| Table::new(header, rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use results::{LineUse, TimeShares};

    #[test]
    fn transfers_are_per_operation_and_shares_in_per_cent() {
        let mut run = fixture::run();
        let curve = &mut run.curves[0];
        assert!(table(curve, 2).is_none() && shares(curve, 2).is_none());
        let point = &mut curve.points[0];
        let ops: u64 = point.samples.iter().map(|sample| sample.ops).sum();
        point.lines =
            vec![LineUse { name: "files_lock".to_owned(), transfers: 2 * ops, wait_ns: 500 * ops }];
        point.shares = Some(TimeShares { work: 0.25, lines: 0.75, ..TimeShares::default() });
        let lines = table(curve, 2).unwrap();
        let cells: Vec<&str> = lines.rows[0].iter().map(|cell| cell.trim()).collect();
        assert_eq!(cells[1..], ["files_lock", "2.00", "0.500"]);
        let shares = shares(curve, 2).unwrap();
        let cells: Vec<&str> = shares.rows[0].iter().map(|cell| cell.trim()).collect();
        assert_eq!(cells[1..], ["25.0", "75.0", "0", "0", "0"]);
    }
}
