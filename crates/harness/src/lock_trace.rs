//! Who waits for which lock of a kernel: traced slices of every point of a directory, once all samples are taken. A guest looks into
//! its own kernel, by this same code.
//!
//! A tracer slows the tasks down, so what it watches is no sample. One source at a time, for the tasks of one point; its slices
//! stand in one group, because attaching and detaching takes longer than a slice, with untraced ones before and after, beside
//! which the tracer's price is seen.

use crate::crew::Ended;
use crate::crews::Crews;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::plan::{CurveRequest, PlannedPoint, ROUNDS_MIN, Request, Sides, round};
use crate::switch::StateSwitch;
use contention::{Chosen, LockKind, Report, Source, Tracefs, sources};
use guest::protocol::TraceOrder;
use results::{
    CpuSamples, KernelWait, Refused, Sample, SampledFunction, SampledStack, Scheduling, Traced,
    TracerCost, WaitStack, Warning,
};
use std::time::Duration;

pub use contention::Kind as LockSource;

/// So much of the time goes to traced slices.
const SHARE: f64 = 0.2;
/// What a source costs beside its slices: loading, attaching, detaching, and reading the kernel's symbols.
const SOURCE: Duration = Duration::from_millis(60);
/// The rings of a sampler hold about half a second.
const LONGEST: Duration = Duration::from_millis(250);
/// How often a group is begun anew in which tasks were stopped.
const REPEATS: u32 = 3;

/// How waits for locks are to be looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Locks {
    /// Whole stacks as well.
    pub stacks: bool,
    /// This source and no other, or what everybody may read if it refuses.
    pub source: Option<LockSource>,
}

/// How much is traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TracePlan {
    /// What is wanted.
    locks: Locks,
    /// Which tracefs may be asked.
    tracefs: Tracefs,
    /// Traced slices of a point, and as many untraced ones around them.
    pub(crate) slices: u32,
    /// Estimated time of all of it.
    pub(crate) length: Duration,
}

/// The part of `request.time` that samples are to have.
pub(crate) fn time_to_measure(request: &Request) -> Duration {
    let traced = request.locks.is_some() && request.curves.iter().any(is_traced);
    if traced { request.time.mul_f64(1.0 - SHARE) } else { request.time }
}

fn is_traced(curve: &CurveRequest) -> bool {
    curve.target.dir().is_some() || curve.guest().is_some()
}

fn length(point: &PlannedPoint) -> Duration {
    point.length.min(LONGEST)
}

impl TracePlan {
    /// None if nobody asked, or there is neither a directory nor a guest.
    pub(crate) fn new(request: &Request, points: &[PlannedPoint]) -> Option<TracePlan> {
        let locks = request.locks?;
        let traced: Vec<PlannedPoint> = points
            .iter()
            .filter(|point| is_traced(&request.curves[point.curve]))
            .map(|point| PlannedPoint { length: length(point), ..*point })
            .collect();
        if traced.is_empty() {
            return None;
        }
        // A traced slice and an untraced one.
        // What a guest's sources take is to its boot what the boot is to the budget.
        let here = traced.iter().filter(|point| request.curves[point.curve].guest().is_none());
        let (round, sources) = (round(&traced) * 2, SOURCE * here.count() as u32);
        let slices = match request.rounds {
            Some(rounds) => f64::from(rounds) * SHARE / (1.0 - SHARE),
            None => {
                let left = request.time.mul_f64(SHARE).saturating_sub(sources);
                left.as_secs_f64() / round.as_secs_f64()
            }
        };
        let slices = (slices as u32).max(1);
        let length = round.saturating_mul(slices) + sources;
        Some(TracePlan { locks, tracefs: Tracefs::Mounted, slices, length })
    }

    /// As a guest is told. It has a tracefs if it mounts one, which nobody else sees.
    ///
    /// # Errors
    /// There is no such source; in words.
    pub(crate) fn ordered(order: &TraceOrder) -> Result<TracePlan, String> {
        let source = order.source.as_deref().map(str::parse).transpose()?;
        Ok(TracePlan {
            locks: Locks { stacks: order.stacks, source },
            tracefs: Tracefs::Detached,
            slices: order.slices,
            length: Duration::ZERO,
        })
    }

