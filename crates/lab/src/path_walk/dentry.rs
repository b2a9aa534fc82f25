//! struct dentry, laid out as 44a7d7a892 (2.6.38) has it: what a walk under RCU reads comes first, what a walk with references
//! writes comes on the next line.

use super::lockref::Lockref;
use super::name::{LongName, Name};
use crate::design::Env;
use crate::object::{Inode, Raw};
use machine::sync::{SeqCount, Spin};
use machine::{Cx, POwned, Plain, Platform, PtrWord, Word};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// Longest name kept in the dentry itself.
pub(super) const INLINE: usize = 32;

/// It has a name that a walk can find, or is a root.
const HASHED: u32 = 1;
/// Something is mounted on it (DCACHE_MOUNTED).
const MOUNT_POINT: u32 = 2;
/// It has been put on the LRU list.
const ON_LRU: u32 = 4;

/// A directory entry: a name in a directory, and the inode it stands for.
///
/// Each dentry but a root holds a reference to its parent, as long as it lives.
#[repr(C)]
pub struct Dentry<P: Platform> {
    // The first line: read by walks under RCU.
    /// d_seq: odd while parent or name change.
    pub(super) seq: SeqCount<P>,
    /// d_flags. Changed by locked operations, because a mount point is marked without d_lock.
    flags: P::U32,
    /// d_hash: the next in the chain. Kept when it leaves the chain, for who stands on it.
    pub(super) next: P::Ptr<Dentry<P>>,
    /// d_hash: the one before; null for the first.
    pub(super) prev: P::Ptr<Dentry<P>>,
    /// d_parent; itself for a root.
    parent: P::Ptr<Dentry<P>>,
    /// d_name: hash and length.
    hash_len: P::U64,
    /// d_name: the name, if it is not the inline one.
    long: P::Ptr<LongName<P>>,
    /// d_inode.
    inode: Raw<Inode<P>>,
    /// What the hashes of the names in it begin with, instead of the dentry's address, which differs from run to run. It need
    /// not be unique.
    id: u32,
    /// d_iname. Written once, before the dentry is published: walkers read it without a lock.
    inline: P::Cell<[u8; INLINE]>,
    // The second line: written by who takes references.
    /// d_lockref: lock and count in one word. Of the designs `rcu_walk*`.
    pub(super) lockref: Lockref<P>,
    /// d_lock, of the other designs.
    pub(super) lock: Spin<P>,
    /// d_count, of the other designs.
    pub(super) count: P::U32,
    /// Names in it; stands for the list d_subdirs. Under the lock of the directory.
    children: P::U32,
    // The rest.
    /// d_lru. Under the lock of the list.
    pub(super) lru_next: P::Ptr<Dentry<P>>,
    /// d_lru.
    pub(super) lru_prev: P::Ptr<Dentry<P>>,
}

impl<P: Platform> Dentry<P> {
    fn new(env: &Env, inode: Raw<Inode<P>>, parent: *mut Dentry<P>, name: &Name<'_>) -> Self {
        let mut inline = [0; INLINE];
        if name.bytes.len() <= INLINE {
            inline[..name.bytes.len()].copy_from_slice(name.bytes);
        }
        Dentry {
            seq: SeqCount::default(),
            flags: P::U32::new(0),
            next: P::Ptr::new(null_mut()),
            prev: P::Ptr::new(null_mut()),
            parent: P::Ptr::new(parent),
            hash_len: P::U64::new(name.hash_len()),
            long: P::Ptr::new(LongName::if_needed(name).map_or(null_mut(), POwned::into_raw)),
            inode,
            id: name.hash,
            inline: P::Cell::new(inline),
            lockref: Lockref::new("d_lock"),
            lock: Spin::new(env.spin, "d_lock"),
            count: P::U32::new(1),
            children: P::U32::new(0),
            lru_next: P::Ptr::new(null_mut()),
            lru_prev: P::Ptr::new(null_mut()),
        }
    }

    /// A dentry with one reference and a name in `parent` that nobody can find yet. Takes no reference to the parent.
    pub(super) fn alloc(
        env: &Env,
        inode: Raw<Inode<P>>,
        parent: &Dentry<P>,
        name: &Name<'_>,
    ) -> Raw<Dentry<P>> {
        let parent = std::ptr::from_ref(parent).cast_mut();
        Self::placed(Dentry::new(env, inode, parent, name))
    }

