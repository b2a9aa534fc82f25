//! Lock accounting: acquisitions, contention, wait and hold time by the lock's name.
//!
//! Only on a platform whose [`LockTag`] is on; elsewhere every call here compiles to nothing. Counters are thread-local, so that
//! counting adds no shared line of its own: a thread hands its totals over with [`take_totals`].

use crate::platform::Platform;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What kind of lock it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LockKind {
    /// Spinlock, of whatever make.
    #[default]
    Spin,
    /// Spinning reader-writer lock.
    Rwlock,
    /// Mutex.
    Mutex,
    /// Reader-writer semaphore.
    Rwsem,
    /// Spinlock and reference count in one word.
    Lockref,
}

impl LockKind {
    /// All kinds.
    pub const ALL: [LockKind; 5] =
        [LockKind::Spin, LockKind::Rwlock, LockKind::Mutex, LockKind::Rwsem, LockKind::Lockref];

    /// As the kernel's people say.
    pub const fn name(self) -> &'static str {
        match self {
            LockKind::Spin => "spin",
            LockKind::Rwlock => "rwlock",
            LockKind::Mutex => "mutex",
            LockKind::Rwsem => "rwsem",
            LockKind::Lockref => "lockref",
        }
    }
}

/// Totals of all locks of one name and kind, as one thread saw them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockTotals {
    /// The kernel's name of the lock: files_lock, dcache_lock, ...
    pub name: &'static str,
    /// Its kind.
    pub kind: LockKind,
    /// Times it was taken.
    pub acquisitions: u64,
    /// Times it was not free at the first try.
    pub contended: u64,
    /// Time from the first try until it was taken, contended acquisitions only, nanoseconds.
    pub wait_ns: u64,
    /// The longest of them.
    pub wait_max_ns: u64,
    /// Time it was held, nanoseconds.
    pub hold_ns: u64,
    /// The longest of them.
    pub hold_max_ns: u64,
}

impl LockTotals {
    /// Adds another thread's.
    pub fn add(&mut self, other: &LockTotals) {
        self.acquisitions += other.acquisitions;
        self.contended += other.contended;
        self.wait_ns += other.wait_ns;
        self.wait_max_ns = self.wait_max_ns.max(other.wait_max_ns);
        self.hold_ns += other.hold_ns;
        self.hold_max_ns = self.hold_max_ns.max(other.hold_max_ns);
    }
}

thread_local! {
    /// Few names, looked up by address first: a linear scan beats a hash.
    static TOTALS: RefCell<Vec<LockTotals>> = const { RefCell::new(Vec::new()) };
}

fn with(kind: LockKind, name: &'static str, f: impl FnOnce(&mut LockTotals)) {
    TOTALS.with_borrow_mut(|totals| {
        let same =
            |t: &LockTotals| t.kind == kind && (std::ptr::eq(t.name, name) || t.name == name);
        let found = totals.iter().position(same);
        let at = found.unwrap_or_else(|| {
            totals.push(LockTotals { name, kind, ..LockTotals::default() });
            totals.len() - 1
        });
        f(&mut totals[at]);
    });
}

/// What a lock carries to be counted.
pub trait LockTag: Send + Sync {
    /// Whether it counts; a constant, so that all of it compiles to nothing where it does not.
    const ON: bool;
    /// For a lock of that kind and name.
    fn new(kind: LockKind, name: &'static str) -> Self;
    /// Notes an acquisition at `now_ns`; `waited_ns` if it was contended. Called by the holder.
    fn acquired(&self, now_ns: u64, waited_ns: Option<u64>);
    /// Notes the end of a hold. Called by the holder.
    fn released(&self, now_ns: u64);
}

/// No counting: no bytes, no instructions.
#[derive(Debug)]
pub struct Uncounted;

impl LockTag for Uncounted {
    const ON: bool = false;
    #[inline(always)]
    fn new(_kind: LockKind, _name: &'static str) -> Self {
        Uncounted
    }
    #[inline(always)]
    fn acquired(&self, _now_ns: u64, _waited_ns: Option<u64>) {}
    #[inline(always)]
    fn released(&self, _now_ns: u64) {}
}

/// The name of a counted lock, and since when it is held.
#[derive(Debug)]
pub struct Name {
    kind: LockKind,
    name: &'static str,
    since_ns: AtomicU64,
}

// Relaxed throughout: only the holder of the lock touches `since_ns`, and the lock orders holders. (Readers of a shared lock
// overwrite each other's; their hold time is then the latest reader's.)
impl LockTag for Name {
    const ON: bool = true;
    fn new(kind: LockKind, name: &'static str) -> Self {
        Name { kind, name, since_ns: AtomicU64::new(0) }
    }
    fn acquired(&self, now_ns: u64, waited_ns: Option<u64>) {
        self.since_ns.store(now_ns, Relaxed);
        with(self.kind, self.name, |totals| {
            totals.acquisitions += 1;
            if let Some(ns) = waited_ns {
                totals.contended += 1;
                totals.wait_ns += ns;
                totals.wait_max_ns = totals.wait_max_ns.max(ns);
            }
        });
    }
    fn released(&self, now_ns: u64) {
        let held = now_ns.saturating_sub(self.since_ns.load(Relaxed));
        with(self.kind, self.name, |totals| {
            totals.hold_ns += held;
            totals.hold_max_ns = totals.hold_max_ns.max(held);
        });
    }
}

/// Takes a lock by `try_take`, or else `take`, and notes what it cost.
#[inline(always)]
pub(crate) fn count<P: Platform>(
    tag: &P::Tag,
    try_take: impl FnOnce() -> bool,
    take: impl FnOnce(),
) {
    if !P::Tag::ON {
        take();
    } else if try_take() {
        tag.acquired(P::now_ns(), None);
    } else {
        let began = P::now_ns();
        take();
        let now = P::now_ns();
        tag.acquired(now, Some(now - began));
    }
}

/// Notes the release of a lock; to be called just before it.
#[inline(always)]
pub(crate) fn release<P: Platform>(tag: &P::Tag) {
    if P::Tag::ON {
        tag.released(P::now_ns());
    }
}

/// The calling thread's totals since the last call.
pub fn take_totals() -> Vec<LockTotals> {
    TOTALS.take()
}
