//! Every workload does what it says, and not only counts it: some passes on a directory of this kernel and in the lab, then a
//! look at what is there.

mod effect;

use effect::{Place, Seen, effect};
use harness::{Dir, LabFs, Target, can_run};
use lab::eras::ERAS;
use lab::vfs::{Kernel, Task};
use machine::{Cpu, Real};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vfs_api::{Capability, FileSystem, Info, Params, Selected, TaskMode, Workload};
use workloads::Visitor;

/// Tasks that take turns.
const TASKS: usize = 2;
/// Passes of each.
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

/// Runs the workload's passes on the file systems of its tasks, and looks.
fn passes<W: Workload, F: FileSystem>(systems: &[F], dir: &Path, workload: &Selected, here: bool) {
    let place = |task| vfs_api::Place {
        dir: CString::new(dir.as_os_str().as_bytes()).expect("no NUL"),
        task,
        params: workload.params().clone(),
    };
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
    let before = here.then(effect::Process::now);
    let mut ops = [0; TASKS];
    for _ in 0..PASSES {
        for ((fs, task), ops) in systems.iter().zip(&mut tasks).zip(&mut ops) {
            at_work(fs, &mut |fs| *ops += W::step(fs, task).unwrap_or_else(|e| failed(e)));
        }
    }
    let moved = before.map(effect::Process::since);
    if let Some(moved) = &moved {
        assert_eq!(moved.descriptors, 0, "{workload}: descriptors are left open");
    }
    for (number, fs) in systems.iter().enumerate() {
        at_work(fs, &mut |fs| {
            let seen = Seen {
                passes: PASSES,
                ops: ops[number],
                moved: moved.as_ref(),
                tasks: TASKS as u64,
            };
            effect(&Place { fs, workload, place: place(number), here }, &seen);
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

/// On a directory of this kernel.
struct Here {
    top: PathBuf,
    seen: usize,
}

impl Visitor for Here {
    fn visit<W: Workload>(&mut self) {
        let workload = small(&W::INFO);
        let target = Target::Dir(self.top.clone());
        // Mounts would stay in this process; the program's own tests have those. So would a thread's fd table.
        let elsewhere = [Capability::Mounts, Capability::OwnTable];
        if W::INFO.needs.iter().any(|need| elsewhere.contains(need)) {
            return;
        }
        if let Err(refusal) = can_run(&workload, &target) {
            println!("SKIPPED: {refusal}");
            return;
        }
        let dir = self.top.join(W::INFO.name);
        std::fs::create_dir(&dir).expect("make a directory");
        std::env::set_current_dir(&dir).expect("go there");
        passes::<W, Dir>(&[Dir, Dir], &dir, &workload, true);
        self.seen += 1;
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
        passes::<W, LabFs<Real>>(&systems, Path::new("/d"), &workload, false);
        drop(systems);
        let kernel = Arc::into_inner(kernel).expect("the tasks have ended");
        let left = kernel.shut_down();
        assert_eq!(left.files, 0, "{workload} in {}: {left:?}", self.era.name);
        self.seen += 1;
    }
}

/// One test, because it counts the descriptors of the process and goes from directory to directory.
#[test]
fn every_workload_has_its_effect() {
    let top = tempfile::tempdir().expect("a temporary directory");
    let mut here = Here { top: top.path().canonicalize().expect("it is there"), seen: 0 };
    workloads::visit_all(&mut here);
    assert!(here.seen > 80, "only {} workloads", here.seen);
    std::env::set_current_dir("/").expect("out of what will be removed");
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