    /// To be told to a guest in which the point's curve has the number `curve`.
    pub(crate) fn order(&self, curve: usize, point: &PlannedPoint) -> TraceOrder {
        TraceOrder {
            curve,
            tasks: point.tasks,
            length_ns: point.length.as_nanos() as u64,
            slices: self.slices,
            stacks: self.locks.stacks,
            source: self.locks.source.map(|source| source.name().to_owned()),
        }
    }
}

/// What came of it: per point, and what else there is to say.
pub(crate) struct Seen {
    /// In the order of the plan's points.
    pub(crate) traced: Vec<Option<Traced>>,
    /// Reports that were lost.
    pub(crate) warnings: Vec<Warning>,
}

/// The order in which points are traced: pairs side by side, or one side after the other where a switch between them is dear.
fn order(sides: &Sides, points: usize) -> Vec<usize> {
    match sides {
        Sides::Two { switch: None } => {
            (0..points / 2).flat_map(|at| [at, at + points / 2]).collect()
        }
        Sides::One | Sides::Two { switch: Some(_) } => (0..points).collect(),
    }
}

/// Traces the points, each while its tasks run and nobody else's. Ends early if the user asks to end, with what there is.
/// `progress` is told how many points are done, and of how many.
///
/// # Errors
/// A task failed, as in any slice, or a command that switches the state. That nobody may look into the kernel is no error.
pub(crate) fn trace(
    request: &Request,
    points: &[PlannedPoint],
    plan: &TracePlan,
    within: &mut Within<'_>,
    progress: &mut dyn FnMut(u32, u32),
) -> Result<Seen, Error> {
    let mut seen = Seen { traced: vec![None; points.len()], warnings: Vec::new() };
    let mut order = order(&request.sides, points.len());
    order.retain(|at| is_traced(&request.curves[points[*at].curve]));
    for (done, at) in order.iter().copied().enumerate() {
        progress(done as u32, order.len() as u32);
        if let Some(switch) = within.switch {
            match switch.to(usize::from(at >= points.len() / 2), within.interrupt) {
                // It may be that it hung until the user lost patience; what was seen and measured before is good.
                Err(_) if within.interrupt.times_asked() > 1 => break,
                switched => switched?,
            }
        }
        let point = PlannedPoint { length: length(&points[at]), ..points[at] };
        match within.watch(&point, plan)? {
            Outcome::Seen(traced) => seen.traced[at] = Some(*traced),
            Outcome::Nothing => break,
            Outcome::Lost(why) => {
                seen.warnings.push(lost(&request.curves[point.curve], &point, &why));
            }
        }
    }
    Ok(seen)
}

fn lost(curve: &CurveRequest, point: &PlannedPoint, why: &str) -> Warning {
    let mut lines = why.splitn(2, '\n').map(str::trim);
    Warning {
        code: "locks-lost".into(),
        message: format!(
            "who waited for which lock in {} with {} tasks is not known: {}",
            curve.name(),
            point.tasks,
            lines.next().unwrap_or_default(),
        ),
        advice: lines.next().unwrap_or("run again").into(),
    }
}

/// What slices are run with.
pub(crate) struct Within<'a> {
    /// The tasks.
    pub(crate) crews: &'a mut Crews,
    /// What brings about the state of a side, if that is what is compared.
    pub(crate) switch: &'a mut Option<StateSwitch>,
    /// Whether the user asks to end.
    pub(crate) interrupt: &'a Interrupt,
}

/// What came of a point.
pub(crate) enum Outcome {
    Seen(Box<Traced>),
    /// The user asked to end first.
    Nothing,
    /// Why not; what to do on a second line.
    Lost(String),
}

/// How a row of slices ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    Whole,
    /// Tasks were stopped and continued meanwhile.
    Disturbed,
    Interrupted,
}

/// What some slices of a point came to.
#[derive(Default)]
struct Sum {
    ops: u64,
    task_ns: u64,
    /// Operations per second of each.
    rates: Vec<f64>,
}

impl Sum {
    fn add(&mut self, samples: &[Sample]) {
        self.ops += samples.iter().map(|sample| sample.ops).sum::<u64>();
        self.task_ns += samples.iter().map(|sample| sample.elapsed_ns).sum::<u64>();
        self.rates.push(samples.iter().map(Sample::rate).sum());
    }
}

