//! The orphan file with a spinlock: Jan Kara's first version, of 2015.
//!
//! Orphans are entries of a file of fixed size instead of a list, in any order, so that no inode has neighbours. A spinlock
//! protects the choice: the first block that has a free entry gives up one; then, write access to the block got, the first
//! entry that is 0 takes the inode's number. An orphan that finds no room goes to the list (the `reduced` design).
//!
//! Shared: per add of_lock twice, per del once; ob_free_entries of the block and the entry's line, which is the same one for all
//! CPUs as long as the first block has room; the block's journal head once per transaction.
//!
//! Ordering: counters and entries are Relaxed: they change under of_lock. The commit reads entries when no handle is open.
//!
//! Source: posted 2015; fs/ext4/orphan.c of 02f310fcf47f (5.15, shortly before the `file` design). Journal as of 5.15.

use super::disk::{Disk, ENTRIES_PER_BLOCK, Geometry, Handle};
use super::journal::Mode;
use super::node::OrphanNode;
use super::orphan_file::{BlockInfos, DEFAULT_BLOCKS, recorded_in_file};
use super::reduced::ReducedList;
use super::{OrphanDesign, Orphans};
use crate::design::{DesignInfo, Env};
use machine::sync::Spin;
use machine::{Cx, POwned, Platform, Word};
use std::sync::atomic::Ordering::Relaxed;

/// The orphan file of 2015.
pub struct FileSpin {
    env: Env,
}

impl FileSpin {
    /// What it is.
    pub const INFO: DesignInfo = DesignInfo {
        part: "orphan_list",
        name: "file_spin",
        kernel: "proposed 2015",
        source: "02f310fcf47f",
        shared: "of_lock, free count and entries of the first block with room",
        reconstruction: false,
    };

    /// For a kernel like `env`.
    pub fn make<P: Platform>(env: &Env) -> Box<dyn OrphanDesign<P>> {
        Box::new(FileSpin { env: *env })
    }
}

impl<P: Platform> OrphanDesign<P> for FileSpin {
    fn sb(&self, inodes: u32) -> Box<dyn Orphans<P>> {
        let geometry = Geometry {
            inodes,
            orphan_blocks: DEFAULT_BLOCKS,
            entries: ENTRIES_PER_BLOCK,
            journal: Mode::LOCKLESS_ACCESS,
        };
        Box::new(LockedFile::new(&self.env, geometry))
    }
}

pub(super) struct LockedFile<P: Platform> {
    list: ReducedList<P>,
    of_lock: POwned<P, Spin<P>>,
    infos: BlockInfos<P>,
    entries: usize,
}

impl<P: Platform> LockedFile<P> {
    pub(super) fn new(env: &Env, geometry: Geometry) -> Self {
        LockedFile {
            list: ReducedList::new(Disk::new(env, geometry)),
            of_lock: POwned::new(Spin::new(env.spin, "of_lock")),
            infos: BlockInfos::new(geometry),
            entries: geometry.entries,
        }
    }

    /// ext4_orphan_file_add; none if there is no room.
    fn file_add(&self, handle: &Handle<'_, P>, ino: u32) -> Option<usize> {
        let block = self.of_lock.with(|| {
            let block = (0..self.infos.blocks())
                .find(|&block| self.infos.free_entries(block).load(Relaxed) > 0)?;
            let free = self.infos.free_entries(block);
            free.store(free.load(Relaxed) - 1, Relaxed);
            Some(block)
        })?;
        let access = handle.orphan_write_access(block);
        let at = self.of_lock.with(|| {
            let at = access.0.entries().position(|entry| entry.load(Relaxed) == 0);
            let at = at.expect("a free entry of the block was reserved");
            access.0.entry(at).store(ino, Relaxed);
            at
        });
        handle.dirty_orphan_block(&access);
        Some(block * self.entries + at)
    }

    /// ext4_orphan_file_del.
    fn file_del(&self, handle: &Handle<'_, P>, entry: usize) {
        let block = entry / self.entries;
        let access = handle.orphan_write_access(block);
        self.of_lock.with(|| {
            access.0.entry(entry % self.entries).store(0, Relaxed);
            let free = self.infos.free_entries(block);
            free.store(free.load(Relaxed) + 1, Relaxed);
        });
        handle.dirty_orphan_block(&access);
    }
}

impl<P: Platform> Orphans<P> for LockedFile<P> {
    fn disk(&self) -> &Disk<P> {
        self.list.disk()
    }

    fn add(&self, cx: Cx<'_, P>, handle: &Handle<'_, P>, inode: &OrphanNode<P>) {
        debug_assert!(handle.is_of(self.disk()));
        if inode.entry().is_some() || inode.is_listed() {
            return;
        }
        match self.file_add(handle, inode.ino()) {
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
