//! The lab answers as Linux does: the same operations on a tmpfs of this kernel and on the lab, in every era.

mod linux;
mod op;
mod simulated;

use harness::LabFs;
use lab::eras::{ERAS, Era};
use lab::vfs::{Kernel, Leftover, Task};
use linux::{Linux, enter_namespace};
use machine::{Cpu, Real};
use op::{FDS, PROCESSES, Step, sequences};
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::path::Path;
use std::sync::Arc;
use vfs_api::FileSystem;

/// Sequences that are tried; more with LAB_CASES=n, others with LAB_SEED=n.
const CASES: u32 = 100;

fn number(variable: &str, default: u32) -> u32 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn the_lab_answers_as_linux_does() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: mounting a tmpfs to compare the lab with needs root");
        return;
    }
    // The namespace is the thread's and goes with it.
    let thread = std::thread::spawn(|| match enter_namespace() {
        Ok(()) => compare(),
        Err(error) => println!("SKIPPED: no mount namespace of its own: {error}"),
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

fn compare() {
    let dir = tempfile::tempdir().expect("a directory to mount on");
    cases(number("LAB_CASES", CASES), &sequences(), |(steps, shared)| {
        let real = on_linux(dir.path(), &steps).map_err(|e| TestCaseError::fail(e.to_string()))?;
        for era in ERAS {
            on_lab(era, shared, &steps, "Linux", &real)?;
        }
        Ok(())
    });
}

/// Runs `test` on so many of `strategy`.
fn cases<S: Strategy>(
    cases: u32,
    strategy: &S,
    test: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let mut seed = [7; 32];
    seed[..4].copy_from_slice(&number("LAB_SEED", 1).to_le_bytes());
    let config =
        Config { cases, failure_persistence: None, max_shrink_iters: 2000, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    match TestRunner::new_with_rng(config, rng).run(strategy, test) {
        Ok(()) => {}
        // The reason has all of the shrunk case.
        Err(TestError::Fail(reason, _)) => panic!("{reason}"),
        Err(error) => panic!("{error}"),
    }
}

fn on_linux(dir: &Path, steps: &[Step]) -> std::io::Result<Vec<String>> {
    let mut linux = Linux::start(dir, steps)?;
    steps.iter().enumerate().map(|(at, step)| linux.run(at, step)).collect()
}

/// Compares the lab's answers with those of `whose`.
fn on_lab(
    era: &Era,
    shared: bool,
    steps: &[Step],
    whose: &str,
    theirs: &[String],
) -> Result<(), TestCaseError> {
    let kernel = Arc::new(Kernel::<Real>::new(era, PROCESSES + 1));
    let process = |cpu| LabFs::new(Task::new_process(&kernel, Cpu(cpu), FDS, shared));
    let processes: Vec<_> = (0..=PROCESSES).map(process).collect();
    for (at, step) in steps.iter().enumerate() {
        // One at a time: nobody else may be waited for.
        let fs = &processes[step.process];
        fs.enter();
        let answer = step.op.run(fs);
        fs.leave();
        if answer != theirs[at] {
            return Err(TestCaseError::fail(format!(
                "{}: {}: {:?}\n{whose}: {}\nlab:   {answer}\nbefore, as {whose} answers:{}",
                era.name,
                step.process,
                step.op,
                theirs[at],
                history(&steps[..at], theirs)
            )));
        }
    }
    drop(processes);
    let kernel = Arc::into_inner(kernel).expect("the tasks have ended");
    let left = kernel.shut_down();
    if left == Leftover::default() {
        Ok(())
    } else {
        let history = history(steps, theirs);
        let text = format!("{}: at the end there are left {left:?} after{history}", era.name);
        Err(TestCaseError::fail(text))
    }
}

fn history(steps: &[Step], answers: &[String]) -> String {
    let line = |(step, answer): (&Step, &String)| {
        format!("\n  {}: {:?} = {answer}", step.process, step.op)
    };
    steps.iter().zip(answers).map(line).collect()
}
