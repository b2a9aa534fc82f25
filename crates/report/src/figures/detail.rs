//! What lies behind a curve: whether all tasks got their share, what the time went to, whether the rounds drift.

use crate::chart::{Axis, Chart, Dot, Form, Panel, Series};
use crate::{curves, scheduling};
use results::{Curve, Point, Run, Sample};
use std::collections::BTreeMap;

/// Dots in all charts of one kind together at most, so that a page stays small; but not fewer than [`LEAST`] in one.
const DOTS: usize = 1200;
const LEAST: usize = 100;

/// The charts behind a curve that is called `label`, one of `curves` in the page: those that there is something to show in.
pub(crate) fn detail(run: &Run, curve: &Curve, label: &str, curves: usize) -> Vec<Chart> {
    let room = (DOTS / curves.max(1)).max(LEAST);
    let charts = [rounds(curve, label, room), times(curve, label), tasks(run, curve, label, room)];
    charts.into_iter().flatten().collect()
}

/// Every k-th of `all`, with k such that at most `room` are left; k is 1 if all fit.
fn thinned(all: usize, room: usize) -> usize {
    all.div_ceil(room.max(1)).max(1)
}

/// Each round relative to its point's median: drift and outliers show, whatever the height of the point.
fn rounds(curve: &Curve, label: &str, room: usize) -> Option<Chart> {
    let measured: Vec<&Point> = curve
        .points
        .iter()
        .filter(|point| point.ops_per_s > 0.0 && !point.samples.is_empty())
        .collect();
    let all: usize = measured.iter().map(|point| scheduling::rounds(point)).sum();
    let every = thinned(all, room);
    let mut series = Vec::new();
    for (ink, point) in measured.iter().enumerate() {
        let rates = point.round_rates();
        let dots = rates.iter().enumerate().step_by(every).filter_map(|(round, rate)| {
            Dot::new(round as f64, shortened(rate / point.ops_per_s), None)
        });
        series.push(Series::new(tasks_of(point), ink, Form::Dots, dots.collect()));
    }
    series.retain(|one| one.dots.len() > 1);
    let spans = series.iter().flat_map(|one| &one.dots).map(|dot| dot.y);
    let (low, high) =
        spans.fold((f64::INFINITY, 0.0f64), |(low, high), y| (low.min(y), high.max(y)));
    // Quiet rounds lie within one per cent.
    let decimals = if high - low < 0.03 { 2 } else { 0 };
    (!series.is_empty()).then(|| {
        let mut caption = vec![format!(
            "the rounds of {label} lie between {:.decimals$} and {:.decimals$} % of their task count's median",
            low * 100.0,
            high * 100.0
        )];
        if every > 1 {
            caption
                .push(format!("of {all} rounds every {every}th is drawn; the record has them all"));
        }
        Chart {
            title: format!("{label}: rounds in the order they were taken"),
            caption,
            x: Axis::linear("round"),
            panels: vec![Panel {
                from_zero: false,
                reference: Some(1.0),
                ..Panel::new("rate / median of its task count", series)
            }],
        }
    })
}

