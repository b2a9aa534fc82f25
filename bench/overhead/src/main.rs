//! What the harness costs: each loop beside the same loop written by hand in C, slices of both in one interleaved run.
//!
//! A pair is a block of rounds; its ratio is the median of the ratios of its rounds. 15 pairs by default, and their median is
//! to be at least 0.99: `cargo run --release -p overhead`. The C loops are compiled with -O2 and run in the same tasks.
//!
//! With `-- --locks`, what `--locks` costs the slices that are not traced ([`locks`]): the intervals are to hold 1.

mod c_loop;
mod locks;
mod lseek;

use anyhow::{Context, ensure};
use clap::Parser;
use harness::machine::topology::Pin;
use harness::{CurveRequest, Interrupt, Plan, Request, Target};
use results::Curve;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use vfs_api::{Selected, TaskMode, Workload};

/// Ours / written by hand in C, or with --locks / without.
#[derive(Debug, Parser)]
struct Args {
    /// Directory to measure in
    #[arg(long, default_value = "/dev/shm")]
    dir: PathBuf,
    /// Pairs
    #[arg(long, default_value_t = 15)]
    pairs: u32,
    /// Rounds in a pair
    #[arg(long, default_value_t = 20)]
    rounds: u32,
    /// What --locks costs untraced slices, instead
    #[arg(long)]
    locks: bool,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let target = Target::Dir(args.dir.clone());
    let interrupt = Interrupt::listen()?;
    if args.locks {
        return locks::compare(&target, args.pairs, args.rounds, &interrupt);
    }
    let named = |name| workloads::find(name).context("the workload is in the registry");
    let loops: [Selected; 3] =
        [named("open_close")?, named("fstat")?, (&lseek::Lseek::INFO).into()];
    let mut curves = Vec::new();
    for mode in [TaskMode::Process, TaskMode::Thread] {
        for workload in &loops {
            let ours = CurveRequest::new(workload.clone(), target.clone(), mode);
            let ours =
                if workload.info().name == "lseek" { ours.with_loop(lseek::bind) } else { ours };
            curves.push(ours.clone());
            curves.push(ours.with_loop(c_loop::bind));
        }
    }
    let request = Request {
        curves,
        tasks: vec![1, 2],
        pin: Pin::Cores,
        time: Duration::from_secs(3600),
        slice: Some(Duration::from_millis(10)),
        precision: None,
        rounds: Some(args.pairs * args.rounds),
        sides: harness::Sides::One,
        locks: None,
        guests: Default::default(),
        seed: 1,
        began: Instant::now(),
    };
    let plan = Plan::new(request)?;
    eprintln!("{:.0} s in all", plan.length().as_secs_f64());
    let measured = harness::run(&plan, &interrupt, &mut |_| ())?;
    ensure!(!measured.plan.partial, "interrupted: nothing to show");

    println!("ops/s, ours / written by hand in C: median of {} pairs [95 % interval]", args.pairs);
    println!("{:<12} {:<8} {:>5}  {:>6}", "loop", "mode", "tasks", "ratio");
    for pair in measured.curves.chunks_exact(2) {
        let [ours, theirs] = pair else { unreachable!("chunks of two") };
        print_ratios(ours, theirs, args.rounds as usize)?;
    }
    Ok(())
}

fn print_ratios(ours: &Curve, theirs: &Curve, rounds: usize) -> anyhow::Result<()> {
    for (a, b) in ours.points.iter().zip(&theirs.points) {
        let ratios: Vec<f64> =
            a.round_rates().iter().zip(b.round_rates()).map(|(a, b)| a / b).collect();
        let pairs: Vec<f64> = ratios.chunks(rounds).filter_map(stats::median).collect();
        let ratio = stats::median(&pairs).context("no pairs")?;
        let interval = match stats::median_ci95(&pairs) {
            Some([low, high]) => format!("[{low:.3}, {high:.3}]"),
            None => "[too few pairs]".into(),
        };
        println!("{:<12} {:<8} {:>5}  {ratio:>6.3}  {interval}", ours.workload, ours.mode, a.tasks);
    }
    Ok(())
}
