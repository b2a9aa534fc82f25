//! Fixed work on a simulated machine: each phase in a kernel of its own, in which the files are as the phases before leave them.

use crate::error::Error;
use crate::lab_target::{Before, Lab};
use crate::latency::Latencies;
use crate::phases::{Visit, carry_out, visit};
use crate::plan::CurveRequest;
use crate::sim_target::{SimTarget, Simulated, sample, simulated};
use machine::Sim;
use machine::sim::{Handle, Limit, Options, TaskFn, in_arena, run_with};
use std::cell::RefCell;
use std::rc::Rc;
use vfs_api::{Failure, FileSystem, Meter, Params, Phased, Place};

/// Virtual time in which any of these ends: an hour.
const VIRTUAL_NS: u64 = 3_600_000_000_000;

/// What came of a phase.
pub(crate) struct SimulatedPhase {
    pub(crate) simulated: Simulated,
    pub(crate) latencies: Latencies,
}

/// A phase to simulate.
#[derive(Clone, Copy)]
pub(crate) struct SimPhase<'a> {
    pub(crate) curve: &'a CurveRequest,
    pub(crate) target: &'a SimTarget,
    pub(crate) phase: usize,
    pub(crate) tasks: usize,
    pub(crate) round: u32,
    pub(crate) seed: u64,
}

/// Simulates a phase.
///
/// # Errors
/// A call failed, or the simulated kernel dead-locked.
pub(crate) fn simulate(phase: SimPhase<'_>) -> Result<SimulatedPhase, Error> {
    let failed = |what| Error::Simulation { curve: phase.curve.name(), tasks: phase.tasks, what };
    visit(&phase.curve.workload, phase).map_err(failed)
}

/// Times calls by the clock of the simulated CPU.
struct VirtualWatch<'a> {
    handle: &'a Handle,
    latencies: Rc<RefCell<Latencies>>,
}

impl Meter for VirtualWatch<'_> {
    fn timed<R>(&mut self, call: impl FnOnce() -> Result<R, Failure>) -> Result<R, Failure> {
        let since = self.handle.now_ns();
        let result = call()?;
        self.latencies.borrow_mut().record(self.handle.now_ns() - since);
        Ok(result)
    }
}

impl Visit for SimPhase<'_> {
    type Answer = Result<SimulatedPhase, String>;

    fn visit<W: Phased>(self) -> Self::Answer {
        let params = W::simulated(self.curve.workload.params());
        let failure: Rc<RefCell<Option<Failure>>> = Rc::default();
        let latencies = Rc::new(RefCell::new(Latencies::new()));
        // In the arena malloc does not decide which objects share a line, and a run repeats bit for bit.
        let (lab, tasks) = in_arena(|| {
            let (era, work) = (self.target.era, self.target.call_work_ns);
            let lab =
                Lab::<Sim>::new(era, self.curve.mode, self.tasks, work).after(Before::Nothing);
            let tasks = self.make::<W>(&lab, &params, &failure, &latencies)?;
            Ok::<_, String>((lab, tasks))
        })?;
        let seed = self.seed ^ u64::from(self.round) ^ ((self.phase as u64) << 32);
        let options = Options::new(seed, Limit::time(VIRTUAL_NS));
        let outcome = run_with(&self.target.machine, &options, tasks).map_err(|e| e.to_string())?;
        drop(lab);
        if let Some(failure) = failure.take() {
            return Err(failure.to_string());
        }
        let used = outcome.tasks.iter().enumerate();
        // Here a task's own end is what counts.
        let samples = used.map(|(task, used)| sample(self.round, task, used, used.ended_ns));
        let simulated = simulated(&outcome, samples.collect());
        let latencies = latencies.borrow().clone();
        Ok(SimulatedPhase { simulated, latencies })
    }
}

impl SimPhase<'_> {
    fn make<W: Phased>(
        &self,
        lab: &Lab<Sim>,
        params: &Params,
        failure: &Rc<RefCell<Option<Failure>>>,
        latencies: &Rc<RefCell<Latencies>>,
    ) -> Result<Vec<TaskFn>, String> {
        let place = |task| Place { dir: lab.dir().to_owned(), task, params: params.clone() };
        let (phase, tasks) = (self.phase, self.tasks);
        lab.prepare_with(&(W::INFO.demand)(params), |fs| W::prepare(fs, &place(0)))?;
        let one = |number| -> Result<TaskFn, String> {
            let (fs, mut state) = lab.task_with(number, |fs| {
                let mut state = W::task(fs, &place(number))?;
                W::catch_up(fs, &mut state, phase)?;
                Ok(state)
            })?;
            let (failure, latencies) = (Rc::clone(failure), Rc::clone(latencies));
            Ok(Box::new(move |handle: &Handle| {
                let mut watch = VirtualWatch { handle, latencies };
                let work = (phase, tasks, W::simulated_steps(&state, phase));
                fs.enter();
                let is_over = || failure.borrow().is_some() || handle.time_is_up();
                let done = || handle.ops_done(1);
                let outcome = carry_out::<W, _>(&fs, &mut state, work, &mut watch, is_over, done);
                fs.leave();
                if let Some(failed) = outcome.failure {
                    failure.borrow_mut().get_or_insert(failed);
                }
            }))
        };
        (0..tasks).map(one).collect()
    }
}
