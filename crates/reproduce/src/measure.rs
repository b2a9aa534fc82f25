//! The points of a page, measured on this machine: by the lab with its designs side by side, and by this kernel.
//!
//! Points with as many tasks are measured in one plan, so that slices of both sides of a comparison are interleaved. Where a
//! point has more tasks than this machine has CPUs, it is measured with as many tasks as there are CPUs; where the published
//! machine had more tasks than CPUs as well, with as many per CPU as there.

use crate::loops;
use crate::published::{Measure, Point, Published, Ratio};
use crate::tiobench;
use harness::machine::affinity;
use harness::machine::topology::Pin;
use harness::{Before, CurveRequest, Interrupt, Plan, Progress, Request, Target};
use results::Point as Samples;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use vfs_api::{TaskMode, Workload};

/// What figures are asked of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum On {
    /// The lab on simulated machines.
    Sim,
    /// The lab on this machine.
    Lab,
    /// This kernel, in a private directory made there.
    Dir(PathBuf),
}

impl On {
    /// As on the command line.
    fn name(&self) -> String {
        match self {
            On::Sim => "sim".into(),
            On::Lab => "lab".into(),
            On::Dir(path) => format!("dir:{}", path.display()),
        }
    }
}

/// One curve of one plan: all that makes a measurement another one. A directory of this kernel has one design.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    column: usize,
    tasks: usize,
    workload: String,
    threads: bool,
    era: String,
    before: Before,
}

/// A value of this machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Value {
    pub(crate) value: f64,
    pub(crate) ci95: Option<[f64; 2]>,
    pub(crate) tasks: usize,
}

/// What was measured for a page.
#[derive(Debug, Default)]
pub struct Measurements {
    columns: Vec<On>,
    done: BTreeMap<Key, Samples>,
    cpus: usize,
    /// What a reader must know before trusting them.
    pub notes: Vec<String>,
    /// Whether the user ended it before all was measured.
    pub partial: bool,
    /// What could not be removed from a directory. The figures are good all the same.
    pub left: Option<harness::Error>,
}

/// Tasks with which `point` is measured on `cpus` CPUs.
fn tasks_here(point: &Point, cpus: usize) -> usize {
    let there = point.target().map_or(point.tasks, |target| target.machine.cpus());
    if point.tasks <= there {
        return point.tasks.min(cpus);
    }
    // As crowded as there.
    (point.tasks * cpus).div_ceil(there).clamp(1, point.tasks)
}

/// A request's curve with the loop of its type.
struct Requester {
    target: Target,
    mode: TaskMode,
    curve: Option<CurveRequest>,
}

impl workloads::Visitor for Requester {
    fn visit<W: Workload>(&mut self) {
        self.curve = Some(CurveRequest::of::<W>(self.target.clone(), self.mode));
    }
}

impl Key {
    fn request(&self, on: &On) -> Option<CurveRequest> {
        let target = match on {
            On::Sim => return None,
            On::Lab => format!("lab:{}", self.era).parse().ok()?,
            On::Dir(path) => Target::Dir(path.clone()),
        };
        let mode = if self.threads { TaskMode::Thread } else { TaskMode::Process };
        let mut requester = Requester { target, mode, curve: None };
        loops::visit(&self.workload, &mut requester);
        requester.curve.map(|curve| curve.after(self.before))
    }
}

impl Measurements {
    /// What `point` is measured as in a column. Nothing where it cannot be: a second mount needs an administrator.
    fn key(&self, column: usize, point: &Point) -> Option<Key> {
        let (era, before) = match &self.columns[column] {
            On::Sim => return None,
            On::Lab => (point.era.clone(), point.before()),
            On::Dir(_) if point.second_mount => return None,
            On::Dir(_) => (String::new(), Before::Nothing),
        };
        let (workload, threads) = (point.workload.clone(), point.threads);
        Some(Key { column, tasks: tasks_here(point, self.cpus), workload, threads, era, before })
    }

    /// Measures every point of `data` on each of `on` that is of this machine, in about `time` altogether.
    ///
    /// The calling process must have a single thread. `progress` gets the plan's number from 0, of how many, and where it stands.
    ///
    /// # Errors
    /// As for [`harness::run`].
    pub fn take(
        data: &Published,
        on: &[On],
        time: Duration,
        interrupt: &Interrupt,
        progress: &mut dyn FnMut(usize, usize, Progress),
    ) -> Result<Measurements, harness::Error> {
        let columns: Vec<On> = on.iter().filter(|on| **on != On::Sim).cloned().collect();
        let cpus = affinity::usable()
            .map_err(|error| harness::Error::Os { call: "sched_getaffinity", error })?
            .len();
        let mut all = Measurements { columns, cpus, ..Measurements::default() };
        let mut keys: Vec<Key> = Vec::new();
        for column in 0..all.columns.len() {
            keys.extend(data.all_points().iter().filter_map(|point| all.key(column, point)));
        }
        keys.sort_by(|a, b| a.tasks.cmp(&b.tasks).then_with(|| a.cmp(b)));
        keys.dedup();
        let plans: Vec<&[Key]> = keys.chunk_by(|a, b| a.tasks == b.tasks).collect();
        for (number, plan) in plans.iter().enumerate() {
            if interrupt.asked() {
                all.partial = true;
                break;
            }
            let share = time.mul_f64(plan.len() as f64 / keys.len() as f64);
            let told = &mut |at: Progress| progress(number, plans.len(), at);
            all.run(plan, share, interrupt, told)?;
        }
        all.note(data);
        Ok(all)
    }

