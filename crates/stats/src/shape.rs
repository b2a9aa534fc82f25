//! The one sentence about a scaling curve: does it scale, flatten or fall, and where?

/// A curve whose last point reaches less of linear than this does not count as scaling.
const SCALES_EFFICIENCY: f64 = 0.75;
/// A gain that counts as none: this share of what linear scaling would have brought, and at most this in all.
const NO_GAIN: f64 = 0.10;
/// How many times the tasks must have grown for the absence of a gain to mean anything: from 7 to 8 tasks even linear
/// scaling gains little more than noise.
const TASKS_GROWN: f64 = 1.5;
/// A loss below this is not called a fall, however narrow the intervals.
const FALL: f64 = 0.05;
/// The same where an interval is missing, so that nothing is known of the noise.
const FALL_UNSURE: f64 = 0.20;

/// One point of a curve, as far as its shape goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShapePoint {
    /// Tasks running at the same time.
    pub tasks: u32,
    /// Operations per second of all tasks together.
    pub rate: f64,
    /// 95 % interval of `rate`, if there is one.
    pub ci95: Option<[f64; 2]>,
}

/// What a curve does as tasks are added, up to one task per usable CPU; only a fall is also looked for beyond, since more
/// tasks than CPUs have no reason to do more work.
///
/// If several apply, the first of [`Falls`](Shape::Falls), [`Flattens`](Shape::Flattens), [`Partly`](Shape::Partly),
/// [`Scales`](Shape::Scales) is meant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Nothing to compare: fewer than two task counts within the usable CPUs, and no fall beyond them.
    Single,
    /// The last point reaches at least 75 % of linear scaling.
    Scales {
        /// Task count to which the others are related: 1, or the smallest that was measured.
        base: u32,
        /// Largest task count within the usable CPUs.
        to: u32,
        /// Rate at `to` / rate at `base`.
        times: f64,
        /// `times` / (`to` / `base`): 1 is linear.
        efficiency: f64,
    },
    /// It neither falls nor flattens, but its last point reaches less than 75 % of linear scaling. Fields as in
    /// [`Scales`](Shape::Scales).
    Partly {
        /// Task count to which the others are related: 1, or the smallest that was measured.
        base: u32,
        /// Largest task count within the usable CPUs.
        to: u32,
        /// Rate at `to` / rate at `base`.
        times: f64,
        /// `times` / (`to` / `base`).
        efficiency: f64,
    },
    /// From `at` on nothing is gained: no later point does more than 10 % more work, though tasks at least doubled. Where
    /// they grew less, to 1.5 times at least, 10 % of what linear scaling would have gained. `at` is the smallest such task
    /// count.
    Flattens {
        /// Task count that does as much as any later one.
        at: u32,
        /// Largest task count within the usable CPUs.
        to: u32,
        /// Rate at `to` / rate at `at`.
        times: f64,
    },
    /// More tasks do less work: a point after the best one is lower by more than 5 % and their intervals do not overlap.
    /// Where an interval is missing, the rate itself stands for it, and the loss must exceed 20 %.
    Falls {
        /// Task count of the highest rate.
        after: u32,
        /// Task count of the lowest rate after it, of those that are surely lower.
        to: u32,
        /// 1 - rate at `to` / rate at `after`, from 0 to 1.
        by: f64,
    },
}

/// The shape of the curve through `points`, ascending by tasks, on `cpus` usable CPUs.
///
/// Leading points at which no work was done relate to nothing and are passed over.
pub fn shape(points: &[ShapePoint], cpus: u32) -> Shape {
    let first_working = points.iter().position(|point| point.rate > 0.0).unwrap_or(points.len());
    let points = &points[first_working..];
    let within = &points[..points.partition_point(|point| point.tasks <= cpus)];
    fall(points).or_else(|| flattening(within)).or_else(|| scaling(within)).unwrap_or(Shape::Single)
}

fn fall(points: &[ShapePoint]) -> Option<Shape> {
    let by_rate = |a: &&ShapePoint, b: &&ShapePoint| a.rate.total_cmp(&b.rate);
    // Reversed, because of equals `max_by` takes the last.
    let peak = points.iter().rev().max_by(by_rate)?;
    let lower = |point: &&ShapePoint| point.tasks > peak.tasks && is_surely_lower(point, peak);
    let lowest = points.iter().filter(lower).min_by(by_rate)?;
    Some(Shape::Falls { after: peak.tasks, to: lowest.tasks, by: 1.0 - lowest.rate / peak.rate })
}

fn is_surely_lower(point: &ShapePoint, peak: &ShapePoint) -> bool {
    let both_known = point.ci95.is_some() && peak.ci95.is_some();
    let needed = if both_known { FALL } else { FALL_UNSURE };
    let at_most = point.ci95.map_or(point.rate, |[_, high]| high);
    let at_least = peak.ci95.map_or(peak.rate, |[low, _]| low);
    1.0 - point.rate / peak.rate > needed && at_most < at_least
}

