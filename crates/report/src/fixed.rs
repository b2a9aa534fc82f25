//! Tables of fixed work: those that tiobench and AIM7 print themselves, and how long operations took.
//!
//! tiobench averages over its runs by dividing what all of them moved by the time that all of them took; so does its table here, while
//! the curve above it has the median. AIM7's has the median of the runs, and the means of their times.

use crate::table::{NONE, Table, finite, tasks_cell};
use results::{Curve, FixedWork, Kind, Latency, Point, Run};

/// What tiobench calls its phases, in the order of its output.
const SECTIONS: [(&str, &str); 4] = [
    ("_seq_read", "Sequential Reads"),
    ("_rand_read", "Random Reads"),
    ("_seq_write", "Sequential Writes"),
    ("_rand_write", "Random Writes"),
];

/// The unit and three lines that stand above each of its tables.
const UNITS: &str = "\
Unit information
================
File size = megabytes
Blk Size  = bytes
Rate      = megabytes per second
CPU%      = percentage of CPU used during the test
Latency   = milliseconds
Lat%      = percent of requests that took longer than X seconds
CPU Eff   = Rate divided by CPU% - throughput per cpu load";
const HEADER: &str = "                              \
File   Blk   Num                         Avg      Maximum      Lat%     Lat%     CPU\n\
Identifier                    \
Size   Size  Thr      Rate     (CPU%)  Latency    Latency      >2s      >10s     Eff\n\
---------------------------- \
------ ------ ---  ------------ ------ --------- -----------  -------- -------- -------";
/// Of the first column.
const IDENTIFIER: usize = 28;

/// A megabyte of tiobench.
const MB: f64 = 1048576.0;

/// The tables of all curves of fixed work in the run, as blocks of text.
pub(crate) fn tables(run: &Run) -> Vec<String> {
    let mut blocks = Vec::new();
    let of_tiobench: Vec<&Curve> =
        run.curves.iter().filter(|curve| curve.workload.starts_with("tiobench_")).collect();
    if of_tiobench.iter().any(|curve| !curve.points.is_empty()) {
        blocks.push(UNITS.to_owned());
        blocks.extend(SECTIONS.iter().filter_map(|(suffix, title)| {
            let mut rows = of_tiobench
                .iter()
                .filter(|curve| phase(curve) == *suffix)
                .flat_map(|curve| {
                    curve.points.iter().filter_map(|point| tiobench_row(run, curve, point))
                })
                .peekable();
            rows.peek()?;
            let rule = "=".repeat(title.len());
            Some(format!("{title}\n{rule}\n{HEADER}\n{}", rows.collect::<Vec<_>>().join("\n")))
        }));
    }
    blocks.extend(run.curves.iter().filter(|curve| is_aim7(curve)).filter_map(aim7));
    blocks
}

/// What stands between the name and the parameters of one of tiobench's curves.
fn phase(curve: &Curve) -> &str {
    let name = curve.workload.split(':').next().unwrap_or_default();
    name.strip_prefix("tiobench").unwrap_or_default()
}

fn is_aim7(curve: &Curve) -> bool {
    curve.metric.unit == "jobs/min" && curve.points.iter().any(|point| point.fixed.is_some())
}

/// Seconds of all samples together.
fn cpu_s(point: &Point) -> f64 {
    let ns: u128 = point.samples.iter().map(|s| u128::from(s.user_ns) + u128::from(s.sys_ns)).sum();
    ns as f64 / 1e9
}

fn tiobench_row(run: &Run, curve: &Curve, point: &Point) -> Option<String> {
    let FixedWork { per_op, block_bytes, file_bytes, latency } = *point.fixed.as_deref()?;
    let identifier = match curve.kind {
        Kind::Measured if curve.target.starts_with("dir:") => &run.host.kernel,
        _ => &curve.target,
    };
    let identifier: String = crate::escape::plain(identifier)
        .split_whitespace()
        .next()
        .unwrap_or(NONE)
        .chars()
        .take(IDENTIFIER)
        .collect();
    let wall: f64 = point.walls_s().iter().sum();
    let ops: u64 = point.samples.iter().map(|sample| sample.ops).sum();
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let rate = share(ops as f64 * per_op, wall);
    let cpu = share(cpu_s(point), wall);
    let Latency { count, mean_ns, max_ns, over_2s, over_10s, .. } = latency.unwrap_or_default();
    let late = |over: u64| 100.0 * share(over as f64, count as f64);
    Some(format!(
        "{identifier:<28} {:>6.0} {block_bytes:>6} {:>3}  {rate:>12.2} {:>5.1}% {:>9.3} {:>11.2}  {:>8.5} {:>8.5} {:>7.0}",
        file_bytes as f64 / MB,
        point.tasks,
        100.0 * cpu,
        mean_ns / 1e6,
        max_ns as f64 / 1e6,
        late(over_2s),
        late(over_10s),
        share(rate, cpu),
    ))
}