    fn run(
        &mut self,
        keys: &[Key],
        time: Duration,
        interrupt: &Interrupt,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), harness::Error> {
        let requested: Vec<(&Key, CurveRequest)> = keys
            .iter()
            .filter_map(|key| Some((key, key.request(&self.columns[key.column])?)))
            .collect();
        let Some((first, _)) = requested.first() else { return Ok(()) };
        let plan = Plan::new(Request {
            curves: requested.iter().map(|(_, curve)| curve.clone()).collect(),
            tasks: vec![first.tasks],
            pin: Pin::Cores,
            time,
            slice: None,
            precision: None,
            rounds: None,
            sides: harness::Sides::One,
            locks: None,
            guests: Default::default(),
            seed: 1,
            began: Instant::now(),
        })?;
        let measured = harness::run(&plan, interrupt, progress)?;
        for ((key, _), curve) in requested.iter().zip(measured.curves) {
            if let Some(point) = curve.points.into_iter().next() {
                self.done.insert((*key).clone(), point);
            }
        }
        self.partial |= measured.plan.partial;
        self.left = self.left.take().or(measured.left);
        // That there are more tasks than CPUs is said once for all plans.
        let others = measured.warnings.iter().chain(&plan.warnings);
        for warning in others.filter(|warning| warning.code != "more-tasks-than-cpus") {
            let note = format!("{}: {}", warning.message, warning.advice);
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        Ok(())
    }

    /// What was not measured as it was published.
    fn note(&mut self, data: &Published) {
        if self.columns.is_empty() {
            return;
        }
        let points = data.all_points();
        let fewer = points.iter().filter(|point| tasks_here(point, self.cpus) < point.tasks);
        if let Some(most) = fewer.map(|point| point.tasks).max() {
            self.notes.insert(
                0,
                format!(
                    "This machine has {} usable CPUs, and the figures are of up to {most} tasks. With more tasks than CPUs it is \
                     measured with one task per CPU, or with as many per CPU as there were on the published machine: it says \
                     what the designs cost side by side, and nothing of how they scale.",
                    self.cpus
                ),
            );
        }
        if self.columns.contains(&On::Lab) {
            self.notes.push(
                "lab: user-space threads, which can lose their CPU while they hold a spinlock; a kernel's cannot.".into(),
            );
        }
        if self.columns.iter().any(|on| matches!(on, On::Dir(_))) {
            self.notes.push(
                "dir: this kernel has one design, whatever a row is of, so a comparison of designs has no figure there.".into(),
            );
        }
    }

    /// Names of the columns.
    pub(crate) fn names(&self) -> Vec<String> {
        self.columns.iter().map(On::name).collect()
    }

    fn samples(&self, column: usize, point: &Point) -> Option<(Key, &Samples)> {
        let key = self.key(column, point)?;
        let samples = self.done.get(&key)?;
        Some((key, samples))
    }

    /// A figure of `point` in a column, for so many operations of a task.
    pub(crate) fn figure(
        &self,
        column: usize,
        point: &Point,
        measure: Measure,
        operations: f64,
    ) -> Option<Value> {
        let (key, samples) = self.samples(column, point)?;
        // The kernel of the lab is in user space: all of its time is what sys is elsewhere.
        let in_user = self.columns[column] == On::Lab;
        let value = figure(samples, measure, operations, in_user)?;
        let ci95 = samples.ci95.filter(|_| measure != Measure::SysS).map(|[low, high]| {
            let at = |rate: f64| match measure {
                Measure::MbPerS => value * rate / samples.ops_per_s,
                _ => value * samples.ops_per_s / rate,
            };
            let ends = [at(low), at(high)];
            [ends[0].min(ends[1]), ends[0].max(ends[1])]
        });
        Some(Value { value, ci95, tasks: key.tasks })
    }

    /// A ratio of times in a column: of rounds in which both were measured, so that drift cancels.
    pub(crate) fn ratio(
        &self,
        column: usize,
        ratio: &Ratio,
        of: &Point,
        over: &Point,
    ) -> Option<Value> {
        let ((of, of_samples), (over, over_samples)) =
            (self.samples(column, of)?, self.samples(column, over)?);
        if of == over {
            return None;
        }
        let factor = if ratio.per_task { of.tasks as f64 / over.tasks as f64 } else { 1.0 };
        if of.tasks != over.tasks {
            let value = factor * of_samples.usecs_per_op / over_samples.usecs_per_op;
            return Some(Value { value, ci95: None, tasks: of.tasks })
                .filter(|v| v.value.is_finite());
        }
        let rates = over_samples.round_rates().into_iter().zip(of_samples.round_rates());
        let ratios: Vec<f64> =
            rates.map(|(over, of)| over / of).filter(|r| r.is_finite()).collect();
        let value = stats::median(&ratios)?;
        Some(Value { value, ci95: stats::median_ci95(&ratios), tasks: of.tasks })
    }

    /// Operations per second of `point` in a column, if it was measured with as many tasks as it has.
    pub(crate) fn rate(&self, column: usize, point: &Point) -> Option<f64> {
        let (key, samples) = self.samples(column, point)?;
        (key.tasks == point.tasks).then_some(samples.ops_per_s)
    }

    /// What a column's curve of `point` is of.
    pub(crate) fn target(&self, column: usize, point: &Point) -> String {
        match &self.columns[column] {
            On::Lab => format!("lab:{}", point.era),
            other => other.name(),
        }
    }
}

fn figure(samples: &Samples, measure: Measure, operations: f64, in_user: bool) -> Option<f64> {
    let value = match measure {
        Measure::UsecsPerOp => samples.usecs_per_op,
        // Each task does as many operations as published, however many tasks there are.
        Measure::RealS => samples.usecs_per_op_task * operations / 1e6,
        Measure::SysS => {
            let all = samples.samples.iter();
            let (ops, ns) = all.fold((0u64, 0u64), |(ops, ns), sample| {
                let user = if in_user { sample.user_ns } else { 0 };
                (ops + sample.ops, ns + sample.sys_ns + user)
            });
            ns as f64 / ops as f64 * operations / 1e9
        }
        Measure::MbPerS => samples.ops_per_s * tiobench::BLOCK as f64 / f64::from(1 << 20),
    };
    (value.is_finite() && samples.ops_per_s > 0.0).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::Sample;

    fn point(machine: &str, tasks: usize) -> Point {
        Point {
            id: "p".into(),
            machine: machine.into(),
            sizes: None,
            era: "linux-2.6.20".into(),
            workload: "open_close".into(),
            threads: false,
            tasks,
            remounted: false,
            second_mount: false,
        }
    }

    #[test]
    fn a_machine_with_fewer_cpus_has_fewer_tasks_but_is_as_crowded() {
        for (machine, tasks, cpus, here) in [
            ("numa-32-2007", 32, 2, 2),
            ("numa-32-2007", 1, 2, 1),
            ("numa-32-2007", 32, 64, 32),
            ("piii-4-2004", 48, 2, 24),
            ("piii-4-2004", 48, 8, 48),
            ("xeon-160-2014", 1500, 2, 19),
            ("xeon-16-2014", 40, 2, 5),
        ] {
            assert_eq!(tasks_here(&point(machine, tasks), cpus), here, "{machine} {tasks} {cpus}");
        }
    }

    fn samples(ops: &[u64]) -> Samples {
        let sample = |(round, ops): (usize, &u64)| Sample {
            round: round as u32,
            task: 0,
            ops: *ops,
            start_ns: 0,
            elapsed_ns: 1_000_000,
            user_ns: 300_000,
            sys_ns: 600_000,
            vcsw: 0,
            ivcsw: 0,
            cpu: [0; 2],
        };
        let samples = ops.iter().enumerate().map(sample).collect();
        Samples::from_samples(1, vec![0], samples, None)
    }

    #[test]
    fn figures_are_those_of_the_samples() {
        let samples = samples(&[1000, 1000]);
        let figure = |measure, in_user| figure(&samples, measure, 1e6, in_user).unwrap();
        assert!((figure(Measure::UsecsPerOp, false) - 1.0).abs() < 1e-9);
        assert!((figure(Measure::RealS, false) - 1.0).abs() < 1e-9);
        assert!((figure(Measure::SysS, false) - 0.6).abs() < 1e-9);
        assert!((figure(Measure::SysS, true) - 0.9).abs() < 1e-9);
        assert!((figure(Measure::MbPerS, true) - 3906.25).abs() < 1e-6);
    }

    #[test]
    fn ratios_are_of_rounds_and_a_directory_has_none_of_designs() {
        let columns = vec![On::Lab, On::Dir("/x".into())];
        let mut all = Measurements { columns, cpus: 1, ..Measurements::default() };
        let (of, over) = (point("numa-32-2007", 1), point("numa-32-2007", 1));
        let of = Point { era: "linux-2.6.20+ro-bind".into(), ..of };
        for (at, one, ops) in
            [(0, &of, [500, 1000, 2000]), (0, &over, [1000, 2000, 4000]), (1, &over, [1, 2, 3])]
        {
            all.done.insert(all.key(at, one).unwrap(), samples(&ops));
        }
        let ratio = Ratio {
            id: "r".into(),
            text: String::new(),
            of: "of".into(),
            over: "over".into(),
            per_task: false,
            figures: None,
            words: None,
            least: None,
            most: None,
            reason: None,
        };
        assert_eq!(all.ratio(0, &ratio, &of, &over).unwrap().value, 2.0);
        assert_eq!(all.ratio(1, &ratio, &of, &over), None);
        assert!(all.figure(1, &of, Measure::UsecsPerOp, 1.0).is_some());
    }
}