impl Within<'_> {
    /// Traces a point.
    ///
    /// # Errors
    /// A task failed, or a guest is lost.
    pub(crate) fn watch(
        &mut self,
        point: &PlannedPoint,
        plan: &TracePlan,
    ) -> Result<Outcome, Error> {
        for _ in 0..REPEATS {
            if let Some(outcome) = self.watch_once(point, plan)? {
                return Ok(outcome);
            }
        }
        Ok(Outcome::Lost(
            "tasks were stopped and continued meanwhile\ndo not stop the tasks of a run".into(),
        ))
    }

    /// None if tasks were stopped: waits of that time mean nothing.
    fn watch_once(
        &mut self,
        point: &PlannedPoint,
        plan: &TracePlan,
    ) -> Result<Option<Outcome>, Error> {
        if let Some(seen) = self.crews.trace_in_guest(point, plan, self.interrupt)? {
            return Ok(match seen {
                guest::Trace::Seen(traced) => Some(Outcome::Seen(traced)),
                guest::Trace::Disturbed => None,
                guest::Trace::Lost(why) => Some(Outcome::Lost(why)),
            });
        }
        let options = contention::Options {
            stacks: plan.locks.stacks,
            samples: true,
            force: plan.locks.source,
            tracefs: plan.tracefs,
        };
        let (mut untraced, mut traced) = (Sum::default(), Sum::default());
        match self.slices(point, plan.slices.div_ceil(2), &mut untraced, &mut || Ok(()))? {
            Ok(Row::Whole) => {}
            Ok(Row::Disturbed) => return Ok(None),
            Ok(Row::Interrupted) => return Ok(Some(Outcome::Nothing)),
            Err(error) => return Ok(Some(Outcome::Lost(error.to_string()))),
        }
        let lost = |error: contention::Error| Ok(Some(Outcome::Lost(error.to_string())));
        let Chosen { mut source, refused } = match sources(&self.crews.tids(point), &options) {
            Ok(chosen) => chosen,
            Err(error) => return lost(error),
        };
        if let Err(error) = source.start() {
            return lost(error);
        }
        match self.slices(point, plan.slices, &mut traced, &mut || source.drain())? {
            Ok(Row::Disturbed) => return Ok(None),
            Ok(Row::Interrupted) if traced.rates.is_empty() => {
                return Ok(Some(Outcome::Nothing));
            }
            Ok(Row::Whole | Row::Interrupted) => {}
            Err(error) => return lost(error),
        }
        let report = match read(source) {
            Ok(report) => report,
            Err(error) => return lost(error),
        };
        // However this row ends, what was traced is good.
        let _ = self.slices(point, plan.slices / 2, &mut untraced, &mut || Ok(()))?;
        Ok(Some(Outcome::Seen(Box::new(record(report, refused, &traced, &untraced)))))
    }

    /// So many slices one after the other; `after` each one something of the tracer's.
    fn slices(
        &mut self,
        point: &PlannedPoint,
        count: u32,
        sum: &mut Sum,
        after: &mut dyn FnMut() -> Result<(), contention::Error>,
    ) -> Result<Result<Row, contention::Error>, Error> {
        for _ in 0..count {
            match self.crews.run_once(point, self.interrupt)? {
                Ended::Measured(samples, _) => sum.add(&samples),
                Ended::Disturbed => return Ok(Ok(Row::Disturbed)),
                Ended::Interrupted => return Ok(Ok(Row::Interrupted)),
            }
            if let Err(error) = after() {
                return Ok(Err(error));
            }
        }
        Ok(Ok(Row::Whole))
    }
}

fn read(mut source: Box<dyn Source>) -> Result<Report, contention::Error> {
    source.stop()?;
    source.read()
}

