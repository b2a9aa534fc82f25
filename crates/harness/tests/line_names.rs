//! Which cache lines move is told by the kernel's names: `structure.field`, or the lock that is there.

use harness::{Machine, SimRun, SimTarget, Target, can_run, in_parallel};
use machine::sim::{Allocator, Limit, Outcome};
use vfs_api::{Selected, Suite, TaskMode, Workload};

/// As the program has it: the kernel's boxes are lines of the arena.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Runs every workload.
struct Every<'a> {
    all: bool,
    run: SimRun<'a>,
    outcomes: Vec<(&'static str, Outcome)>,
}

impl workloads::Visitor for Every<'_> {
    fn visit<W: Workload>(&mut self) {
        // The simulator has what the lab has.
        let target = Target::parse("sim:dual-core-2007/linux-6.18".as_ref()).expect("a target");
        let can_run = can_run(&Selected::from(&W::INFO), &target).is_ok();
        // Those of the mails and one of each kind in every era; the rest in the oldest and the newest, for there are many.
        let often = [Suite::Mails, Suite::Quick];
        let here = self.all || W::INFO.suites.iter().any(|suite| often.contains(suite));
        if here && can_run && W::INFO.modes.contains(&self.run.mode) {
            let outcome = self.run.run::<W>().expect("it runs");
            self.outcomes.push((W::INFO.name, outcome));
        }
    }
}

/// So many transfers come of the tasks' beginning alone.
const FEW: u64 = 300;

/// The workloads in an era that have lines without a name, with their shares of all transfers.
fn nameless(era: &lab::eras::Era, mode: TaskMode) -> Vec<String> {
    let machine = Machine::named("xeon-16-2014").expect("built in");
    let target = SimTarget { machine, era: *era, call_work_ns: 400 };
    let run = SimRun {
        target: &target,
        mode,
        tasks: 8,
        kernel_cpus: 8,
        seed: 1,
        limit: Limit::ops(300, 20_000_000),
        before: harness::Before::Nothing,
    };
    let ends = [lab::eras::ERAS.first(), lab::eras::ERAS.last()];
    let all = ends.iter().flatten().any(|end| end.name == era.name);
    let mut every = Every { all, run, outcomes: Vec::new() };
    workloads::visit_all(&mut every);
    let judged = every.outcomes.into_iter().filter_map(|(workload, outcome)| {
        let (named, others): (Vec<_>, Vec<_>) =
            outcome.moved.iter().partition(|line| !line.name.starts_with("line "));
        let named: u64 = named.iter().map(|line| line.transfers).sum();
        let share = named as f64 / outcome.transfers.max(1) as f64;
        let few: Vec<_> = others.iter().take(4).map(|l| (&l.name, l.transfers)).collect();
        // Of a workload that moves nothing, what moved while it began is no share of anything.
        (share <= 0.99 && outcome.transfers >= FEW).then(|| {
            format!(
                "{workload} {mode} {}: {named} of {} have names, {few:?}",
                era.name, outcome.transfers
            )
        })
    });
    judged.collect()
}

#[test]
fn nearly_every_transfer_of_every_workload_and_era_has_a_name() {
    let runs: Vec<_> = lab::eras::ERAS
        .iter()
        .flat_map(|era| [TaskMode::Process, TaskMode::Thread].map(|mode| (era, mode)))
        .collect();
    let missing: Vec<String> =
        in_parallel(&runs, |(era, mode)| nameless(era, *mode)).into_iter().flatten().collect();
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
