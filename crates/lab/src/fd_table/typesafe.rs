//! 6.13: a file's memory is used for another file at once (SLAB_TYPESAFE_BY_RCU); a look-up counts first and then looks again.
//!
//! fget loads the table and the slot, takes a reference with one addition, and then looks whether slot and table are
//! the same. If they are, the reference is to the file under the descriptor, whatever the memory was in between; if not, it is
//! dropped, and the look-up starts over. No file waits for RCU; only old tables do. The count is a [`file_ref`]; the
//! reference that [`FdTable::remove`] answered is dropped by file_ref_put_close.
//!
//! install takes no lock, as in 4.3 (8a81252b774b) and on. There, growth waits for a grace period so that no slot is filled
//! in a table that has been copied already. Nothing here may wait that long (a caller may drive several CPUs); instead, growth
//! closes the empty slots of the old table with a mark, and an installer that finds one waits for the new table. The lines
//! written are the same.
//!
//! A look-up that starts over may find that the reference it drops has become the last one, and of a file that was never under
//! the descriptor. The kernel closes it on the way back to user mode (task_work, delayed_fput); so does the lab: it goes on a list of
//! the CPU's, which is asked for it at the end of the call ([`FdDesign::delayed`]).
//!
//! Shared: no line in a look-up, but f_count twice if threads use one file. open and close write the line of file_lock and
//! next_fd once each.
//!
//! Ordering: three words matter: slot, count, table. Who closes a file clears its slot, then drops the reference (Release), then the
//! memory goes to a new life, which begins by storing the count (Release, `Files::alloc`). A late look-up that counts on the new
//! life has read that store or a later one (Acquire), so that its second look sees the slot cleared, or the table replaced if
//! it was cleared in the next one. If the second look finds the file again, it has been installed anew, and Acquire
//! there makes the new life's contents visible: the first look's Acquire is of the old life.
//!
//! Source: Linux 6.13, fs/file.c (__fget_files_rcu, fd_install, find_next_fd) and include/linux/file_ref.h; the slab: 0ede61d8589c
//! (6.7).

use super::array::index;
use super::fds::NR_OPEN_DEFAULT_64;
use super::fdtable::{Fdtable, FilesStruct};
use super::file_ref;
use super::files::Files;
use super::{FdDesign, FdTable, Got};
use crate::design::{DesignInfo, Env};
use crate::object::{File, Raw};
use machine::sync::PerCpu;
use machine::{Cpu, Cx, Plain, Platform, PtrWord};
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use vfs_api::Errno;

/// The design.
pub struct Typesafe;

impl Typesafe {
    /// What is known of it.
    pub const INFO: DesignInfo = DesignInfo {
        part: "fd_table",
        name: "typesafe",
        kernel: "6.13",
        source: "0ede61d8589c; include/linux/file_ref.h",
        shared: "none a look-up; f_count",
        reconstruction: false,
    };

    /// Makes it.
    pub fn make<P: Platform>(env: &Env) -> Box<dyn FdDesign<P>> {
        Self::with_slots(env, NR_OPEN_DEFAULT_64)
    }

    /// With tables that start with `first` slots.
    pub(super) fn with_slots<P: Platform>(env: &Env, first: usize) -> Box<dyn FdDesign<P>> {
        Self::variant::<P, { SLOT | TABLE | ACQUIRE | MARK }>(env, first)
    }

    /// The design, or one with a bug, by the checks that it has.
    pub(super) fn variant<P: Platform, const CHECKS: u8>(
        env: &Env,
        first: usize,
    ) -> Box<dyn FdDesign<P>> {
        Box::new(Design::<P, CHECKS> {
            files: Files::new(env),
            late: Arc::new(Late::new(env.cpus)),
            env: *env,
            first,
        })
    }
}

/// The second look is at the slot.
pub(super) const SLOT: u8 = 1;
/// The second look is at the pointer to the table.
pub(super) const TABLE: u8 = 2;
/// The second look acquires.
pub(super) const ACQUIRE: u8 = 4;
/// Growth closes the empty slots of the old table.
pub(super) const MARK: u8 = 8;

struct Design<P: Platform, const CHECKS: u8> {
    files: Files<P>,
    late: Arc<Late<P>>,
    env: Env,
    first: usize,
}

impl<P: Platform, const CHECKS: u8> FdDesign<P> for Design<P, CHECKS> {
    fn table(&self, limit: usize, shared: bool) -> Box<dyn FdTable<P>> {
        let table = Box::new(TypesafeTable::<P, CHECKS> {
            files: FilesStruct::new(&self.env, self.first, limit, shared, true),
            late: Arc::clone(&self.late),
        });
        table.files.name_lines();
        table
    }

    fn alloc(&self, cx: Cx<'_, P>) -> Raw<File<P>> {
        self.files.alloc(cx, file_ref::ONE)
    }

    fn get_again(&self, file: &File<P>) {
        file_ref::get_again::<P>(&file.count);
    }

    fn drop_ref(&self, file: &File<P>) -> bool {
        file_ref::put_close::<P>(&file.count)
    }

    unsafe fn free(&self, cx: Cx<'_, P>, file: Raw<File<P>>) {
        // SAFETY: the last reference is gone (the caller's promise). Late look-ups may still count on it, but on nothing else of
        // it, and it stays a file.
        unsafe { self.files.free(cx, file) };
    }

