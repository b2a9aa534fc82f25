//! The two parameters of the coherence model that no source gives, set from two published rows and then frozen.
//!
//! `home_share` and `hold_ns`: the stat of one tmpfs file by 20 CPUs of a Sapphire Rapids, 7.84 million a second (Guzik, 2024,
//! commit 18a5daf0e497). `hold_ns` of a machine whose compare-and-exchange does not keep the line: about 25 tries per success by 28
//! threads of a ThunderX2 on one file (Glauber, 2019, lkml 1904.3/06285). Nothing here is set from any other table.
//!
//! What this is worth: the stats take as long with every seed (within 1 %) and with 500 to 800 ns of other work a call, for it is the
//! dentry's line that limits them. That takes a kernel whose last dput takes no lock: with the lockref of 3.12 (path_walk=rcu_walk) most seeds
//! end up with all CPUs in the queue of the dentry's lock, at 1.5 million a second. The tries: 28 with every seed.

use harness::{Machine, SimRun, SimTarget, in_parallel, machines};
use machine::sim::{Allocator, Limit, Outcome};
use vfs_api::{TaskMode, Workload};

/// As the program has it: which objects share a line does not depend on malloc.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Stats a second of the published row, millions.
const PUBLISHED_STATS: f64 = 7.84;
/// Tries of a compare-and-exchange per success of the published row.
const PUBLISHED_TRIES: f64 = 25.0;
const STATS_ON: &str = "spr-20-2024";
const TRIES_ON: &str = "thunderx2-28-2019";

/// The one workload of that name.
struct Only<'a> {
    name: &'static str,
    run: SimRun<'a>,
    outcome: Option<Outcome>,
}

impl workloads::Visitor for Only<'_> {
    fn visit<W: Workload>(&mut self) {
        if W::INFO.name == self.name {
            self.outcome = Some(self.run.run::<W>().expect("it runs"));
        }
    }
}

/// The newest era on all CPUs of a machine, with every seed; a call's other work as the command line has it (1200 cycles).
fn outcomes(workload: &'static str, machine: &Machine) -> Vec<Outcome> {
    let era = *lab::eras::ERAS.last().expect("there are eras");
    let call_work_ns = (1.2e6 / machine.mhz.value) as u32;
    let target = SimTarget { machine: machine.clone(), era, call_work_ns };
    let tasks = machine.cpus();
    in_parallel(&[1, 2, 3, 4, 5], |seed| {
        let limit = Limit::ops(10_000, 20_000_000);
        let mode = TaskMode::Process;
        let run = SimRun {
            target: &target,
            mode,
            tasks,
            kernel_cpus: tasks,
            seed: *seed,
            limit,
            before: harness::Before::Nothing,
        };
        let mut only = Only { name: workload, run, outcome: None };
        workloads::visit_all(&mut only);
        only.outcome.expect("there is such a workload")
    })
}

/// The median over seeds, which hardly differ.
fn median(of: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = of.collect();
    values.sort_by(f64::total_cmp);
    let (least, median, most) = (values[0], values[values.len() / 2], values[values.len() - 1]);
    assert!(most < least * 1.05, "what depends on the seed calibrates nothing: {values:?}");
    median
}

/// Million stats a second.
fn stats(home_share: f64, hold_ns: f64) -> f64 {
    let mut machine = Machine::named(STATS_ON).expect("built in");
    (machine.home_share.value, machine.hold_ns.value) = (home_share, hold_ns);
    median(outcomes("stat_shared", &machine).iter().map(|o| o.ops_per_second() / 1e6))
}

/// Times an open or close of one file asked for the line of its d_lockref, each of which is a try that succeeds once.
fn tries(hold_ns: f64) -> f64 {
    let mut machine = Machine::named(TRIES_ON).expect("built in");
    machine.hold_ns.value = hold_ns;
    median(outcomes("open_shared", &machine).iter().map(|outcome| {
        let lockref = outcome.moved.iter().filter(|line| line.name.contains("d_lockref"));
        lockref.map(|line| line.transfers as f64).sum::<f64>() / (2 * outcome.ops()) as f64
    }))
}

fn frozen(machine: &str) -> (f64, f64) {
    let machine = Machine::named(machine).expect("built in");
    (machine.home_share.value, machine.hold_ns.value)
}

#[test]
fn home_share_is_the_one_that_gives_the_published_stats() {
    let (share, hold) = frozen(STATS_ON);
    let error = |share: f64| (stats(share, hold) / PUBLISHED_STATS - 1.0).abs();
    let here = error(share);
    assert!(here < 0.02, "{:.1} % off", here * 100.0);
    for other in [share - 0.05, share + 0.05] {
        assert!(error(other) > here, "{other} fits better than {share}");
    }
}

#[test]
fn hold_is_long_enough_to_try_again_and_its_length_does_not_matter() {
    let (share, hold) = frozen(STATS_ON);
    let here = stats(share, hold);
    for other in [13.0, 20.0] {
        let there = stats(share, other);
        assert!((there / here - 1.0).abs() < 0.01, "{other} ns: {there} instead of {here}");
    }
    assert!(stats(share, 0.0) < PUBLISHED_STATS / 4.0, "without it nobody gets on");
}

#[test]
fn a_line_that_is_not_kept_takes_the_published_number_of_tries() {
    let (_, hold) = frozen(TRIES_ON);
    let here = tries(hold);
    assert!((here / PUBLISHED_TRIES - 1.0).abs() < 0.2, "{here} tries");
    let kept = tries(frozen(STATS_ON).1);
    assert!(kept < 3.0, "{kept} tries on a line that is kept");
}

#[test]
fn every_machine_has_the_frozen_values() {
    let frozen = frozen(STATS_ON);
    for machine in machines() {
        let Machine { home_share, hold_ns, name, .. } = machine;
        assert_eq!(home_share.value, frozen.0, "{name}");
        assert!(hold_ns.value == frozen.1 || name == TRIES_ON, "{name}");
        for value in [home_share, hold_ns] {
            assert!(value.source.starts_with("calibrated: "), "{name}: {}", value.source);
        }
    }
}
