//! A point of a page, simulated.

use crate::loops;
use crate::published::{Measure, Point};
use crate::tiobench;
use harness::{Interrupt, SimRun, SimTarget};
use machine::sim::{Limit, Outcome, TaskUse};
use serde::Serialize;
use vfs_api::Workload;

/// What simulation says of a point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Simulated {
    /// Wall time by operations of all tasks.
    pub usecs_per_op: f64,
    /// CPU time, waiting for lines and locks without sleep included, by operations.
    pub cpu_usecs_per_op: f64,
    /// How far the seeds are apart: largest `usecs_per_op` less smallest, by the mean. One seed says nothing of it.
    pub spread: Option<f64>,
}

impl Simulated {
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

/// Why a point was not simulated.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// The point is none, a call failed, or the simulated kernel dead-locked; in words.
    Failed(String),
    /// The user asked to end.
    Interrupted,
}

impl From<String> for Stop {
    fn from(what: String) -> Stop {
        Stop::Failed(what)
    }
}

/// Whatever simulates points.
pub trait Simulation: Sync {
    /// Simulates `point`. `work_ns`: local work of a call, or what is assumed for the machine. All latencies are multiplied by
    /// `latencies`.
    ///
    /// # Errors
    /// See [`Stop`].
    fn run(&self, point: &Point, work_ns: Option<u32>, latencies: f64) -> Result<Simulated, Stop>;
}

/// The lab on simulated machines.
#[derive(Clone, Debug)]
pub struct Simulator {
    /// Runs of each point, with different seeds.
    pub seeds: u64,
    /// Ends between two runs.
    pub interrupt: Interrupt,
}

/// More tasks than this are simulated with two seeds at most, ...
const MANY: usize = 128;
/// ... and more than this with one.
const HUGE: usize = 1500;

/// Operations of a run before it counts: caches are warm then, and queues as long as they get.
fn warm_up_ops(tasks: u64) -> u64 {
    1000 + 5 * tasks
}

/// Operations that count. A lock that spinning CPUs fight over is by turns orderly and congested: enough for several turns, as far
/// as the host's time allows.
fn counted_ops(tasks: u64) -> u64 {
    if tasks <= 64 { 10_000 } else { (2 * tasks).max(4_000) }
}

/// Virtual time after which a run ends, however little was done; half of it is enough to warm up.
const VIRTUAL_NS: u64 = 1_000_000_000;

impl Simulation for Simulator {
    fn run(&self, point: &Point, work_ns: Option<u32>, latencies: f64) -> Result<Simulated, Stop> {
        let mut target = point.target()?;
        target.machine = target.machine.with_latencies(latencies);
        if let Some(work_ns) = work_ns {
            target.call_work_ns = work_ns;
        }
        // Many tasks take long to simulate, and differ less from seed to seed.
        let seeds = match point.tasks {
            0..=MANY => self.seeds,
            tasks if tasks > HUGE => 1,
            _ => self.seeds.min(2),
        };
        let one = |seed| simulate(point, &target, seed, &self.interrupt);
        let seeds = (1..=seeds).map(one).collect::<Result<Vec<_>, _>>()?;
        Ok(mean(&seeds))
    }
}

fn mean(seeds: &[Simulated]) -> Simulated {
    let count = seeds.len() as f64;
    let usecs = seeds.iter().map(|seed| seed.usecs_per_op);
    let cpu: f64 = seeds.iter().map(|seed| seed.cpu_usecs_per_op).sum();
    let usecs_per_op = usecs.clone().sum::<f64>() / count;
    let range = usecs.clone().fold(0.0, f64::max) - usecs.fold(f64::INFINITY, f64::min);
    let spread = (seeds.len() > 1).then_some(range / usecs_per_op);
    Simulated { usecs_per_op, cpu_usecs_per_op: cpu / count, spread }
}

/// Two runs with one seed, a short one and one that goes on: what they differ by is what happened after the warm-up.
fn simulate(
    point: &Point,
    target: &SimTarget,
    seed: u64,
    interrupt: &Interrupt,
) -> Result<Simulated, Stop> {
    let tasks = point.tasks as u64;
    let outcome = |limit| match interrupt.asked() {
        true => Err(Stop::Interrupted),
        false => Ok(outcome(point, target, seed, limit)?),
    };
    let warm_up = outcome(Limit::ops(warm_up_ops(tasks), VIRTUAL_NS / 2))?;
    let all = outcome(Limit::ops(warm_up_ops(tasks) + counted_ops(tasks), VIRTUAL_NS))?;
    let ops = all.ops().saturating_sub(warm_up.ops());
    let elapsed = all.elapsed_ns.saturating_sub(warm_up.elapsed_ns);
    if ops == 0 {
        return Err(Stop::Failed(format!("no operation in {elapsed} ns of virtual time")));
    }
    // Over the whole run, for it is known only until a task's end.
    let busy = |task: &TaskUse| task.ended_ns.saturating_sub(task.sleep_ns + task.ready_ns);
    let busy_ns: u64 = all.tasks.iter().map(busy).sum();
    let done: u64 = all.tasks.iter().map(|task| task.ops + task.late_ops).sum();
    Ok(Simulated {
        usecs_per_op: elapsed as f64 / ops as f64 / 1e3,
        cpu_usecs_per_op: busy_ns as f64 / done as f64 / 1e3,
        spread: None,
    })
}

