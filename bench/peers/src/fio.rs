//! fio's psync engine: pread and pwrite, as the workloads beside it call them.

use crate::{At, output_of};
use anyhow::Context;
use serde_json::Value;
use std::process::Command;

/// What its jobs did together, by a figure that is added up.
fn run(at: &At<'_>, rw: &str, args: &[&str], figure: &str) -> anyhow::Result<f64> {
    let dir = tempfile::tempdir_in(at.dir).context("no directory for fio")?;
    let mut command = Command::new("fio");
    command
        .args(["--name=peer", "--ioengine=psync", "--bs=4k", "--output-format=json"])
        .args(["--norandommap", "--randrepeat=0", "--fallocate=none", "--unlink=1"])
        // Without them fio reads the clock more often, and both sides are to do the same.
        .args(["--disable_slat=1", "--disable_bw_measurement=1"])
        .arg(format!("--rw={rw}"))
        .arg(format!("--numjobs={}", at.tasks))
        .arg(format!("--directory={}", dir.path().display()))
        .args(args);
    if rw == "randwrite" {
        // Blocks that are there, and not holes.
        command.arg("--overwrite=1");
    }
    let text = output_of(&mut command)?;
    // Warnings may stand before it.
    let json = text.find('{').map_or("", |at| &text[at..]);
    let json: Value = serde_json::from_str(json).context("fio's output")?;
    let direction = if rw.ends_with("read") { "read" } else { "write" };
    let jobs = json["jobs"].as_array().context("fio names no jobs")?;
    let figures = jobs.iter().map(|job| job[direction][figure].as_f64());
    figures.sum::<Option<f64>>().with_context(|| format!("fio tells no {figure}"))
}

/// Operations a second on the first block of a file each, again and again, in processes; single ones are not timed.
pub(crate) fn same_block(at: &At<'_>, rw: &str) -> anyhow::Result<f64> {
    let runtime = format!("--runtime={}", at.seconds);
    run(at, rw, &["--filesize=4k", "--time_based=1", "--gtod_reduce=1", &runtime], "iops")
}

/// MB/s over a file of 64 MB each, in threads; each operation is timed, as tiobench does.
pub(crate) fn whole_file(at: &At<'_>, rw: &str) -> anyhow::Result<f64> {
    let args = ["--filesize=64M", "--thread=1", "--group_reporting=1", "--end_fsync=1"];
    Ok(run(at, rw, &args, "bw_bytes")? / f64::from(1 << 20))
}
