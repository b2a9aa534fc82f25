//! Workloads of fixed work: each task does what was laid down before, and the time that takes is the result.
//!
//! A [`Workload`](crate::Workload) repeats a step for as long as a slice lasts. Here a phase has an end of its own, phases follow
//! each other on the same files, and none begins before every task has ended the one before it.

use crate::{Capability, Failure, FileSystem, Info, Params, Place};
use std::ffi::CStr;

/// A phase, which becomes a curve of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// What is added to the workload's name; nothing where there is only one phase.
    pub suffix: &'static str,
    /// As the program that the workload is taken from calls it.
    pub title: &'static str,
}

/// The unit that a workload of fixed work is measured in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// `MB/s`, `jobs/min`.
    pub unit: &'static str,
    /// What one operation a second is in that unit.
    pub per_op: f64,
    /// Bytes that an operation moves; 0 where that is not what is counted.
    pub block_bytes: u64,
    /// Bytes of a task's file; 0 where it has no single one.
    pub file_bytes: u64,
}

/// How long operations take, where a workload wants to know.
pub trait Meter {
    /// Carries out `call` and takes down how long it took, if it succeeded.
    ///
    /// # Errors
    /// That of the call.
    fn timed<R>(&mut self, call: impl FnOnce() -> Result<R, Failure>) -> Result<R, Failure>;
}

/// A workload of fixed work: one file (or folder) in the `phased` crate.
pub trait Phased: 'static {
    /// Name, origin, needs. `background` and `suites` mean nothing here.
    const INFO: Info;
    /// The phases, in their order.
    const PHASES: &'static [Phase];
    /// What a task keeps from phase to phase.
    type Task: Send + 'static;

    /// What the figures are in.
    fn rate(params: &Params) -> Rate;

    /// Whether the parameters go together.
    ///
    /// # Errors
    /// They do not; in words.
    fn check(_params: &Params) -> Result<(), String> {
        Ok(())
    }

    /// What it needs with these parameters beyond [`Info::needs`].
    fn needs(_params: &Params) -> Vec<Capability> {
        Vec::new()
    }

    /// The parameters on a machine that is simulated, where each operation costs much time and each byte memory: the same
    /// operations on less.
    fn simulated(params: &Params) -> Params {
        params.clone()
    }

    /// Makes what all tasks share. Once per run, before any task.
    ///
    /// # Errors
    /// The first call that failed.
    fn prepare<F: FileSystem>(_fs: &F, _place: &Place) -> Result<(), Failure> {
        Ok(())
    }

    /// Makes a task, in the task itself.
    ///
    /// # Errors
    /// The first call that failed.
    fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Self::Task, Failure>;

    /// Brings about what the phases before `phase` leave behind, for a run that is to begin with it. Nothing of it is measured.
    ///
    /// # Errors
    /// The first call that failed.
    fn catch_up<F: FileSystem>(
        _fs: &F,
        _task: &mut Self::Task,
        _phase: usize,
    ) -> Result<(), Failure> {
        Ok(())
    }

    /// Begins a phase that `tasks` tasks take part in. Its time counts.
    ///
    /// # Errors
    /// The first call that failed.
    fn begin<F: FileSystem>(
        fs: &F,
        task: &mut Self::Task,
        phase: usize,
        tasks: usize,
    ) -> Result<(), Failure>;

    /// Steps of the phase.
    fn steps(task: &Self::Task, phase: usize) -> u64;

    /// Steps of the phase on a machine that is simulated.
    fn simulated_steps(task: &Self::Task, phase: usize) -> u64 {
        Self::steps(task, phase)
    }

    /// Step number `step` of the phase: one operation.
    ///
    /// # Errors
    /// The first call that failed; nothing that failed counts.
    fn step<F: FileSystem>(
        fs: &F,
        task: &mut Self::Task,
        phase: usize,
        step: u64,
        meter: &mut impl Meter,
    ) -> Result<(), Failure>;

    /// Ends the phase, also one that was broken off. Its time counts.
    ///
    /// # Errors
    /// The first call that failed.
    fn end<F: FileSystem>(fs: &F, task: &mut Self::Task, phase: usize) -> Result<(), Failure>;

    /// The path to name in an error message.
    fn path(task: &Self::Task) -> &CStr;
}
