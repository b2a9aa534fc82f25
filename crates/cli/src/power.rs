//! `vfscale power`: how small a change this machine can show, found by comparing a target with itself.

use crate::Exit;
use crate::args::{ListFormat, PowerArgs};
use crate::compare::split;
use crate::measure::{self, Done};
use crate::output;
use harness::Sides;
use std::time::Instant;

/// Measures, foretells, shows.
pub(crate) fn power(args: &PowerArgs, began: Instant) -> anyhow::Result<Exit> {
    let workloads = measure::workloads(&args.workloads);
    let mut curves = measure::curves(&workloads, &args.targets, &measure::modes(&args.measure))?;
    curves.extend(curves.clone());
    let sides = Sides::Two { switch: None };
    let measured = measure::measure(&args.measure, curves, sides, None, began)?;
    let Some(Done { run, left }) = measured else { return Ok(Exit::Interrupted) };
    let partial = run.plan.partial;
    let (before, after) = split(run);
    let report = compare::power(before, &after, began.elapsed().as_secs_f64());
    output::print(&match args.format {
        ListFormat::Text => report::power(&report, &output::terminal_style()),
        ListFormat::Json => report::power_json(&report),
    })?;
    match left {
        Some(left) => Err(left.into()),
        None if partial => Ok(Exit::Interrupted),
        None => Ok(Exit::Done),
    }
}
