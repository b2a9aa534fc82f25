//! `vfscale run`: from arguments to a plan, and from its result to a report.

use crate::Exit;
use crate::args::{RunArgs, Usage};
use crate::counts::default_counts;
use crate::output::{self, Output};
use crate::progress::Bar;
use anyhow::Context;
use harness::machine::affinity;
use harness::{CurveRequest, Interrupt, Measured, Plan, Request};
use results::Run;
use std::time::{Instant, SystemTime};
use vfs_api::TaskMode;

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
        sides: harness::Sides::One,
        locks: args.locks,
        seed: args.seed.unwrap_or_else(|| fastrand::u64(..)),
        began,
    })
}

/// workload × target × mode, each once, in the order asked for.
fn curves(args: &RunArgs) -> anyhow::Result<Vec<CurveRequest>> {
    let default = [&workloads::ALL[0]];
    let workloads = if args.workloads.is_empty() { &default[..] } else { &args.workloads };
    let mut seen = Vec::new();
    let mut curves = Vec::new();
    for workload in workloads {
        for target in &args.targets {
            for mode in &args.mode {
                let mode = TaskMode::from(*mode);
                if !workload.modes.contains(&mode) {
                    return Err(Usage(format!("{} has no {mode} mode", workload.name)).into());
                }
                let key = (workload.name, target, mode);
                if !seen.contains(&key) {
                    seen.push(key);
                    curves.push(CurveRequest::new(workload, target.clone(), mode));
                }
            }
        }
    }
    Ok(curves)
}
