//! The disk that orphans are recorded on: super block, inode table, orphan file, and the journal in front of them.
//!
//! Blocks live in buffers, which handles change; a commit copies the buffers that were dirtied to the durable image. A crash
//! leaves that image.
//!
//! What is taken inside of what (nothing is ever taken in the other direction, so nothing dead-locks):
//!
//! ```text
//! inode locks (i_mutex)
//! └── a handle: starting one may wait for a commit, which waits for open handles; so a task has one at a time, and takes it
//!     │         before any lock below
//!     ├── s_orphan_op_mutex (hashed; one at a time)
//!     │   └── s_orphan_lock, the mutex, or s_ondisk_orphan_lock (hashed)
//!     │       ├── s_orphan_lock, the spinlock (hashed)
//!     │       ├── i_raw_lock of one inode: predecessor's, own, one after the other
//!     │       └── b_state_lock of one buffer: super block, own inode's, predecessor's, one after the other
//!     │           └── j_list_lock
//!     └── of_lock (file_spin), with nothing inside
//! j_state_lock, with nothing inside
//! queue_lock (commit, crash)
//! └── i_raw_lock
//! ```

use super::image::{DiskImage, InodeImage, RawInode};
use super::journal::{Buffer, Journal, Mode, Ticket};
use super::node::OrphanNode;
use crate::design::Env;
use machine::sync::SpinLock;
use machine::{Cx, POwned, Plain, Platform, Word};
use std::cell::RefCell;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;

/// Inodes of 256 bytes in a block of 4 KiB.
const INODES_PER_BLOCK: u32 = 16;
/// Up to so many inodes, the whole table is made at once. (Loom does not know how a later block gets to the other threads; its models
/// have a few.)
const MADE_AT_ONCE: u32 = INODES_PER_BLOCK;
/// Entries of the orphan file on a line.
const ENTRIES_PER_LINE: usize = 16;

/// Entries of an orphan-file block of 4 KiB: 8 bytes are magic number and checksum.
pub(super) const ENTRIES_PER_BLOCK: usize = (4096 - 8) / 4;

/// A block's place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Block {
    Super,
    InodeTable(usize),
    OrphanFile(usize),
}

/// What a disk is to be like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    /// Numbers 1 to this one.
    pub(super) inodes: u32,
    /// Blocks of the orphan file; 0 for none.
    pub(super) orphan_blocks: usize,
    /// Entries in each of them.
    pub(super) entries: usize,
    pub(super) journal: Mode,
}

impl Geometry {
    /// Without an orphan file, with the journal of 3.15.
    pub(super) fn list_only(inodes: u32) -> Self {
        Geometry { inodes, orphan_blocks: 0, entries: 0, journal: Mode::LOCKED_ACCESS }
    }
}

/// A block of the inode table. Each inode has lines of its own, the journal head is common.
struct TableBlock<P: Platform> {
    buffer: Buffer<P>,
    /// Under i_raw_lock, which is the in-memory inode's in the kernel.
    inodes: Vec<POwned<P, SpinLock<P, RawInode>>>,
}

impl<P: Platform> TableBlock<P> {
    fn new(env: &Env, at: usize, count: usize) -> Self {
        let raw = |_| {
            let raw = POwned::new(SpinLock::new(env.spin, "i_raw_lock", RawInode::default()));
            P::name(&*raw, "ext4_inode");
            raw
        };
        TableBlock {
            buffer: Buffer::new(env, Block::InodeTable(at)),
            inodes: (0..count).map(raw).collect(),
        }
    }
}

/// A block of the orphan file.
pub(super) struct OrphanBlock<P: Platform> {
    buffer: Buffer<P>,
    lines: Vec<POwned<P, [P::U32; ENTRIES_PER_LINE]>>,
    entries: usize,
}

impl<P: Platform> OrphanBlock<P> {
    fn new(env: &Env, at: usize, entries: usize) -> Self {
        let line = |_| {
            let line = POwned::new(std::array::from_fn(|_| P::U32::new(0)));
            P::name(&*line, "orphan file's entries");
            line
        };
        let lines = entries.div_ceil(ENTRIES_PER_LINE);
        OrphanBlock {
            buffer: Buffer::new(env, Block::OrphanFile(at)),
            lines: (0..lines).map(line).collect(),
            entries,
        }
    }

    /// Its entries in order: 0, or the number of an orphan.
    pub(super) fn entries(&self) -> impl Iterator<Item = &P::U32> {
        self.lines.iter().flat_map(|line| line.iter()).take(self.entries)
    }

