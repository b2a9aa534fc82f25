//! From what a reader found to a run of the record.

use crate::text::Text;
use crate::{ImportError, Imported};
use results::{Curve, Host, Import, Kind, Metric, Plan, Point, Run, Sample, Warning};
use std::collections::BTreeMap;
use std::rc::Rc;

/// What stands for a target or a mode that the file does not tell.
pub(crate) const UNKNOWN: &str = "unknown";

/// Task modes of the record.
pub(crate) const PROCESS: &str = "process";
/// See [`PROCESS`].
pub(crate) const THREAD: &str = "thread";

/// Which curve a figure belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Series {
    pub(crate) workload: String,
    pub(crate) target: String,
    pub(crate) mode: &'static str,
    /// See [`Metric::unit`].
    pub(crate) unit: &'static str,
    pub(crate) lower_is_better: bool,
}

impl Series {
    /// Operations per second of `workload`, of whose target and mode nothing is known.
    pub(crate) fn rate(workload: impl Into<String>) -> Series {
        Series {
            workload: workload.into(),
            target: UNKNOWN.into(),
            mode: UNKNOWN,
            unit: "ops/s",
            lower_is_better: false,
        }
    }

    pub(crate) fn unit(self, unit: &'static str) -> Series {
        Series { unit, ..self }
    }

    pub(crate) fn lower_is_better(self, lower_is_better: bool) -> Series {
        Series { lower_is_better, ..self }
    }

    pub(crate) fn mode(self, mode: &'static str) -> Series {
        Series { mode, ..self }
    }

    pub(crate) fn target(self, target: impl Into<String>) -> Series {
        Series { target: target.into(), ..self }
    }

    /// Is the value something per second, of which the time of one can be said?
    fn is_per_second(&self) -> bool {
        matches!(self.unit, "ops/s" | "runs/s")
    }
}

/// What was done in one round: by each task, or by all together if there is one entry for several tasks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub(crate) ops: u64,
    pub(crate) elapsed_ns: u64,
}

impl Done {
    /// `ops` operations in `seconds`; none if that is no time.
    pub(crate) fn in_seconds(ops: u64, seconds: f64) -> Option<Done> {
        let elapsed_ns = (seconds * 1e9).round();
        // Beyond 2^63 ns, three centuries, it is not a time either.
        (1.0..9.2e18).contains(&elapsed_ns).then_some(Done { ops, elapsed_ns: elapsed_ns as u64 })
    }
}

/// Seconds as time(1) would print them for one task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) real_s: f64,
    pub(crate) user_s: f64,
    pub(crate) sys_s: f64,
}

/// Figures of one task count.
#[derive(Default)]
struct Figures {
    /// Those that the file has as such.
    summaries: Vec<f64>,
    samples: Vec<Sample>,
    rounds: u32,
    times: Option<Times>,
    fairness: Option<f64>,
}

/// Curve, tasks.
type Place = (usize, u32);

/// A run that is being read.
pub(crate) struct Draft {
    tool: &'static str,
    /// Program and arguments, as far as they are known.
    pub(crate) command: Vec<String>,
    /// RFC 3339, or empty.
    pub(crate) started: String,
    /// What the file tells of the machine.
    pub(crate) host: Host,
    /// Seconds of a slice, 0 if not known.
    pub(crate) slice_s: f64,
    /// Rounds that the file has, but that are warm-up.
    pub(crate) warmup_rounds: u32,
    curves: Vec<Rc<Series>>,
    curve_of: BTreeMap<Rc<Series>, usize>,
    /// In the order in which they came: a map of maps would need many times the memory for curves of one point.
    points: Vec<(Place, Figures)>,
    point_of: BTreeMap<Place, usize>,
    /// By code, with how often it came.
    warnings: BTreeMap<&'static str, (Warning, usize)>,
}