/// A report as a record keeps it.
fn record(
    report: Report,
    refused: Vec<contention::Refused>,
    traced: &Sum,
    untraced: &Sum,
) -> Traced {
    // Of few slices on a noisy machine it would say nothing about the tracer.
    let enough = traced.rates.len().min(untraced.rates.len()) >= ROUNDS_MIN as usize;
    let ratio = stats::median(&traced.rates)
        .zip(stats::median(&untraced.rates))
        .filter(|_| enough)
        .map(|(traced, untraced)| traced / untraced);
    let refusal = |refused: contention::Refused| Refused {
        source: refused.source.name().into(),
        why: refused.why,
        remedy: refused.remedy,
    };
    Traced {
        source: report.source.name().into(),
        slices: traced.rates.len() as u32,
        ops: traced.ops,
        task_ns: traced.task_ns,
        rate_ratio: ratio.filter(|ratio| ratio.is_finite()),
        contentions: report.contentions,
        waits: report.waits.into_iter().map(wait).collect(),
        samples: report.samples.map(samples),
        scheduling: report.scheduling.as_ref().map(scheduling),
        cost: report.cost.map(|cost| TracerCost { runs: cost.run_cnt, run_ns: cost.run_ns }),
        notes: report.notes,
        refused: refused.into_iter().map(refusal).collect(),
    }
}

fn wait(wait: contention::KernelWait) -> KernelWait {
    let stack = |stack: contention::WaitStack| WaitStack {
        frames: stack.frames,
        count: stack.count,
        wait_ns: stack.wait_ns,
    };
    KernelWait {
        lock: wait.lock,
        kind: match wait.kind {
            LockKind::Unknown => String::new(),
            kind => kind.to_string(),
        },
        path: wait.path,
        count: wait.count,
        wait_ns: wait.wait_ns,
        wait_max_ns: wait.wait_max_ns,
        stacks: wait.stacks.into_iter().map(stack).collect(),
    }
}

fn samples(samples: contention::Samples) -> CpuSamples {
    let function = |(name, count)| SampledFunction { name, count };
    let stack = |(frames, count)| SampledStack { frames, count };
    CpuSamples {
        event: samples.event.into(),
        hertz: samples.hertz,
        total: samples.total,
        user: samples.user,
        functions: samples.functions.into_iter().map(function).collect(),
        stacks: samples.stacks.into_iter().map(stack).collect(),
    }
}

