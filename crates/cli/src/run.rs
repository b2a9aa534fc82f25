//! `vfscale run`: measures curves and shows them.

use crate::Exit;
use crate::args::{RunArgs, Usage};
use crate::fixed;
use crate::measure::{self, Done};
use crate::output::{self, Output};
use crate::runs::Runs;
use harness::{CurveRequest, Sides};
use std::time::Instant;
use vfs_api::{Info, Selected};

/// Plans, measures, shows.
pub(crate) fn run(args: &RunArgs, began: Instant) -> anyhow::Result<Exit> {
    if let Some(workload) = fixed::asked(args)? {
        return fixed::run(args, workload, began);
    }
    let destination = Output::new(args.output.as_deref())?;
    let mut keep = Runs::to_keep(&args.store, args.save.as_ref())?;
    let measured = measure::measure(&args.measure, curves(args)?, Sides::One, args.locks, began)?;
    let Some(Done { run, left }) = measured else { return Ok(Exit::Interrupted) };
    destination.write(|style| {
        (args.format.render)(&run, &report::Style { verbose: args.verbose, ..style })
    })?;
    keep.save("", &run)?;
    match left {
        Some(left) => Err(left.into()),
        None if run.plan.partial => Ok(Exit::Interrupted),
        None => Ok(Exit::Done),
    }
}

/// workload × target × mode, each once, in the order asked for: what was named first, then the suites. Of a suite, what a target
/// or a mode has not is left out, and said.
fn curves(args: &RunArgs) -> anyhow::Result<Vec<CurveRequest>> {
    let modes = measure::modes(&args.measure);
    let named = match (args.workloads.as_slice(), args.suite.as_slice()) {
        ([], [_, ..]) => Vec::new(),
        (named, _) => measure::workloads(named),
    };
    let mut curves = measure::curves(&named, &args.targets, &modes)?;
    let mut left_out: Vec<String> = Vec::new();
    for workload in args.suite.iter().flat_map(|suite| suite.workloads()).map(Selected::from) {
        for target in &args.targets {
            if let Err(refusal) = harness::can_run(&workload, target) {
                left_out.push(refusal.to_string().lines().next().unwrap_or_default().to_owned());
                continue;
            }
            for mode in &modes {
                match measure::has_mode(&workload, *mode) {
                    Ok(()) => measure::add(&mut curves, &workload, target, *mode),
                    Err(why) => left_out.push(why.to_string()),
                }
            }
        }
    }
    let is_wanted = |info: &Info| args.suite.iter().any(|suite| suite.has(info));
    left_out.extend(fixed::left_out(is_wanted));
    left_out.dedup();
    for reason in left_out {
        output::tell(&format!("left out of the suite: {reason}"));
    }
    if curves.is_empty() {
        return Err(Usage("nothing of the suite can run there".into()).into());
    }
    Ok(curves)
}
