//! A point of a page, simulated.

use crate::published::{Measure, Point};
use crate::tiobench::{self, RandRead, RandWrite, SeqRead, SeqWrite};
use harness::{SimRun, SimTarget, Target};
use machine::sim::{Limit, Outcome, TaskUse};
use serde::Serialize;
use vfs_api::Workload;

/// What simulation says of a point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Wall time by operations of all tasks.
    pub usecs_per_op: f64,
    /// CPU time, waiting for lines and locks without sleep included, by operations.
    pub cpu_usecs_per_op: f64,
    /// How far the seeds are apart: largest `usecs_per_op` less smallest, by the mean.
    pub spread: f64,
}

impl Measured {
    /// The figure that a table would have, after `operations` of each of `tasks` tasks.
    pub(crate) fn value(&self, measure: Measure, operations: f64, tasks: usize) -> f64 {
        match measure {
            Measure::UsecsPerOp => self.usecs_per_op,
            Measure::RealS => self.usecs_per_op * operations * tasks as f64 / 1e6,
            Measure::SysS => self.cpu_usecs_per_op * operations / 1e6,
            Measure::MbPerS => {
                tiobench::BLOCK as f64 * 1e6 / f64::from(1 << 20) / self.usecs_per_op
            }
        }
    }
}

/// Whatever simulates points.
pub trait Simulation: Sync {
    /// Simulates `point`. `work_ns`: local work of a call, or what is assumed for the machine. All latencies are multiplied by
    /// `latencies`.
    ///
    /// # Errors
    /// The point is none, a call failed, or the simulated kernel dead-locked; in words.
    fn run(&self, point: &Point, work_ns: Option<u32>, latencies: f64) -> Result<Measured, String>;
}

/// The lab on simulated machines.
#[derive(Clone, Copy, Debug)]
pub struct Simulator {
    /// Runs of each point, with different seeds.
    pub seeds: u64,
}

/// More tasks than this are simulated with two seeds at most.
const MANY: usize = 128;

/// Operations of a run before it counts: caches are warm then, and queues as long as they get.
fn warm_up_ops(tasks: u64) -> u64 {
    1000 + 5 * tasks
}

/// Operations that count. A lock that spinning CPUs fight over is by turns orderly and congested: enough for several turns, as far
/// as the host's time allows.
fn counted_ops(tasks: u64) -> u64 {
    if tasks <= 64 { 10_000 } else { (2 * tasks).max(4_000) }
}

/// Virtual time after which a run ends, however little was done.
const VIRTUAL_NS: u64 = 1_000_000_000;

impl Simulation for Simulator {
    fn run(&self, point: &Point, work_ns: Option<u32>, latencies: f64) -> Result<Measured, String> {
        let mut target = sim_target(&point.machine, &point.era)?;
        if let (Some(groups), Some(level)) = (point.outermost, target.machine.levels.last_mut()) {
            level.size = groups;
        }
        target.machine = target.machine.with_latencies(latencies);
        if let Some(work_ns) = work_ns {
            target.call_work_ns = work_ns;
        }
        let one = |seed| simulate(point, &target, seed);
        // Many tasks take long to simulate, and differ less from seed to seed.
        let seeds = if point.tasks > MANY { self.seeds.min(2) } else { self.seeds };
        let seeds = (1..=seeds).map(one).collect::<Result<Vec<_>, _>>()?;
        Ok(mean(&seeds))
    }
}

fn sim_target(machine: &str, era: &str) -> Result<SimTarget, String> {
    match format!("sim:{machine}/{era}").parse::<Target>() {
        Ok(Target::Sim { target, .. }) => Ok(*target),
        Ok(_) => unreachable!("it begins with sim:"),
        Err(error) => Err(error.to_string()),
    }
}

fn mean(seeds: &[Measured]) -> Measured {
    let count = seeds.len() as f64;
    let usecs = seeds.iter().map(|seed| seed.usecs_per_op);
    let cpu: f64 = seeds.iter().map(|seed| seed.cpu_usecs_per_op).sum();
    let usecs_per_op = usecs.clone().sum::<f64>() / count;
    let range = usecs.clone().fold(0.0, f64::max) - usecs.fold(f64::INFINITY, f64::min);
    Measured { usecs_per_op, cpu_usecs_per_op: cpu / count, spread: range / usecs_per_op }
}

