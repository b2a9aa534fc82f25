//! Every workload does what it says, and not only counts it: some time on file systems of this kernel, some passes in the lab,
//! then a look at what is there.

mod effect;
mod here;

use effect::{Seen, effect};
use harness::{LabFs, Target, can_run};
use lab::eras::ERAS;
use lab::vfs::{Kernel, Task};
use machine::{Cpu, Real};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use vfs_api::{FileSystem, Info, Params, Selected, TaskMode, Workload};
use workloads::Visitor;

/// Tasks that take turns.
const TASKS: usize = 2;
/// Passes of each in the lab.
const PASSES: u64 = 20;

/// Small values for parameters whose defaults are for measuring.
fn small(info: &'static Info) -> Selected {
    let small =
        [("files", 32), ("pages", 32), ("names", 20), ("branching", 2), ("kib", 16), ("to", 100)];
    let told: Vec<String> = info
        .params
        .iter()
        .filter_map(|param| small.iter().find(|(name, _)| *name == param.name))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if told.is_empty() {
        return info.into();
    }
    let params = Params::parse(info.params, &told.join(",")).expect("in range");
    Selected::new(info, params)
}

/// Where the task `number` of the workload works.
fn place(dir: &Path, number: usize, workload: &Selected) -> vfs_api::Place {
    vfs_api::Place {
        dir: CString::new(dir.as_os_str().as_bytes()).expect("no NUL"),
        task: number,
        params: workload.params().clone(),
    }
}

/// Runs the workload's passes on the lab's file systems of its tasks by turns, and looks.
fn passes<W: Workload, F: FileSystem>(systems: &[F], workload: &Selected) {
    let place = |number| place(Path::new("/d"), number, workload);
    let failed = |failure: vfs_api::Failure| -> ! { panic!("{workload}: {failure}") };
    let at_work = |fs: &F, f: &mut dyn FnMut(&F)| {
        fs.enter();
        f(fs);
        fs.leave();
    };
    at_work(&systems[0], &mut |fs| W::prepare(fs, &place(0)).unwrap_or_else(|e| failed(e)));
    let mut tasks = Vec::new();
    for (number, fs) in systems.iter().enumerate() {
        at_work(fs, &mut |fs| {
            tasks.push(W::task(fs, &place(number)).unwrap_or_else(|e| failed(e)));
        });
    }
    for (fs, task) in systems.iter().zip(&mut tasks) {
        at_work(fs, &mut |fs| W::renew(fs, task).unwrap_or_else(|e| failed(e)));
    }
    let mut ops = [0; TASKS];
    for _ in 0..PASSES {
        for ((fs, task), ops) in systems.iter().zip(&mut tasks).zip(&mut ops) {
            at_work(fs, &mut |fs| *ops += W::step(fs, task).unwrap_or_else(|e| failed(e)));
        }
    }
    for (number, fs) in systems.iter().enumerate() {
        at_work(fs, &mut |fs| {
            let seen = Seen { passes: PASSES, ops: ops[number], bytes: None };
            effect(&effect::Place { fs, workload, place: place(number), here: false }, &seen);
        });
    }
    // Made again, it can go on: nothing that a slice leaves stands in the way of the next.
    for (fs, task) in systems.iter().zip(&mut tasks) {
        at_work(fs, &mut |fs| {
            W::renew(fs, task).unwrap_or_else(|e| failed(e));
            W::step(fs, task).unwrap_or_else(|e| failed(e));
        });
    }
}

/// In the lab, in one era.
struct InTheLab {
    era: &'static lab::eras::Era,
    mode: TaskMode,
    seen: usize,
}

impl Visitor for InTheLab {
    fn visit<W: Workload>(&mut self) {
        let workload = small(&W::INFO);
        let target: Target = format!("lab:{}", self.era.name).parse().expect("an era");
        if can_run(&workload, &target).is_err() || !W::INFO.modes.contains(&self.mode) {
            return;
        }
        let kernel = Arc::new(Kernel::<Real>::new(self.era, TASKS));
        let first = Task::new_process(&kernel, Cpu(0), 4096, self.mode == TaskMode::Thread);
        let second = match self.mode {
            TaskMode::Thread => first.new_thread(Cpu(1)),
            TaskMode::Process => Task::new_process(&kernel, Cpu(1), 4096, false),
        };
        for task in [&first, &second] {
            task.enter();
            // Of the second it is there already.
            let _ = task.mkdir(b"/d");
            task.chdir(b"/d").expect("go there");
            task.leave();
        }
        let systems = [LabFs::new(first), LabFs::new(second)];
        passes::<W, LabFs<Real>>(&systems, &workload);
        drop(systems);
        let kernel = Arc::into_inner(kernel).expect("the tasks have ended");
        let left = kernel.shut_down();
        assert_eq!(left.files, 0, "{workload} in {}: {left:?}", self.era.name);
        self.seen += 1;
    }
}

#[test]
fn every_workload_has_its_effect_in_the_lab() {
    for (number, era) in ERAS.iter().enumerate() {
        // Fd tables of their own differ by nothing but the era's design, which the differential test has for each.
        let modes = [TaskMode::Thread, TaskMode::Process];
        let modes = if number == 0 || number + 1 == ERAS.len() { &modes[..] } else { &modes[..1] };
        for &mode in modes {
            let mut lab = InTheLab { era, mode, seen: 0 };
            workloads::visit_all(&mut lab);
            assert!(lab.seen > 50, "only {} workloads in {}", lab.seen, era.name);
        }
    }
}
