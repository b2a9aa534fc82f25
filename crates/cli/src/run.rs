//! `vfscale run`: measures curves and shows them.

use crate::Exit;
use crate::args::RunArgs;
use crate::guests;
use crate::measure::{self, Done};
use crate::output::Output;
use crate::runs::Runs;
use harness::{CurveRequest, Sides};
use std::time::Instant;

/// Plans, measures, shows.
pub(crate) fn run(args: &RunArgs, began: Instant) -> anyhow::Result<Exit> {
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

/// workload × target × mode, each once, in the order asked for.
fn curves(args: &RunArgs) -> anyhow::Result<Vec<CurveRequest>> {
    let mut seen = Vec::new();
    let mut curves = Vec::new();
    for workload in measure::workloads(&args.workloads) {
        for target in &guests::under_all_cpus(&args.measure, &args.targets) {
            for mode in measure::modes(&args.measure) {
                measure::has_mode(workload, mode)?;
                let key = (workload.name, target.clone(), mode);
                if !seen.contains(&key) {
                    seen.push(key);
                    curves.push(CurveRequest::new(workload, target.clone(), mode));
                }
            }
        }
    }
    Ok(curves)
}
