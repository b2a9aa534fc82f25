//! open and close of one's own file, and a burden on top: a known slow-down to be found.

use harness::Bench;
use std::ffi::{CStr, CString};
use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::{Duration, Instant};
use vfs_api::{
    Calls, Capability, Demand, Failure, FileSystem, Info, Mode, OFlags, Place, Selected, Shared,
    TaskMode, Workload,
};

/// Turns of the loop that the heavier side burns per operation. Set before the tasks are forked, read once by each.
static TURNS: AtomicU32 = AtomicU32::new(0);

/// Both sides run the same code; the lighter one turns no times.
pub(crate) struct Burdened<const HEAVY: bool>;

pub(crate) struct Task {
    path: CString,
    turns: u32,
}

/// What the record says; the name is the workload's that this is a burdened copy of.
pub(crate) const INFO: Info = Info {
    name: "open_close",
    aliases: &[],
    summary: "open(O_RDWR) and close own file, with a burden",
    origin: "will-it-scale open1",
    calls: Calls::Open,
    shared: Shared::Directory,
    suites: &[],
    params: &[],
    modes: &[TaskMode::Process],
    operation: "one open and one close",
    needs: &[Capability::Create],
    background: false,
    demand: |_| Demand::one_file(0),
};

impl<const HEAVY: bool> Workload for Burdened<HEAVY> {
    const INFO: Info = INFO;
    type Task = Task;

    fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
        let path = place.own_path();
        let fd = fs.open(&path, OFlags::RDWR | OFlags::CREATE, Mode::RUSR | Mode::WUSR)?;
        fs.close(fd)?;
        Ok(Task { path, turns: if HEAVY { TURNS.load(SeqCst) } else { 0 } })
    }

    #[inline]
    fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<u64, Failure> {
        let fd = fs.open(&task.path, OFlags::RDWR, Mode::empty())?;
        fs.close(fd)?;
        burn(task.turns);
        Ok(1)
    }

    fn path(task: &Task) -> &CStr {
        &task.path
    }
}

#[inline]
fn burn(turns: u32) {
    for turn in 0..turns {
        black_box(turn);
    }
}

/// The lighter side.
pub(crate) fn light(_: &Selected, dir: CString) -> Box<dyn Bench> {
    harness::bind::<Burdened<false>>(dir)
}

/// The heavier side.
pub(crate) fn heavy(_: &Selected, dir: CString) -> Box<dyn Bench> {
    harness::bind::<Burdened<true>>(dir)
}

/// Sets the burden to about `share` of an operation that takes `operation`, from what a turn takes alone; in the loop it is
/// another figure.
pub(crate) fn set(share: f64, operation: Duration) {
    const MANY: u32 = 1_000_000;
    let once = || {
        let began = Instant::now();
        burn(MANY);
        began.elapsed()
    };
    // The fastest of several: what disturbs only makes it slower.
    let turn = (0..20).map(|_| once()).min().unwrap_or_default().as_secs_f64() / f64::from(MANY);
    turns(operation.as_secs_f64() * share / turn);
}

/// Makes the burden so many times as large.
pub(crate) fn scale(by: f64) {
    turns(f64::from(TURNS.load(SeqCst)) * by);
}

fn turns(number: f64) {
    TURNS.store(number.round().max(1.0) as u32, SeqCst);
}
