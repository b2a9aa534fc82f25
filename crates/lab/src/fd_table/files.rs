//! The slab of struct file (filp_cachep), and f_count as a plain number of references.

use crate::design::Env;
use crate::object::{File, Raw};
use machine::sync::Slab;
use machine::{Cx, Platform, Word};
use std::mem::size_of;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::{Arc, Weak};

/// A file and its way home: an RCU callback is told the file and nothing else.
#[repr(C)]
struct Entry<P: Platform> {
    /// First, so that a pointer to the file is a pointer to the entry.
    file: File<P>,
    home: Home<P>,
}

/// The slab that an entry belongs to. Never written again once the entry is constructed.
struct Home<P: Platform>(*const Slab<P, Entry<P>>);

// SAFETY: a pointer alone does nothing, and what it points to is `Sync`: a slab is made for all CPUs.
unsafe impl<P: Platform> Send for Home<P> {}
// SAFETY: as above.
unsafe impl<P: Platform> Sync for Home<P> {}

/// The files of a design.
pub(super) struct Files<P: Platform> {
    /// In an `Arc` because entries know its address.
    slab: Arc<Slab<P, Entry<P>>>,
}

fn entry<P: Platform>(file: Raw<File<P>>) -> NonNull<Entry<P>> {
    // The file is the first field and the struct is repr(C).
    file.non_null().cast()
}

impl<P: Platform> Files<P> {
    /// None yet.
    pub(super) fn new(env: &Env) -> Self {
        let env = *env;
        let slab = Arc::new_cyclic(|slab: &Weak<Slab<P, Entry<P>>>| {
            let home = Home(slab.as_ptr());
            let make = move || {
                // The whole of it, so that the closure is as `Send` as `Home` is.
                let home = &home;
                Entry { file: File::new(&env), home: Home(home.0) }
            };
            Slab::new(env.cpus, make, |entry| entry.file.name_lines())
        });
        Files { slab }
    }

    /// A file whose count is `one`, the encoding of one reference.
    pub(super) fn alloc(&self, cx: Cx<'_, P>, one: u64) -> Raw<File<P>> {
        let file = Raw::from(self.slab.alloc(cx.cpu).cast::<File<P>>());
        // SAFETY: the memory stays a file as long as the slab lives.
        // Release: where memory is used again at once, a look-up that comes late counts on this word. It must then see what
        // the file's life before has done to the table. Elsewhere nobody looks at it before it is published.
        unsafe { file.get() }.count.store(one, Release);
        file
    }

    /// Back to the slab, which may hand it out at once.
    ///
    /// # Safety
    /// It came from [`Files::alloc`] and nobody uses it any more, except as the memory of some file.
    pub(super) unsafe fn free(&self, cx: Cx<'_, P>, file: Raw<File<P>>) {
        // SAFETY: the caller's promise.
        unsafe { self.slab.free(cx.cpu, entry(file)) };
    }

    /// Back to the slab after a grace period.
    ///
    /// # Safety
    /// It came from [`Files::alloc`], is in no table and has no reference any more; `self` lives until RCU is drained.
    pub(super) unsafe fn free_by_rcu(&self, cx: Cx<'_, P>, file: Raw<File<P>>) {
        let object = entry(file).as_ptr().cast();
        // SAFETY: the caller's promise: nobody can find it. `to_slab` is made for such a pointer.
        unsafe { cx.rcu.call(cx, object, size_of::<Entry<P>>(), to_slab::<P>) };
    }

    /// Files allocated and not given back.
    ///
    /// # Safety
    /// The caller is alone with the kernel.
    pub(super) unsafe fn in_use(&self) -> u64 {
        // SAFETY: the caller's promise.
        unsafe { self.slab.in_use() }
    }
}

/// The RCU callback of a file.
unsafe fn to_slab<P: Platform>(object: *mut (), cx: Cx<'_, P>) {
    let entry = NonNull::new(object.cast::<Entry<P>>()).expect("a file is never null");
    // SAFETY: `free_by_rcu` queued an entry, whose slab lives; its grace period is over, so that nobody looks at it now.
    unsafe {
        let home = (*entry.as_ptr()).home.0;
        (*home).free(cx.cpu, entry);
    }
}

/// One more reference for who holds one, or under the lock that keeps the table's.
#[inline]
pub(super) fn inc<P: Platform>(count: &P::U64) {
    // Relaxed: whoever sees the file has been given it by somebody who saw it complete; a larger number publishes nothing.
    count.fetch_add(1, Relaxed);
}

/// One more reference unless there is none (atomic_inc_not_zero; rcuref_inc_lf; kref_lf_get_rcu).
#[inline]
pub(super) fn inc_not_zero<P: Platform>(count: &P::U64) -> bool {
    // Acquire: who finds 0 here sees what was done before the last reference was dropped, the clearing of the slot above all,
    // so that looking again does not find the same file for ever.
    let mut found = count.load(Acquire);
    while found != 0 {
        match count.compare_exchange(found, found + 1, Acquire, Acquire) {
            Ok(_) => return true,
            Err(now) => found = now,
        }
    }
    false
}

/// One reference less (atomic_dec_and_test). True if it was the last.
#[inline]
pub(super) fn dec_and_test<P: Platform>(count: &P::U64) -> bool {
    // Release: what was done with the reference is before the end of the file. Acquire: and whoever ends it is after all that.
    let before = count.fetch_sub(1, AcqRel);
    debug_assert!(before != 0, "a reference too many was dropped");
    before == 1
}

/// One reference less unless it is the last. True if it was dropped.
#[inline]
pub(super) fn dec_unless_last<P: Platform>(count: &P::U64) -> bool {
    // Relaxed: the comparison below decides. Release as in `dec_and_test`; nothing follows that would need Acquire.
    let mut found = count.load(Relaxed);
    while found != 1 {
        match count.compare_exchange(found, found - 1, Release, Relaxed) {
            Ok(_) => return true,
            Err(now) => found = now,
        }
    }
    false
}
