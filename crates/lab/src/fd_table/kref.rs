//! The patchset of mail 001: look-ups without the lock, by RCU and a count that is not raised from zero (kref_lf).
//!
//! fget loads the slot and raises f_count by compare-and-exchange unless it is zero; then the file is being closed and the
//! descriptor is bad. Files are freed by RCU, so that the count can be looked at at all. open and close take the spinlock as
//! before (open twice, close once).
//!
//! The array of slots is still two words, max_fds and fd, replaced under file_lock as the table grows. The old array is freed by
//! RCU too, and max_fds is stored after fd and loaded before it, so that nobody looks beyond the end of the array. There is no
//! second look at the slot: the file found was under the descriptor at some moment of the call, and its memory is not used
//! again before the call ends.
//!
//! Shared: no line in a look-up, but f_count twice if threads use one file. The line of file_lock, max_fds and fd, as in
//! 2.6.7, is read by look-ups and written by every open and close.
//!
//! Ordering: a slot is filled with Release and loaded with Acquire (rcu_assign_pointer, rcu_dereference); so are max_fds and fd.
//! The count goes up with Acquire and down with AcqRel. From zero it never goes up, so that who has dropped the last
//! reference is alone with the file but for look-ups that fail, until RCU has waited for those.
//!
//! Source: patchset "Lockfree fd lookup", 2004-08-02 (mail 001), against 2.6.7.

use super::array::{Slot, index, used_slots};
use super::fds::{Bits, Fds, NR_OPEN_DEFAULT_32, Search};
use super::fdtable::{Fdtable, empty, retire};
use super::files;
use super::plain::{Plain, Table};
use super::{FdDesign, FdTable, Got};
use crate::design::{DesignInfo, Env};
use crate::object::{File, Raw};
use machine::sync::SpinLock;
use machine::{Cx, POwned, Platform, PtrWord, Word};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use vfs_api::Errno;

/// The design.
pub struct Kref;

impl Kref {
    /// What is known of it.
    pub const INFO: DesignInfo = DesignInfo {
        part: "fd_table",
        name: "kref",
        kernel: "proposed 2004",
        source: "patchset Lockfree fd lookup, 2004-08-02 (mail 001)",
        shared: "none a look-up; f_count",
        reconstruction: false,
    };

    /// Makes it.
    pub fn make<P: Platform>(env: &Env) -> Box<dyn FdDesign<P>> {
        Self::with_slots(env, NR_OPEN_DEFAULT_32)
    }

    /// With tables that start with `first` slots.
    pub(super) fn with_slots<P: Platform>(env: &Env, first: usize) -> Box<dyn FdDesign<P>> {
        Self::variant::<P, true, true>(env, first)
    }

    /// The design, or one with a bug. `NOT_ZERO`: the count is not raised from zero. `PUBLISH`: slots are filled with Release.
    pub(super) fn variant<P: Platform, const NOT_ZERO: bool, const PUBLISH: bool>(
        env: &Env,
        first: usize,
    ) -> Box<dyn FdDesign<P>> {
        Box::new(Plain::<P, KrefTable<P, NOT_ZERO, PUBLISH>>::new(env, first))
    }
}

/// What file_lock protects.
struct Locked<P: Platform> {
    fd: POwned<P, Fdtable<P>>,
    fds: Fds<P>,
}

/// struct files_struct of 2.6.7: all on one line.
#[repr(C, align(64))]
struct KrefTable<P: Platform, const NOT_ZERO: bool, const PUBLISH: bool> {
    /// Slots of `fd`.
    max_fds: P::U32,
    shared: bool,
    /// The first slot.
    fd: P::Ptr<Slot<P>>,
    locked: SpinLock<P, Locked<P>>,
}

fn first_slot<P: Platform>(table: &Fdtable<P>) -> *mut Slot<P> {
    table.as_ptr().cast_mut()
}

