//! From arguments to a measured run: the same way for every command that measures.

use crate::args::{ClockArg, MeasureArgs, Usage};
use crate::counts::default_counts;
use crate::guests;
use crate::output;
use crate::progress::Bar;
use anyhow::Context;
use harness::machine::affinity;
use harness::machine::topology::Pin;
use harness::{CurveRequest, Interrupt, Locks, Measured, Plan, Request, Sides, Target};
use results::Run;
use std::time::{Duration, Instant, SystemTime};
use vfs_api::{Selected, TaskMode};

/// The budget of a command that names none: long enough for intervals below a per cent on a quiet machine.
const TIME: Duration = Duration::from_secs(10);

/// What a run gave.
pub(crate) struct Done {
    /// The record.
    pub(crate) run: Run,
    /// What could not be removed or put back.
    pub(crate) left: Option<harness::Error>,
}

/// Measures `curves`. None if it was interrupted before the first round; the user has been told.
///
/// # Errors
/// What [`Plan::new`] and [`harness::run`] say.
pub(crate) fn measure(
    args: &MeasureArgs,
    curves: Vec<CurveRequest>,
    sides: Sides,
    locks: Option<Locks>,
    began: Instant,
) -> anyhow::Result<Option<Done>> {
    let labels = labels(&curves);
    let request = request(args, curves, sides, locks, began)?;
    let seed = request.seed;
    let interrupt = Interrupt::listen().context("cannot listen to signals")?;
    let plan = Plan::new(request)?;
    output::tell_line(&plan.to_string());
    let started = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let mut bar = Bar::new(labels);
    let measured = harness::run(&plan, &interrupt, &mut |progress| bar.show(progress));
    bar.clear();
    done(measured?, started, seed, plan.host)
}

/// What the progress line calls the curves: the workload, and of target and mode what tells them apart.
fn labels(curves: &[CurveRequest]) -> Vec<String> {
    let targets = curves.windows(2).any(|pair| pair[0].target != pair[1].target);
    let modes = curves.windows(2).any(|pair| pair[0].mode != pair[1].mode);
    let label = |curve: &CurveRequest| {
        let target = if targets { format!(" on {}", curve.target) } else { String::new() };
        let mode = if modes { format!(" ({} mode)", curve.mode) } else { String::new() };
        format!("{}{target}{mode}", curve.workload)
    };
    curves.iter().map(label).collect()
}

/// The record of what was measured on `host`. None if it was interrupted before the first round; the user has been told.
///
/// # Errors
/// It was, and something is left.
pub(crate) fn done(
    measured: Measured,
    started: String,
    seed: u64,
    host: results::Host,
) -> anyhow::Result<Option<Done>> {
    let Measured { curves, plan: done, warnings, mounts, left } = measured;
    if done.rounds == 0 {
        output::tell(
            "vfscale: interrupted before the first round was complete: there is nothing to show",
        );
        return left.map_or(Ok(None), |left| Err(left.into()));
    }
    let mut host = host;
    host.fs.extend(mounts);
    let run = Run {
        schema: Run::SCHEMA.into(),
        vfscale: env!("CARGO_PKG_VERSION").into(),
        command: command(),
        started,
        seed,
        plan: done,
        host,
        curves,
        warnings,
        import: None,
    };
    Ok(Some(Done { run, left }))
}

/// argv.
pub(crate) fn command() -> Vec<String> {
    std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect()
}

fn request(
    args: &MeasureArgs,
    curves: Vec<CurveRequest>,
    sides: Sides,
    locks: Option<Locks>,
    began: Instant,
) -> anyhow::Result<Request> {
    let usable = match args.clock {
        ClockArg::Time => affinity::usable().context("cannot read the CPU affinity")?.len(),
        // They are counted on one CPU where the guest does not say otherwise.
        ClockArg::Instructions => 1,
    };
    // Of the smallest machine, where several are asked for.
    let cpus = curves.iter().map(|curve| curve.target.cpus(usable)).min().unwrap_or(usable);
    let tasks = match &args.tasks {
        Some(counts) => counts.resolve(cpus).map_err(Usage)?,
        None => default_counts(cpus),
    };
    let time = args.time.unwrap_or(TIME);
    if args.slice.is_some_and(|slice| slice > time) && args.rounds.is_none() {
        let what = "--slice is longer than --time, the budget of the whole command";
        return Err(Usage(what.into()).into());
    }
    let guests = guests::options(args, &curves, &sides);
    Ok(Request {
        curves,
        tasks,
        pin: args.pin.unwrap_or(Pin::Cores),
        time,
        slice: args.slice,
        precision: args.precision,
        rounds: args.rounds,
        sides,
        locks,
        seed: args.seed.unwrap_or_else(|| fastrand::u64(..)),
        guests,
        began,
    })
}

/// The workloads that were asked for, or the default one.
pub(crate) fn workloads(asked: &[Selected]) -> Vec<Selected> {
    if asked.is_empty() { vec![Selected::from(&workloads::ALL[0])] } else { asked.to_vec() }
}

/// The modes that were asked for.
pub(crate) fn asked_modes(args: &MeasureArgs) -> Vec<TaskMode> {
    args.mode.iter().map(|mode| TaskMode::from(*mode)).collect()
}

/// The modes that were asked for, or the default one.
pub(crate) fn modes(args: &MeasureArgs) -> Vec<TaskMode> {
    match asked_modes(args) {
        asked if asked.is_empty() => vec![TaskMode::Process],
        asked => asked,
    }
}

/// A workload has the mode.
///
/// # Errors
/// It has not.
pub(crate) fn has_mode(workload: &Selected, mode: TaskMode) -> Result<(), Usage> {
    match workload.info().modes.contains(&mode) {
        true => Ok(()),
        false => Err(Usage(format!("{workload} has no {mode} mode"))),
    }
}

/// workload × target × mode, each once, in the order asked for.
///
/// # Errors
/// A workload has not the mode.
pub(crate) fn curves(
    workloads: &[Selected],
    targets: &[Target],
    modes: &[TaskMode],
) -> Result<Vec<CurveRequest>, Usage> {
    let mut curves = Vec::new();
    for workload in workloads {
        for target in targets {
            for mode in modes {
                has_mode(workload, *mode)?;
                add(&mut curves, workload, target, *mode);
            }
        }
    }
    Ok(curves)
}

/// Adds a curve, unless it is there.
pub(crate) fn add(
    curves: &mut Vec<CurveRequest>,
    workload: &Selected,
    target: &Target,
    mode: TaskMode,
) {
    if curves.iter().all(|c| (&c.workload, &c.target, c.mode) != (workload, target, mode)) {
        curves.push(CurveRequest::new(workload.clone(), target.clone(), mode));
    }
}
