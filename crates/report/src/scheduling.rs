//! What the scheduler did to the tasks of a point, from its samples: who wants to doubt a number looks here first.

use crate::table::{NONE, Table, finite, tasks_cell};
use results::{Curve, Point, Sample};

/// The scheduling of one point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scheduling {
    /// Rounds that were measured.
    pub(crate) rounds: usize,
    /// Time between the first operation of the first and of the last task to start, ns: median over rounds,
    skew_median_ns: f64,
    /// and the worst round.
    skew_max_ns: u64,
    /// Voluntary context switches per task and second,
    voluntary: f64,
    /// involuntary ones.
    involuntary: f64,
    /// Slices that ended on another CPU than they started on.
    migrations: usize,
}

impl Scheduling {
    /// None without a sample.
    pub(crate) fn of(point: &Point) -> Option<Scheduling> {
        let mut skews: Vec<u64> =
            point.samples.chunk_by(|a, b| a.round == b.round).map(skew).collect();
        skews.sort_unstable();
        let skew_max_ns = *skews.last()?;
        let seconds =
            point.samples.iter().map(|sample| sample.elapsed_ns).sum::<u64>() as f64 / 1e9;
        let per_second = |count: fn(&Sample) -> u64| {
            point.samples.iter().map(count).sum::<u64>() as f64 / seconds
        };
        Some(Scheduling {
            rounds: skews.len(),
            skew_median_ns: (skews[(skews.len() - 1) / 2] + skews[skews.len() / 2]) as f64 / 2.0,
            skew_max_ns,
            voluntary: per_second(|sample| sample.vcsw),
            involuntary: per_second(|sample| sample.ivcsw),
            migrations: point
                .samples
                .iter()
                .filter(|sample| sample.cpu[0] != sample.cpu[1])
                .count(),
        })
    }
}

/// Rounds that were measured at a point; its samples are ordered by round.
pub(crate) fn rounds(point: &Point) -> usize {
    point.samples.chunk_by(|a, b| a.round == b.round).count()
}

fn skew(round: &[Sample]) -> u64 {
    let starts = || round.iter().map(|sample| sample.start_ns);
    starts().max().unwrap_or(0) - starts().min().unwrap_or(0)
}

/// One row per point.
pub(crate) fn table(curve: &Curve, cpus: usize) -> Table {
    let header = vec![
        ["", "tasks"],
        ["", "rounds"],
        ["start skew", "median usecs"],
        ["start skew", "max usecs"],
        ["vol. switches", "per task-s"],
        ["invol. switches", "per task-s"],
        ["", "migrations"],
    ];
    let row = |point: &Point| {
        let mut cells = vec![tasks_cell(point, cpus)];
        match Scheduling::of(point) {
            Some(s) => cells.extend([
                s.rounds.to_string(),
                format!("{:.1}", s.skew_median_ns / 1e3),
                format!("{:.1}", s.skew_max_ns as f64 / 1e3),
                finite(s.voluntary, 2),
                finite(s.involuntary, 2),
                s.migrations.to_string(),
            ]),
            None => cells.extend(std::iter::repeat_n(NONE.to_owned(), header.len() - 1)),
        }
        cells
    };
    let rows = curve.points.iter().map(row).collect();
    Table::new(header, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn samples_are_grouped_by_round() {
        let sample = |round, task, start_ns, ivcsw, cpu| Sample {
            start_ns,
            ivcsw,
            cpu,
            elapsed_ns: 500_000_000,
            ..fixture::sample(round, task, 100)
        };
        let samples = vec![
            sample(0, 0, 1_000, 0, [0, 0]),
            sample(0, 1, 4_000, 2, [1, 0]),
            sample(1, 0, 9_000, 0, [0, 0]),
            sample(1, 1, 2_000, 4, [1, 1]),
        ];
        let point = Point { samples, ..fixture::summary(2, 1e6) };
        let expected = Scheduling {
            rounds: 2,
            skew_median_ns: 5_000.0,
            skew_max_ns: 7_000,
            voluntary: 0.0,
            involuntary: 3.0,
            migrations: 1,
        };
        assert_eq!(Scheduling::of(&point), Some(expected));
        assert_eq!(rounds(&point), 2);
    }

    #[test]
    fn a_point_without_samples_has_no_scheduling() {
        assert_eq!(Scheduling::of(&fixture::summary(2, 1e6)), None);
    }
}
