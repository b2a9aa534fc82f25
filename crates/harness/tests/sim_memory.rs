//! What a simulated CPU takes of this machine's memory: 4096 of them shall fit into 64 MiB.
//!
//! A run of its own process for each number of CPUs, so that none finds what another has left; the difference is the CPUs'. The
//! whole of it is looked at by `bench/simulator`; this is for noticing at once when a line, a stack or a kernel's per-CPU part grows.

use harness::{Before, Machine, SimRun, SimTarget};
use machine::sim::{Allocator, Limit};
use std::process::Command;
use vfs_api::{TaskMode, Workload};

/// As the program has it.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Tells a process of this test how many CPUs it shall simulate.
const CPUS: &str = "VFSCALE_TEST_SIMULATED_CPUS";

/// Most KiB for each CPU: a 4096th of 56 MiB, for the program takes some as well. The frames of a debug build fill a second page of
/// each stack.
const KIB_PER_CPU: f64 = if cfg!(debug_assertions) { 14.0 + 5.0 } else { 14.0 };

struct OpenClose<'a>(SimRun<'a>);

impl workloads::Visitor for OpenClose<'_> {
    fn visit<W: Workload>(&mut self) {
        if W::INFO.name == "open_close" {
            let outcome = self.0.run::<W>().expect("it runs");
            assert!(outcome.ops() >= 10 * self.0.tasks as u64, "{} operations", outcome.ops());
        }
    }
}

/// Simulates the newest era on so many CPUs of the largest machine, as the program does.
fn simulate(cpus: usize) {
    let machine = Machine::named("numa-4096").expect("built in");
    let era = *lab::eras::ERAS.last().expect("there are eras");
    let target = SimTarget { machine, era, call_work_ns: 480 };
    workloads::visit_all(&mut OpenClose(SimRun {
        target: &target,
        mode: TaskMode::Process,
        tasks: cpus,
        kernel_cpus: cpus,
        seed: 1,
        limit: Limit::ops(40 * cpus as u64, 20_000_000),
        before: Before::Nothing,
    }));
}

/// Most memory that this process has had, KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("VmHWM");
    line.trim().trim_end_matches(" kB").parse().expect("a number of KiB")
}

/// The peak of a process that simulates so many CPUs.
fn peak_with(cpus: usize) -> f64 {
    let test = std::env::current_exe().expect("this program");
    let args = ["--exact", "a_simulated_cpu_takes_little_memory", "--nocapture"];
    let output = Command::new(test).args(args).env(CPUS, cpus.to_string()).output();
    let output = output.expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let peak = text.lines().find_map(|line| line.strip_prefix("peak KiB: "));
    peak.and_then(|kib| kib.parse().ok()).unwrap_or_else(|| panic!("{output:?}"))
}

#[test]
fn a_simulated_cpu_takes_little_memory() {
    if let Ok(cpus) = std::env::var(CPUS) {
        simulate(cpus.parse().expect("a number of CPUs"));
        println!("\npeak KiB: {}", peak_kib());
        return;
    }
    let (few, many) = (128, 512);
    let [less, more] = [few, many].map(peak_with);
    let per_cpu = (more - less) / (many - few) as f64;
    println!("{less} KiB with {few} CPUs, {more} with {many}: {per_cpu:.1} KiB for each");
    assert!((1.0..KIB_PER_CPU).contains(&per_cpu), "{per_cpu} KiB for each CPU");
}
