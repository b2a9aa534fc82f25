//! Rate over tasks: the picture that the program is for.

use super::{CURVES, Named, dots, panel, unit};
use crate::chart::{Axis, Chart, Dot, Form, Law, Series};
use crate::curves;
use results::{Curve, Run};
use stats::{Confidence, CurveRounds, Usl, usl};

/// The curves of all runs, as many charts as it takes: one for each unit, and with more than eight curves one for each workload.
pub(crate) fn scaling(runs: &[Named<'_>]) -> Vec<Chart> {
    let mut entries = entries(runs);
    entries.retain(|entry| !entry.curve.points.is_empty());
    let mut groups: Vec<Vec<Entry<'_>>> = Vec::new();
    let crowded = entries.len() > CURVES;
    for entry in entries {
        let fits = |group: &&mut Vec<Entry<'_>>| {
            let first = &group[0].curve;
            first.metric == entry.curve.metric
                && group.len() < CURVES
                && (!crowded || first.workload == entry.curve.workload)
        };
        match groups.iter_mut().find(fits) {
            Some(group) => group.push(entry),
            None => groups.push(vec![entry]),
        }
    }
    groups.iter().map(|group| chart(group)).collect()
}

/// A curve with its name in the legend and its sentence.
struct Entry<'a> {
    curve: &'a Curve,
    run: &'a Run,
    label: String,
    sentence: Option<String>,
}

fn entries<'a>(runs: &[Named<'a>]) -> Vec<Entry<'a>> {
    let all: Vec<&Curve> = runs.iter().flat_map(|named| &named.run.curves).collect();
    let mut labels = curves::labels(&all).into_iter();
    let mut entries = Vec::new();
    for Named { name, run } in runs {
        for curve in &run.curves {
            let label = labels.next().unwrap_or_default();
            let label = if runs.len() > 1 { format!("{name}: {label}") } else { label };
            let sentence = curves::sentence(run, curve).map(|said| format!("{label} {said}"));
            entries.push(Entry { curve, run, label, sentence });
        }
    }
    entries
}

fn chart(group: &[Entry<'_>]) -> Chart {
    let mut caption = Vec::new();
    let mut series = Vec::new();
    for (ink, entry) in group.iter().enumerate() {
        caption.extend(entry.sentence.clone());
        let fitted = law(entry.curve);
        caption.extend(fitted.as_ref().map(|fit| law_sentence(&entry.label, fit)));
        series.push(drawn(entry, ink, fitted.as_ref()));
    }
    let metric = &group[0].curve.metric;
    let title = match group {
        [one] => curves::heading(one.run, one.curve, str::to_owned),
        [first, rest @ ..] => {
            let same = rest.iter().all(|entry| entry.curve.workload == first.curve.workload);
            let what = if same { &first.curve.workload } else { "workloads" };
            format!("{what}: {} over tasks", metric.unit)
        }
        [] => String::new(),
    };
    let x = Axis::of_tasks(&series);
    Chart { title, caption, x, panels: vec![panel(&unit(metric), series)] }
}

fn drawn(entry: &Entry<'_>, ink: usize, fit: Option<&Usl>) -> Series {
    let curve = entry.curve;
    let dots = dots(curve);
    let rate = !curve.metric.lower_is_better;
    let first = dots.first().filter(|first| rate && first.y > 0.0);
    let ideal = first.map(|first| first.y / first.x);
    let rates: Vec<(u32, f64)> =
        curve.points.iter().map(|point| (point.tasks, point.ops_per_s)).collect();
    let knee = stats::knee(&rates).filter(|_| rate);
    let fit = fit.map(drawn_law);
    Series { ideal, fit, knee, ..Series::new(entry.label.clone(), ink, Form::Curve, dots) }
}

/// A fit farther from a mark than this (as a logarithm) is not drawn.
const FAR: f64 = 0.2;

fn drawn_law(fit: &Usl) -> Law {
    Law { lambda: fit.lambda.value, sigma: fit.sigma.value, kappa: fit.kappa.value }
}

/// The universal scalability law fitted to the rounds; none where it does not fit, or where the values are no rates.
fn law(curve: &Curve) -> Option<Usl> {
    if curve.metric.lower_is_better {
        return None;
    }
    let rounds =
        |point: &results::Point| CurveRounds { tasks: point.tasks, rates: point.round_rates() };
    let rounds: Vec<CurveRounds> =
        curve.points.iter().filter(|point| point.tasks > 0).map(rounds).collect();
    let fit = usl(&rounds, Confidence::P95).ok()?;
    // What is drawn are medians of rounds, what is fitted their means: where those are far apart, the line would miss the marks.
    let law = drawn_law(&fit);
    let near = |dot: &Dot| (law.at(dot.x) / dot.y).ln().abs() < FAR;
    dots(curve).iter().all(near).then_some(fit)
}

fn law_sentence(label: &str, fit: &Usl) -> String {
    let short = |value: f64| if value == 0.0 { "0".to_owned() } else { format!("{value:.1e}") };
    let term = |ranged: &stats::Ranged| {
        let [low, high] = ranged.ci.map(short);
        format!("{} [{low}, {high}]", short(ranged.value))
    };
    let peak =
        fit.peak.at.map_or("no peak".to_owned(), |peak| format!("a peak at {peak:.0} tasks"));
    format!(
        "{label} follows the universal scalability law: contention σ {}, coherence κ {}, {peak}",
        term(&fit.sigma),
        term(&fit.kappa)
    )
}