impl Draft {
    /// `tool` is the name of the format.
    pub(crate) fn new(tool: &'static str) -> Draft {
        Draft {
            tool,
            command: Vec::new(),
            started: String::new(),
            host: Host::default(),
            slice_s: 0.0,
            warmup_rounds: 0,
            curves: Vec::new(),
            curve_of: BTreeMap::new(),
            points: Vec::new(),
            point_of: BTreeMap::new(),
            warnings: BTreeMap::new(),
        }
    }

    /// Says something once for each code, with how often it was said.
    pub(crate) fn warn(&mut self, code: &'static str, message: String, advice: &str) {
        let warning = || Warning { code: code.into(), message, advice: advice.into() };
        self.warnings.entry(code).or_insert_with(|| (warning(), 0)).1 += 1;
    }

    /// A figure of which the file has only the summary. What is none (0, negative, not a number) is left out with a warning.
    pub(crate) fn summary(&mut self, series: &Series, tasks: u32, value: f64) {
        if tasks == 0 || !value.is_finite() || value <= 0.0 {
            let message =
                format!("{} at {tasks} tasks: {value} is no figure; left out", series.workload);
            self.warn("no-figure", message, "look for what failed in the other tool's output");
            return;
        }
        let figures = self.figures(series, tasks);
        figures.summaries.push(value);
        if figures.summaries.len() == 2 {
            let message = format!(
                "{} at {tasks} tasks was measured more than once; its value is the median",
                series.workload
            );
            self.warn("repeated", message, "import the files one by one to tell them apart");
        }
    }

    /// The next round of `series` at `tasks`: one entry for each task, or one for all.
    pub(crate) fn round(&mut self, series: &Series, tasks: u32, done: &[Done]) {
        if tasks == 0 || done.iter().all(|done| done.ops == 0) {
            let message =
                format!("{} at {tasks} tasks: a round without operations", series.workload);
            self.warn("no-figure", message, "look for what failed in the other tool's output");
            return;
        }
        let figures = self.figures(series, tasks);
        let round = figures.rounds;
        figures.rounds += 1;
        figures.samples.extend(done.iter().zip(0..).map(|(done, task)| Sample {
            round,
            task,
            ops: done.ops,
            start_ns: 0,
            elapsed_ns: done.elapsed_ns,
            user_ns: 0,
            sys_ns: 0,
            vcsw: 0,
            ivcsw: 0,
            cpu: [0, 0],
        }));
    }

    /// Times of a point that has a figure.
    pub(crate) fn times(&mut self, series: &Series, tasks: u32, times: Times) {
        let finite = [times.real_s, times.user_s, times.sys_s];
        if finite.iter().all(|time| time.is_finite() && *time >= 0.0)
            && let Some(figures) = self.existing(series, tasks)
        {
            figures.times = Some(times);
        }
    }

    /// A lower bound of the fairness of a point that has a figure, where single tasks are not known.
    pub(crate) fn fairness(&mut self, series: &Series, tasks: u32, fairness: f64) {
        if let Some(figures) = self.existing(series, tasks).filter(|_| fairness.is_finite()) {
            figures.fairness = Some(fairness.clamp(0.0, 1.0));
        }
    }

    fn existing(&mut self, series: &Series, tasks: u32) -> Option<&mut Figures> {
        let place = (*self.curve_of.get(series)?, tasks);
        let at = *self.point_of.get(&place)?;
        Some(&mut self.points[at].1)
    }

    fn figures(&mut self, series: &Series, tasks: u32) -> &mut Figures {
        let curve = self.curve_of.get(series).copied().unwrap_or_else(|| {
            let series = Rc::new(series.clone());
            self.curves.push(Rc::clone(&series));
            self.curve_of.insert(series, self.curves.len() - 1);
            self.curves.len() - 1
        });
        let place = (curve, tasks);
        let at = *self.point_of.entry(place).or_insert(self.points.len());
        if at == self.points.len() {
            self.points.push((place, Figures::default()));
        }
        &mut self.points[at].1
    }