impl<P: Platform, const NOT_ZERO: bool, const PUBLISH: bool> KrefTable<P, NOT_ZERO, PUBLISH> {
    /// Goes over to `size` slots, unless another thread has already.
    fn grow(&self, cx: Cx<'_, P>, size: usize) {
        let larger = empty::<P>(size);
        let bits = Bits::new(size, false);
        let (old, bits) = self.locked.with(|locked| {
            if locked.fds.size() >= size {
                return (larger, bits);
            }
            for (from, to) in locked.fd.iter().zip(&**larger) {
                // Relaxed: slots change under the lock only, and the new array is nobody else's yet.
                to.store(from.load(Relaxed), Relaxed);
            }
            // Release twice: who sees the new array sees it filled; who sees the new size sees the new array.
            self.fd.store(first_slot(&larger), Release);
            self.max_fds.store(larger.len() as u32, Release);
            let bits = locked.fds.grow(size, bits);
            (std::mem::replace(&mut locked.fd, larger), bits)
        });
        drop(bits);
        // SAFETY: it was replaced above; or it is the array that was not needed, which nobody has ever seen.
        unsafe { retire(cx, old) };
    }
}

impl<P: Platform, const NOT_ZERO: bool, const PUBLISH: bool> Table<P>
    for KrefTable<P, NOT_ZERO, PUBLISH>
{
    const READERS_UNDER_RCU: bool = true;

    fn new(env: &Env, first: usize, limit: usize, shared: bool) -> Self {
        let fds = Fds::new(first, limit, false);
        let fd = empty::<P>(fds.size());
        KrefTable {
            max_fds: P::U32::new(fd.len() as u32),
            shared,
            fd: P::Ptr::new(first_slot(&fd)),
            locked: SpinLock::new(env.spin, "file_lock", Locked { fd, fds }),
        }
    }
}

impl<P: Platform, const NOT_ZERO: bool, const PUBLISH: bool> FdTable<P>
    for KrefTable<P, NOT_ZERO, PUBLISH>
{
    fn reserve_from(&self, cx: Cx<'_, P>, least: usize) -> Result<i32, Errno> {
        loop {
            match self.locked.with(|locked| locked.fds.claim(least)) {
                Search::Claimed(fd) => return Ok(fd as i32),
                Search::Grow(size) => self.grow(cx, size),
                Search::Limit => return Err(Errno::MFILE),
            }
        }
    }

    fn unreserve(&self, _cx: Cx<'_, P>, fd: i32) {
        self.locked.with(|locked| locked.fds.release(fd as usize));
    }

    fn install(&self, _cx: Cx<'_, P>, fd: i32, file: Raw<File<P>>) {
        // Release: look-ups do not take the lock, and must see the file complete. Relaxed is the seeded bug.
        let order = if PUBLISH { Release } else { Relaxed };
        self.locked.with(|locked| locked.fd[fd as usize].store(file.ptr(), order));
    }

    fn get(&self, _cx: Cx<'_, P>, fd: i32) -> Option<Got<P>> {
        let at = index(fd)?;
        if at >= self.max_fds.load(Acquire) as usize {
            return None;
        }
        // SAFETY: the array has at least the slots of the size loaded before it (see `grow`), and it is not freed inside this
        // read-side section.
        let slot = unsafe { &*self.fd.load(Acquire).add(at) };
        let file = Raw::new(slot.load(Acquire))?;
        if !self.shared {
            return Some(Got { file, counted: false });
        }
        // SAFETY: the file is freed by RCU, not inside this read-side section.
        let count = &unsafe { file.get() }.count;
        if !NOT_ZERO {
            files::inc::<P>(count);
        } else if !files::inc_not_zero::<P>(count) {
            return None;
        }
        Some(Got { file, counted: true })
    }

    fn put(&self, _cx: Cx<'_, P>, got: Got<P>) -> bool {
        // SAFETY: the caller holds a reference.
        got.counted && files::dec_and_test::<P>(&unsafe { got.file.get() }.count)
    }

    fn remove(&self, _cx: Cx<'_, P>, fd: i32) -> Option<Raw<File<P>>> {
        let at = index(fd)?;
        self.locked.with(|locked| {
            let slot = locked.fd.get(at)?;
            // Relaxed: slots are stored under the lock, and an empty one publishes nothing.
            let file = Raw::new(slot.load(Relaxed))?;
            slot.store(null_mut(), Relaxed);
            locked.fds.release(at);
            Some(file)
        })
    }

    fn used(&self) -> Vec<i32> {
        self.locked.with(|locked| used_slots::<P>(&locked.fd))
    }
}
