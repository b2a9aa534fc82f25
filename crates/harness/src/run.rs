//! A run: from a plan to curves, with nothing left on the target, whatever happens.

use crate::clock;
use crate::crews::Crews;
use crate::error::Error;
use crate::guest_target::{self, Clock};
use crate::instructions;
use crate::interrupt::Interrupt;
use crate::janitor::Janitor;
use crate::machine::conditions::{Snapshot, diff};
use crate::machine::warnings;
use crate::plan::{Plan, Request, SEEDS, inodes};
use crate::rundir;
use crate::session::Session;
use crate::sim_target;
use results::{Curve, Mount, Point, Warning};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where a run stands, for a progress display.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// What is going on.
    pub phase: Phase,
    /// Rounds finished, warm-up not counted; points, when locks are traced.
    pub done: u32,
    /// As many are planned.
    pub of: u32,
    /// Time until the last of them is over, as far as that is known.
    pub left: Option<Duration>,
    /// What is known so far of the point that a slice was just taken of; only now and then.
    pub estimate: Option<Estimate>,
}

impl Progress {
    /// Where nothing else is known.
    pub(crate) fn new(phase: Phase, done: u32, of: u32) -> Progress {
        Progress { phase, done, of, left: None, estimate: None }
    }
}

/// What a point's rate looks like before the run is over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Number of the curve among those of the request.
    pub curve: usize,
    /// Task count.
    pub tasks: usize,
    /// Median over rounds so far, operations per second.
    pub ops_per_s: f64,
    /// Half the width of its 95 % interval, as a share of it; none with too few rounds.
    pub half: Option<f64>,
}

/// Parts of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Rounds that are thrown away.
    WarmingUp,
    /// Rounds that count.
    Measuring,
    /// Slices under a tracer.
    Tracing,
}

/// What came of a run.
#[derive(Debug)]
pub struct Measured {
    /// In the order of the request.
    pub curves: Vec<Curve>,
    /// The plan and what of it was done.
    pub plan: results::Plan,
    /// What was seen before and while measuring.
    pub warnings: Vec<Warning>,
    /// Of each guest, what it measured on and what it ran on.
    pub mounts: Vec<Mount>,
    /// What could not be removed ([`Error::Left`]) or put back ([`Error::Switch`]). The result is good all the same.
    pub left: Option<Error>,
}

/// Carries out `plan`. Nothing of it is left on the target afterwards, whatever happens.
///
/// The calling process must have a single thread, for it forks. `progress` is called between slices.
///
/// # Errors
/// A task failed, died, was stopped or does not answer: then there is no result, not even of the others.
pub fn run(
    plan: &Plan,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Progress),
) -> Result<Measured, Error> {
    if plan.points.is_empty() {
        let nothing = Session::new(plan).finish(&Crews::default(), interrupt);
        return simulate(plan, nothing, interrupt);
    }
    if plan.request.guests.clock == Clock::Instructions {
        return instructions::run(plan, interrupt, progress);
    }
    let mut janitor = Janitor::start()?;
    let measured = carry_out(plan, &mut janitor, interrupt, progress);
    let left = janitor.finish(inodes(&plan.request));
    let is_left = left.is_err();
    let measured = when_clean(measured, left)?;
    // Only now, for it makes threads, and all that forks has done so.
    if is_left { Ok(measured) } else { simulate(plan, measured, interrupt) }
}

/// What came of a run after the janitor has done its part.
pub(crate) fn when_clean(
    measured: Result<Measured, Error>,
    clean: Result<(), Error>,
) -> Result<Measured, Error> {
    match (measured, clean) {
        (Ok(measured), Ok(())) => Ok(measured),
        (Ok(measured), Err(left)) => Ok(Measured { left: Some(left), ..measured }),
        (Err(error), Ok(())) => Err(error),
        (Err(error), Err(left)) => {
            Err(Error::AndLeft { error: Box::new(error), left: Box::new(left) })
        }
    }
}