    fn delayed(&self, cx: Cx<'_, P>) -> Option<Raw<File<P>>> {
        self.late.take(cx.cpu)
    }

    unsafe fn in_use(&self) -> u64 {
        // SAFETY: the caller's promise.
        unsafe { self.files.in_use() }
    }
}

struct TypesafeTable<P: Platform, const CHECKS: u8> {
    files: FilesStruct<P>,
    late: Arc<Late<P>>,
}

/// A CPU's files that were left over.
type Leftover<P> = <P as Platform>::Cell<Vec<Raw<File<P>>>>;

/// Files that look-ups were left with the last reference of, by CPU; dead, and nobody else knows of them.
struct Late<P: Platform>(PerCpu<P, Leftover<P>>);

impl<P: Platform> Late<P> {
    fn new(cpus: usize) -> Self {
        Late(PerCpu::new(cpus, |_| P::Cell::new(Vec::new())))
    }

    #[cold]
    fn keep(&self, cpu: Cpu, file: Raw<File<P>>) {
        // SAFETY: only the CPU itself touches its list, one call at a time.
        self.0.get(cpu).with_mut(|late| unsafe { (*late).push(file) });
    }

    fn take(&self, cpu: Cpu) -> Option<Raw<File<P>>> {
        let list = self.0.get(cpu);
        // SAFETY: as in `keep`.
        if list.with(|late| unsafe { (*late).is_empty() }) {
            // As a rule; nothing is written.
            return None;
        }
        // SAFETY: as in `keep`.
        list.with_mut(|late| unsafe { (*late).pop() })
    }
}

/// What a slot of an old table has if it was empty when it was copied. No file has this address.
fn moved<P: Platform>() -> *mut File<P> {
    std::ptr::without_provenance_mut(1)
}

/// Fills a larger table and closes the empty slots of the current one. Under file_lock; installers do not have it.
fn move_slots<P: Platform, const CHECKS: u8>(from: &Fdtable<P>, to: &Fdtable<P>) {
    for (from, to) in from.iter().zip(&**to) {
        // Acquire: an installer has filled the slot without the lock; who finds the file in the new table must see it
        // complete. Relaxed: the mark is only compared, and the new table is nobody else's before it is published.
        let found = from.load(Acquire);
        let found = if found.is_null() && CHECKS & MARK != 0 {
            from.compare_exchange(null_mut(), moved(), Relaxed, Acquire).unwrap_or_else(|file| file)
        } else {
            found
        };
        to.store(found, Relaxed);
    }
}

impl<P: Platform, const CHECKS: u8> FdTable<P> for TypesafeTable<P, CHECKS> {
    fn reserve_from(&self, cx: Cx<'_, P>, least: usize) -> Result<i32, Errno> {
        self.files.reserve(cx, least, move_slots::<P, CHECKS>)
    }

    fn unreserve(&self, _cx: Cx<'_, P>, fd: i32) {
        self.files.unreserve(fd);
    }

    fn install(&self, _cx: Cx<'_, P>, fd: i32, file: Raw<File<P>>) {
        loop {
            let table = self.files.table();
            // Release: look-ups must see the file complete. Relaxed: the mark says nothing but to wait.
            let slot = &table[fd as usize];
            match slot.compare_exchange(null_mut(), file.ptr(), Release, Relaxed) {
                Ok(_) => return,
                Err(found) => debug_assert_eq!(found, moved(), "the descriptor was not claimed"),
            }
            self.files.await_other(table);
        }
    }

    fn get(&self, cx: Cx<'_, P>, fd: i32) -> Option<Got<P>> {
        let at = index(fd)?;
        loop {
            let table = self.files.table();
            let slot = table.get(at)?;
            let file = Raw::new(slot.load(Acquire))?;
            if file.ptr() == moved() {
                // Nothing was installed yet when the table was loaded, within this call.
                return None;
            }
            if !self.files.shared {
                return Some(Got { file, counted: false });
            }
            // SAFETY: whatever is there is a file: the slab gives no memory back.
            let count = &unsafe { file.get() }.count;
            if !file_ref::get::<P>(count) {
                continue;
            }
            // See the header. Relaxed is a seeded bug.
            let order = if CHECKS & ACQUIRE != 0 { Acquire } else { Relaxed };
            let same_slot = CHECKS & SLOT == 0 || slot.load(order) == file.ptr();
            let same_table = CHECKS & TABLE == 0 || std::ptr::eq(self.files.table(), table);
            if same_slot && same_table {
                return Some(Got { file, counted: true });
            }
            if file_ref::put::<P>(count) {
                self.late.keep(cx.cpu, file);
            }
        }
    }

    fn put(&self, _cx: Cx<'_, P>, got: Got<P>) -> bool {
        // SAFETY: the caller holds a reference.
        got.counted && file_ref::put::<P>(&unsafe { got.file.get() }.count)
    }

    fn remove(&self, _cx: Cx<'_, P>, fd: i32) -> Option<Raw<File<P>>> {
        self.files.remove(fd)
    }

    fn used(&self) -> Vec<i32> {
        self.files.used()
    }
}
