//! Rows of the table of locks, from whoever saw them.

use crate::table::{NONE, finite};
use crate::{Style, escape};
use results::{KernelWait, Point};

/// All waits for one lock.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) count: u64,
    pub(super) wait_ns: u64,
    pub(super) wait_max_ns: Option<u64>,
    /// Operations and time of the tasks in the slices that this was seen in.
    pub(super) seen: Seen,
    /// Only where every acquisition was counted.
    pub(super) taken: Option<Taken>,
}

/// What was looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    pub(super) ops: u64,
    pub(super) task_ns: u64,
}

/// Acquisitions and holds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taken {
    pub(super) acquisitions: u64,
    pub(super) hold_ns: u64,
    pub(super) hold_max_ns: u64,
}

/// What a point knows of waits, the longest first. Counted locks stand before traced ones; no target has both.
pub(super) fn rows(point: &Point, style: &Style) -> Vec<Row> {
    let seen = Seen {
        ops: point.samples.iter().map(|sample| sample.ops).sum(),
        task_ns: point.samples.iter().map(|sample| sample.elapsed_ns).sum(),
    };
    let counted = point.locks.iter().map(|lock| Row {
        name: escape::plain(&lock.name).into_owned(),
        kind: escape::plain(&lock.kind).into_owned(),
        count: lock.contended,
        wait_ns: lock.wait_ns,
        wait_max_ns: Some(lock.wait_max_ns),
        seen,
        taken: Some(Taken {
            acquisitions: lock.acquisitions,
            hold_ns: lock.hold_ns,
            hold_max_ns: lock.hold_max_ns,
        }),
    });
    let traced = point.traced.iter().flat_map(|traced| {
        let seen = Seen { ops: traced.ops, task_ns: traced.task_ns };
        traced.waits.iter().map(move |wait| Row {
            name: name(wait, style),
            kind: escape::plain(&wait.kind).into_owned(),
            count: wait.count,
            wait_ns: wait.wait_ns,
            wait_max_ns: wait.wait_max_ns,
            seen,
            taken: None,
        })
    });
    counted.chain(traced).collect()
}

/// `lookup_fast → lockref_get_not_dead`, with the lock's own symbol before it if it has one.
pub(super) fn name(wait: &KernelWait, style: &Style) -> String {
    let arrow = if style.unicode { " → " } else { " -> " };
    let path = wait.path.join(arrow);
    let name = match wait.path.last() {
        None => wait.lock.clone(),
        Some(waits) if *waits == wait.lock => path,
        Some(_) => format!("{}: {path}", wait.lock),
    };
    escape::plain(&name).into_owned()
}

impl Row {
    /// Several as one; the slices are the same.
    pub(super) fn sum(rows: Vec<Row>) -> Row {
        let mut sum = Row {
            name: format!("{} others", rows.len()),
            kind: String::new(),
            count: 0,
            wait_ns: 0,
            wait_max_ns: None,
            seen: Seen::default(),
            taken: None,
        };
        for row in rows {
            sum.count += row.count;
            sum.wait_ns += row.wait_ns;
            sum.wait_max_ns = sum.wait_max_ns.max(row.wait_max_ns);
            sum.seen = row.seen;
            if let Some(more) = row.taken {
                let taken = sum.taken.get_or_insert_default();
                taken.acquisitions += more.acquisitions;
                taken.hold_ns += more.hold_ns;
                taken.hold_max_ns = taken.hold_max_ns.max(more.hold_max_ns);
            }
        }
        sum
    }

    /// Waits per 1000 operations; none where nothing was done.
    pub(super) fn per_1000_ops(&self) -> Option<f64> {
        quotient(self.count, self.seen.ops).map(|count| count * 1000.0)
    }

    /// Microseconds waited per operation.
    pub(super) fn usecs_per_op(&self) -> Option<f64> {
        quotient(self.wait_ns, self.seen.ops).map(|ns| ns / 1000.0)
    }

    /// All cells but the tasks; with those of counted locks if `counted`.
    pub(super) fn cells(&self, counted: bool) -> Vec<String> {
        let scaled = |value: Option<f64>, scale: f64| number(value.map(|value| value * scale));
        let kind = if self.kind.is_empty() { NONE } else { &self.kind };
        let mut cells = vec![
            self.name.clone(),
            kind.to_owned(),
            number(self.per_1000_ops()),
            finite(self.wait_ns as f64 / 1e6, 3),
            scaled(quotient(self.wait_ns, self.count), 1e-3),
            scaled(self.wait_max_ns.map(|ns| ns as f64), 1e-3),
            scaled(quotient(self.wait_ns, self.seen.task_ns), 100.0),
        ];
        match self.taken {
            Some(taken) => cells.extend([
                number(quotient(taken.acquisitions, self.seen.ops)),
                finite(taken.hold_ns as f64 / 1e6, 3),
                scaled(quotient(taken.hold_ns, taken.acquisitions), 1e-3),
                finite(taken.hold_max_ns as f64 / 1e3, 3),
            ]),
            None if counted => cells.extend([NONE; 4].map(str::to_owned)),
            None => {}
        }
        cells
    }
}

/// None for a division by nothing.
pub(super) fn quotient(dividend: u64, divisor: u64) -> Option<f64> {
    (divisor > 0).then(|| dividend as f64 / divisor as f64)
}

/// Three digits, or a dash.
pub(super) fn number(value: Option<f64>) -> String {
    value.map_or(NONE.to_owned(), |value| finite(value, 3))
}