/// Adds the simulated curves, if there are any.
fn simulate(plan: &Plan, measured: Measured, interrupt: &Interrupt) -> Result<Measured, Error> {
    let request = &plan.request;
    let enough = |rounds| match request.rounds {
        Some(wanted) => rounds >= wanted,
        None => rounds >= SEEDS || request.began.elapsed() >= request.time,
    };
    let curves = &request.curves;
    let (simulated, seeds) =
        sim_target::curves(curves, &request.tasks, request.seed, interrupt, enough)?;
    let Measured { mut curves, mut plan, mut warnings, mounts, left } = measured;
    for (number, mut curve) in simulated {
        for point in curve.points.iter().filter(|point| point.ops_per_s == 0.0) {
            warnings.push(Warning {
                code: "starved".into(),
                message: format!(
                    "{} on {}: {} tasks completed no operation in the virtual time that is simulated",
                    curve.workload, curve.target, point.tasks
                ),
                advice: "the machine has collapsed there; ask for fewer tasks".into(),
            });
        }
        // The simulator counts them in any case; shown is what was asked for.
        let unasked = |point: &mut Point| point.locks.clear();
        if request.locks.is_none() {
            curve.points.iter_mut().for_each(unasked);
        }
        curves[number] = curve;
    }
    if plan.rounds == 0 {
        plan.rounds = seeds;
    }
    plan.partial = interrupt.asked();
    Ok(Measured { curves, plan, warnings, mounts, left })
}

/// All of a run but its end: the crews are gone when it returns.
fn carry_out(
    plan: &Plan,
    janitor: &mut Janitor,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Progress),
) -> Result<Measured, Error> {
    let curves = make_dirs(janitor, &plan.request, random())?;
    let mut session = Session::new(plan);
    session.begin(interrupt)?;
    let measured = carry_out_in(&mut session, plan, curves, interrupt, progress);
    // Whatever came of it, the machine is left in the state it was found in.
    let put_back = session.put_back(interrupt);
    let (crews, mounts) = measured?;
    Ok(Measured { left: put_back.err(), mounts, ..session.finish(&crews, interrupt) })
}

fn carry_out_in(
    session: &mut Session,
    plan: &Plan,
    curves: Vec<Option<PathBuf>>,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Crews, Vec<Mount>), Error> {
    let (mut crews, mut mounts) = (Crews::default(), Vec::new());
    let (mut booting_since, mut told) = (plan.request.began, Vec::new());
    let before = Snapshot::take(&plan.roots, &plan.host.cpus);
    let boots = plan.request.guests.boots;
    for boot in 1..=boots {
        let Some(started) = Crews::start(plan, curves.clone(), interrupt)? else { break };
        crews = started;
        if !plan.guests.is_empty() {
            session.booted(booting_since);
            told.append(&mut crews.told);
        }
        if mounts.is_empty() {
            let guests = plan.guests.iter().zip(crews.guests());
            mounts = guests.filter_map(|(plan, guest)| guest_target::mount(plan, guest)).collect();
            session.warnings.extend(guest_target::seen(crews.guests(), &plan.guests));
        }
        session.warm_up(&mut crews, interrupt, progress)?;
        session.measure(&mut crews, interrupt, progress)?;
        // Once, for one boot's locks are as good as another's.
        if boot == boots {
            session.trace(&mut crews, interrupt, progress)?;
        }
        booting_since = Instant::now();
        crews.end()?;
        session.boot_over();
    }
    session.warnings.extend(guest_target::failed_boots(told));
    let conditions = diff(&before, &Snapshot::take(&plan.roots, &plan.host.cpus));
    let own = clock::cpu_time_of_program();
    session.warnings.extend(warnings::conditions_warnings(&conditions, own));
    Ok((crews, mounts))
}

/// A random number for the name of a directory: from the operating system, by way of the hash maps' keys.
pub(crate) fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}

/// Makes one run directory per `dir:` target and one directory per curve in it; answers the curves' directories.
pub(crate) fn make_dirs(
    janitor: &mut Janitor,
    request: &Request,
    random: u64,
) -> Result<Vec<Option<PathBuf>>, Error> {
    let cannot = |dir: &Path, error: std::io::Error| Error::Refused {
        what: format!("cannot make a directory in {}: {error}", dir.display()),
        advice: "choose a directory that you may write to and that has room: dir:PATH".into(),
    };
    let mut made: Vec<&PathBuf> = Vec::new();
    let mut dirs = Vec::new();
    for (number, curve) in request.curves.iter().enumerate() {
        let Some(target) = &curve.dir else {
            dirs.push(None);
            continue;
        };
        let run = rundir::new_name(target, random);
        if !made.contains(&target) {
            janitor.make_dir(&run).map_err(|e| cannot(target, e))?;
            made.push(target);
        }
        let dir = run.join(format!("c{number}"));
        std::fs::create_dir(&dir).map_err(|e| cannot(&run, e))?;
        dirs.push(Some(dir));
    }
    Ok(dirs)
}
