//! The orphan file without locks: 5.15.
//!
//! A CPU begins its search at a block of its own, reserves an entry of the first block that has one by decrementing its count, and
//! then takes whichever entry of it is 0 by compare-and-exchange. After three rounds over the block, or if no block has room,
//! the orphan goes to the list (the `reduced` design).
//!
//! Shared: per add or del ob_free_entries of a block (four counters share a line) and the line of the entry; the block's journal
//! head once per transaction. As long as CPUs differ in their blocks these lines stay with the CPU, unless the inode is deleted
//! on another one.
//!
//! Ordering: a deletion zeroes the entry and then increments the count (Release); who decrements the count (Acquire) sees
//! as many zero entries as were reserved to it and others. Taking an entry is Relaxed on success and failure: an entry carries
//! no data. The commit reads entries when no handle is open, and has acquired the ends of all.
//!
//! Source: 5.15, fs/ext4/orphan.c of 4a79a98c7b19. Journal as of 5.15.

use super::disk::{Disk, ENTRIES_PER_BLOCK, Geometry, Handle, OrphanBlock};
use super::journal::Mode;
use super::node::OrphanNode;
use super::orphan_file::{BlockInfos, DEFAULT_BLOCKS, recorded_in_file};
use super::reduced::ReducedList;
use super::{OrphanDesign, Orphans};
use crate::design::{DesignInfo, Env};
use machine::{Cpu, Cx, Platform, Word};
use std::marker::PhantomData;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The orphan file of 5.15.
pub struct File {
    env: Env,
}

impl File {
    /// What it is.
    pub const INFO: DesignInfo = DesignInfo {
        part: "orphan_list",
        name: "file",
        kernel: "5.15",
        source: "4a79a98c7b19",
        shared: "free count and entry in a block chosen by CPU",
        reconstruction: false,
    };

    /// For a kernel like `env`.
    pub fn make<P: Platform>(env: &Env) -> Box<dyn OrphanDesign<P>> {
        Box::new(File { env: *env })
    }
}

impl<P: Platform> OrphanDesign<P> for File {
    fn sb(&self, inodes: u32) -> Box<dyn Orphans<P>> {
        let geometry = Geometry {
            inodes,
            orphan_blocks: DEFAULT_BLOCKS,
            entries: ENTRIES_PER_BLOCK,
            journal: Mode::LOCKLESS_ACCESS,
        };
        Box::new(LockFreeFile::<P>::new(&self.env, geometry))
    }
}

/// Rounds over a block before giving up.
const ROUNDS: u32 = 3;

/// The atomic steps. A trait, so that tests can plant an error in one of them.
pub(super) trait Steps<P: Platform>: Send + Sync + 'static {
    /// atomic_dec_if_positive: reserves an entry of a block.
    #[inline]
    fn reserve(free_entries: &P::U32) -> bool {
        // Relaxed: the exchange looks again. Its Acquire pairs with the Release of whoever freed an entry.
        let mut free = free_entries.load(Relaxed);
        while free > 0 {
            match free_entries.compare_exchange(free, free - 1, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(found) => free = found,
            }
        }
        false
    }

    /// Takes an entry if it is 0.
    #[inline]
    fn claim(entry: &P::U32, ino: u32) -> bool {
        // Relaxed: see the header.
        entry.compare_exchange(0, ino, Relaxed, Relaxed).is_ok()
    }

    /// Frees an entry.
    #[inline]
    fn release(entry: &P::U32, free_entries: &P::U32) {
        entry.store(0, Relaxed);
        // Release: the entry is 0 for whoever reserves it.
        free_entries.fetch_add(1, Release);
    }
}

/// The steps as they are right.
pub(super) struct Atomic;

impl<P: Platform> Steps<P> for Atomic {}

pub(super) struct LockFreeFile<P: Platform, S = Atomic> {
    list: ReducedList<P>,
    infos: BlockInfos<P>,
    entries: usize,
    steps: PhantomData<S>,
}

impl<P: Platform, S: Steps<P>> LockFreeFile<P, S> {
    pub(super) fn new(env: &Env, geometry: Geometry) -> Self {
        LockFreeFile {
            list: ReducedList::new(Disk::new(env, geometry)),
            infos: BlockInfos::new(geometry),
            entries: geometry.entries,
            steps: PhantomData,
        }
    }

    /// ext4_orphan_file_add; none if there is no room, or none was found in time.
    fn file_add(&self, cpu: Cpu, handle: &Handle<'_, P>, ino: u32) -> Option<usize> {
        let blocks = self.infos.blocks();
        // A naive hash of the CPU.
        let start = cpu.0 * 13 % blocks;
        let block = (start..blocks)
            .chain(0..start)
            .find(|&block| S::reserve(self.infos.free_entries(block)))?;
        let access = handle.orphan_write_access(block);
        let Some(at) = self.claim_in(access.0, ino) else {
            // Relaxed: no entry was freed, only its reservation is given up.
            self.infos.free_entries(block).fetch_add(1, Relaxed);
            return None;
        };
        handle.dirty_orphan_block(&access);
        Some(block * self.entries + at)
    }

    /// Takes an entry of a block in which one is reserved.
    fn claim_in(&self, block: &OrphanBlock<P>, ino: u32) -> Option<usize> {
        for round in 0..ROUNDS {
            if round > 0 {
                P::relax();
            }
            // Relaxed: `claim` looks again.
            let mut entries = block.entries();
            let at = entries.position(|entry| entry.load(Relaxed) == 0 && S::claim(entry, ino));
            if at.is_some() {
                return at;
            }
        }
        None
    }

    /// ext4_orphan_file_del.
    fn file_del(&self, handle: &Handle<'_, P>, entry: usize) {
        let block = entry / self.entries;
        let access = handle.orphan_write_access(block);
        S::release(access.0.entry(entry % self.entries), self.infos.free_entries(block));
        handle.dirty_orphan_block(&access);
    }
}

impl<P: Platform, S: Steps<P>> Orphans<P> for LockFreeFile<P, S> {
    fn disk(&self) -> &Disk<P> {
        self.list.disk()
    }

    fn add(&self, cx: Cx<'_, P>, handle: &Handle<'_, P>, inode: &OrphanNode<P>) {
        debug_assert!(handle.is_of(self.disk()));
        if inode.entry().is_some() || inode.is_listed() {
            return;
        }
        match self.file_add(cx.cpu, handle, inode.ino()) {
            None => self.list.add(cx, handle, inode),
            entry => inode.set_entry(entry),
        }
    }

    fn del(&self, cx: Cx<'_, P>, handle: &Handle<'_, P>, inode: &OrphanNode<P>) {
        debug_assert!(handle.is_of(self.disk()));
        match inode.entry() {
            None => self.list.del(cx, handle, inode),
            Some(entry) => {
                self.file_del(handle, entry);
                inode.set_entry(None);
            }
        }
    }

    fn recorded(&self) -> Vec<u32> {
        let mut inos = self.list.recorded();
        inos.extend(recorded_in_file(self.disk()));
        inos
    }
}