    /// The run, if there is a figure in it.
    pub(crate) fn finish(
        mut self,
        text: &Text<'_>,
        label: impl Into<String>,
    ) -> Result<Imported, ImportError> {
        let mut warnings: Vec<_> = self.warnings.into_values().map(counted).collect();
        if self.curves.is_empty() {
            let found = warnings.first().map_or("none".into(), |first| first.message.clone());
            return Err(text.error_at(None, format!("a figure of {}", self.tool), found));
        }
        drop((self.curve_of, self.point_of));
        let rounds = self.points.iter().map(|(_, figures)| figures.rounds).max().unwrap_or(0);
        self.points.sort_unstable_by_key(|(place, _)| *place);
        warnings.push(foreign(self.tool));
        let run = Run {
            schema: Run::SCHEMA.into(),
            vfscale: env!("CARGO_PKG_VERSION").into(),
            command: self.command,
            started: self.started,
            seed: 0,
            plan: Plan {
                time_s: 0.0,
                slice_s: self.slice_s,
                rounds,
                warmup_rounds: self.warmup_rounds,
                planned_rounds: rounds,
                pin: UNKNOWN.into(),
                partial: false,
            },
            host: self.host,
            curves: curves(self.curves, self.points),
            warnings,
            import: Some(Import {
                tool: self.tool.into(),
                file: text.file.into(),
                summary_only: rounds == 0,
            }),
        };
        Ok(Imported { label: label.into(), run })
    }
}

/// The warning with how often it came.
fn counted((mut warning, times): (Warning, usize)) -> Warning {
    if times > 1 {
        warning.message.push_str(&format!(" (and {} more like this)", times - 1));
    }
    warning
}

/// What the record cannot leave open although the file does not tell it.
fn foreign(tool: &str) -> Warning {
    Warning {
        code: "imported".into(),
        message: format!(
            "read from a file of {tool}: where it does not tell fairness, the record has 1, and for times 0"
        ),
        advice: "take fairness and CPU times of an imported run for unknown".into(),
    }
}

/// The curves with their points, which come in the order of curves and tasks.
fn curves(series: Vec<Rc<Series>>, points: Vec<(Place, Figures)>) -> Vec<Curve> {
    let mut counts = vec![0; series.len()];
    points.iter().for_each(|((curve, _), _)| counts[*curve] += 1);
    let mut points = points.into_iter();
    let with_points = |(count, series): (usize, Rc<Series>)| {
        let mut of_curve: Vec<Point> = Vec::with_capacity(count);
        for ((_, tasks), figures) in points.by_ref().take(count) {
            // Ascending: if one task was measured, it is the first.
            let one_task = of_curve.first().filter(|point| point.tasks == 1);
            let point = point(&series, tasks, figures, one_task);
            of_curve.push(point);
        }
        Curve {
            workload: series.workload.clone(),
            target: series.target.clone(),
            mode: series.mode.into(),
            kind: Kind::Imported,
            cpus: 0,
            metric: Metric { unit: series.unit.into(), lower_is_better: series.lower_is_better },
            points: of_curve,
        }
    };
    counts.into_iter().zip(series).map(with_points).collect()
}

fn point(series: &Series, tasks: u32, figures: Figures, one_task: Option<&Point>) -> Point {
    let Figures { mut summaries, mut samples, rounds, times, fairness } = figures;
    let together = samples.len() < tasks as usize * rounds as usize;
    samples.shrink_to_fit();
    let base = one_task.map(|point| &point.samples[..]).filter(|samples| !samples.is_empty());
    let mut point = Point::from_samples(tasks, Vec::new(), samples, base);
    if point.samples.is_empty() {
        summarise(&mut point, series, median(&mut summaries), one_task);
    }
    if together || point.samples.is_empty() {
        // Of all tasks at once: each of them took all of the time.
        let elapsed: f64 = point.samples.iter().map(|sample| sample.elapsed_ns as f64 / 1e9).sum();
        point.real_s = elapsed;
        point.fairness = fairness.unwrap_or(1.0);
    }
    if let Some(times) = times {
        (point.real_s, point.user_s, point.sys_s) = (times.real_s, times.user_s, times.sys_s);
    }
    point
}

