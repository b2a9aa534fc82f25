//! Whole runs of vfscale, as a user starts them.

use crate::{At, output_of};
use anyhow::Context;
use results::Run;
use std::process::Command;

/// The rate of the curve that begins with `workload`.
fn run(at: &At<'_>, args: &[&str], workload: &str) -> anyhow::Result<f64> {
    let target = format!("dir:{}", at.dir.display());
    let mut command = Command::new(at.vfscale);
    command.args(["run", "--format", "json", "--on", &target]).args(args);
    let run: Run = serde_json::from_str(&output_of(&mut command)?).context("vfscale's record")?;
    let curve = run.curves.iter().find(|curve| curve.workload.starts_with(workload));
    let point = curve.and_then(|curve| curve.points.first());
    Ok(point.with_context(|| format!("no point of {workload}"))?.ops_per_s)
}

/// Operations a second of a loop.
pub(crate) fn loop_of(at: &At<'_>, workload: &str) -> anyhow::Result<f64> {
    let (tasks, time) = (at.tasks.to_string(), format!("{}s", at.seconds));
    run(at, &[workload, "--tasks", &tasks, "--time", &time], workload)
}

/// MB/s of a phase of tiobench, as tiobench counts.
pub(crate) fn tiobench(at: &At<'_>, phase: &str) -> anyhow::Result<f64> {
    let threads = at.tasks.to_string();
    let args =
        ["tiobench", "--threads", &threads, "--size", "64M", "--access", "pread", "--runs", "3"];
    run(at, &args, &format!("tiobench_{phase}"))
}
