//! `vfscale power`: how small a change this machine can show, found by comparing a target with itself.

use crate::Exit;
use crate::args::{PowerArgs, PowerFormat};
use crate::compare::split;
use crate::measure::{self, Done};
use crate::output::Output;
use harness::Sides;
use std::time::Instant;

/// Measures, foretells, shows.
pub(crate) fn power(args: &PowerArgs, began: Instant) -> anyhow::Result<Exit> {
    let destination = Output::new(args.output.as_deref())?
        .for_format(args.format.name(), args.format.medium())?;
    let workloads = measure::workloads(&args.workloads);
    let mut curves = measure::curves(&workloads, &args.targets, &measure::modes(&args.measure))?;
    curves.extend(curves.clone());
    let sides = Sides::Two { switch: None };
    let measured = measure::measure(&args.measure, curves, sides, None, began)?;
    let Some(Done { run, left }) = measured else { return Ok(Exit::Interrupted) };
    let partial = run.plan.partial;
    let (before, after) = split(run);
    let report = compare::power(before, &after, began.elapsed().as_secs_f64());
    destination.write(|style| match args.format {
        PowerFormat::Text => report::power(&report, &style),
        PowerFormat::Json => report::power_json(&report),
        PowerFormat::Html => report::power_html(&report),
        PowerFormat::Svg => report::power_svg(&report),
    })?;
    match left {
        Some(left) => Err(left.into()),
        None if partial => Ok(Exit::Interrupted),
        None => Ok(Exit::Done),
    }
}
