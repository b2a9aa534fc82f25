//! `vfscale run`: from arguments to a plan, and from its result to a report.

use crate::Exit;
use crate::args::{RunArgs, Usage};
use crate::counts::default_counts;
use crate::output::{self, Output};
use crate::progress::Bar;
use anyhow::Context;
use harness::machine::affinity;
use harness::{CurveRequest, Interrupt, Measured, Plan, Request, Target};
use results::Run;
use std::time::{Instant, SystemTime};
use vfs_api::{Selected, TaskMode};

/// Plans, measures, shows.
pub(crate) fn run(args: &RunArgs, began: Instant) -> anyhow::Result<Exit> {
    let destination = Output::new(args.output.as_deref())?;
    let request = request(args, began)?;
    let seed = request.seed;
    let interrupt = Interrupt::listen().context("cannot listen to signals")?;
    let plan = Plan::new(request)?;
    output::tell(&plan.to_string());
    let started = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let mut bar = Bar::new();
    let measured = harness::run(&plan, &interrupt, &mut |progress| bar.show(progress));
    bar.clear();
    let Measured { curves, plan: done, warnings, left } = measured?;
    if done.rounds == 0 {
        output::tell(
            "vfscale: interrupted before the first round was complete: there is nothing to show",
        );
        return left.map_or(Ok(Exit::Interrupted), |left| Err(left.into()));
    }
    let partial = done.partial;
    let run = Run {
        schema: Run::SCHEMA.into(),
        vfscale: env!("CARGO_PKG_VERSION").into(),
        command: std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect(),
        started,
        seed,
        plan: done,
        host: plan.host,
        curves,
        warnings,
        import: None,
    };
    destination.write(|style| {
        (args.format.render)(&run, &report::Style { verbose: args.verbose, ..style })
    })?;
    match left {
        Some(left) => Err(left.into()),
        None if partial => Ok(Exit::Interrupted),
        None => Ok(Exit::Done),
    }
}

fn request(args: &RunArgs, began: Instant) -> anyhow::Result<Request> {
    let usable = affinity::usable().context("cannot read the CPU affinity")?.len();
    // Of the smallest machine, where several are asked for.
    let cpus = args.targets.iter().map(|target| target.cpus(usable)).min().unwrap_or(usable);
    let tasks = match &args.tasks {
        Some(counts) => counts.resolve(cpus).map_err(Usage)?,
        None => default_counts(cpus),
    };
    if args.slice.is_some_and(|slice| slice > args.time) && args.rounds.is_none() {
        let what = "--slice is longer than --time, the budget of the whole command";
        return Err(Usage(what.into()).into());
    }
    Ok(Request {
        curves: curves(args)?,
        tasks,
        pin: args.pin,
        time: args.time,
        slice: args.slice,
        precision: args.precision,
        rounds: args.rounds,
        locks: args.locks,
        seed: args.seed.unwrap_or_else(|| fastrand::u64(..)),
        began,
    })
}

/// workload × target × mode, each once, in the order asked for: what was named first, then the suites. Of a suite, what a target
/// or a mode has not is left out, and said.
fn curves(args: &RunArgs) -> anyhow::Result<Vec<CurveRequest>> {
    let named = match (args.workloads.as_slice(), args.suite.as_slice()) {
        ([], []) => vec![Selected::from(&workloads::ALL[0])],
        (named, _) => named.to_vec(),
    };
    let mut curves: Vec<CurveRequest> = Vec::new();
    let mut add = |workload: &Selected, target: &Target, mode| {
        let is_new =
            curves.iter().all(|c| (&c.workload, &c.target, c.mode) != (workload, target, mode));
        if is_new {
            curves.push(CurveRequest::new(workload.clone(), target.clone(), mode));
        }
    };
    let modes = || args.mode.iter().map(|mode| TaskMode::from(*mode));
    for workload in &named {
        for target in &args.targets {
            for mode in modes() {
                if !workload.info().modes.contains(&mode) {
                    return Err(Usage(format!("{workload} has no {mode} mode")).into());
                }
                add(workload, target, mode);
            }
        }
    }
    let mut left_out = LeftOut::default();
    for workload in args.suite.iter().flat_map(|suite| suite.workloads()).map(Selected::from) {
        for target in &args.targets {
            if let Err(refusal) = harness::can_run(&workload, target) {
                left_out.add(&workload, &refusal.to_string());
                continue;
            }
            for mode in modes() {
                if workload.info().modes.contains(&mode) {
                    add(&workload, target, mode);
                } else {
                    left_out.add(&workload, &format!("{workload} has no {mode} mode"));
                }
            }
        }
    }
    left_out.tell();
    if curves.is_empty() {
        return Err(Usage("nothing of the suite can run there".into()).into());
    }
    Ok(curves)
}

/// What of a suite is not run, by reason.
#[derive(Default)]
struct LeftOut(Vec<(String, Vec<String>)>);

impl LeftOut {
    /// `why` begins with the workload's name; its first line is the reason.
    fn add(&mut self, workload: &Selected, why: &str) {
        let name = workload.to_string();
        let reason = why.lines().next().unwrap_or_default();
        let reason = reason.strip_prefix(&name).unwrap_or(reason).trim_start();
        match self.0.iter_mut().find(|(known, _)| known == reason) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => self.0.push((reason.to_owned(), vec![name])),
        }
    }

    fn tell(&self) {
        for (reason, names) in &self.0 {
            output::tell(&format!("left out of the suite: {} ({reason})", names.join(", ")));
        }
    }
}