fn flattening(within: &[ShapePoint]) -> Option<Shape> {
    let last = within.last()?;
    within.iter().enumerate().find_map(|(i, at)| {
        let grown = f64::from(last.tasks) / f64::from(at.tasks);
        let allowed = at.rate * (1.0 + NO_GAIN * (grown - 1.0).min(1.0));
        let flat =
            grown >= TASKS_GROWN && within[i + 1..].iter().all(|later| later.rate <= allowed);
        flat.then(|| Shape::Flattens { at: at.tasks, to: last.tasks, times: last.rate / at.rate })
    })
}

fn scaling(within: &[ShapePoint]) -> Option<Shape> {
    let [first, .., last] = within else { return None };
    let (base, to, times) = (first.tasks, last.tasks, last.rate / first.rate);
    let efficiency = times * f64::from(base) / f64::from(to);
    Some(if efficiency >= SCALES_EFFICIENCY {
        Shape::Scales { base, to, times, efficiency }
    } else {
        Shape::Partly { base, to, times, efficiency }
    })
}

impl Shape {
    /// The shape as a plain statement, without a capital or a full stop, to be put after the curve's name.
    pub fn sentence(&self) -> String {
        match *self {
            Shape::Single => {
                "has nothing to compare: fewer than two task counts within the usable CPUs"
                    .to_owned()
            }
            Shape::Scales { base, to, times, efficiency } => {
                format!("scales to {}", scaling_words(base, to, times, efficiency))
            }
            Shape::Partly { base, to, times, efficiency } => {
                format!("scales partly to {}", scaling_words(base, to, times, efficiency))
            }
            Shape::Flattens { at, to, times } => format!(
                "flattens at {}: {} do no more than {times:.2} times the work of {at}",
                tasks(at),
                tasks(to)
            ),
            Shape::Falls { after, to, by } => format!(
                "falls after {}: {} do {:.0} % less work than {after}",
                tasks(after),
                tasks(to),
                by * 100.0
            ),
        }
    }
}

fn scaling_words(base: u32, to: u32, times: f64, efficiency: f64) -> String {
    let base = if base == 1 { "one task".to_owned() } else { tasks(base) };
    format!("{}: {times:.1} times {base} ({:.0} % of linear)", tasks(to), efficiency * 100.0)
}

