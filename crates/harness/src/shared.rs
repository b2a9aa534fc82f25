//! The memory that the conductor and the tasks share: anonymous, inherited over fork, one padded line per task.
//!
//! It is never a file, so that nothing of the tool's own touches the file system under test (will-it-scale keeps its counters
//! in a file in /tmp, and write faults of its pages show in its results). A task writes its line once per slice, after the
//! measured loop; in the loop itself it only reads [`Control::stop`], which nobody writes until the slice is over.

use crate::bench::Extra;
use crate::latency::LatencySlot;
use crossbeam_utils::CachePadded;
use machine::LockKind;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ffi::CStr;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::SeqCst};
use vfs_api::{Call, Cause, Errno, Failure};

/// What the conductor tells the tasks, and the barrier. Every field on a line of its own: they are written by different
/// parties at different moments of a slice.
#[derive(Default)]
pub(crate) struct Control {
    /// Which curve the next slice measures.
    pub(crate) curve: CachePadded<AtomicU32>,
    /// How many tasks take part in it.
    pub(crate) tasks: CachePadded<AtomicU32>,
    /// 1 if there are more tasks than CPUs: then nobody spins at the barrier, and waiting for a CPU counts as time.
    pub(crate) crowded: CachePadded<AtomicU32>,
    /// Where the task in the background goes for the slice: a CPU, or [`ANYWHERE`].
    pub(crate) background_cpu: CachePadded<AtomicU32>,
    /// How long the slice is to last, nanoseconds.
    pub(crate) length_ns: CachePadded<AtomicU64>,
    /// The phase of fixed work that comes next, or [`NO_PHASE`]: then `length_ns` counts.
    pub(crate) phase: CachePadded<AtomicU32>,
    /// Tasks that have reached the barrier.
    pub(crate) arrived: CachePadded<AtomicU32>,
    /// Number of the last slice whose barrier is open; a futex.
    pub(crate) open: CachePadded<AtomicU32>,
    /// CLOCK_MONOTONIC when it opened, nanoseconds.
    pub(crate) opened_ns: CachePadded<AtomicU64>,
    /// 0 while the slice lasts.
    pub(crate) stop: CachePadded<AtomicU32>,
    /// Counts what the conductor waits for (a task is ready, a task is done); a futex.
    pub(crate) done: CachePadded<AtomicU32>,
}

/// In [`Control::phase`]: a slice of time.
pub(crate) const NO_PHASE: u32 = u32::MAX;

/// In [`Control::background_cpu`]: not pinned.
pub(crate) const ANYWHERE: u32 = u32::MAX;

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum State {
    /// Being made.
    Starting = 0,
    /// Waits for a slice, or is in one.
    Ready = 1,
    /// A call of its failed; [`Slot::failure`] says which.
    Failed = 2,
}

/// One task's line.
pub(crate) struct Slot {
    /// Number of the slice the task shall take part in, or [`QUIT`]; a futex.
    pub(crate) wake: AtomicU32,
    /// Kernel thread id.
    pub(crate) tid: AtomicU32,
    state: AtomicU32,
    pub(crate) ops: AtomicU64,
    pub(crate) start_ns: AtomicU64,
    pub(crate) elapsed_ns: AtomicU64,
    pub(crate) user_ns: AtomicU64,
    pub(crate) sys_ns: AtomicU64,
    pub(crate) vcsw: AtomicU64,
    pub(crate) ivcsw: AtomicU64,
    pub(crate) cpu: [AtomicU32; 2],
    failed_curve: AtomicU32,
    failed_call: AtomicU8,
    /// errno, or one of the numbers that are none.
    failed_errno: AtomicU32,
    failed_path: [AtomicU8; PATH_BYTES],
}

/// In [`Slot::wake`]: end now. No slice has this number, they are counted from 1 and would take years to come here.
pub(crate) const QUIT: u32 = u32::MAX;

/// No errno: a transfer was short.
const SHORT: u32 = 0;
/// No errno: the answer was not what was prepared. (Nobody leaves that something was used up: it is no failure.)
const UNEXPECTED: u32 = u32::MAX;