/// As AIM7's multitask prints it, over all task counts.
fn aim7(curve: &Curve) -> Option<String> {
    let rows: Vec<String> = curve
        .points
        .iter()
        .filter_map(|point| {
            let walls = point.walls_s();
            let runs = walls.len() as f64;
            let users = f64::from(point.tasks);
            let jti = point.jti()?;
            Some(format!(
                "{:<8} {:>12.2} {jti:>5.0} {:>14.4} {:>10.2} {:>10.2}",
                point.tasks,
                point.ops_per_s,
                point.ops_per_s / users,
                walls.iter().sum::<f64>() / runs,
                cpu_s(point) / runs,
            ))
        })
        .collect();
    let name = crate::escape::plain(&curve.workload);
    let head = format!(
        "{:<8} {:>12} {:>5} {:>14} {:>10} {:>10}",
        "Tasks", "jobs/min", "jti", "jobs/min/task", "real", "cpu"
    );
    let best = curve.points.iter().map(|point| point.ops_per_s).fold(0.0, f64::max);
    (!rows.is_empty()).then(|| {
        format!(
            "{name} on {}\n{head}\n{}\nMax Jobs per Minute {best:.2}",
            crate::escape::plain(&curve.target),
            rows.join("\n")
        )
    })
}

/// How long the operations of a curve took; none where they were not timed.
pub(crate) fn latencies(curve: &Curve, cpus: usize) -> Option<Table> {
    let header = vec![
        ["usecs per", "tasks"],
        ["operation:", "mean"],
        ["", "half"],
        ["", "90 %"],
        ["", "99 %"],
        ["", "99.9 %"],
        ["", "longest"],
    ];
    let row = |point: &Point| {
        let Latency { mean_ns, p50_ns, p90_ns, p99_ns, p999_ns, max_ns, .. } =
            point.fixed.as_deref()?.latency?;
        let times =
            [mean_ns, p50_ns as f64, p90_ns as f64, p99_ns as f64, p999_ns as f64, max_ns as f64];
        let mut cells = vec![tasks_cell(point, cpus)];
        cells.extend(times.map(|ns| finite(ns / 1e3, 3)));
        Some(cells)
    };
    let rows: Vec<Vec<String>> = curve.points.iter().filter_map(row).collect();
    (!rows.is_empty()).then(|| Table::new(header, rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use results::Sample;

    fn sample(task: u32, ops: u64, elapsed_ms: u64) -> Sample {
        let ns = elapsed_ms * 1_000_000;
        Sample {
            round: 0,
            task,
            ops,
            start_ns: 0,
            elapsed_ns: ns,
            user_ns: ns / 10,
            sys_ns: ns / 2,
            vcsw: 0,
            ivcsw: 0,
            cpu: [0, 0],
        }
    }

    fn run_of(workload: &str, unit: &str, work: FixedWork, samples: Vec<Sample>) -> Run {
        let mut run = fixture::run();
        run.host.kernel = "6.1.0-13-amd64 #1 SMP".into();
        let tasks = samples.len() as u32;
        let point = Point::of_fixed_work(tasks, vec![], samples, None, work);
        let mut curve = run.curves[0].clone();
        curve.workload = workload.into();
        curve.metric.unit = unit.into();
        curve.points = vec![point];
        run.curves = vec![curve];
        run
    }

    /// 2 tasks × 25,600 blocks of 4 KiB in 0.5 s: 400 MB/s, at 0.54 s of CPU: 108 %, so 370 MB/s for each CPU.
    #[test]
    fn the_table_is_tiobenchs_own() {
        let latency = Latency {
            count: 51_200,
            mean_ns: 23_456.0,
            max_ns: 12_450_000,
            over_2s: 512,
            over_10s: 0,
            ..Latency::default()
        };
        let work = FixedWork {
            per_op: 4096.0 / MB,
            block_bytes: 4096,
            file_bytes: 200 << 20,
            latency: Some(latency),
        };
        let samples = vec![sample(0, 25_600, 500), sample(1, 25_600, 400)];
        let run = run_of("tiobench_seq_read:size=100M", "MB/s", work, samples);
        let blocks = tables(&run);
        assert_eq!(blocks.len(), 2, "{blocks:?}");
        assert!(blocks[0].starts_with("Unit information"));
        let lines: Vec<&str> = blocks[1].lines().collect();
        assert_eq!(lines[..2], ["Sequential Reads", "================"]);
        assert_eq!(
            lines[5],
            "6.1.0-13-amd64                  200   4096   2        400.00 108.0%     0.023       12.45   1.00000  0.00000     370"
        );
        let widths = lines[4].split(' ').map(str::len).collect::<Vec<_>>();
        assert_eq!(widths, [28, 6, 6, 3, 0, 12, 6, 9, 11, 0, 8, 8, 7]);
        let table = latencies(&run.curves[0], 2).unwrap();
        assert_eq!(table.rows[0][1].trim(), "23.5");
    }

    /// 4 users × 100 jobs in 80 s.
    #[test]
    fn the_table_is_aim7s_own() {
        let work = FixedWork { per_op: 60.0, ..FixedWork::default() };
        let samples =
            [60, 80, 80, 60].into_iter().zip(0..).map(|(s, task)| sample(task, 100, s * 1000));
        let run = run_of("aim7:mix=disk", "jobs/min", work, samples.collect());
        let [block] = &tables(&run)[..] else { panic!("one block") };
        let words: Vec<Vec<&str>> =
            block.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words[1], ["Tasks", "jobs/min", "jti", "jobs/min/task", "real", "cpu"]);
        // CPU: six tenths of 280 s.
        assert_eq!(words[2], ["4", "300.00", "86", "75.0000", "80.00", "168.00"]);
        assert_eq!(block.lines().last(), Some("Max Jobs per Minute 300.00"));
        assert!(latencies(&run.curves[0], 2).is_none());
    }

    #[test]
    fn loops_have_none_of_them() {
        assert!(tables(&fixture::run()).is_empty());
    }
}