fn tasks(count: u32) -> String {
    if count == 1 { "1 task".to_owned() } else { format!("{count} tasks") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Rates = &'static [(u32, f64)];

    /// Points with intervals of ±`noise`, relative.
    fn curve(points: &[(u32, f64)], noise: f64) -> Vec<ShapePoint> {
        let point = |&(tasks, rate): &(u32, f64)| ShapePoint {
            tasks,
            rate,
            ci95: Some([rate * (1.0 - noise), rate * (1.0 + noise)]),
        };
        points.iter().map(point).collect()
    }

    fn without_intervals(points: &[(u32, f64)]) -> Vec<ShapePoint> {
        points.iter().map(|&(tasks, rate)| ShapePoint { tasks, rate, ci95: None }).collect()
    }

    fn sentence(points: &[(u32, f64)], cpus: u32) -> String {
        shape(&curve(points, 0.01), cpus).sentence()
    }

    const NOTHING: &str =
        "has nothing to compare: fewer than two task counts within the usable CPUs";

    #[test]
    fn says_what_a_reader_would() {
        let cases: &[(Rates, u32, &str)] = &[
            (&[], 8, NOTHING),
            (&[(1, 100.0)], 8, NOTHING),
            (
                &[(1, 100.0), (2, 199.0), (4, 390.0), (8, 760.0)],
                8,
                "scales to 8 tasks: 7.6 times one task (95 % of linear)",
            ),
            (
                &[(2, 100.0), (4, 195.0), (8, 380.0)],
                8,
                "scales to 8 tasks: 3.8 times 2 tasks (95 % of linear)",
            ),
            (
                &[(1, 100.0), (2, 170.0), (4, 290.0), (8, 410.0)],
                8,
                "scales partly to 8 tasks: 4.1 times one task (51 % of linear)",
            ),
            (
                &[(1, 100.0), (2, 190.0), (4, 300.0), (8, 310.0), (16, 315.0)],
                16,
                "flattens at 4 tasks: 16 tasks do no more than 1.05 times the work of 4",
            ),
            (
                &[(1, 100.0), (2, 104.0)],
                2,
                "flattens at 1 task: 2 tasks do no more than 1.04 times the work of 1",
            ),
            (
                &[(1, 100.0), (2, 190.0), (4, 300.0), (8, 250.0), (16, 186.0)],
                16,
                "falls after 4 tasks: 16 tasks do 38 % less work than 4",
            ),
            (&[(1, 100.0), (2, 70.0)], 2, "falls after 1 task: 2 tasks do 30 % less work than 1"),
        ];
        for (points, cpus, expected) in cases {
            assert_eq!(sentence(points, *cpus), *expected, "{points:?}");
        }
    }

    #[test]
    fn small_steps_are_judged_by_where_they_lead() {
        let every: Vec<(u32, f64)> = (1..=64).map(|n| (n, 100.0 * f64::from(n))).collect();
        assert!(sentence(&every, 64).starts_with("scales to 64 tasks"));

        let knee: Vec<(u32, f64)> =
            (1..=12).map(|n| (n, 100.0 * f64::from(n.min(4)) + f64::from(n))).collect();
        assert!(sentence(&knee, 12).starts_with("flattens at 4 tasks: 12 tasks"));

        // Each step gains less than 10 %, but together they do not stop gaining.
        let slow: Vec<(u32, f64)> = (10..=40).map(|n| (n, f64::from(n).sqrt())).collect();
        assert!(sentence(&slow, 40).starts_with("scales partly to 40 tasks"));
    }

    #[test]
    fn a_last_step_that_gains_nothing_counts_only_if_it_was_long_enough() {
        let points = |last| [(1, 100.0), (2, 200.0), (4, 400.0), (8, 800.0), (last, 810.0)];
        assert!(sentence(&points(12), 12).starts_with("flattens at 8 tasks: 12 tasks"));
        assert!(sentence(&points(10), 10).starts_with("scales to 10 tasks"));
        let four = [(1, 100.0), (2, 200.0), (3, 290.0), (4, 300.0)];
        assert!(sentence(&four, 4).starts_with("scales to 4 tasks: 3.0 times one task"));
    }

    #[test]
    fn more_tasks_than_cpus_need_not_rise_but_may_fall() {
        let points = |last| [(1, 100.0), (2, 195.0), (4, 190.0), (8, last)];
        assert!(sentence(&points(196.0), 2).starts_with("scales to 2 tasks"));
        assert!(sentence(&points(120.0), 2).starts_with("falls after 2 tasks: 8 tasks do 38 %"));
        assert_eq!(sentence(&[(1, 100.0), (2, 99.0)], 1), NOTHING);
        assert_eq!(sentence(&[(4, 100.0), (8, 99.0)], 2), NOTHING);
    }

    #[test]
    fn a_fall_must_be_sure() {
        let falls = |points: &[ShapePoint]| matches!(shape(points, 8), Shape::Falls { .. });
        let by = |loss: f64| [(1, 100.0), (2, 200.0), (4, 200.0 * (1.0 - loss))];
        assert!(falls(&curve(&by(0.06), 0.01)));
        assert!(!falls(&curve(&by(0.06), 0.04)), "intervals overlap");
        assert!(!falls(&curve(&by(0.04), 0.001)), "too small to matter");
        assert!(!falls(&without_intervals(&by(0.19))));
        assert!(falls(&without_intervals(&by(0.21))));

        let mut one_missing = curve(&by(0.10), 0.001);
        one_missing[2].ci95 = None;
        assert!(!falls(&one_missing));
        let mut one_wide = curve(&by(0.30), 0.001);
        one_wide[2].ci95 = None;
        one_wide[1].ci95 = Some([130.0, 210.0]);
        assert!(!falls(&one_wide), "the known interval still counts");
    }

    #[test]
    fn the_fall_is_the_deepest_after_the_first_of_equal_peaks() {
        let points = [(1, 100.0), (2, 200.0), (4, 200.0), (8, 100.0), (16, 150.0)];
        assert_eq!(shape(&curve(&points, 0.01), 16), Shape::Falls { after: 2, to: 8, by: 0.5 });
    }

    #[test]
    fn points_without_work_relate_to_nothing() {
        assert_eq!(sentence(&[(1, 0.0), (2, 0.0)], 2), NOTHING);
        assert!(sentence(&[(1, 0.0), (2, 50.0), (4, 100.0)], 4).contains("2.0 times 2 tasks"));
        assert!(sentence(&[(1, 50.0), (2, 0.0)], 2).contains("2 tasks do 100 % less"));
    }

    proptest! {
        #[test]
        fn the_unit_of_the_rate_does_not_matter(
            rates in prop::collection::vec(0u32..1000, 0..10),
            unit in -20i32..20,
            cpus in 1u32..12,
        ) {
            // A power of two, so that scaling is exact.
            let points = |unit: f64| {
                let point = |(i, &rate): (usize, &u32)| (i as u32 + 1, f64::from(rate) * unit);
                without_intervals(&rates.iter().enumerate().map(point).collect::<Vec<_>>())
            };
            let shape = shape(&points(1.0), cpus);
            prop_assert_eq!(shape, super::shape(&points(f64::from(unit).exp2()), cpus));
            let sentence = shape.sentence();
            prop_assert!(!sentence.contains("NaN") && !sentence.contains("inf"), "{}", sentence);
        }

        #[test]
        fn linear_scaling_is_called_scaling_whatever_the_task_counts(
            counts in prop::collection::btree_set(1u32..512, 2..12),
        ) {
            let points: Vec<_> = counts.iter().map(|&n| (n, f64::from(n))).collect();
            let scales = matches!(
                shape(&curve(&points, 0.01), 512),
                Shape::Scales { efficiency, .. } if (efficiency - 1.0).abs() < 1e-9
            );
            prop_assert!(scales);
        }
    }
}