/// Longest path an error message can name in full.
const PATH_BYTES: usize = 512;

/// A failure as a task left it.
pub(crate) struct Left {
    pub(crate) curve: usize,
    pub(crate) failure: Failure,
    pub(crate) path: String,
}

impl Slot {
    pub(crate) fn state(&self) -> State {
        match self.state.load(SeqCst) {
            0 => State::Starting,
            1 => State::Ready,
            _ => State::Failed,
        }
    }

    pub(crate) fn set_ready(&self) {
        self.state.store(State::Ready as u32, SeqCst);
    }

    /// Leaves the failure for the conductor, who is another process.
    pub(crate) fn fail(&self, curve: usize, failure: Failure, path: &CStr) {
        let errno = match failure.cause {
            Cause::Errno(errno) => errno.raw_os_error() as u32,
            Cause::Short => SHORT,
            Cause::Unexpected | Cause::UsedUp => UNEXPECTED,
        };
        self.failed_curve.store(curve as u32, SeqCst);
        self.failed_call.store(failure.call as u8, SeqCst);
        self.failed_errno.store(errno, SeqCst);
        let bytes = path.to_bytes();
        for (to, from) in self.failed_path.iter().zip(bytes.iter().chain(std::iter::repeat(&0))) {
            to.store(*from, SeqCst);
        }
        self.state.store(State::Failed as u32, SeqCst);
    }

    /// What [`Slot::fail`] left, if it did.
    pub(crate) fn failure(&self) -> Option<Left> {
        if self.state() != State::Failed {
            return None;
        }
        let call = Call::from_number(self.failed_call.load(SeqCst))?;
        let cause = match self.failed_errno.load(SeqCst) {
            SHORT => Cause::Short,
            UNEXPECTED => Cause::Unexpected,
            errno => Cause::Errno(Errno::from_raw_os_error(errno as i32)),
        };
        let bytes: Vec<u8> =
            self.failed_path.iter().map(|b| b.load(SeqCst)).take_while(|b| *b != 0).collect();
        let mut path = String::from_utf8_lossy(&bytes).into_owned();
        if bytes.len() == PATH_BYTES {
            path.push_str("...");
        }
        Some(Left {
            curve: self.failed_curve.load(SeqCst) as usize,
            failure: Failure { call, cause },
            path,
        })
    }
}

/// Lock names a task can report.
const LOCKS: usize = 48;
/// Bytes of a lock's name.
const NAME_BYTES: usize = 40;

/// A lock's name and counters.
struct LockSlot {
    name: [AtomicU8; NAME_BYTES],
    /// Place in [`LockKind::ALL`], or behind it for several locks together.
    kind: AtomicU8,
    counters: [AtomicU64; 6],
}

/// What a task knows of its last slice beyond the counters of its [`Slot`]; touched only by curves that have such.
pub(crate) struct ExtraSlot {
    used: AtomicU32,
    locks: [LockSlot; LOCKS],
    rcu_waiting: AtomicU64,
    rcu_peak: AtomicU64,
    rcu_peak_bytes: AtomicU64,
    has_rcu: AtomicU32,
}

impl ExtraSlot {
    /// Leaves it for the conductor. Beyond 48 names the rest is summed up under the last.
    pub(crate) fn put(&self, extra: &Extra) {
        let used = extra.locks.len().min(LOCKS);
        for (at, lock) in extra.locks.iter().enumerate() {
            let slot = &self.locks[at.min(LOCKS - 1)];
            let counters = [
                lock.acquisitions,
                lock.contended,
                lock.wait_ns,
                lock.wait_max_ns,
                lock.hold_ns,
                lock.hold_max_ns,
            ];
            let (name, kind) = match at < LOCKS - 1 {
                true => (lock.name, LockKind::ALL.iter().position(|kind| *kind == lock.kind)),
                false => ("others", None),
            };
            slot.kind.store(kind.unwrap_or(LockKind::ALL.len()) as u8, SeqCst);
            for (to, from) in slot.name.iter().zip(name.bytes().chain(std::iter::repeat(0))) {
                to.store(from, SeqCst);
            }
            for (number, (to, from)) in slot.counters.iter().zip(counters).enumerate() {
                let more = if at < LOCKS { 0 } else { to.load(SeqCst) };
                let maximum = number == 3 || number == 5;
                to.store(if maximum { more.max(from) } else { more + from }, SeqCst);
            }
        }
        let rcu = extra.rcu.unwrap_or_default();
        self.rcu_waiting.store(rcu.waiting as u64, SeqCst);
        self.rcu_peak.store(rcu.peak as u64, SeqCst);
        self.rcu_peak_bytes.store(rcu.peak_bytes as u64, SeqCst);
        self.has_rcu.store(u32::from(extra.rcu.is_some()), SeqCst);
        self.used.store(used as u32, SeqCst);
    }