fn scheduling(seen: &contention::Scheduling) -> Scheduling {
    let stalled = |resource: &str| {
        seen.stalled_ns.iter().find(|(name, _)| *name == resource).map(|(_, ns)| *ns)
    };
    Scheduling {
        voluntary: seen.voluntary,
        involuntary: seen.involuntary,
        stalled_cpu_ns: stalled("cpu"),
        stalled_memory_ns: stalled("memory"),
        stalled_io_ns: stalled("io"),
        steal_ns: seen.steal_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::topology::Pin;
    use crate::plan::Switch;
    use crate::target::Target;
    use std::time::Instant;
    use vfs_api::TaskMode;

    fn request(targets: &[&str], time: Duration, rounds: Option<u32>) -> Request {
        let curve = |target: &&str| {
            let target: Target = target.parse().expect("a target");
            CurveRequest::new(&workloads::ALL[0], target, TaskMode::Process)
        };
        Request {
            curves: targets.iter().map(curve).collect(),
            tasks: vec![1, 2],
            pin: Pin::Cores,
            time,
            slice: None,
            precision: None,
            rounds,
            guests: Default::default(),
            sides: Sides::One,
            locks: Some(Locks::default()),
            seed: 1,
            began: Instant::now(),
        }
    }

    fn points(request: &Request) -> Vec<PlannedPoint> {
        let point = |curve| PlannedPoint {
            curve,
            tasks: 2,
            length: Duration::from_millis(10),
            phase: None,
            tells: false,
        };
        (0..request.curves.len()).map(point).collect()
    }

    #[test]
    fn tracing_takes_its_share_of_the_time() {
        let seconds = Duration::from_secs(10);
        let both = request(&["dir:/a", "dir:/b"], seconds, None);
        let plan = TracePlan::new(&both, &points(&both)).expect("directories");
        assert!(plan.slices > 20, "{plan:?}");
        assert!(plan.length <= seconds.mul_f64(SHARE), "{plan:?}");
        assert_eq!(time_to_measure(&both), seconds.mul_f64(1.0 - SHARE));

        // The lab counts in its samples.
        let lab = request(&["lab:linux-2.6.20"], seconds, None);
        assert_eq!(TracePlan::new(&lab, &points(&lab)), None);
        assert_eq!(time_to_measure(&lab), seconds);
        let mixed = request(&["lab:linux-2.6.20", "dir:/a"], seconds, None);
        let alone = request(&["dir:/a"], seconds, None);
        let slices =
            |request: &Request| TracePlan::new(request, &points(request)).map(|p| p.slices);
        assert_eq!(slices(&mixed), slices(&alone));

        let unasked = Request { locks: None, ..both };
        assert_eq!(TracePlan::new(&unasked, &points(&unasked)), None);
        assert_eq!(time_to_measure(&unasked), seconds);
    }

    #[test]
    fn guests_are_traced_with_the_same_slices_and_their_sources_cost_nothing_here() {
        let time = Duration::from_millis(500);
        let here = request(&["dir:/a"], time, None);
        let there = request(&["guest:6.12"], time, None);
        let of = |request: &Request| TracePlan::new(request, &points(request)).expect("traced");
        assert_eq!(time_to_measure(&there), time.mul_f64(1.0 - SHARE));
        assert!(of(&there).length <= time.mul_f64(SHARE), "{:?}", of(&there));
        // Of 100 ms a source takes 60 here.
        assert_eq!((of(&here).slices, of(&there).slices), (1, 4));
    }

    #[test]
    fn a_guest_does_what_it_is_told() {
        let locks = Locks { stacks: true, source: Some(LockSource::Tracepoints) };
        let request = request(&["guest:6.12"], Duration::from_secs(10), None);
        let request = Request { locks: Some(locks), ..request };
        let point = points(&request)[0];
        let plan = TracePlan::new(&request, &[point]).expect("traced");
        let order = plan.order(3, &point);
        assert_eq!((order.curve, order.tasks, order.length_ns), (3, 2, 10_000_000));
        let there = TracePlan::ordered(&order).expect("it knows all sources");
        assert_eq!((there.locks, there.slices), (locks, plan.slices));
        assert_eq!(there.tracefs, Tracefs::Detached, "nobody has mounted one in a guest");
        let unknown = TraceOrder { source: Some("dtrace".into()), ..order };
        let error = TracePlan::ordered(&unknown).expect_err("a later host's");
        assert!(error.contains("dtrace"), "{error}");
    }

    #[test]
    fn a_short_run_has_a_traced_slice_and_rounds_have_their_quarter() {
        let of = |time, rounds| {
            let request = request(&["dir:/a"], time, rounds);
            TracePlan::new(&request, &points(&request)).expect("a directory").slices
        };
        assert_eq!(of(Duration::from_millis(1), None), 1);
        assert_eq!(of(Duration::from_millis(1), Some(100)), 25);
        assert_eq!(of(Duration::from_millis(1), Some(1)), 1);
    }

    #[test]
    fn sides_are_traced_side_by_side_unless_a_switch_is_dear() {
        assert_eq!(order(&Sides::One, 4), [0, 1, 2, 3]);
        assert_eq!(order(&Sides::Two { switch: None }, 6), [0, 3, 1, 4, 2, 5]);
        let switch = Some(Switch { before: "true".into(), after: "true".into() });
        assert_eq!(order(&Sides::Two { switch }, 4), [0, 1, 2, 3]);
    }

    #[test]
    fn long_slices_are_cut_to_what_a_ring_holds() {
        let request = request(&["dir:/a"], Duration::from_secs(100), None);
        let long = PlannedPoint { length: Duration::from_secs(5), ..points(&request)[0] };
        assert_eq!(length(&long), LONGEST);
        let plan = TracePlan::new(&request, &[long]).expect("a directory");
        assert!(plan.slices > 20, "{plan:?}");
    }

    #[test]
    fn a_lost_report_says_what_to_do() {
        let request = request(&["dir:/a"], Duration::from_secs(1), None);
        let error = contention::Error::NoTask(7).to_string();
        let warning = lost(&request.curves[0], &points(&request)[0], &error);
        assert!(warning.message.contains("on dir:/a with 2 tasks"), "{warning:?}");
        assert!(warning.message.ends_with("no task has the id 7"), "{warning:?}");
        assert!(warning.advice.starts_with("make the tasks"), "{warning:?}");
    }
}