/// Wall time per operation and task, split into user mode, kernel and waiting.
fn times(curve: &Curve, label: &str) -> Option<Chart> {
    let parts: Vec<(f64, [f64; 3])> = curve
        .points
        .iter()
        .filter(|point| point.real_s > 0.0)
        .map(|point| {
            let [user, sys] = [point.user_s, point.sys_s].map(|part| part / point.real_s);
            (f64::from(point.tasks), [user, sys, (1.0 - user - sys).max(0.0)])
        })
        .collect();
    let worked = parts.iter().any(|(_, [user, sys, _])| user + sys > 0.0);
    let (first, last) = parts.first().zip(parts.last()).filter(|_| worked)?;
    let names = ["user mode", "kernel (sys)", "not on a CPU (the rest of real)"];
    let series: Vec<Series> = names
        .into_iter()
        .enumerate()
        .map(|(part, name)| {
            let dots = parts.iter().filter_map(|(tasks, shares)| {
                Dot::new(*tasks, shortened(shares[part] * 100.0), None)
            });
            Series::new(name.to_owned(), [5, 0, 7][part], Form::Area, dots.collect())
        })
        .collect();
    let split = |(tasks, [user, sys, rest]): &(f64, [f64; 3])| {
        format!(
            "at {tasks}: {:.0} % user, {:.0} % sys, {:.0} % not on a CPU",
            user * 100.0,
            sys * 100.0,
            rest * 100.0
        )
    };
    Some(Chart {
        title: format!("{label}: what the time of a task goes to"),
        caption: vec![format!("{label} by tasks, {}; {}", split(first), split(last))],
        x: Axis::of_tasks(&series),
        panels: vec![Panel {
            stacked: true,
            ..Panel::new("% of the wall time (real) of a task", series)
        }],
    })
}

/// Each task's rate relative to the mean of its point: who got less than the others.
fn tasks(run: &Run, curve: &Curve, label: &str, room: usize) -> Option<Chart> {
    let all: usize = curve.points.iter().map(|point| point.tasks as usize).sum();
    let room = room / curve.points.len().max(1);
    let mut left_out = false;
    let mut dots = Vec::new();
    let mut worst: Option<&Point> = None;
    for point in curve.points.iter().filter(|point| point.tasks > 1 && !point.samples.is_empty()) {
        let mut rates = rates_of_tasks(&point.samples);
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        if mean <= 0.0 {
            continue;
        }
        // Of a sorted list every k-th has the list's spread; slowest and fastest are always there.
        rates.sort_unstable_by(f64::total_cmp);
        let every = thinned(rates.len(), room);
        left_out |= every > 1;
        let last = rates.len() - 1;
        let shown = rates.iter().enumerate().filter(|(at, _)| at % every == 0 || *at == last);
        dots.extend(shown.filter_map(|(_, rate)| {
            Dot::new(f64::from(point.tasks), shortened(rate / mean), None)
        }));
        if worst.is_none_or(|worst| point.fairness < worst.fairness) {
            worst = Some(point);
        }
    }
    let worst = worst?;
    let mut caption = vec![format!(
        "least fair is {label} at {}: the slowest task does {:.0} % of what the fastest does",
        tasks_of(worst),
        worst.fairness * 100.0
    )];
    if curves::cpus(run, curve) < worst.tasks as usize {
        caption.push("there are fewer CPUs than that: the tasks take turns".to_owned());
    }
    if left_out {
        caption.push(format!(
            "not all of the {all} tasks are drawn, but always the slowest and the fastest"
        ));
    }
    let series = vec![Series::new("a task".to_owned(), 0, Form::Dots, dots)];
    Some(Chart {
        title: format!("{label}: does every task get its share?"),
        caption,
        x: Axis::of_tasks(&series),
        panels: vec![Panel {
            from_zero: false,
            reference: Some(1.0),
            ..Panel::new("rate of a task / mean of all tasks", series)
        }],
    })
}

/// Operations per nanosecond of each task, over all rounds.
fn rates_of_tasks(samples: &[Sample]) -> Vec<f64> {
    let mut sums = BTreeMap::<u32, (u128, u128)>::new();
    for sample in samples {
        let (ops, elapsed) = sums.entry(sample.task).or_default();
        *ops += u128::from(sample.ops);
        *elapsed += u128::from(sample.elapsed_ns);
    }
    sums.into_values()
        .map(|(ops, elapsed)| if elapsed == 0 { 0.0 } else { ops as f64 / elapsed as f64 })
        .collect()
}

fn tasks_of(point: &Point) -> String {
    format!("{} task{}", point.tasks, if point.tasks == 1 { "" } else { "s" })
}

/// Four digits after the point: more than a picture or a reader can tell apart, and a short page.
fn shortened(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