    /// The locks that [`ExtraSlot::put`] left.
    pub(crate) fn locks(&self) -> Vec<results::LockUse> {
        let used = self.used.load(SeqCst) as usize;
        let read = |slot: &LockSlot| {
            let name: Vec<u8> =
                slot.name.iter().map(|b| b.load(SeqCst)).take_while(|b| *b != 0).collect();
            let [acquisitions, contended, wait_ns, wait_max_ns, hold_ns, hold_max_ns] =
                std::array::from_fn(|at| slot.counters[at].load(SeqCst));
            let kind = LockKind::ALL.get(usize::from(slot.kind.load(SeqCst)));
            results::LockUse {
                name: String::from_utf8_lossy(&name).into_owned(),
                kind: kind.map_or("", |kind| kind.name()).to_owned(),
                acquisitions,
                contended,
                wait_ns,
                wait_max_ns,
                hold_ns,
                hold_max_ns,
            }
        };
        self.locks[..used].iter().map(read).collect()
    }

    /// The RCU backlog that it left, if the target has one.
    pub(crate) fn rcu(&self) -> Option<results::RcuBacklog> {
        (self.has_rcu.load(SeqCst) != 0).then(|| results::RcuBacklog {
            waiting: self.rcu_waiting.load(SeqCst),
            peak: self.rcu_peak.load(SeqCst),
            peak_bytes: self.rcu_peak_bytes.load(SeqCst),
        })
    }
}

/// The mapping: one [`Control`], then one [`Slot`] and one [`ExtraSlot`] per task, and if wanted one [`LatencySlot`].
pub(crate) struct Shared {
    base: NonNull<Control>,
    tasks: usize,
    timed: bool,
}

