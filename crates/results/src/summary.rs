//! From samples to the summary of a point, and from points to the shape of a curve.
//!
//! What each figure means is said at its field in [`Point`]; here is how it comes about. Every figure is finite whatever the
//! samples, because JSON has no other numbers: a quotient is an `Option`, and its place decides what none means there.

use crate::{Curve, FixedWork, Point, Sample};
use stats::{Shape, ShapePoint};
use std::collections::BTreeMap;

impl Point {
    /// The point of `tasks` tasks pinned to `cpus`, with everything that follows from `samples`: one for each round and
    /// task, in any order.
    ///
    /// `one_task` are the samples of the point with one task of the same curve, which speed-up relates to, if it was
    /// measured. For the point with one task itself it is not needed.
    pub fn from_samples(
        tasks: u32,
        cpus: Vec<u32>,
        samples: Vec<Sample>,
        one_task: Option<&[Sample]>,
    ) -> Point {
        Point::of(tasks, cpus, samples, one_task, None)
    }

    /// As [`Point::from_samples`], of tasks that had so much work to do.
    pub fn of_fixed_work(
        tasks: u32,
        cpus: Vec<u32>,
        samples: Vec<Sample>,
        one_task: Option<&[Sample]>,
        work: FixedWork,
    ) -> Point {
        Point::of(tasks, cpus, samples, one_task, Some(Box::new(work)))
    }

    fn of(
        tasks: u32,
        cpus: Vec<u32>,
        mut samples: Vec<Sample>,
        one_task: Option<&[Sample]>,
        fixed: Option<Box<FixedWork>>,
    ) -> Point {
        // Also makes the sums below independent of the order of arrival, to the last bit.
        samples.sort_by_key(|sample| (sample.round, sample.task));
        let one_task = if tasks == 1 { Some(samples.as_slice()) } else { one_task };
        let fixed_work = fixed.as_deref();
        let speedup =
            one_task.and_then(|one_task| stats::median(&speedups(&samples, one_task, fixed_work)));

        let rates: Vec<f64> = rates_by_round(&samples, fixed_work).into_values().collect();
        let ops_per_s = stats::median(&rates).unwrap_or(0.0);
        let per_op = fixed_work.map_or(1.0, |work| work.per_op);
        let usecs_per_op = quotient(1e6 * per_op, ops_per_s).unwrap_or(0.0);
        Point {
            tasks,
            cpus,
            ops_per_s,
            ci95: stats::median_ci95(&rates),
            usecs_per_op,
            usecs_per_op_task: f64::from(tasks) * usecs_per_op,
            real_s: seconds_per_task(&samples, tasks, |sample| sample.elapsed_ns),
            user_s: seconds_per_task(&samples, tasks, |sample| sample.user_ns),
            sys_s: seconds_per_task(&samples, tasks, |sample| sample.sys_ns),
            speedup,
            efficiency: speedup.and_then(|speedup| quotient(speedup, f64::from(tasks))),
            fairness: fairness(&samples, tasks),
            locks: Vec::new(),
            traced: None,
            lines: Vec::new(),
            shares: None,
            rcu: None,
            fixed,
            samples,
        }
    }

    /// Operations per second of all tasks together in each round, in the order of rounds; of fixed work in the metric's unit.
    pub fn round_rates(&self) -> Vec<f64> {
        rates_by_round(&self.samples, self.fixed.as_deref()).into_values().collect()
    }

    /// For each round the seconds from the opening of the barrier until the last task had ended.
    pub fn walls_s(&self) -> Vec<f64> {
        let walls = walls_ns(&self.samples).into_values();
        walls.map(|ns| ns as f64 / 1e9).collect()
    }

    /// AIM7's job timing index: 100 × (1 − coefficient of variation of the times that the tasks of a round took), 0 if they
    /// vary more than that; the mean over rounds. 100 means that all took equally long. None without samples.
    pub fn jti(&self) -> Option<f64> {
        let mut rounds = BTreeMap::<u32, Vec<f64>>::new();
        for sample in &self.samples {
            rounds.entry(sample.round).or_default().push(ended_ns(sample) as f64);
        }
        let indices = rounds.values().map(|times| (100.0 * (1.0 - variation(times))).max(0.0));
        quotient(indices.sum(), rounds.len() as f64)
    }
}