    /// One of them.
    #[inline]
    pub(super) fn entry(&self, at: usize) -> &P::U32 {
        &self.lines[at / ENTRIES_PER_LINE][at % ENTRIES_PER_LINE]
    }
}

/// A disk with a journal.
pub struct Disk<P: Platform> {
    journal: Journal<P>,
    super_buffer: Buffer<P>,
    /// s_last_orphan in the super block's buffer. Under the lock of the on-disk list, within a handle.
    last_orphan: POwned<P, P::Cell<u32>>,
    /// Of a large table blocks are made when they are first used: most of the CPUs' shares of inodes never are. Boxed, for those that
    /// are not there.
    table: Vec<OnceLock<Box<TableBlock<P>>>>,
    env: Env,
    inodes: u32,
    orphan_file: Vec<OrphanBlock<P>>,
    durable: SpinLock<P, DiskImage>,
}

impl<P: Platform> Disk<P> {
    pub(super) fn new(env: &Env, geometry: Geometry) -> Self {
        let last_orphan = POwned::new(P::Cell::new(0));
        P::name(&*last_orphan, "ext4_super_block.s_last_orphan");
        let table = (0..geometry.inodes.div_ceil(INODES_PER_BLOCK)).map(|_| OnceLock::new());
        let blocks = 0..geometry.orphan_blocks;
        let durable = DiskImage {
            last_orphan: 0,
            inodes: vec![RawInode::default(); geometry.inodes as usize],
            orphan_file: vec![vec![0; geometry.entries]; geometry.orphan_blocks],
        };
        let disk = Disk {
            journal: Journal::new(env, geometry.journal),
            super_buffer: Buffer::new(env, Block::Super),
            last_orphan,
            table: table.collect(),
            env: *env,
            inodes: geometry.inodes,
            orphan_file: blocks.map(|at| OrphanBlock::new(env, at, geometry.entries)).collect(),
            durable: SpinLock::new(env.spin, "queue_lock", durable),
        };
        if geometry.inodes <= MADE_AT_ONCE {
            (0..disk.table.len()).for_each(|at| {
                disk.table_block(at);
            });
        }
        disk
    }

    fn table_block(&self, at: usize) -> &TableBlock<P> {
        let make = || {
            let first = at as u32 * INODES_PER_BLOCK;
            let count = INODES_PER_BLOCK.min(self.inodes - first) as usize;
            Box::new(TableBlock::new(&self.env, at, count))
        };
        self.table[at].get_or_init(make)
    }

    /// Begins a handle in the running transaction (jbd2_journal_start); commits that one first if it is full. May sleep. The
    /// caller has no handle open: a commit would wait for it for ever.
    pub fn start(&self, cx: Cx<'_, P>) -> Handle<'_, P> {
        loop {
            match self.journal.start(cx) {
                Ok(ticket) => return Handle { disk: self, ticket: RefCell::new(ticket) },
                Err(full) => self.journal.commit(cx, Some(full), |blocks| self.write(&blocks)),
            }
        }
    }

    /// Makes everything durable that handles have done which ended before the call. Waits for open handles, of which the
    /// caller has none, and lets no new one begin meanwhile. May sleep.
    pub fn commit(&self, cx: Cx<'_, P>) {
        self.journal.commit(cx, None, |blocks| self.write(&blocks));
    }

    /// What a crash at this moment would leave: the state as of the last commit.
    pub fn crash(&self) -> DiskImage {
        self.durable.with(|durable| durable.clone())
    }

    /// Copies blocks to the durable image. No handle is open.
    fn write(&self, blocks: &[Block]) {
        self.durable.with(|durable| {
            for &block in blocks {
                match block {
                    Block::Super => {
                        // SAFETY: it is written only within handles. None is open, and the commit has acquired their ends.
                        durable.last_orphan = self.last_orphan.with(|ino| unsafe { *ino });
                    }
                    Block::InodeTable(at) => {
                        let first = at * INODES_PER_BLOCK as usize;
                        for (to, raw) in
                            durable.inodes[first..].iter_mut().zip(&self.table_block(at).inodes)
                        {
                            *to = raw.with(|raw| *raw);
                        }
                    }
                    Block::OrphanFile(at) => {
                        let entries = self.orphan_file[at].entries();
                        for (to, entry) in durable.orphan_file[at].iter_mut().zip(entries) {
                            // Relaxed: no handle is open, and the commit has acquired their ends.
                            *to = entry.load(Relaxed);
                        }
                    }
                }
            }
        });
    }

    /// The blocks of the orphan file.
    pub(super) fn orphan_file(&self) -> &[OrphanBlock<P>] {
        &self.orphan_file
    }
}

/// An open handle: part of a transaction, which does not commit before the handle ends. It ends when dropped.
pub struct Handle<'a, P: Platform> {
    disk: &'a Disk<P>,
    ticket: RefCell<Ticket>,
}