    /// A root dentry with one reference, the `number`th.
    pub(super) fn alloc_root(env: &Env, inode: Raw<Inode<P>>, number: u32) -> Raw<Dentry<P>> {
        let name = Name { bytes: b"", hash: number };
        let root = Self::placed(Dentry::new(env, inode, null_mut(), &name));
        // SAFETY: just made, and nobody else knows it.
        let dentry = unsafe { root.get() };
        dentry.parent.store(root.ptr(), Relaxed);
        dentry.set_hashed();
        root
    }

    fn placed(dentry: Dentry<P>) -> Raw<Dentry<P>> {
        let dentry = POwned::<P, _>::new(dentry);
        dentry.name_lines();
        Raw::new(dentry.into_raw()).expect("into_raw is never null")
    }

    fn name_lines(&self) {
        P::name(&self.seq, "dentry.d_seq");
        P::name(&self.flags, "dentry.d_flags");
        P::name(&self.next, "dentry.d_hash");
        P::name(&self.hash_len, "dentry.d_name");
        P::name(&self.lockref, "dentry.d_lockref");
        P::name(&self.lock, "dentry.d_lock");
        P::name(&self.count, "dentry.d_count");
        P::name(&self.lru_next, "dentry.d_lru");
        P::name(&self.lru_prev, "dentry.d_lru");
    }

    /// Its inode.
    pub fn inode(&self) -> Raw<Inode<P>> {
        self.inode
    }

    /// The directory that it is or was in; itself for a root. Stays allocated while a lock keeps the dentry where it is (of the
    /// directory, or against renames), or until the end of the call (RCU).
    pub fn parent(&self) -> Raw<Dentry<P>> {
        // Acquire: pairs with the Release of a rename, so that the parent's fields are seen.
        Raw::new(self.parent.load(Acquire)).expect("every dentry has a parent")
    }

    /// Marks it as a place on which something is mounted, or not.
    pub fn set_mount_point(&self, is: bool) {
        // Release: the mount was put into the tree before.
        if is {
            self.flags.fetch_or(MOUNT_POINT, Release);
        } else {
            self.flags.fetch_and(!MOUNT_POINT, Release);
        }
    }

    /// Whether something may be mounted on it.
    pub fn is_mount_point(&self) -> bool {
        self.has(MOUNT_POINT)
    }

    /// Whether its name can be found. True for a root; false for what was unlinked or removed.
    pub fn is_hashed(&self) -> bool {
        self.has(HASHED)
    }

    fn has(&self, flag: u32) -> bool {
        // Acquire: pairs with the Release of who set or cleared it.
        self.flags.load(Acquire) & flag != 0
    }

    pub(super) fn set_hashed(&self) {
        self.flags.fetch_or(HASHED, Release);
    }

    pub(super) fn clear_hashed(&self) {
        self.flags.fetch_and(!HASHED, Release);
    }

    /// Notes that it goes onto the LRU list; true if it was not there.
    pub(super) fn enters_lru(&self) -> bool {
        // A plain look first, as list_empty(d_lru) is; under d_lock, and nobody changes this flag without. AcqRel: the links
        // go with it, under the list's lock anyway.
        !self.has(ON_LRU) && self.flags.fetch_or(ON_LRU, AcqRel) & ON_LRU == 0
    }

    /// Whether it is on the LRU list.
    pub(super) fn on_lru(&self) -> bool {
        self.has(ON_LRU)
    }

    /// What the hashes of names in this directory begin with.
    pub(super) fn id(&self) -> u32 {
        self.id
    }

    /// Hash of its name. Stable under d_lock.
    pub(super) fn hash(&self) -> u32 {
        // Relaxed: the lock orders.
        Name::hash_of(self.hash_len.load(Relaxed))
    }

    /// Whether it may be `name` in `parent`: the look before d_lock is taken.
    #[inline]
    pub(super) fn may_be(&self, parent: &Dentry<P>, name: &Name<'_>) -> bool {
        // Relaxed: whoever acts on the answer looks again under d_lock, or under d_seq.
        std::ptr::eq(self.parent.load(Relaxed), parent)
            && self.hash_len.load(Relaxed) == name.hash_len()
    }

