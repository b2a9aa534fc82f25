//! What the tests share.

// Each test file is a crate of its own and uses a part of it.
#![allow(dead_code)]

use machine::sync::Rcu;
use machine::{Cpu, Cx, Loom, Platform};
use std::alloc::Layout;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::Duration;

/// Runs `f`, which must not hang.
pub(crate) fn in_time<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> R {
    let (give, take) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let result = f();
        // Nobody waits any more if it took too long.
        let _ = give.send(());
        result
    });
    match take.recv_timeout(Duration::from_secs(60)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("somebody waits for ever"),
        Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => {
            thread.join().expect("no assertion failed")
        }
    }
}

/// Every interleaving with at most so many preemptions.
pub(crate) fn model(preemptions: usize, scene: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(scene);
}

/// Whether loom finds something wrong with the scene: a race or a failed assertion.
///
/// # Panics
/// If the scene is too long for loom.
pub(crate) fn found(preemptions: usize, scene: impl Fn() + Send + Sync + 'static) -> bool {
    let Err(panic) = catch_unwind(AssertUnwindSafe(|| model(preemptions, scene))) else {
        return false;
    };
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
    assert!(!text.contains("exceeded maximum number of branches"), "{text}");
    true
}

/// Starts a thread of a model, whose fences do nothing on [`Unfenced`].
pub(crate) fn spawn<R: Send + 'static>(
    f: impl FnOnce() -> R + Send + 'static,
) -> loom::thread::JoinHandle<R> {
    let builder = loom::thread::Builder::new().name(UNFENCED.to_owned());
    builder.spawn(f).expect("loom allows so many threads")
}

/// The CPU's context.
pub(crate) fn cx<P: Platform>(rcu: &Rcu<P>, cpu: usize) -> Cx<'_, P> {
    Cx { cpu: Cpu(cpu), rcu }
}

/// Loom, but threads made by [`spawn`] have no fences: a seeded bug.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unfenced;

const UNFENCED: &str = "unfenced";

impl Platform for Unfenced {
    type U32 = <Loom as Platform>::U32;
    type U64 = <Loom as Platform>::U64;
    type Ptr<T: 'static> = <Loom as Platform>::Ptr<T>;
    type Cell<T: Send + 'static> = <Loom as Platform>::Cell<T>;
    type Spin = <Loom as Platform>::Spin;
    type Tag = <Loom as Platform>::Tag;

    fn fence(order: Ordering) {
        if loom::thread::current().name() != Some(UNFENCED) {
            Loom::fence(order);
        }
    }
    fn relax() {
        Loom::relax();
    }
    fn work(ns: u32) {
        Loom::work(ns);
    }
    fn now_ns() -> u64 {
        Loom::now_ns()
    }
    fn alloc(layout: Layout) -> *mut u8 {
        Loom::alloc(layout)
    }
    unsafe fn dealloc(memory: *mut u8, layout: Layout) {
        // SAFETY: handed on to the caller.
        unsafe { Loom::dealloc(memory, layout) }
    }
}
