//! The lab's code on the simulator answers as it does on this machine: the same operations, each process a task on a simulated CPU of
//! its own, which take turns.

use crate::op::{FDS, PROCESSES, Step, sequences};
use crate::{cases, on_lab};
use harness::LabFs;
use lab::eras::{ERAS, Era};
use lab::vfs::{Kernel, Leftover, Task};
use machine::sim::{Allocator, Machine, TaskFn, in_arena, run};
use machine::{Cpu, POwned, Platform, Sim, Word};
use proptest::test_runner::TestCaseError;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};
use vfs_api::FileSystem;

/// As the program has it.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Sequences that are tried.
const CASES: u32 = 30;

#[test]
fn the_simulator_answers_as_the_lab_does() {
    let machine = Machine::named("8-socket-2007").expect("it is built in");
    cases(CASES, &sequences(), |(steps, shared)| {
        for era in ERAS {
            let simulated = simulate(&machine, era, shared, &steps)?;
            on_lab(era, shared, &steps, "simulator", &simulated)?;
        }
        Ok(())
    });
}

/// What each step answers.
fn simulate(
    machine: &Machine,
    era: &Era,
    shared: bool,
    steps: &[Step],
) -> Result<Vec<String>, TestCaseError> {
    let answers: Rc<RefCell<Vec<String>>> = Rc::default();
    let (kernel, tasks) = in_arena(|| {
        let kernel = Arc::new(Kernel::<Sim>::new(era, PROCESSES + 1));
        let turn = Rc::new(POwned::<Sim, _>::new(<Sim as Platform>::U64::new(0)));
        let task = |number: usize| -> TaskFn {
            let fs = LabFs::new(Task::new_process(&kernel, Cpu(number), FDS, shared));
            let (turn, answers, steps) = (Rc::clone(&turn), Rc::clone(&answers), steps.to_vec());
            Box::new(move |_| {
                for (at, step) in steps.iter().enumerate().filter(|(_, s)| s.process == number) {
                    // Acquire and Release: what was done before is seen.
                    turn.spin_until(Acquire, |turn| turn == at as u64);
                    // Who waits for its turn shall not be waited for by a grace period.
                    fs.enter();
                    answers.borrow_mut().push(step.op.run(&fs));
                    fs.leave();
                    turn.store(at as u64 + 1, Release);
                }
            })
        };
        let tasks = (0..=PROCESSES).map(task).collect::<Vec<_>>();
        (kernel, tasks)
    });
    run(machine, 1, tasks, u64::MAX)
        .map_err(|error| TestCaseError::fail(format!("{}: {error}", era.name)))?;
    let kernel = Arc::into_inner(kernel).expect("the tasks have ended");
    assert_eq!(kernel.shut_down(), Leftover::default(), "{}", era.name);
    Ok(answers.take())
}
