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

use super::OrphanDesign;
use super::disk::OrphanBlock;
use super::orphan_file::{BlockInfos, Choice, FileDesign};
use crate::design::{DesignInfo, Env};
use machine::{Cpu, Platform, Word};
use std::marker::PhantomData;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The orphan file of 5.15.
pub struct File;

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
        Box::new(FileDesign::<LockFree<Atomic>>::new(env))
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

/// The choice without locks; `S` is [`Atomic`] but in tests.
pub(super) struct LockFree<S>(PhantomData<S>);

impl<P: Platform, S: Steps<P>> Choice<P> for LockFree<S> {
    fn new(_env: &Env) -> Self {
        LockFree(PhantomData)
    }

    fn reserve(&self, infos: &BlockInfos<P>, cpu: Cpu) -> Option<usize> {
        let blocks = infos.blocks();
        // A naive hash of the CPU.
        let start = cpu.0 * 13 % blocks;
        (start..blocks).chain(0..start).find(|&block| S::reserve(infos.free_entries(block)))
    }

    fn take(&self, block: &OrphanBlock<P>, free_entries: &P::U32, ino: u32) -> Option<usize> {
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
        // Relaxed: no entry was freed, only its reservation is given up.
        free_entries.fetch_add(1, Relaxed);
        None
    }

    fn give_back(&self, entry: &P::U32, free_entries: &P::U32) {
        S::release(entry, free_entries);
    }
}
