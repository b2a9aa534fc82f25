//! What the designs with an orphan file have in common.

use super::disk::{Disk, Geometry};
use machine::{POwned, Platform, Word};
use std::sync::atomic::Ordering::Relaxed;

/// Blocks of an orphan file: what mke2fs gives a small file system.
pub(super) const DEFAULT_BLOCKS: usize = 32;
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

/// Inodes in the orphan file, for who is alone with the super block.
pub(super) fn recorded_in_file<P: Platform>(disk: &Disk<P>) -> impl Iterator<Item = u32> {
    let entries = disk.orphan_file().iter().flat_map(|block| block.entries());
    // Relaxed: the caller is alone.
    entries.map(|entry| entry.load(Relaxed)).filter(|&ino| ino != 0)
}
