//! Whole runs of vfscale, as a user starts them.

use crate::{At, output_of};
use anyhow::Context;
use results::Run;
use std::process::Command;

/// The rate of the curve that begins with `curve`.
fn run(at: &At<'_>, args: &[&str], curve: &str) -> anyhow::Result<f64> {
    let target = format!("dir:{}", at.dir.display());
    let mut command = Command::new(at.vfscale);
    command.args(["run", "--format", "json", "--on", &target]).args(args);
    let run: Run = serde_json::from_str(&output_of(&mut command)?).context("vfscale's record")?;
    let found = run.curves.iter().find(|found| found.workload.starts_with(curve));
    let point = found.and_then(|found| found.points.first());
    Ok(point.with_context(|| format!("no point of {curve}"))?.ops_per_s)
}

/// Operations a second of a loop, by any of its names.
pub(crate) fn loop_of(at: &At<'_>, workload: &str) -> anyhow::Result<f64> {
    let (tasks, time) = (at.tasks.to_string(), format!("{}s", at.seconds));
    let recorded = workloads::find(workload)?.to_string();
    run(at, &[workload, "--tasks", &tasks, "--time", &time], &recorded)
}

/// MB/s of a phase of tiobench, as tiobench counts.
pub(crate) fn tiobench(at: &At<'_>, phase: &str) -> anyhow::Result<f64> {
    let threads = at.tasks.to_string();
    let args =
        ["tiobench", "--threads", &threads, "--size", "64M", "--access", "pread", "--runs", "3"];
    run(at, &args, &format!("tiobench_{phase}"))
}