// SAFETY: all fields behind the pointer are atomics, and the mapping lives until the value is dropped.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    const fn bytes(tasks: usize, timed: bool) -> usize {
        let timed = if timed { tasks } else { 0 };
        Self::latencies_at(tasks) + timed * size_of::<CachePadded<LatencySlot>>()
    }

    /// Offset of the latencies.
    const fn latencies_at(tasks: usize) -> usize {
        Self::extras_at(tasks) + tasks * size_of::<CachePadded<ExtraSlot>>()
    }

    /// Offset of the extra slots.
    const fn extras_at(tasks: usize) -> usize {
        size_of::<CachePadded<Control>>() + tasks * size_of::<CachePadded<Slot>>()
    }

    /// Maps zeroed memory for `tasks` tasks, `timed` with room for latencies.
    ///
    /// # Errors
    /// ENOMEM and what else mmap(2) says.
    pub(crate) fn new(tasks: usize, timed: bool) -> rustix::io::Result<Shared> {
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice aliases nothing.
        let base = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                Self::bytes(tasks, timed),
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
            )?
        };
        let base = NonNull::new(base.cast()).expect("mmap answers no null pointer");
        Ok(Shared { base, tasks, timed })
    }

    pub(crate) fn control(&self) -> &Control {
        // SAFETY: the mapping begins with a Control, is page-aligned, and zero bytes are valid atomics.
        unsafe { self.base.as_ref() }
    }

    pub(crate) fn slots(&self) -> &[CachePadded<Slot>] {
        // SAFETY: `tasks` slots follow the padded Control (whose size keeps the alignment of 128), and zero bytes are valid.
        unsafe {
            let first = self.base.cast::<u8>().add(size_of::<CachePadded<Control>>()).cast();
            std::slice::from_raw_parts(first.as_ptr(), self.tasks)
        }
    }

    /// Pages of it exist only once they are used.
    pub(crate) fn extras(&self) -> &[CachePadded<ExtraSlot>] {
        // SAFETY: `tasks` extra slots follow the slots (whose size keeps the alignment), and zero bytes are valid.
        unsafe {
            let first = self.base.cast::<u8>().add(Self::extras_at(self.tasks)).cast();
            std::slice::from_raw_parts(first.as_ptr(), self.tasks)
        }
    }

    /// As [`Shared::extras`]; none where nothing is timed.
    pub(crate) fn latencies(&self) -> &[CachePadded<LatencySlot>] {
        let tasks = if self.timed { self.tasks } else { 0 };
        // SAFETY: so many follow the extra slots (whose size keeps the alignment), and zero bytes are valid.
        unsafe {
            let first = self.base.cast::<u8>().add(Self::latencies_at(self.tasks)).cast();
            std::slice::from_raw_parts(first.as_ptr(), tasks)
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: this is the mapping made in `new`, and no reference outlives `self`. A failure could only leak it.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), Self::bytes(self.tasks, self.timed)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_tasks_share_a_line() {
        let shared = Shared::new(3, false).unwrap();
        let at: Vec<usize> = shared.slots().iter().map(|s| &raw const **s as usize).collect();
        assert!(at.iter().all(|a| a % 128 == 0));
        assert!(at.windows(2).all(|w| w[1] - w[0] >= size_of::<Slot>()));
        assert!(shared.latencies().is_empty());
        let timed = Shared::new(3, true).unwrap();
        assert_eq!(timed.latencies().len(), 3);
        let control_end = shared.control() as *const Control as usize + size_of::<Control>();
        assert!(at[0] >= control_end);
    }

    #[test]
    fn lock_counters_arrive_and_too_many_names_are_summed_up() {
        let shared = Shared::new(2, false).unwrap();
        let slot = &shared.extras()[1];
        assert!(slot.locks().is_empty() && slot.rcu().is_none());
        let lock = |at: u64| machine::LockTotals {
            name: "files_lock",
            kind: machine::LockKind::Mutex,
            acquisitions: at,
            wait_max_ns: 100 - at,
            ..machine::LockTotals::default()
        };
        slot.put(&Extra { locks: vec![lock(1)], rcu: None });
        let locks = slot.locks();
        assert_eq!((locks[0].name.as_str(), locks[0].acquisitions), ("files_lock", 1));
        assert_eq!(locks[0].kind, "mutex");
        slot.put(&Extra { locks: (0..50).map(lock).collect(), rcu: Some(Default::default()) });
        let locks = slot.locks();
        assert_eq!(locks.len(), LOCKS);
        assert_eq!(locks[46].name, "files_lock");
        assert_eq!((locks[47].name.as_str(), locks[47].kind.as_str()), ("others", ""));
        assert_eq!(locks[47].acquisitions, 47 + 48 + 49);
        assert_eq!(locks[47].wait_max_ns, 53);
        assert!(slot.rcu().is_some());
    }

    #[test]
    fn a_failure_arrives_as_it_was_left() {
        let shared = Shared::new(1, false).unwrap();
        let slot = &shared.slots()[0];
        assert!(slot.failure().is_none());
        slot.fail(3, Failure::new(Call::Open, Errno::NOSPC), c"/mnt/x/f0");
        let left = slot.failure().unwrap();
        assert_eq!((left.curve, left.path.as_str()), (3, "/mnt/x/f0"));
        assert_eq!(left.failure, Failure::new(Call::Open, Errno::NOSPC));

        slot.fail(0, Failure { call: Call::Write, cause: Cause::Short }, c"/y");
        let left = slot.failure().unwrap();
        assert_eq!(left.path, "/y", "nothing of the longer path before it");
        assert_eq!(left.failure.cause, Cause::Short);

        slot.fail(0, Failure { call: Call::Stat, cause: Cause::Unexpected }, c"/y");
        assert_eq!(slot.failure().unwrap().failure.cause, Cause::Unexpected);
    }
}