    /// Whether it is `name` in `parent`, and can be found. True only if it was so at one moment, if that is under d_lock or
    /// between two equal d_seq; memory-safe in any case, under RCU.
    #[inline]
    pub(super) fn is(&self, parent: &Dentry<P>, name: &Name<'_>) -> bool {
        self.may_be(parent, name) && self.is_hashed() && self.is_called(name.bytes)
    }

    fn is_called(&self, name: &[u8]) -> bool {
        // Acquire: pairs with the Release of a rename, so that the bytes are seen.
        let long = self.long.load(Acquire);
        // SAFETY: a long name is freed a grace period after it was replaced or its dentry died.
        match unsafe { long.as_ref() } {
            Some(long) => long.is(name),
            // SAFETY: nobody writes it once the dentry is published.
            None => self.inline.with(|inline| unsafe { (*inline).get(..name.len()) } == Some(name)),
        }
    }

    /// Gives it its next parent and name. Under d_lock and within d_seq. Answers the buffer that must be freed after a grace period.
    pub(super) fn move_to(
        &self,
        parent: &Dentry<P>,
        name: &Name<'_>,
        long: POwned<P, LongName<P>>,
    ) -> Option<Raw<LongName<P>>> {
        // Release: as said at the loads.
        self.parent.store(std::ptr::from_ref(parent).cast_mut(), Release);
        // Relaxed: a number; d_lock or d_seq tell whether it goes with the rest.
        self.hash_len.store(name.hash_len(), Relaxed);
        Raw::new(self.long.swap(long.into_raw(), AcqRel))
    }

    // The names in a directory are counted under its lock: Relaxed, and no locked operation.

    pub(super) fn add_child(&self) {
        self.children.store(self.children.load(Relaxed) + 1, Relaxed);
    }

    pub(super) fn remove_child(&self) {
        self.children.store(self.children.load(Relaxed) - 1, Relaxed);
    }

    pub(super) fn has_children(&self) -> bool {
        self.children.load(Relaxed) != 0
    }

    /// Bytes that go with the dentry.
    pub(super) fn bytes(&self) -> usize {
        let long = !self.long.load(Relaxed).is_null();
        size_of::<Self>() + if long { size_of::<LongName<P>>() } else { 0 }
    }

    /// Overwrites the name, because the dentry is gone: loom reports a walker that still reads it.
    pub(super) fn wipe(&self) {
        // SAFETY: nobody finds the dentry any more, and a grace period has passed.
        self.inline.with_mut(|inline| unsafe { *inline = [0; INLINE] });
    }

    /// Frees it.
    ///
    /// # Safety
    /// It came from one of the `alloc`s, has no reference, is on no chain or list, and nobody can be reading it.
    pub(super) unsafe fn free(dentry: Raw<Dentry<P>>) {
        // SAFETY: the caller's promise.
        let owned = unsafe { POwned::<P, Dentry<P>>::from_raw(dentry.ptr()) };
        owned.wipe();
        if let Some(long) = Raw::new(owned.long.load(Relaxed)) {
            // SAFETY: it came from `into_raw`, and the dentry was its only owner.
            unsafe { LongName::free(long) };
        }
    }

    /// [`Dentry::free`] as an RCU callback.
    ///
    /// # Safety
    /// As there.
    pub(super) unsafe fn free_later(dentry: *mut (), _cx: Cx<'_, P>) {
        if let Some(dentry) = Raw::new(dentry.cast::<Dentry<P>>()) {
            // SAFETY: the caller's promise.
            unsafe { Dentry::free(dentry) };
        }
    }
}

#[cfg(test)]
impl<P: Platform> Dentry<P> {
    /// References, whichever design keeps them; both counters begin at 1.
    pub(super) fn references(&self) -> u32 {
        self.lockref.count() + self.count.load(Relaxed) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Real;
    use std::mem::offset_of;

    #[test]
    fn what_a_walk_under_rcu_reads_is_apart_from_what_references_write() {
        assert!(offset_of!(Dentry<Real>, id) < 64);
        let second = 64..128;
        assert!(offset_of!(Dentry<Real>, lockref) >= second.start);
        assert!(offset_of!(Dentry<Real>, children) + 4 <= second.end);
    }
}
