//! What a crash leaves on the disk, and what mounting makes of it.

use std::collections::{BTreeMap, BTreeSet};

/// An inode on disk, as far as the VFS says what is in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InodeImage {
    /// Links; an inode without any that is still there is to be deleted.
    pub nlink: u32,
    /// Size in bytes.
    pub size: u64,
    /// Whether the inode is allocated.
    pub used: bool,
}

/// An entry of the inode table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RawInode {
    pub(super) image: InodeImage,
    /// i_dtime as the next pointer of the orphan list.
    pub(super) next_orphan: u32,
}

/// Inodes of 256 bytes in a block of 4 KiB.
pub(super) const INODES_PER_BLOCK: u32 = 16;

/// The inode table on disk. It is large, and most of its blocks are never written: those are not here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InodeTable {
    /// Numbers 1 to this one.
    inodes: u32,
    written: BTreeMap<usize, Box<[RawInode; INODES_PER_BLOCK as usize]>>,
}

impl InodeTable {
    /// With so many inodes, none in use.
    pub(super) fn new(inodes: u32) -> Self {
        InodeTable { inodes, written: BTreeMap::new() }
    }

    /// A block, to be written. Of the last one there may be more than there are inodes.
    pub(super) fn block_mut(&mut self, at: usize) -> &mut [RawInode] {
        &mut **self.written.entry(at).or_default()
    }

    /// The inode with a number; none if there is no such number.
    pub(super) fn get(&self, ino: u32) -> Option<RawInode> {
        let at = ino.checked_sub(1).filter(|at| *at < self.inodes)?;
        let block = self.written.get(&((at / INODES_PER_BLOCK) as usize));
        Some(block.map_or_else(RawInode::default, |block| block[(at % INODES_PER_BLOCK) as usize]))
    }

    /// Every inode with its number.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, RawInode)> {
        (1..=self.inodes).filter_map(|ino| Some((ino, self.get(ino)?)))
    }
}

/// The durable state of a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskImage {
    /// s_last_orphan.
    pub(super) last_orphan: u32,
    /// The inode table.
    pub(super) inodes: InodeTable,
    /// Entries of the orphan file, by block.
    pub(super) orphan_file: Vec<Vec<u32>>,
}

/// A record of an orphan that cannot be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corruption {
    /// There is no such inode number.
    NoSuchInode(u32),
    /// The inode is not allocated.
    NotAllocated(u32),
    /// The list comes back to an inode.
    Cycle(u32),
    /// The inode is recorded a second time in the orphan file.
    Twice(u32),
}

/// What mounting after a crash has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Inodes deleted, for they had no link; in the order of their records.
    pub deleted: Vec<u32>,
    /// Inodes whose truncation was finished: cut to the size on disk.
    pub truncated: Vec<u32>,
    /// The inodes there are afterwards, by number.
    pub inodes: BTreeMap<u32, InodeImage>,
    /// Records that cannot be right; empty for a consistent disk. A bad one ends the walk of the list, as it does in ext4,
    /// and is skipped in the orphan file.
    pub errors: Vec<Corruption>,
}

impl DiskImage {
    /// Processes the orphans as a mount does (ext4_orphan_cleanup): first the list, then the orphan file.
    pub fn recover(&self) -> Recovered {
        let mut recovered = Recovered::default();
        for (ino, raw) in self.inodes.iter() {
            if raw.image.used {
                recovered.inodes.insert(ino, raw.image);
            }
        }
        let mut seen = BTreeSet::new();
        let mut at = self.last_orphan;
        while at != 0 {
            let next =
                if seen.contains(&at) { Err(Corruption::Cycle(at)) } else { self.orphan(at) };
            match next {
                Ok(raw) => {
                    recovered.process(at, raw);
                    seen.insert(at);
                    at = raw.next_orphan;
                }
                Err(error) => {
                    recovered.errors.push(error);
                    break;
                }
            }
        }
        for &ino in self.orphan_file.iter().flatten().filter(|&&ino| ino != 0) {
            match self.orphan(ino) {
                Ok(raw) if seen.insert(ino) => recovered.process(ino, raw),
                Ok(_) => recovered.errors.push(Corruption::Twice(ino)),
                Err(error) => recovered.errors.push(error),
            }
        }
        recovered
    }

    /// The inode of a record (ext4_orphan_get).
    fn orphan(&self, ino: u32) -> Result<RawInode, Corruption> {
        let raw = self.inodes.get(ino).ok_or(Corruption::NoSuchInode(ino))?;
        if raw.image.used { Ok(raw) } else { Err(Corruption::NotAllocated(ino)) }
    }
}

impl Recovered {
    fn process(&mut self, ino: u32, raw: RawInode) {
        if raw.image.nlink == 0 {
            self.inodes.remove(&ino);
            self.deleted.push(ino);
        } else {
            self.truncated.push(ino);
        }
    }
}
