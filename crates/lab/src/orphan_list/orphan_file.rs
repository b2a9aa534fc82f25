//! The orphan file but for the choice of an entry, in which the designs that have one differ.
//!
//! Ordering: see the designs; what is done here is under the inode's lock, or by who is alone.

use super::disk::{Disk, ENTRIES_PER_BLOCK, Geometry, Handle, OrphanBlock};
use super::journal::Mode;
use super::node::OrphanNode;
use super::reduced::ReducedList;
use super::{OrphanDesign, Orphans};
use crate::design::Env;
use machine::{Cpu, Cx, POwned, Platform, Word};
use std::marker::PhantomData;
use std::sync::atomic::Ordering::Relaxed;

/// Blocks of an orphan file: what mke2fs gives a small file system.
const DEFAULT_BLOCKS: usize = 32;
/// struct ext4_orphan_block has 16 bytes, in an array: four on a line.
const INFOS_PER_LINE: usize = 4;

/// struct ext4_orphan_block.
#[repr(align(16))]
struct BlockInfo<P: Platform> {
    /// ob_free_entries.
    free_entries: P::U32,
}

/// of_binfo: free entries by block. As in the kernel, several counters share a line.
pub(super) struct BlockInfos<P: Platform> {
    lines: Vec<POwned<P, [BlockInfo<P>; INFOS_PER_LINE]>>,
    blocks: usize,
}

impl<P: Platform> BlockInfos<P> {
    /// All entries free.
    pub(super) fn new(geometry: Geometry) -> Self {
        let entries = u32::try_from(geometry.entries).expect("a block has few entries");
        let info = |_| BlockInfo { free_entries: P::U32::new(entries) };
        let line = |_| {
            let line = POwned::new(std::array::from_fn(info));
            P::name(&*line, "ext4_orphan_info.ob_free_entries");
            line
        };
        let lines = geometry.orphan_blocks.div_ceil(INFOS_PER_LINE);
        BlockInfos { lines: (0..lines).map(line).collect(), blocks: geometry.orphan_blocks }
    }

    /// Number of blocks.
    pub(super) fn blocks(&self) -> usize {
        self.blocks
    }

    /// Entries of the block that are neither taken nor reserved.
    #[inline]
    pub(super) fn free_entries(&self, block: usize) -> &P::U32 {
        &self.lines[block / INFOS_PER_LINE][block % INFOS_PER_LINE].free_entries
    }
}

/// How a design chooses an entry.
pub(super) trait Choice<P: Platform>: Send + Sync + 'static {
    /// For one orphan file.
    fn new(env: &Env) -> Self;

    /// Reserves an entry of a block, whose number is answered; none if no block has one.
    fn reserve(&self, infos: &BlockInfos<P>, cpu: Cpu) -> Option<usize>;

    /// Writes `ino` to an entry of a block in which one is reserved, and answers its number; none if none was found in time: then the
    /// reservation is given up.
    fn take(&self, block: &OrphanBlock<P>, free_entries: &P::U32, ino: u32) -> Option<usize>;

    /// Frees an entry.
    fn give_back(&self, entry: &P::U32, free_entries: &P::U32);
}

/// The design with that choice.
pub(super) struct FileDesign<C> {
    env: Env,
    choice: PhantomData<C>,
}

impl<C> FileDesign<C> {
    /// For a kernel like `env`.
    pub(super) fn new(env: &Env) -> Self {
        FileDesign { env: *env, choice: PhantomData }
    }
}

impl<P: Platform, C: Choice<P>> OrphanDesign<P> for FileDesign<C> {
    fn sb(&self, inodes: u32) -> Box<dyn Orphans<P>> {
        let geometry = Geometry {
            inodes,
            orphan_blocks: DEFAULT_BLOCKS,
            entries: ENTRIES_PER_BLOCK,
            journal: Mode::LOCKLESS_ACCESS,
        };
        Box::new(OrphanFile::<P, C>::new(&self.env, geometry))
    }
}

/// A super block's orphan file, and the list behind it.
pub(super) struct OrphanFile<P: Platform, C> {
    list: ReducedList<P>,
    infos: BlockInfos<P>,
    entries: usize,
    choice: C,
}

impl<P: Platform, C: Choice<P>> OrphanFile<P, C> {
    /// Empty.
    pub(super) fn new(env: &Env, geometry: Geometry) -> Self {
        OrphanFile {
            list: ReducedList::new(Disk::new(env, geometry)),
            infos: BlockInfos::new(geometry),
            entries: geometry.entries,
            choice: C::new(env),
        }
    }

    /// ext4_orphan_file_add; none if there is no room, or none was found in time.
    fn file_add(&self, cpu: Cpu, handle: &Handle<'_, P>, ino: u32) -> Option<usize> {
        let block = self.choice.reserve(&self.infos, cpu)?;
        let access = handle.orphan_write_access(block);
        let at = self.choice.take(access.0, self.infos.free_entries(block), ino)?;
        handle.dirty_orphan_block(&access);
        Some(block * self.entries + at)
    }

    /// ext4_orphan_file_del.
    fn file_del(&self, handle: &Handle<'_, P>, entry: usize) {
        let block = entry / self.entries;
        let access = handle.orphan_write_access(block);
        let free_entries = self.infos.free_entries(block);
        self.choice.give_back(access.0.entry(entry % self.entries), free_entries);
        handle.dirty_orphan_block(&access);
    }
}

impl<P: Platform, C: Choice<P>> Orphans<P> for OrphanFile<P, C> {
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
        let entries = self.disk().orphan_file().iter().flat_map(|block| block.entries());
        // Relaxed: the caller is alone.
        inos.extend(entries.map(|entry| entry.load(Relaxed)).filter(|&ino| ino != 0));
        inos
    }
}