/// Standard deviation (of these times, not of a population that they stand for) by mean; 0 of times that are 0.
fn variation(times: &[f64]) -> f64 {
    let count = times.len() as f64;
    let mean = times.iter().sum::<f64>() / count;
    let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / count;
    quotient(variance.sqrt(), mean).unwrap_or(0.0)
}

impl Curve {
    /// What the curve does on `cpus` usable CPUs: scales, flattens, falls, ...
    ///
    /// Judged by the speed-ups, where one task was measured: they are medians of ratios within a round, from which what slows
    /// a whole round has gone.
    pub fn shape(&self, cpus: u32) -> Shape {
        let one_task = self.points.iter().find(|point| point.tasks == 1);
        let related: Option<Vec<ShapePoint>> = self
            .points
            .iter()
            .map(|point| {
                let ratios = speedups(&point.samples, &one_task?.samples, point.fixed.as_deref());
                let (rate, ci95) = (point.speedup?, stats::median_ci95(&ratios));
                Some(ShapePoint { tasks: point.tasks, rate, ci95 })
            })
            .collect();
        let absolute = |point: &Point| ShapePoint {
            tasks: point.tasks,
            rate: point.ops_per_s,
            ci95: point.ci95,
        };
        let points = related.unwrap_or_else(|| self.points.iter().map(absolute).collect());
        stats::shape(&points, cpus)
    }
}

impl Curve {
    /// 95 % interval of the speed-up at `tasks`; none without one task, or with too few or too unsteady rounds.
    pub fn speedup_ci95(&self, tasks: u32) -> Option<[f64; 2]> {
        let of = |tasks: u32| self.points.iter().find(|point| point.tasks == tasks);
        let point = of(tasks)?;
        let ratios = speedups(&point.samples, &of(1)?.samples, point.fixed.as_deref());
        stats::median_ci95(&ratios)
    }
}

/// Of numbers that are not negative; none by 0.
fn quotient(dividend: f64, divisor: f64) -> Option<f64> {
    (divisor > 0.0).then(|| dividend / divisor)
}

/// From the opening of the barrier to the end of the sample.
fn ended_ns(sample: &Sample) -> u64 {
    sample.start_ns.saturating_add(sample.elapsed_ns)
}

/// When the last task of a round had ended.
fn walls_ns(samples: &[Sample]) -> BTreeMap<u32, u64> {
    let mut walls = BTreeMap::new();
    for sample in samples {
        let wall = walls.entry(sample.round).or_insert(0);
        *wall = ended_ns(sample).max(*wall);
    }
    walls
}

/// The rate of each round: the sum over tasks of their rates; of fixed work all operations by the time of the slowest.
fn rates_by_round(samples: &[Sample], fixed: Option<&FixedWork>) -> BTreeMap<u32, f64> {
    let mut rates = BTreeMap::new();
    if let Some(work) = fixed {
        for sample in samples {
            *rates.entry(sample.round).or_insert(0.0) += sample.ops as f64;
        }
        for (round, wall) in walls_ns(samples) {
            let per_s = |ops: f64| quotient(ops * 1e9, wall as f64).unwrap_or(0.0);
            rates.entry(round).and_modify(|ops| *ops = per_s(*ops) * work.per_op);
        }
        return rates;
    }
    for sample in samples {
        *rates.entry(sample.round).or_insert(0.0) += sample.rate();
    }
    rates
}

/// For each round that both have, how many times the work of one task was done. Of ratios rather than the ratio of medians:
/// what slows a whole round cancels.
fn speedups(samples: &[Sample], one_task: &[Sample], fixed: Option<&FixedWork>) -> Vec<f64> {
    let one_task = rates_by_round(one_task, fixed);
    rates_by_round(samples, fixed)
        .into_iter()
        .filter_map(|(round, rate)| quotient(rate, *one_task.get(&round)?))
        .collect()
}