/// Write access to the super block's buffer.
#[must_use]
pub(super) struct SuperAccess<'a, P: Platform>(&'a Disk<P>);

/// Write access to the buffer that an inode is in (struct ext4_iloc).
#[must_use]
pub(super) struct InodeAccess<'a, P: Platform> {
    block: &'a TableBlock<P>,
    raw: &'a SpinLock<P, RawInode>,
}

/// Write access to a block of the orphan file.
#[must_use]
pub(super) struct OrphanAccess<'a, P: Platform>(pub(super) &'a OrphanBlock<P>);

impl<P: Platform> SuperAccess<'_, P> {
    /// s_last_orphan.
    ///
    /// # Safety
    /// The caller holds the lock of the on-disk list.
    pub(super) unsafe fn last_orphan(&self) -> u32 {
        // SAFETY: the lock keeps other handles out, this open handle keeps the commit out.
        self.0.last_orphan.with(|ino| unsafe { *ino })
    }

    /// Changes it; the buffer is then to be dirtied, under the lock or after it.
    ///
    /// # Safety
    /// As for [`SuperAccess::last_orphan`].
    pub(super) unsafe fn set_last_orphan(&self, ino: u32) {
        // SAFETY: as above.
        self.0.last_orphan.with_mut(|last| unsafe { *last = ino });
    }
}

impl<'a, P: Platform> Handle<'a, P> {
    /// Writes an inode: links, size, whether it is allocated. Its place on the orphan list stays as it is.
    ///
    /// # Panics
    /// If the disk has no such inode.
    pub fn set_inode(&self, ino: u32, image: InodeImage) {
        let access = self.reserve_inode_write(ino);
        self.mark_dirty(&access, |raw| raw.image = image);
    }

    /// Ends the handle (jbd2_journal_stop).
    pub fn stop(self) {
        drop(self);
    }

    /// ext4_journal_get_write_access to the super block.
    pub(super) fn super_write_access(&self) -> SuperAccess<'a, P> {
        self.disk.super_buffer.get_write_access(&self.disk.journal, &self.ticket.borrow());
        SuperAccess(self.disk)
    }

    /// Dirties the super block.
    pub(super) fn dirty_super(&self, access: &SuperAccess<'_, P>) {
        access.0.super_buffer.dirty(&self.disk.journal, &mut self.ticket.borrow_mut());
    }

    /// ext4_reserve_inode_write.
    pub(super) fn reserve_inode_write(&self, ino: u32) -> InodeAccess<'a, P> {
        let at = ino.checked_sub(1).expect("inode numbers begin at 1");
        let (block, at) = (at / INODES_PER_BLOCK, at % INODES_PER_BLOCK);
        let block = self.disk.table_block(block as usize);
        let raw = &*block.inodes[at as usize];
        block.buffer.get_write_access(&self.disk.journal, &self.ticket.borrow());
        InodeAccess { block, raw }
    }

    /// ext4_mark_iloc_dirty after a change of the orphan's next pointer: writes what is in memory now, be it of this CPU or of
    /// another one that was later.
    pub(super) fn mark_next_dirty(&self, access: &InodeAccess<'_, P>, node: &OrphanNode<P>) {
        self.mark_dirty(access, |raw| raw.next_orphan = node.next_orphan());
    }

    fn mark_dirty(&self, access: &InodeAccess<'_, P>, change: impl FnOnce(&mut RawInode)) {
        access.raw.with(change);
        access.block.buffer.dirty(&self.disk.journal, &mut self.ticket.borrow_mut());
    }

    /// ext4_journal_get_write_access to a block of the orphan file.
    pub(super) fn orphan_write_access(&self, block: usize) -> OrphanAccess<'a, P> {
        let block = &self.disk.orphan_file[block];
        block.buffer.get_write_access(&self.disk.journal, &self.ticket.borrow());
        OrphanAccess(block)
    }

    /// Dirties a block of the orphan file.
    pub(super) fn dirty_orphan_block(&self, access: &OrphanAccess<'_, P>) {
        access.0.buffer.dirty(&self.disk.journal, &mut self.ticket.borrow_mut());
    }

    /// Whether the handle is of that disk.
    pub(super) fn is_of(&self, disk: &Disk<P>) -> bool {
        std::ptr::eq(self.disk, disk)
    }
}

impl<P: Platform> Drop for Handle<'_, P> {
    fn drop(&mut self) {
        self.disk.journal.stop(self.ticket.get_mut());
    }
}
