//! The table of 2.6.7, whose look-ups take file_lock: a spinlock there, a reader-writer lock as proposed.

use super::array::{Array, Slot, index, used_slots};
use super::fds::{Bits, Fds, Search};
use super::files;
use super::plain::Table;
use super::{FdTable, Got};
use crate::design::Env;
use crate::object::{File, Raw};
use machine::{Cx, Plain, Platform, PtrWord, SpinKind};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::Relaxed;
use vfs_api::Errno;

/// file_lock. A section of the reading kind may run beside others of that kind only.
pub(super) trait FileLock<P: Platform>: Send + Sync + 'static {
    /// A free one.
    fn new(kind: SpinKind) -> Self;
    /// Runs `f` with the lock to read.
    fn read<R>(&self, f: impl FnOnce() -> R) -> R;
    /// Runs `f` with the lock to write.
    fn write<R>(&self, f: impl FnOnce() -> R) -> R;
}

/// What file_lock protects.
#[repr(C)]
struct Locked<P: Platform> {
    fd: Array<P, Slot<P>>,
    fds: Fds<P>,
}

/// struct files_struct: the lock and what a look-up reads (max_fds, fd) on one line.
#[repr(C, align(64))]
pub(super) struct LockedTable<P: Platform, L> {
    lock: L,
    locked: P::Cell<Locked<P>>,
    shared: bool,
}

// The slots are Relaxed throughout: they are read and written under the lock, or by the only user of the table.
impl<P: Platform, L: FileLock<P>> LockedTable<P, L> {
    fn write<R>(&self, f: impl FnOnce(&mut Locked<P>) -> R) -> R {
        // SAFETY: the lock is held to write: nobody else has access.
        self.lock.write(|| self.locked.with_mut(|locked| f(unsafe { &mut *locked })))
    }

    fn slot(&self, at: usize) -> Option<Raw<File<P>>> {
        self.locked.with(|locked| {
            // SAFETY: called with the lock to read, or by the only user of the table: nobody writes.
            let locked = unsafe { &*locked };
            locked.fd.get(at).and_then(|slot| Raw::new(slot.load(Relaxed)))
        })
    }

    /// Goes over to `size` slots, unless another thread has already.
    fn grow(&self, size: usize) {
        // As in Linux, memory is allocated and freed without the lock.
        let fd = Array::new("files_struct.fd[]", size, |_| Slot::<P>::new(null_mut()));
        let bits = Bits::new(size, false);
        let unused = self.write(|locked| {
            if locked.fds.size() >= size {
                return (fd, bits);
            }
            for (from, to) in locked.fd.iter().zip(&*fd) {
                to.store(from.load(Relaxed), Relaxed);
            }
            let bits = locked.fds.grow(size, bits);
            (std::mem::replace(&mut locked.fd, fd), bits)
        });
        drop(unused);
    }
}

impl<P: Platform, L: FileLock<P>> Table<P> for LockedTable<P, L> {
    const READERS_UNDER_RCU: bool = false;

    fn new(env: &Env, first: usize, limit: usize, shared: bool) -> Self {
        let fds = Fds::new(first, limit, false);
        let fd = Array::new("files_struct.fd[]", fds.size(), |_| Slot::<P>::new(null_mut()));
        LockedTable { lock: L::new(env.spin), locked: P::Cell::new(Locked { fd, fds }), shared }
    }
}

impl<P: Platform, L: FileLock<P>> FdTable<P> for LockedTable<P, L> {
    fn reserve_from(&self, _cx: Cx<'_, P>, least: usize) -> Result<i32, Errno> {
        loop {
            match self.write(|locked| locked.fds.claim(least)) {
                Search::Claimed(fd) => return Ok(fd as i32),
                Search::Grow(size) => self.grow(size),
                Search::Limit => return Err(Errno::MFILE),
            }
        }
    }

    fn unreserve(&self, _cx: Cx<'_, P>, fd: i32) {
        self.write(|locked| locked.fds.release(fd as usize));
    }

    fn install(&self, _cx: Cx<'_, P>, fd: i32, file: Raw<File<P>>) {
        self.write(|locked| locked.fd[fd as usize].store(file.ptr(), Relaxed));
    }

    fn get(&self, _cx: Cx<'_, P>, fd: i32) -> Option<Got<P>> {
        let at = index(fd)?;
        if !self.shared {
            return self.slot(at).map(|file| Got { file, counted: false });
        }
        let file = self.lock.read(|| {
            let file = self.slot(at)?;
            // SAFETY: the table holds a reference as long as the lock keeps the slot from being cleared.
            files::inc::<P>(&unsafe { file.get() }.count);
            Some(file)
        })?;
        Some(Got { file, counted: true })
    }

    fn put(&self, _cx: Cx<'_, P>, got: Got<P>) -> bool {
        // SAFETY: the caller holds a reference.
        got.counted && files::dec_and_test::<P>(&unsafe { got.file.get() }.count)
    }

    fn remove(&self, _cx: Cx<'_, P>, fd: i32) -> Option<Raw<File<P>>> {
        let at = index(fd)?;
        self.write(|locked| {
            let slot = locked.fd.get(at)?;
            let file = Raw::new(slot.load(Relaxed))?;
            slot.store(null_mut(), Relaxed);
            locked.fds.release(at);
            Some(file)
        })
    }

    fn used(&self) -> Vec<i32> {
        // SAFETY: the caller is alone with the table.
        self.locked.with(|locked| used_slots::<P>(&unsafe { &*locked }.fd))
    }
}
