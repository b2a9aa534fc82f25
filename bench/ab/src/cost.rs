//! What `vfscale compare` costs beside its slices: the whole command as a user runs it, from fork to exit.

use anyhow::{Context, ensure};
use results::{Comparison, Point, Run};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The whole command's time by that of its slices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// With those of the warm-up among the slices.
    pub(crate) by_all_slices: f64,
    /// With those only that became samples.
    pub(crate) by_samples: f64,
}

/// The program beside this one.
///
/// # Errors
/// It was not built.
pub(crate) fn program() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("cannot find this program")?;
    let program = own.with_file_name("vfscale");
    ensure!(
        program.exists(),
        "there is no {}, whose whole runs are to be timed\n  build it first: cargo build --release",
        program.display()
    );
    Ok(program)
}

/// Compares `dir` with itself by `program`; none if that was interrupted.
///
/// # Errors
/// It cannot be run, or it failed.
pub(crate) fn of_compare(
    program: &Path,
    dir: &Path,
    time: Duration,
) -> anyhow::Result<Option<Cost>> {
    let target = format!("dir:{}", dir.display());
    let time = format!("{}s", time.as_secs());
    let began = Instant::now();
    let output = Command::new(program)
        .args(["compare", &target, &target, "open_close", "--tasks", "1,2"])
        .args(["--format", "json", "--time", &time])
        .output()
        .with_context(|| format!("cannot run {}", program.display()))?;
    let whole = began.elapsed().as_secs_f64();
    if output.status.code() == Some(130) {
        return Ok(None);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {}: {said}", program.display(), output.status);
    let comparison: Comparison = serde_json::from_slice(&output.stdout)?;
    let sides = [&comparison.before, &comparison.after];
    let samples: f64 = sides.iter().flat_map(|run| points(run)).map(slices_s).sum();
    let warm_up: f64 = sides.iter().map(|run| warm_up_s(run)).sum();
    ensure!(samples > 0.0, "{} measured nothing", program.display());
    Ok(Some(Cost { by_all_slices: whole / (samples + warm_up), by_samples: whole / samples }))
}

fn points(run: &Run) -> impl Iterator<Item = &Point> {
    run.curves.iter().flat_map(|curve| &curve.points)
}

/// Seconds that the point's slices took: each from its first task's begin to its last one's end.
fn slices_s(point: &Point) -> f64 {
    let mut slices: BTreeMap<u32, [u64; 2]> = BTreeMap::new();
    for sample in &point.samples {
        let (begin, end) = (sample.start_ns, sample.start_ns + sample.elapsed_ns);
        let slice = slices.entry(sample.round).or_insert([begin, end]);
        *slice = [slice[0].min(begin), slice[1].max(end)];
    }
    slices.values().map(|[begin, end]| (end - begin) as f64 / 1e9).sum()
}

/// Seconds of the slices that were thrown away, as planned: the record has no others.
fn warm_up_s(run: &Run) -> f64 {
    f64::from(run.plan.warmup_rounds) * run.plan.slice_s * points(run).count() as f64
}

/// "1.04 (largest of 20: 1.06)".
pub(crate) fn in_words(costs: &[Cost], which: impl Fn(&Cost) -> f64) -> String {
    let ratios: Vec<f64> = costs.iter().map(which).collect();
    let largest = ratios.iter().copied().fold(0.0, f64::max);
    match stats::median(&ratios) {
        Some(median) => format!("{median:.3} (largest of {}: {largest:.3})", ratios.len()),
        None => "not measured".into(),
    }
}