/// Makes `value` the value of a point without samples.
fn summarise(point: &mut Point, series: &Series, value: f64, one_task: Option<&Point>) {
    point.ops_per_s = value;
    if series.is_per_second() {
        point.usecs_per_op = finite(1e6 / value);
        point.usecs_per_op_task = finite(f64::from(point.tasks) * point.usecs_per_op);
    }
    let one = if point.tasks == 1 { Some(value) } else { one_task.map(|point| point.ops_per_s) };
    if let Some(one) = one.filter(|_| !series.lower_is_better) {
        point.speedup = Some(value / one).filter(|ratio| ratio.is_finite());
        point.efficiency = point.speedup.map(|speedup| speedup / f64::from(point.tasks));
    }
}

fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

/// Of at least one value.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
    low.midpoint(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(draft: Draft) -> Run {
        draft.finish(&Text::new("f", ""), "f").unwrap().run
    }

    #[test]
    fn summaries_have_no_interval_and_no_samples() {
        let mut draft = Draft::new("t");
        let series = Series::rate("w");
        draft.summary(&series, 2, 300.0);
        draft.summary(&series, 1, 200.0);
        let run = finished(draft);
        let points = &run.curves[0].points;
        assert_eq!(points.iter().map(|point| point.tasks).collect::<Vec<_>>(), [1, 2]);
        assert_eq!((points[1].ops_per_s, points[1].ci95), (300.0, None));
        assert_eq!((points[1].speedup, points[1].efficiency), (Some(1.5), Some(0.75)));
        assert_eq!((points[0].usecs_per_op, points[0].usecs_per_op_task), (5000.0, 5000.0));
        assert!(points.iter().all(|point| point.samples.is_empty()));
        assert!(run.import.unwrap().summary_only);
        assert_eq!(run.curves[0].kind, Kind::Imported);
    }

    #[test]
    fn rounds_become_samples_and_an_interval() {
        let mut draft = Draft::new("t");
        let series = Series::rate("w");
        for ops in [100, 110, 90, 105, 95, 100, 108] {
            draft.round(&series, 4, &[Done { ops, elapsed_ns: 1_000_000_000 }]);
        }
        draft.fairness(&series, 4, 0.5);
        let run = finished(draft);
        let point = &run.curves[0].points[0];
        assert_eq!((point.ops_per_s, point.samples.len()), (100.0, 7));
        assert_eq!(point.ci95, Some([90.0, 110.0]));
        assert_eq!((point.real_s, point.fairness, point.speedup), (7.0, 0.5, None));
        assert_eq!((run.plan.rounds, run.import.unwrap().summary_only), (7, false));
    }

    #[test]
    fn what_is_no_figure_is_left_out_and_said_once() {
        let mut draft = Draft::new("t");
        let series = Series::rate("w");
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            draft.summary(&series, 1, value);
        }
        draft.summary(&series, 0, 5.0);
        draft.round(&series, 1, &[Done { ops: 0, elapsed_ns: 5 }]);
        let error = draft.finish(&Text::new("f", ""), "f").unwrap_err().to_string();
        assert!(error.contains("w at 1 tasks: 0 is no figure"), "{error}");
        assert!(error.contains("5 more"), "{error}");
    }

    #[test]
    fn times_less_is_better_get_no_speedup() {
        let mut draft = Draft::new("t");
        let series = Series::rate("w").unit("ms").lower_is_better(true);
        draft.summary(&series, 1, 2.0);
        draft.summary(&series, 2, 1.0);
        draft.summary(&series, 2, 3.0);
        let run = finished(draft);
        let point = &run.curves[0].points[1];
        assert_eq!((point.ops_per_s, point.speedup, point.usecs_per_op), (2.0, None, 0.0));
        assert!(run.warnings.iter().any(|warning| warning.code == "repeated"));
    }
}
