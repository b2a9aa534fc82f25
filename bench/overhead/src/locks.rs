//! What `--locks` costs the slices that are not traced: whole short runs with and without it, in turns.
//!
//! Nothing is attached while samples are taken (`harness/tests/untraced.rs`); this looks for what a structure does not show: a
//! tracepoint that stays patched in after its last program has gone, a symbol table that has pushed files out of a cache. A pair is a
//! run with and one without, in an order that turns round; its ratio is that of their median rates.

use anyhow::{Context, ensure};
use harness::machine::topology::Pin;
use harness::{CurveRequest, Interrupt, Locks, Plan, Request, Sides, Target};
use results::{Curve, Point};
use std::time::{Duration, Instant};
use vfs_api::TaskMode;

/// Task counts of every run.
const TASKS: [usize; 2] = [1, 2];
/// A quarter as many slices are traced, and fewer than six give no ratio.
const ROUNDS: u32 = 24;
/// One whose calls take no lock that others wait for, and one that makes them wait.
const WORKLOADS: [&str; 2] = ["open_close", "unlink_open"];

/// Prints a table of ratios over so many pairs, of `rounds` rounds or, if that is more, [`ROUNDS`].
///
/// # Errors
/// A run fails or is interrupted.
pub(crate) fn compare(
    target: &Target,
    pairs: u32,
    rounds: u32,
    interrupt: &Interrupt,
) -> anyhow::Result<()> {
    let points = WORKLOADS.len() * TASKS.len();
    let mut untraced: Vec<Vec<f64>> = vec![Vec::new(); points];
    let mut traced: Vec<Vec<f64>> = vec![Vec::new(); points];
    let mut source = String::new();
    for pair in 0..pairs {
        let run = |locks| run(target, rounds.max(ROUNDS), pair, locks, interrupt);
        let (with, without) = match pair % 2 {
            0 => {
                let with = run(true)?;
                (with, run(false)?)
            }
            _ => {
                let without = run(false)?;
                (run(true)?, without)
            }
        };
        for (at, (with, without)) in with.iter().zip(&without).enumerate() {
            untraced[at].push(with.ops_per_s / without.ops_per_s);
            let seen = with.traced.as_ref().context("nobody looked for locks")?;
            traced[at].extend(seen.rate_ratio);
            source.clone_from(&seen.source);
        }
    }
    println!("median of {pairs} pairs [95 % interval]; locks seen by {source}");
    println!(
        "{:<12} {:>5}  {:<24} under the tracer / beside it",
        "workload", "tasks", "with --locks / without"
    );
    for (at, (untraced, traced)) in untraced.iter().zip(&traced).enumerate() {
        let (workload, tasks) = (WORKLOADS[at / TASKS.len()], TASKS[at % TASKS.len()]);
        let (untraced, traced) = (in_words(untraced), in_words(traced));
        println!("{workload:<12} {tasks:>5}  {untraced:<24} {traced}");
    }
    Ok(())
}

fn in_words(ratios: &[f64]) -> String {
    let Some(median) = stats::median(ratios) else { return "-".into() };
    match stats::median_ci95(ratios) {
        Some([low, high]) => format!("{median:.3} [{low:.3}, {high:.3}]"),
        None => format!("{median:.3} [too few pairs]"),
    }
}

/// All points of a run, workload by workload.
fn run(
    target: &Target,
    rounds: u32,
    seed: u32,
    locks: bool,
    interrupt: &Interrupt,
) -> anyhow::Result<Vec<Point>> {
    let mut curves = Vec::new();
    for name in WORKLOADS {
        let workload = workloads::find(name).context("the workload is in the registry")?;
        curves.push(CurveRequest::new(workload, target.clone(), TaskMode::Process));
    }
    let plan = Plan::new(Request {
        curves,
        tasks: TASKS.to_vec(),
        pin: Pin::Cores,
        time: Duration::from_secs(3600),
        slice: Some(Duration::from_millis(10)),
        precision: None,
        rounds: Some(rounds),
        sides: Sides::One,
        locks: locks.then(Locks::default),
        guests: Default::default(),
        seed: u64::from(seed),
        began: Instant::now(),
    })?;
    let measured = harness::run(&plan, interrupt, &mut |_| ())?;
    ensure!(!measured.plan.partial, "interrupted: nothing to show");
    Ok(measured.curves.into_iter().flat_map(|Curve { points, .. }| points).collect())
}
