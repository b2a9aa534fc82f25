//! How fast the simulator simulates: million shared accesses per second of one host thread, and its memory at 4096 CPUs.
//!
//! Run: `cargo run --release -p bench-simulator`. What it must reach is printed beside each row.

mod load;

use anyhow::{Context, Result};
use load::{LOADS, Load};
use machine::sim::{Limit, Machine, Options, run_with};
use rustix::time::{ClockId, clock_gettime};

/// Numbers of simulated CPUs.
const CPUS: &[usize] = &[2, 64, 1024, 4096];

/// What a row must reach, million accesses per second.
fn goal(load: &str, cpus: usize) -> Option<f64> {
    match (load, cpus) {
        ("private lines", _) => Some(120.0),
        ("ticket lock" | "list, TTAS", 2) => Some(40.0),
        ("ticket lock" | "list, TTAS", 64) => Some(12.0),
        ("ticket lock" | "list, TTAS", 1024) => Some(8.0),
        ("ticket lock" | "list, TTAS", _) => Some(6.0),
        _ => None,
    }
}

/// Seconds of CPU time that this thread has used: other processes of the host do not count.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

struct Speed {
    accesses: u64,
    seconds: f64,
    ops_per_us: f64,
    switches: u64,
}

fn measure(machine: &Machine, load: &Load, cpus: usize, limit: Limit) -> Result<Speed> {
    let tasks = (load.tasks)(cpus);
    let began = cpu_seconds();
    let outcome = run_with(machine, &Options::new(1, limit), tasks)
        .with_context(|| format!("{}, {cpus} CPUs", load.name))?;
    Ok(Speed {
        accesses: outcome.accesses,
        seconds: cpu_seconds() - began,
        ops_per_us: outcome.ops_per_second() / 1e6,
        switches: outcome.switches,
    })
}

/// An amount of virtual time that takes about a second to simulate.
fn suitable(machine: &Machine, load: &Load, cpus: usize) -> Result<Limit> {
    let mut ns = if load.contended { 20_000 } else { 400_000 };
    loop {
        let speed = measure(machine, load, cpus, Limit::time(ns))?;
        if speed.seconds > 0.3 {
            return Ok(Limit::time(ns));
        }
        ns *= if speed.seconds > 0.1 { 4 } else { 8 };
    }
}

fn resident_kib() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")).context("VmRSS")?;
    kib.trim().parse().context("VmRSS")
}

fn main() -> Result<()> {
    let machine = Machine::named("numa-4096")?;
    println!("memory: {} KiB at the start", resident_kib()?);
    let lists = LOADS.iter().find(|load| load.name == "list per CPU").context("the list")?;
    let speed = measure(&machine, lists, 4096, Limit::time(150_000))?;
    println!(
        "memory: {} KiB after {:.1} million accesses of 4096 CPUs, {:.2} s; goal: below 65536 KiB, 10 million in 2 s\n",
        resident_kib()?,
        speed.accesses as f64 / 1e6,
        speed.seconds
    );
    println!("load            CPUs   M accesses/s   goal   ops/us   switches/access");
    let only = std::env::args().nth(1);
    for load in LOADS {
        if only.as_ref().is_some_and(|only| !load.name.contains(only.as_str())) {
            continue;
        }
        for &cpus in CPUS {
            let limit = suitable(&machine, load, cpus)?;
            let best = (0..3)
                .map(|_| measure(&machine, load, cpus, limit))
                .collect::<Result<Vec<_>>>()?
                .into_iter()
                .min_by(|a, b| a.seconds.total_cmp(&b.seconds))
                .context("three measurements")?;
            let rate = best.accesses as f64 / best.seconds / 1e6;
            let goal = goal(load.name, cpus).map_or_else(String::new, |goal| goal.to_string());
            println!(
                "{:<14} {cpus:>5} {rate:>14.1} {goal:>6} {:>8.4} {:>17.2}",
                load.name,
                best.ops_per_us,
                best.switches as f64 / best.accesses as f64
            );
        }
    }
    Ok(())
}