/// Two runs with one seed, a short one and one that goes on: what they differ by is what happened after the warm-up.
fn simulate(point: &Point, target: &SimTarget, seed: u64) -> Result<Measured, String> {
    let tasks = point.tasks as u64;
    let warm_up = outcome(point, target, seed, Limit::ops(warm_up_ops(tasks), VIRTUAL_NS / 2))?;
    let all = Limit::ops(warm_up_ops(tasks) + counted_ops(tasks), VIRTUAL_NS);
    let all = outcome(point, target, seed, all)?;
    let ops = all.ops().saturating_sub(warm_up.ops());
    let elapsed = all.elapsed_ns.saturating_sub(warm_up.elapsed_ns);
    if ops == 0 {
        return Err(format!("no operation in {elapsed} ns of virtual time"));
    }
    // Over the whole run, for it is known only until a task's end.
    let busy = |task: &TaskUse| task.ended_ns.saturating_sub(task.sleep_ns + task.ready_ns);
    let busy_ns: u64 = all.tasks.iter().map(busy).sum();
    let done: u64 = all.tasks.iter().map(|task| task.ops + task.late_ops).sum();
    Ok(Measured {
        usecs_per_op: elapsed as f64 / ops as f64 / 1e3,
        cpu_usecs_per_op: busy_ns as f64 / done as f64 / 1e3,
        spread: 0.0,
    })
}

struct Named<'a> {
    name: &'a str,
    run: SimRun<'a>,
    outcome: Option<Result<Outcome, String>>,
}

impl workloads::Visitor for Named<'_> {
    fn visit<W: Workload>(&mut self) {
        if W::INFO.name == self.name {
            self.outcome = Some(self.run.run::<W>());
        }
    }
}

fn outcome(point: &Point, target: &SimTarget, seed: u64, limit: Limit) -> Result<Outcome, String> {
    let (mode, tasks, remounted) = (point.mode(), point.tasks, point.remounted);
    let kernel_cpus = target.machine.cpus();
    let run = SimRun { target, mode, tasks, kernel_cpus, seed, limit, remounted };
    match &*point.workload {
        "tiobench_seqread" => run.run::<SeqRead>(),
        "tiobench_randread" => run.run::<RandRead>(),
        "tiobench_seqwrite" => run.run::<SeqWrite>(),
        "tiobench_randwrite" => run.run::<RandWrite>(),
        name => {
            let mut named = Named { name, run, outcome: None };
            workloads::visit_all(&mut named);
            named.outcome.unwrap_or_else(|| Err(format!("no workload `{name}`")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{Published, THREADS};

    fn point(workload: &str, tasks: usize) -> Point {
        Point {
            id: "p".into(),
            machine: "piii-4-2004".into(),
            outermost: None,
            era: "linux-2.6.7".into(),
            workload: workload.into(),
            threads: true,
            tasks,
            remounted: false,
        }
    }

    #[test]
    fn figures_follow_from_time_per_operation() {
        let measured = Measured { usecs_per_op: 2.0, cpu_usecs_per_op: 10.0, spread: 0.0 };
        assert_eq!(measured.value(Measure::UsecsPerOp, 0.0, 4), 2.0);
        assert_eq!(measured.value(Measure::RealS, 1e6, 4), 8.0);
        assert_eq!(measured.value(Measure::SysS, 1e6, 4), 10.0);
        assert_eq!(measured.value(Measure::MbPerS, 0.0, 4), 4096.0 / 1.048576 / 2.0);
    }

    #[test]
    fn more_work_takes_longer_and_a_random_operation_is_two_calls() {
        let run = |workload, work| {
            let simulator = Simulator { seeds: 1 };
            simulator.run(&point(workload, 1), Some(work), 1.0).unwrap()
        };
        let (seq, random) = (run("tiobench_seqread", 10_000), run("tiobench_randread", 10_000));
        assert!((10.0..11.5).contains(&seq.usecs_per_op), "{seq:?}");
        assert!((20.0..22.0).contains(&random.usecs_per_op), "{random:?}");
        assert!((seq.cpu_usecs_per_op / seq.usecs_per_op - 1.0).abs() < 0.1, "{seq:?}");
        let (write, other) = (run("tiobench_seqwrite", 10_000), run("tiobench_randwrite", 10_000));
        assert!(write.usecs_per_op < other.usecs_per_op);
    }

    #[test]
    fn a_point_that_is_none_is_an_error() {
        let simulator = Simulator { seeds: 1 };
        let run = |point: &Point| simulator.run(point, None, 1.0).unwrap_err();
        assert!(run(&point("no_such", 1)).contains("no_such"));
        let machine = Point { machine: "pdp-11".into(), ..point("fstat", 1) };
        assert!(run(&machine).contains("pdp-11"));
    }

    #[test]
    fn every_published_point_can_be_simulated_in_principle() {
        for (name, _) in THREADS {
            for point in Published::named(name).unwrap().all_points() {
                let target = sim_target(&point.machine, &point.era);
                assert!(target.is_ok(), "{name} {}: {target:?}", point.id);
                let known = point.workload.starts_with("tiobench_")
                    || workloads::find(&point.workload).is_ok();
                assert!(known, "{name}: {}", point.workload);
            }
        }
    }
}
