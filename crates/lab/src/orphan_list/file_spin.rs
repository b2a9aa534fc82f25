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

use super::OrphanDesign;
use super::disk::OrphanBlock;
use super::orphan_file::{BlockInfos, Choice, FileDesign};
use crate::design::{DesignInfo, Env};
use machine::sync::Spin;
use machine::{Cpu, POwned, Platform, Word};
use std::sync::atomic::Ordering::Relaxed;

/// The orphan file of 2015.
pub struct FileSpin;

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
        Box::new(FileDesign::<Locked<P>>::new(env))
    }
}

/// The choice under a lock.
pub(super) struct Locked<P: Platform> {
    of_lock: POwned<P, Spin<P>>,
}

impl<P: Platform> Choice<P> for Locked<P> {
    fn new(env: &Env) -> Self {
        Locked { of_lock: POwned::new(Spin::new(env.spin, "of_lock")) }
    }

    fn reserve(&self, infos: &BlockInfos<P>, _cpu: Cpu) -> Option<usize> {
        self.of_lock.with(|| {
            let mut blocks = 0..infos.blocks();
            let block = blocks.find(|&block| infos.free_entries(block).load(Relaxed) > 0)?;
            let free = infos.free_entries(block);
            free.store(free.load(Relaxed) - 1, Relaxed);
            Some(block)
        })
    }

    fn take(&self, block: &OrphanBlock<P>, _free_entries: &P::U32, ino: u32) -> Option<usize> {
        self.of_lock.with(|| {
            let at = block.entries().position(|entry| entry.load(Relaxed) == 0);
            let at = at.expect("a free entry of the block was reserved");
            block.entry(at).store(ino, Relaxed);
            Some(at)
        })
    }

    fn give_back(&self, entry: &P::U32, free_entries: &P::U32) {
        self.of_lock.with(|| {
            entry.store(0, Relaxed);
            free_entries.store(free_entries.load(Relaxed) + 1, Relaxed);
        });
    }
}
