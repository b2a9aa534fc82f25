//! struct fdtable: the array of slots as a whole, which look-ups read under RCU and growth replaces.

use super::array::{Array, Slot, index, used_slots};
use super::fds::{Bits, Fds, Search};
use crate::design::Env;
use crate::object::{File, Raw};
use machine::sync::SpinLock;
use machine::{Cx, POwned, Platform, PtrWord};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use vfs_api::Errno;

/// Size and slots (max_fds, fd). The bits are beside the lock here: only its holder looks at them.
pub(super) type Fdtable<P> = Array<P, Slot<P>>;

/// `size` empty slots.
pub(super) fn empty<P: Platform>(size: usize) -> POwned<P, Fdtable<P>> {
    let table = POwned::new(Array::new("fdtable.fd[]", size, |_| Slot::<P>::new(null_mut())));
    P::name(&*table, "fdtable.fd");
    table
}

/// Frees a table that was replaced, after a grace period.
///
/// # Safety
/// Nobody who begins to look up now can find it.
pub(super) unsafe fn retire<P: Platform>(cx: Cx<'_, P>, old: POwned<P, Fdtable<P>>) {
    let bytes = old.bytes();
    // SAFETY: the caller's promise; the callback takes what `into_raw` gave.
    unsafe { cx.rcu.call(cx, old.into_raw().cast(), bytes, free::<P>) };
}

/// The RCU callback of a table.
unsafe fn free<P: Platform>(object: *mut (), _cx: Cx<'_, P>) {
    // SAFETY: `retire` queued it, and its grace period is over.
    drop(unsafe { POwned::<P, Fdtable<P>>::from_raw(object.cast()) });
}

/// What openers and closers write, off the line that look-ups read (____cacheline_aligned_in_smp).
#[repr(align(64))]
struct Written<P: Platform>(SpinLock<P, Fds<P>>);

/// struct files_struct since 2.6.14.
#[repr(C, align(64))]
pub(super) struct FilesStruct<P: Platform> {
    /// The current table. Stored under file_lock.
    fdt: P::Ptr<Fdtable<P>>,
    /// Whether several threads use it.
    pub(super) shared: bool,
    two_levels: bool,
    written: Written<P>,
}

impl<P: Platform> FilesStruct<P> {
    /// To be called when it has its place.
    pub(super) fn name_lines(&self) {
        P::name(&self.fdt, "files_struct.fdt");
        P::name(&self.written, "files_struct.file_lock");
    }

    /// An empty one; `two_levels`: with full_fds_bits.
    pub(super) fn new(
        env: &Env,
        first: usize,
        limit: usize,
        shared: bool,
        two_levels: bool,
    ) -> Self {
        let fds = Fds::new(first, limit, two_levels);
        FilesStruct {
            fdt: P::Ptr::new(empty::<P>(fds.size()).into_raw()),
            shared,
            two_levels,
            written: Written(SpinLock::new(env.spin, "file_lock", fds)),
        }
    }

    /// The current table, for the rest of this read-side section.
    #[inline(always)]
    pub(super) fn table(&self) -> &Fdtable<P> {
        // SAFETY: a table that was replaced is freed a grace period later, and the caller is inside a read-side section: it has
        // been in this system call since before it was replaced. Who holds file_lock keeps it from being replaced.
        // Acquire: pairs with the Release in `grow`; the slots were filled before.
        unsafe { &*self.fdt.load(Acquire) }
    }

    /// Waits until growth under way has replaced `old`.
    pub(super) fn await_other(&self, old: &Fdtable<P>) {
        let old = std::ptr::from_ref(old).cast_mut();
        // Relaxed: the caller looks with `table` next, which acquires.
        self.fdt.spin_until(Relaxed, |table| table != old);
    }

    /// Runs `f` under file_lock on the table.
    pub(super) fn with_lock<R>(&self, f: impl FnOnce(&Fdtable<P>, &mut Fds<P>) -> R) -> R {
        self.written.0.with(|fds| f(self.table(), fds))
    }

    /// Claims the lowest free descriptor from `least` on. `copy` fills the slots of a larger table from those of the current one.
    pub(super) fn reserve(
        &self,
        cx: Cx<'_, P>,
        least: usize,
        copy: impl Fn(&Fdtable<P>, &Fdtable<P>),
    ) -> Result<i32, Errno> {
        loop {
            match self.with_lock(|_, fds| fds.claim(least)) {
                Search::Claimed(fd) => return Ok(fd as i32),
                Search::Grow(size) => self.grow(cx, size, &copy),
                Search::Limit => return Err(Errno::MFILE),
            }
        }
    }

    /// Goes over to `size` slots, unless another thread has already.
    fn grow(&self, cx: Cx<'_, P>, size: usize, copy: impl Fn(&Fdtable<P>, &Fdtable<P>)) {
        // As in Linux, memory is allocated without the lock.
        let larger = empty::<P>(size);
        let bits = Bits::new(size, self.two_levels);
        let (old, bits) = self.with_lock(|table, fds| {
            if fds.size() >= size {
                return (None, bits);
            }
            copy(table, &larger);
            // Release: the slots are filled, for whoever loads the pointer with Acquire. Relaxed: stored under the lock only.
            let old = self.fdt.load(Relaxed);
            self.fdt.store(larger.into_raw(), Release);
            (Some(old), fds.grow(size, bits))
        });
        drop(bits);
        if let Some(old) = old {
            // SAFETY: it came from `into_raw`, and whoever replaces a table owns it. It is not the current one any more.
            unsafe { retire(cx, POwned::<P, Fdtable<P>>::from_raw(old)) };
        }
    }

    /// Gives a claimed descriptor back.
    pub(super) fn unreserve(&self, fd: i32) {
        self.with_lock(|_, fds| fds.release(fd as usize));
    }

    /// Clears a slot and answers what was in it.
    pub(super) fn remove(&self, fd: i32) -> Option<Raw<File<P>>> {
        let at = index(fd)?;
        self.with_lock(|table, fds| {
            let slot = table.get(at)?;
            // Acquire: a file may be installed without the lock. Relaxed: an empty slot publishes nothing, and that it is empty
            // reaches those who must know with the count (see `inc_not_zero`).
            let file = Raw::new(slot.load(Acquire))?;
            slot.store(null_mut(), Relaxed);
            fds.release(at);
            Some(file)
        })
    }

    /// Descriptors with a file.
    pub(super) fn used(&self) -> Vec<i32> {
        used_slots::<P>(self.table())
    }
}

impl<P: Platform> Drop for FilesStruct<P> {
    fn drop(&mut self) {
        // SAFETY: the current table is owned, and nobody uses the table any more. Relaxed: whoever drops it is alone.
        drop(unsafe { POwned::<P, Fdtable<P>>::from_raw(self.fdt.load(Relaxed)) });
    }
}
