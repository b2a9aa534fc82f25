//! The facade: what every machine must have.

use crate::accounting::LockTag;
use crate::sync::Rcu;
use std::alloc::Layout;
use std::fmt::Debug;
use std::sync::atomic::Ordering;

/// Number of a CPU of the machine the lab runs on: 0 to the number of CPUs - 1.
///
/// Passed as an argument and never read from thread-local storage: nothing is hidden, and no address of a thread-local is kept
/// across the switch of a coroutine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cpu(pub usize);

/// Where a piece of kernel code runs: on which CPU, and in which RCU domain it reads.
#[derive(Debug)]
pub struct Cx<'a, P: Platform> {
    /// The CPU; fixed for the length of a call (preemption is off, as it were).
    pub cpu: Cpu,
    /// The kernel's RCU.
    pub rcu: &'a Rcu<P>,
}

impl<P: Platform> Clone for Cx<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Platform> Copy for Cx<'_, P> {}

/// Which spinlock the kernel of an era had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SpinKind {
    /// A byte that is taken by a locked operation and watched by plain loads; unfair. x86 up to 2.6.24.
    TestAndSet,
    /// Tickets; fair, but all waiters watch one line. 2.6.25 to 4.1.
    Ticket,
    /// The queued spinlock: waiters watch lines of their own. 4.2 and later.
    #[default]
    Queued,
}

/// A spinlock without data. It is a primitive of the platform because a lock that spins on loom's atomics exceeds loom's
/// bounds; there it is loom's mutex.
pub trait RawSpin: Send + Sync {
    /// A free lock of the kind.
    fn new(kind: SpinKind) -> Self;
    /// Takes it, spinning.
    fn lock(&self);
    /// Takes it if it is free.
    fn try_lock(&self) -> bool;
    /// Frees it. The caller must hold it.
    fn unlock(&self);
}

/// An atomic integer.
pub trait Word<T: Copy>: Send + Sync {
    /// With that value.
    fn new(value: T) -> Self;
    /// See std's atomics.
    fn load(&self, order: Ordering) -> T;
    /// See std's atomics.
    fn store(&self, value: T, order: Ordering);
    /// See std's atomics.
    fn swap(&self, value: T, order: Ordering) -> T;
    /// See std's atomics.
    fn fetch_add(&self, value: T, order: Ordering) -> T;
    /// See std's atomics.
    fn fetch_sub(&self, value: T, order: Ordering) -> T;
    /// See std's atomics.
    fn fetch_or(&self, value: T, order: Ordering) -> T;
    /// See std's atomics.
    fn fetch_and(&self, value: T, order: Ordering) -> T;
    /// See std's atomics.
    ///
    /// # Errors
    /// The value found, if it was not `current`.
    fn compare_exchange(&self, current: T, new: T, ok: Ordering, err: Ordering) -> Result<T, T>;
    /// Waits until `done` says so of the value, and answers that value (the kernel's smp_cond_load).
    ///
    /// Every loop that waits for another CPU goes through this: the simulator then parks the waiter on the cache line until
    /// somebody writes it, at the same cost and without simulating the iterations.
    fn spin_until(&self, order: Ordering, done: impl FnMut(T) -> bool) -> T;
}

/// An atomic pointer.
pub trait PtrWord<T>: Send + Sync {
    /// With that value.
    fn new(value: *mut T) -> Self;
    /// See std's atomics.
    fn load(&self, order: Ordering) -> *mut T;
    /// See std's atomics.
    fn store(&self, value: *mut T, order: Ordering);
    /// See std's atomics.
    fn swap(&self, value: *mut T, order: Ordering) -> *mut T;
    /// See std's atomics.
    ///
    /// # Errors
    /// The value found, if it was not `current`.
    fn compare_exchange(
        &self,
        current: *mut T,
        new: *mut T,
        ok: Ordering,
        err: Ordering,
    ) -> Result<*mut T, *mut T>;
    /// As [`Word::spin_until`].
    fn spin_until(&self, order: Ordering, done: impl FnMut(*mut T) -> bool) -> *mut T;
}

/// Sleeping: the scheduler's part of a sleeping lock, in the shape of futex(2).
pub trait Futex: Word<u32> {
    /// Sleeps if the value is `value`, until woken. May return for no reason.
    fn wait(&self, value: u32);
    /// Wakes up to `count` sleepers.
    fn wake(&self, count: u32);
}

/// Plain memory that a lock (or ownership) protects. Access goes through pointers in closures, so that loom sees races and the
/// simulator can charge the cache lines.
pub trait Plain<T>: Send + Sync {
    /// With that value.
    fn new(value: T) -> Self;
    /// Reads. The pointer is valid during the call; to use it, the caller must know that nobody writes.
    fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R;
    /// Writes. The pointer is valid during the call; to use it, the caller must know that nobody else reads or writes.
    fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R;
    /// The value, out of the cell.
    fn into_inner(self) -> T;
}

/// A machine.
pub trait Platform: Copy + Debug + Default + Send + Sync + Sized + 'static {
    /// 32 bits that can be slept on.
    type U32: Futex + Debug;
    /// 64 bits.
    type U64: Word<u64> + Debug;
    /// A pointer.
    type Ptr<T: 'static>: PtrWord<T> + Debug;
    /// Plain memory.
    type Cell<T: Send + 'static>: Plain<T>;
    /// The spinlock.
    type Spin: RawSpin;
    /// What a lock carries to be counted; nothing on a platform that does not count.
    type Tag: LockTag;

    /// A fence, for patterns in which each side stores and then loads what the other stored. Written as fences and not as
    /// SeqCst accesses, because loom knows only those to be as strong as the language says.
    fn fence(order: Ordering);
    /// A hint in a retry loop that is not a wait for one word (those are [`Word::spin_until`]).
    fn relax();
    /// Work that touches no shared line, for so many nanoseconds. Nothing on a real machine, whose work is real.
    fn work(ns: u32);
    /// Says that `object`, where it is now, is `structure.field` of the kernel: so the simulator calls the cache lines it lies on.
    /// To be called when the object has its final place. Nothing on a platform that does not count lines.
    #[inline(always)]
    fn name<T: ?Sized>(_object: &T, _name: &'static str) {}
    /// A monotonic clock, nanoseconds.
    fn now_ns() -> u64;
    /// Memory for `layout`, which has a size above 0; never null.
    fn alloc(layout: Layout) -> *mut u8;
    /// Gives it back.
    ///
    /// # Safety
    /// `memory` came from [`Platform::alloc`] with the same layout and is not used any more.
    unsafe fn dealloc(memory: *mut u8, layout: Layout);
}
