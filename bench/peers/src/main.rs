//! Ours beside other programs that do the same: whole runs in pairs, ours first in one pair and last in the next.
//!
//! `cargo run --release -p bench-peers -- --vfscale target/release/vfscale [--wis DIR]`: fio has to be installed; of
//! will-it-scale a directory with its sources, which are built if they are not yet. A line is the median of the pairs' ratios,
//! ours / theirs. At least 0.99 is wanted; the slices of `bench/overhead` show smaller differences, for whole runs differ by what
//! the machine did meanwhile. What was found is in this directory's README.md.
//!
//! What is compared does the same calls on files of the same size: where fio's loop asks an engine for each block, ours stands in
//! the loop. dbench replays a trace that no workload here has, so that there is nothing to put beside it.

mod fio;
mod ours;
mod will_it_scale;

use anyhow::{Context, ensure};
use clap::Parser;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

/// Ours / theirs.
#[derive(Debug, Parser)]
struct Args {
    /// The program, as it is used: a release build
    #[arg(long, default_value = "target/release/vfscale")]
    vfscale: PathBuf,
    /// Directory to measure in; will-it-scale measures in /tmp, and so does ours beside it
    #[arg(long, default_value = "/dev/shm")]
    dir: PathBuf,
    /// A directory with will-it-scale's sources (Makefile, tests/open1.c, ...), or with its programs (open1_processes, ...)
    #[arg(long)]
    wis: Option<PathBuf>,
    /// Pairs of runs; six or more make an interval
    #[arg(long, default_value_t = 7)]
    pairs: u32,
    /// Seconds of a run of a loop
    #[arg(long, default_value_t = 5)]
    seconds: u32,
    /// Task counts
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2])]
    tasks: Vec<u32>,
    /// Only what has this in its name
    #[arg(long, default_value = "")]
    only: String,
}

/// Where and how long.
struct At<'a> {
    vfscale: &'a Path,
    dir: &'a Path,
    seconds: u32,
    tasks: u32,
}

/// One of the two: answers operations (or MB) a second.
type Side<'a> = Box<dyn Fn(&At<'_>) -> anyhow::Result<f64> + 'a>;

/// The same operation in both.
struct Pair<'a> {
    name: String,
    /// Where it is measured, if not in `--dir`.
    dir: Option<&'static Path>,
    ours: Side<'a>,
    theirs: Side<'a>,
}

fn pairs(wis: Option<&Path>) -> Vec<Pair<'_>> {
    let by_fio = |name: &str, workload: &'static str, rw: &'static str| Pair {
        name: name.into(),
        dir: None,
        ours: Box::new(move |at| ours::loop_of(at, workload)),
        theirs: Box::new(move |at| fio::same_block(at, rw)),
    };
    let by_tiobench = |name: &str, phase: &'static str, rw: &'static str| Pair {
        name: name.into(),
        dir: None,
        ours: Box::new(move |at| ours::tiobench(at, phase)),
        theirs: Box::new(move |at| fio::whole_file(at, rw)),
    };
    let mut pairs = vec![
        by_fio("pread, fio psync", "pread_own", "randread"),
        by_fio("pwrite, fio psync", "pwrite_own", "randwrite"),
        by_tiobench("tiobench sequential read, fio psync", "seq_read", "read"),
        by_tiobench("tiobench sequential write, fio psync", "seq_write", "write"),
        by_tiobench("tiobench random read, fio psync", "rand_read", "randread"),
        by_tiobench("tiobench random write, fio psync", "rand_write", "randwrite"),
    ];
    if let Some(wis) = wis {
        pairs.extend(will_it_scale::tests(wis).into_iter().map(|test| {
            let test = Rc::new(test);
            let (ours, theirs) = (Rc::clone(&test), Rc::clone(&test));
            Pair {
                name: format!("will-it-scale {}", test.name),
                dir: Some(Path::new("/tmp")),
                ours: Box::new(move |at| ours::loop_of(at, &ours.workload)),
                theirs: Box::new(move |at| {
                    theirs.build(wis)?;
                    theirs.run(at, wis)
                }),
            }
        }));
    }
    pairs
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    if let Some(wis) = &args.wis {
        let found = !will_it_scale::tests(wis).is_empty();
        ensure!(found, "{} has neither will-it-scale's tests/ nor its programs", wis.display());
    }
    ensure!(args.vfscale.exists(), "no {}: cargo build --release", args.vfscale.display());
    println!("ours / theirs: median of {} pairs [95 % interval]", args.pairs);
    println!("{:<38} {:>5}  {:>6}", "operation", "tasks", "ratio");
    for pair in pairs(args.wis.as_deref()).iter().filter(|pair| pair.name.contains(&args.only)) {
        for &tasks in &args.tasks {
            let dir = pair.dir.unwrap_or(&args.dir);
            let at = At { vfscale: &args.vfscale, dir, seconds: args.seconds, tasks };
            let ratios = (0..args.pairs).map(|number| ratio(pair, &at, number));
            let ratios = ratios.collect::<anyhow::Result<Vec<f64>>>()?;
            let median = stats::median(&ratios).context("no pairs")?;
            let interval = match stats::median_ci95(&ratios) {
                Some([low, high]) => format!("[{low:.3}, {high:.3}]"),
                None => "[too few pairs]".into(),
            };
            println!("{:<38} {tasks:>5}  {median:>6.3}  {interval}", pair.name);
        }
    }
    Ok(())
}

/// Of one pair of runs.
fn ratio(pair: &Pair<'_>, at: &At<'_>, number: u32) -> anyhow::Result<f64> {
    let (ours, theirs) = if number.is_multiple_of(2) {
        let ours = (pair.ours)(at)?;
        (ours, (pair.theirs)(at)?)
    } else {
        let theirs = (pair.theirs)(at)?;
        ((pair.ours)(at)?, theirs)
    };
    ensure!(ours > 0.0 && theirs > 0.0, "{}: ours {ours}, theirs {theirs}", pair.name);
    Ok(ours / theirs)
}

/// What a program printed, if it ended well.
fn output_of(command: &mut Command) -> anyhow::Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot run {name}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{name} failed ({}): {}", output.status, said.trim());
    String::from_utf8(output.stdout).with_context(|| format!("{name} prints no UTF-8"))
}
