//! For tests of designs, here and in other crates: models, a platform that counts its memory, one without fences, and how to make
//! another that is like one there is but for some functions.

use crate::{Loom, Platform, Real};
use std::alloc::Layout;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

/// In an `impl Platform`: the members listed are as on another platform. `types` stands for all types, `rest` for the functions
/// that hardly any test has its own of: relax, work and now_ns.
#[macro_export]
macro_rules! as_on {
    ($base:ty: $($member:ident)*) => { $($crate::as_on!(@$member $base);)* };
    (@types $base:ty) => { $crate::as_on!($base: U32 U64 Ptr Cell Spin Tag); };
    (@rest $base:ty) => { $crate::as_on!($base: relax work now_ns); };
    (@memory $base:ty) => { $crate::as_on!($base: alloc dealloc); };
    (@U32 $base:ty) => { type U32 = <$base as $crate::Platform>::U32; };
    (@U64 $base:ty) => { type U64 = <$base as $crate::Platform>::U64; };
    (@Ptr $base:ty) => { type Ptr<T: 'static> = <$base as $crate::Platform>::Ptr<T>; };
    (@Cell $base:ty) => { type Cell<T: Send + 'static> = <$base as $crate::Platform>::Cell<T>; };
    (@Spin $base:ty) => { type Spin = <$base as $crate::Platform>::Spin; };
    (@Tag $base:ty) => { type Tag = <$base as $crate::Platform>::Tag; };
    (@fence $base:ty) => {
        fn fence(order: ::std::sync::atomic::Ordering) {
            <$base as $crate::Platform>::fence(order);
        }
    };
    (@relax $base:ty) => {
        fn relax() {
            <$base as $crate::Platform>::relax();
        }
    };
    (@work $base:ty) => {
        fn work(ns: u32) {
            <$base as $crate::Platform>::work(ns);
        }
    };
    (@now_ns $base:ty) => {
        fn now_ns() -> u64 {
            <$base as $crate::Platform>::now_ns()
        }
    };
    (@alloc $base:ty) => {
        fn alloc(layout: ::std::alloc::Layout) -> *mut u8 {
            <$base as $crate::Platform>::alloc(layout)
        }
    };
    (@dealloc $base:ty) => {
        unsafe fn dealloc(memory: *mut u8, layout: ::std::alloc::Layout) {
            // SAFETY: handed on to the caller.
            unsafe { <$base as $crate::Platform>::dealloc(memory, layout) }
        }
    };
}

thread_local! {
    static PIECES: Cell<usize> = const { Cell::new(0) };
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

/// This machine, with an account of the memory that the calling thread has from it: whether a design gives back what it took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally;

impl Tally {
    /// Pieces of memory allocated and not given back by this thread.
    pub fn pieces() -> usize {
        PIECES.get()
    }

    /// Their bytes.
    pub fn bytes() -> usize {
        BYTES.get()
    }
}

impl Platform for Tally {
    as_on!(Real: types fence rest);
    fn alloc(layout: Layout) -> *mut u8 {
        PIECES.set(PIECES.get() + 1);
        BYTES.set(BYTES.get() + layout.size());
        Real::alloc(layout)
    }
    unsafe fn dealloc(memory: *mut u8, layout: Layout) {
        PIECES.set(PIECES.get() - 1);
        BYTES.set(BYTES.get() - layout.size());
        // SAFETY: handed on to the caller.
        unsafe { Real::dealloc(memory, layout) }
    }
}

/// Loom, but threads made by [`spawn`] have no fences: a seeded bug.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unfenced;

/// Name of a thread whose fences do nothing on [`Unfenced`].
const UNFENCED: &str = "unfenced";

impl Platform for Unfenced {
    as_on!(Loom: types rest memory);
    fn fence(order: Ordering) {
        if loom::thread::current().name() != Some(UNFENCED) {
            Loom::fence(order);
        }
    }
}

/// Starts a thread of a model, whose fences do nothing on [`Unfenced`].
///
/// # Panics
/// If a model has more threads than loom allows.
pub fn spawn<R: Send + 'static>(
    f: impl FnOnce() -> R + Send + 'static,
) -> loom::thread::JoinHandle<R> {
    let builder = loom::thread::Builder::new().name(UNFENCED.to_owned());
    builder.spawn(f).expect("loom allows so many threads")
}

/// Every interleaving with at most so many preemptions.
///
/// # Panics
/// As the scene does in one of them, or if loom sees a race or gives up.
pub fn model(preemptions: usize, scene: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(scene);
}

/// What loom finds wrong with the scene: a race or a failed assertion.
///
/// # Panics
/// If the scene is too long for loom: that finds nothing.
pub fn failure(preemptions: usize, scene: impl Fn() + Send + Sync + 'static) -> Option<String> {
    let panic = catch_unwind(AssertUnwindSafe(|| model(preemptions, scene))).err()?;
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
    assert!(!text.contains("exceeded maximum number of branches"), "{text}");
    Some(text.to_owned())
}

/// Whether loom finds something wrong with the scene.
///
/// # Panics
/// As [`failure`].
pub fn found(preemptions: usize, scene: impl Fn() + Send + Sync + 'static) -> bool {
    failure(preemptions, scene).is_some()
}