struct Runner<'a> {
    run: SimRun<'a>,
    outcome: Option<Result<Outcome, String>>,
}

impl workloads::Visitor for Runner<'_> {
    fn visit<W: Workload>(&mut self) {
        self.outcome = Some(self.run.run::<W>());
    }
}

fn outcome(point: &Point, target: &SimTarget, seed: u64, limit: Limit) -> Result<Outcome, String> {
    let (mode, tasks, before) = (point.mode(), point.tasks, point.before());
    let kernel_cpus = target.machine.cpus();
    let run = SimRun { target, mode, tasks, kernel_cpus, seed, limit, before };
    let mut runner = Runner { run, outcome: None };
    loops::visit(&point.workload, &mut runner);
    runner.outcome.unwrap_or_else(|| Err(format!("no workload `{}`", point.workload)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{Published, THREADS};

    fn point(workload: &str, tasks: usize) -> Point {
        Point {
            id: "p".into(),
            machine: "piii-4-2004".into(),
            sizes: None,
            era: "linux-2.6.7".into(),
            workload: workload.into(),
            threads: true,
            tasks,
            remounted: false,
            second_mount: false,
        }
    }

    struct Nothing;

    impl workloads::Visitor for Nothing {
        fn visit<W: Workload>(&mut self) {}
    }

    fn simulator() -> Simulator {
        Simulator { seeds: 1, interrupt: Interrupt::default() }
    }

    #[test]
    fn who_interrupts_gets_no_figure() {
        let simulator = simulator();
        simulator.interrupt.ask();
        assert_eq!(simulator.run(&point("fstat", 1), None, 1.0), Err(Stop::Interrupted));
    }

    #[test]
    fn the_loops_of_the_pages_run_in_the_lab() {
        for workload in ["openbench_ramfs", "openbench_two_mounts", "aim7_all_tests", "aim7_disk"] {
            let point =
                Point { second_mount: true, era: "linux-2.6.26".into(), ..point(workload, 4) };
            let simulated = simulator().run(&point, Some(500), 1.0).unwrap();
            assert!(simulated.usecs_per_op > 0.5, "{workload}: {simulated:?}");
        }
    }

    #[test]
    fn a_machine_of_another_size_has_other_cpus() {
        let point = Point {
            machine: "xeon-160-2014".into(),
            sizes: Some(vec![2, 12, 2]),
            ..point("fstat", 1)
        };
        assert_eq!(point.target().unwrap().machine.cpus(), 48);
    }

    #[test]
    fn figures_follow_from_time_per_operation() {
        let measured = Simulated { usecs_per_op: 2.0, cpu_usecs_per_op: 10.0, spread: None };
        assert_eq!(measured.value(Measure::UsecsPerOp, 0.0, 4), 2.0);
        assert_eq!(measured.value(Measure::RealS, 1e6, 4), 8.0);
        assert_eq!(measured.value(Measure::SysS, 1e6, 4), 10.0);
        assert_eq!(measured.value(Measure::MbPerS, 0.0, 4), 4096.0 / 1.048576 / 2.0);
    }

    #[test]
    fn more_work_takes_longer_and_a_random_operation_is_two_calls() {
        let run = |workload, work| {
            let simulator = simulator();
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
        let simulator = simulator();
        let run = |point: &Point| match simulator.run(point, None, 1.0) {
            Err(Stop::Failed(what)) => what,
            other => panic!("{other:?}"),
        };
        assert!(run(&point("no_such", 1)).contains("no_such"));
        let machine = Point { machine: "pdp-11".into(), ..point("fstat", 1) };
        assert!(run(&machine).contains("pdp-11"));
        let sizes = Point { sizes: Some(vec![2; 9]), ..point("fstat", 1) };
        assert!(run(&sizes).contains("levels"));
    }

    #[test]
    fn every_published_point_can_be_simulated_in_principle() {
        for (name, _) in THREADS {
            for point in Published::named(name).unwrap().all_points() {
                let target = point.target();
                assert!(target.is_ok(), "{name} {}: {target:?}", point.id);
                assert!(loops::visit(&point.workload, &mut Nothing), "{name}: {}", point.workload);
            }
        }
    }
}