/// The sum over rounds of the mean over tasks of a time in nanoseconds. A task without a sample took none.
fn seconds_per_task(samples: &[Sample], tasks: u32, nanoseconds: fn(&Sample) -> u64) -> f64 {
    let sum: u128 = samples.iter().map(|sample| u128::from(nanoseconds(sample))).sum();
    quotient(sum as f64 / 1e9, f64::from(tasks)).unwrap_or(0.0)
}

/// Slowest / fastest task by total operations / total elapsed time; 0 if a task never ran.
fn fairness(samples: &[Sample], tasks: u32) -> f64 {
    let mut totals = BTreeMap::<u32, (u128, u128)>::new();
    for sample in samples {
        let (ops, elapsed_ns) = totals.entry(sample.task).or_default();
        *ops += u128::from(sample.ops);
        *elapsed_ns += u128::from(sample.elapsed_ns);
    }
    if totals.len() < tasks as usize {
        return 0.0;
    }
    let rates = totals
        .values()
        .map(|&(ops, elapsed_ns)| quotient(ops as f64, elapsed_ns as f64).unwrap_or(0.0));
    let slowest = rates.clone().fold(f64::INFINITY, f64::min);
    let fastest = rates.fold(0.0, f64::max);
    quotient(slowest, fastest).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample(round: u32, task: u32, ops: u64, elapsed_ns: u64) -> Sample {
        Sample {
            round,
            task,
            ops,
            start_ns: 0,
            elapsed_ns,
            user_ns: elapsed_ns / 4,
            sys_ns: elapsed_ns / 2,
            vcsw: 0,
            ivcsw: 0,
            cpu: [0, 0],
        }
    }

    const MS: u64 = 1_000_000;

    /// tiobench's MB/s: 2 tasks × 25,600 blocks of 4 KiB are 200 MB; the slower has them done 0.5 s after the start.
    #[test]
    fn fixed_work_is_divided_by_the_time_of_the_slowest() {
        let late = |sample: Sample| Sample { start_ns: 100 * MS, ..sample };
        let samples = vec![
            sample(0, 0, 25_600, 250 * MS),
            late(sample(0, 1, 25_600, 400 * MS)),
            sample(1, 0, 25_600, 1000 * MS),
            sample(1, 1, 25_600, 800 * MS),
        ];
        let one_task = [sample(0, 0, 25_600, 200 * MS), sample(1, 0, 25_600, 400 * MS)];
        let work = FixedWork { per_op: 4096.0 / f64::from(1 << 20), ..FixedWork::default() };
        let point = Point::of_fixed_work(2, vec![], samples, Some(&one_task), work);
        assert_eq!(point.round_rates(), [400.0, 200.0]);
        assert_eq!(point.walls_s(), [0.5, 1.0]);
        assert_eq!(point.ops_per_s, 300.0);
        // 300 MB/s are 76,800 blocks a second.
        assert!((point.usecs_per_op - 1e6 / 76_800.0).abs() < 1e-9);
        // 400 of 500 MB/s, 200 of 250.
        assert_eq!(point.speedup, Some(0.8));
    }

    /// 4 users × 100 jobs in 80 s are 300 jobs a minute. Times of 60, 80, 80 and 60 s: mean 70, deviation 10, index 85.7.
    #[test]
    fn jobs_per_minute_and_the_job_timing_index() {
        let seconds = [60, 80, 80, 60];
        let user = |(task, s): (usize, u64)| sample(0, task as u32, 100, s * 1000 * MS);
        let samples: Vec<Sample> = seconds.into_iter().enumerate().map(user).collect();
        let work = FixedWork { per_op: 60.0, ..FixedWork::default() };
        let point = Point::of_fixed_work(4, vec![], samples, None, work);
        assert!((point.ops_per_s - 100.0 * 4.0 * 60.0 / 80.0).abs() < 1e-9);
        assert!((point.jti().unwrap() - 100.0 * (1.0 - 10.0 / 70.0)).abs() < 1e-9);
        let alike = vec![sample(0, 0, 1, MS), sample(0, 1, 1, MS)];
        let alike = Point::of_fixed_work(2, vec![], alike, None, work);
        assert_eq!((alike.jti(), alike.walls_s()), (Some(100.0), vec![0.001]));
        // One of ten took a hundred times as long: no index below 0.
        let one_late = |task| sample(0, task, 1, if task == 0 { 1000 * MS } else { MS });
        let unlike = Point::of_fixed_work(10, vec![], (0..10).map(one_late).collect(), None, work);
        assert_eq!(unlike.jti(), Some(0.0));
        let nothing = Point::of_fixed_work(2, vec![], vec![], None, work);
        assert_eq!((nothing.jti(), nothing.ops_per_s), (None, 0.0));
    }

    #[test]
    fn figures_of_a_small_point_worked_out_by_hand() {
        // Rates of the rounds: 1000/10 ms + 500/10 ms = 150 k/s; 2 × 900/10 ms = 180 k/s; 1600/20 ms + 400/5 ms = 160 k/s.
        let samples = vec![
            sample(0, 0, 1000, 10 * MS),
            sample(0, 1, 500, 10 * MS),
            sample(1, 0, 900, 10 * MS),
            sample(1, 1, 900, 10 * MS),
            sample(2, 0, 1600, 20 * MS),
            sample(2, 1, 400, 5 * MS),
        ];
        // 100 k/s, 90 k/s and nothing; round 3 has no counterpart.
        let one_task = [
            sample(0, 0, 1000, 10 * MS),
            sample(1, 0, 900, 10 * MS),
            sample(2, 0, 0, 10 * MS),
            sample(3, 0, 5, 10 * MS),
        ];
        let point = Point::from_samples(2, vec![0, 1], samples.clone(), Some(&one_task));
        let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-12, "{a} is not {b}");
        assert_eq!(point.round_rates(), [150_000.0, 180_000.0, 160_000.0]);
        assert_eq!(point.ops_per_s, 160_000.0);
        assert_eq!(point.ci95, None);
        close(point.usecs_per_op, 6.25);
        close(point.usecs_per_op_task, 12.5);
        close(point.real_s, 0.0325);
        close(point.user_s, 0.0325 / 4.0);
        close(point.sys_s, 0.0325 / 2.0);
        // Median of 1.5 and 2.
        close(point.speedup.unwrap(), 1.75);
        close(point.efficiency.unwrap(), 0.875);
        // 1800 operations in 25 ms against 3500 in 40 ms.
        close(point.fairness, (1800.0 / 25.0) / (3500.0 / 40.0));
        assert_eq!(point.cpus, [0, 1]);
        assert_eq!(point.samples, samples);
    }

    #[test]
    fn one_task_is_its_own_measure() {
        let point = |samples| Point::from_samples(1, vec![], samples, None);
        let ran = point(vec![sample(0, 0, 7, 3), sample(1, 0, 11, 13), sample(2, 0, 0, 0)]);
        assert_eq!((ran.speedup, ran.efficiency, ran.fairness), (Some(1.0), Some(1.0), 1.0));
        assert_eq!(point(vec![sample(0, 0, 0, 10)]).speedup, None);
        assert_eq!(point(vec![]).speedup, None);
    }

    #[test]
    fn without_one_task_there_is_no_speedup() {
        let samples = vec![sample(0, 0, 1, 1), sample(0, 1, 1, 1)];
        let point = Point::from_samples(2, vec![], samples, None);
        assert_eq!((point.speedup, point.efficiency), (None, None));
    }

    #[test]
    fn a_task_that_never_ran_makes_it_unfair() {
        let fairness = |samples| Point::from_samples(2, vec![], samples, None).fairness;
        assert_eq!(fairness(vec![sample(0, 0, 5, 5), sample(0, 1, 5, 5)]), 1.0);
        assert_eq!(fairness(vec![sample(0, 0, 5, 5), sample(0, 1, 0, 5)]), 0.0);
        assert_eq!(fairness(vec![sample(0, 0, 5, 5), sample(0, 1, 0, 0)]), 0.0);
        assert_eq!(fairness(vec![sample(0, 0, 5, 5)]), 0.0);
        assert_eq!(fairness(vec![]), 0.0);
    }

    #[test]
    fn the_interval_is_that_of_the_rounds_in_their_order() {
        // Up and down by turns, so that neighbours do not resemble each other; written down from the last round on.
        let ops = |round: u64| if round.is_multiple_of(2) { 100 + round } else { 200 - round };
        let samples =
            (0..12).rev().map(|i| sample(i, 0, ops(u64::from(i)), 1_000_000_000)).collect();
        let point = Point::from_samples(1, vec![], samples, None);
        // The third smallest of 100 102 104 ... and the third largest of 199 197 195 ...
        assert_eq!(point.ci95, Some([104.0, 195.0]));
    }

    #[test]
    fn a_curve_says_its_shape() {
        let point = |tasks: u32, ops| {
            let samples = (0..tasks).map(|task| sample(0, task, ops, 10 * MS)).collect();
            Point::from_samples(tasks, vec![], samples, None)
        };
        let curve = Curve {
            workload: "open_close".into(),
            target: "dir:/mnt".into(),
            mode: "process".into(),
            kind: crate::Kind::Measured,
            metric: crate::Metric::default(),
            cpus: 0,
            points: vec![point(1, 1000), point(2, 990), point(4, 500)],
        };
        let sentence = |cpus| curve.shape(cpus).sentence();
        assert_eq!(sentence(2), "scales to 2 tasks: 2.0 times one task (99 % of linear)");
        assert_eq!(
            sentence(4),
            "flattens at 2 tasks: 4 tasks do no more than 1.01 times the work of 2"
        );
    }

    /// Complete rounds of up to five tasks, now and then without operations or without any time.
    fn any_samples() -> impl Strategy<Value = (u32, Vec<Sample>)> {
        let count = || prop_oneof![1 => Just(0u64), 9 => 1..1_000_000_000u64];
        (1..=5u32, 0..=14u32).prop_flat_map(move |(tasks, rounds)| {
            let cells = (tasks * rounds) as usize;
            prop::collection::vec((count(), count()), cells).prop_map(move |cells| {
                let at = |(i, (ops, elapsed)): (usize, (u64, u64))| {
                    sample(i as u32 / tasks, i as u32 % tasks, ops, elapsed)
                };
                (tasks, cells.into_iter().enumerate().map(at).collect())
            })
        })
    }

    /// Samples of a point, and those of one task in as many rounds or fewer.
    fn any_pair() -> impl Strategy<Value = (u32, Vec<Sample>, Vec<Sample>)> {
        (any_samples(), any_samples()).prop_map(|((tasks, samples), (_, other))| {
            (tasks, samples, other.into_iter().filter(|sample| sample.task == 0).collect())
        })
    }

    fn figures(point: &Point) -> Vec<f64> {
        let mut figures = vec![
            point.ops_per_s,
            point.usecs_per_op,
            point.usecs_per_op_task,
            point.real_s,
            point.user_s,
            point.sys_s,
            point.fairness,
        ];
        figures.extend(point.speedup);
        figures.extend(point.efficiency);
        figures.extend(point.ci95.into_iter().flatten());
        figures
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
    }

    fn naive_median(mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        match values.len() {
            0 => 0.0,
            n if n % 2 == 1 => values[n / 2],
            n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
        }
    }

    fn naive_round_rate(samples: &[Sample], round: u32) -> f64 {
        let of_round = samples.iter().filter(|s| s.round == round && s.elapsed_ns > 0);
        of_round.map(|s| s.ops as f64 / (s.elapsed_ns as f64 / 1e9)).sum()
    }

    proptest! {
        #[test]
        fn agrees_with_the_definitions_taken_literally((tasks, samples, one_task) in any_pair()) {
            let point = Point::from_samples(tasks, vec![], samples.clone(), Some(&one_task));
            let rounds = samples.len() as u32 / tasks;
            let rates: Vec<f64> = (0..rounds).map(|r| naive_round_rate(&samples, r)).collect();
            prop_assert!(close(point.ops_per_s, naive_median(rates.clone())));

            let mean_elapsed = |round| {
                let of_round = samples.iter().filter(|s| s.round == round);
                of_round.map(|s| s.elapsed_ns as f64 / 1e9).sum::<f64>() / f64::from(tasks)
            };
            prop_assert!(close(point.real_s, (0..rounds).map(mean_elapsed).sum()));

            let base = if tasks == 1 { &samples } else { &one_task };
            let ratios: Vec<f64> = (0..rounds)
                .map(|round| rates[round as usize] / naive_round_rate(base, round))
                .filter(|ratio| ratio.is_finite())
                .collect();
            match point.speedup {
                None => prop_assert!(ratios.is_empty()),
                Some(speedup) => {
                    prop_assert!(close(speedup, naive_median(ratios)));
                    prop_assert!(close(point.efficiency.unwrap() * f64::from(tasks), speedup));
                }
            }

            let mut task_rates: Vec<f64> = (0..tasks)
                .map(|task| {
                    let own: Vec<_> = samples.iter().filter(|s| s.task == task).collect();
                    let ops: u64 = own.iter().map(|s| s.ops).sum();
                    let elapsed: u64 = own.iter().map(|s| s.elapsed_ns).sum();
                    if elapsed == 0 { 0.0 } else { ops as f64 / elapsed as f64 }
                })
                .collect();
            task_rates.sort_by(f64::total_cmp);
            let (slowest, fastest) = (task_rates[0], task_rates[task_rates.len() - 1]);
            prop_assert!(close(point.fairness * fastest, slowest));
        }

        #[test]
        fn every_figure_is_a_number_json_can_hold(
            (tasks, samples, one_task) in any_pair(),
            claimed in 0..=6u32,
            extreme in any::<[u64; 3]>(),
        ) {
            // Also if the number of tasks is wrong and a counter is absurd.
            let mut samples = samples;
            if let Some(first) = samples.first_mut() {
                [first.ops, first.elapsed_ns, first.sys_ns] = extreme;
            }
            for tasks in [tasks, claimed] {
                let point = Point::from_samples(tasks, vec![], samples.clone(), Some(&one_task));
                for figure in figures(&point) {
                    prop_assert!(figure.is_finite() && figure >= 0.0, "{point:?}");
                }
                prop_assert!(point.fairness <= 1.0);
            }
        }

        #[test]
        fn times_k_times_as_long_make_the_rate_a_kth(
            (tasks, samples, one_task) in any_pair(),
            k in 1..1000u64,
        ) {
            let slower = |samples: &[Sample]| -> Vec<Sample> {
                let times_k = |s: &Sample| Sample { elapsed_ns: s.elapsed_ns * k, ..*s };
                samples.iter().map(times_k).collect()
            };
            let point = Point::from_samples(tasks, vec![], samples.clone(), Some(&one_task));
            let slow =
                Point::from_samples(tasks, vec![], slower(&samples), Some(&slower(&one_task)));
            let k = k as f64;
            prop_assert!(close(slow.ops_per_s * k, point.ops_per_s));
            prop_assert!(close(slow.usecs_per_op, point.usecs_per_op * k));
            prop_assert!(close(slow.real_s, point.real_s * k));
            prop_assert_eq!(slow.user_s, point.user_s);
            prop_assert!(close(slow.fairness, point.fairness));
            prop_assert_eq!(slow.speedup.is_some(), point.speedup.is_some());
            if let (Some(a), Some(b)) = (slow.speedup, point.speedup) {
                prop_assert!(close(a, b));
            }
        }

        #[test]
        fn the_order_of_samples_changes_nothing(
            ((tasks, samples, one_task), shuffled) in any_pair().prop_flat_map(|pair| {
                let shuffled = Just(pair.1.clone()).prop_shuffle();
                (Just(pair), shuffled)
            }),
        ) {
            let point = |samples| Point::from_samples(tasks, vec![], samples, Some(&one_task));
            prop_assert_eq!(point(samples), point(shuffled));
        }
    }
}
