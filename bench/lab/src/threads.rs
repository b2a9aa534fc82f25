//! For each thread its workload on the designs before and after, through the harness, as a user would run them.

use anyhow::{Context, ensure};
use bench_lab::interleave::Ratio;
use harness::machine::topology::Pin;
use harness::{CurveRequest, Interrupt, Plan, Request};
use results::{Curve, Point};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use vfs_api::TaskMode;

/// A thread: what it measured, and the kernels before, with and after its patches.
struct Thread {
    subject: &'static str,
    workload: &'static str,
    mode: TaskMode,
    before: &'static str,
    others: &'static [&'static str],
}

const THREADS: [Thread; 5] = [
    Thread {
        subject: "read-only bind mounts (2007)",
        workload: "openbench",
        mode: TaskMode::Process,
        before: "linux-2.6.20",
        // The last one is 2.6.26's design without its spinlock.
        others: &["linux-2.6.20+ro-bind", "linux-2.6.26", "linux-2.6.20,write_count=percpu_spin"],
    },
    Thread {
        subject: "lock-free fd look-up (2004)",
        workload: "fd_read",
        mode: TaskMode::Thread,
        before: "linux-2.6.7",
        others: &["linux-2.6.7+rwlock", "linux-2.6.7+kref", "linux-2.6.14"],
    },
    Thread {
        subject: "ext4 orphan list (2014)",
        workload: "truncate_by_byte",
        mode: TaskMode::Process,
        before: "linux-3.15",
        // The last one is 5.15's orphan file without its other designs.
        others: &[
            "linux-3.16",
            "linux-3.15+hashed-orphan",
            "linux-5.15",
            "linux-3.15,orphan_list=file",
        ],
    },
    Thread {
        subject: "VFS scalability (2009)",
        workload: "open_close",
        mode: TaskMode::Process,
        before: "linux-2.6.32",
        others: &["linux-2.6.32+vfs-scale", "linux-2.6.32+vfs-scale+remount-bug"],
    },
    Thread {
        subject: "breaking the global file_list_lock (2007)",
        workload: "file_ops",
        mode: TaskMode::Process,
        before: "linux-2.6.20",
        others: &["linux-2.6.20+s_files"],
    },
];

/// Operations per second of all tasks together, by round. A round in which a curve was disturbed is missing there.
fn rates(point: &Point) -> BTreeMap<u32, f64> {
    let mut rates = BTreeMap::new();
    for sample in &point.samples {
        *rates.entry(sample.round).or_insert(0.0) += sample.rate();
    }
    rates
}

/// Work of `after` / work of `before`, of the rounds that both have.
fn ratio(after: &Point, before: &Point) -> Option<Ratio> {
    let before = rates(before);
    let both = rates(after).into_iter().filter_map(|(round, a)| Some((a, *before.get(&round)?)));
    let (after, before): (Vec<f64>, Vec<f64>) = both.unzip();
    Ratio::of(&after, &before)
}

fn run(
    thread: &Thread,
    slice: Duration,
    rounds: u32,
    tasks: &[usize],
    interrupt: &Interrupt,
) -> anyhow::Result<Vec<Curve>> {
    let info = workloads::find(thread.workload).context("the workload is in the registry")?;
    let curve = |&kernel: &&str| -> anyhow::Result<CurveRequest> {
        Ok(CurveRequest::new(info.clone(), format!("lab:{kernel}").parse()?, thread.mode))
    };
    let kernels = [&thread.before].into_iter().chain(thread.others);
    let plan = Plan::new(Request {
        curves: kernels.map(curve).collect::<anyhow::Result<_>>()?,
        tasks: tasks.to_vec(),
        pin: Pin::Cores,
        time: Duration::from_secs(3600),
        slice: Some(slice),
        precision: None,
        rounds: Some(rounds),
        sides: harness::Sides::One,
        locks: None,
        guests: Default::default(),
        seed: 1,
        began: Instant::now(),
    })?;
    let measured = harness::run(&plan, interrupt, &mut |_| ())?;
    ensure!(!measured.plan.partial, "interrupted: nothing to show");
    for warning in &measured.warnings {
        eprintln!("warning: {}", warning.message);
    }
    Ok(measured.curves)
}

/// Measures and prints them all.
pub(crate) fn measure(slice: Duration, rounds: u32, tasks: &[usize]) -> anyhow::Result<()> {
    let interrupt = Interrupt::listen()?;
    for thread in &THREADS {
        let curves = run(thread, slice, rounds, tasks, &interrupt)?;
        let (before, others) = curves.split_first().context("a curve per kernel")?;
        println!(
            "{}: {}, {} mode, operations per second",
            thread.subject, thread.workload, thread.mode
        );
        for (at, before) in before.points.iter().enumerate() {
            let count = before.tasks;
            let noun = if count == 1 { "task" } else { "tasks" };
            println!("  {count} {noun}: {} {:.0}", thread.before, before.ops_per_s);
            for (name, other) in thread.others.iter().zip(others) {
                let other = &other.points[at];
                let verdict = match ratio(other, before) {
                    Some(ratio) => ratio.verdict(name, thread.before),
                    None => format!("{name}: not measured"),
                };
                println!("  {count} {noun}: {name} {:.0}: {verdict}", other.ops_per_s);
            }
        }
        println!();
    }
    Ok(())
}
