//! What is in a regular file, and how much of it.

use machine::sync::SpinLock;
use machine::{Platform, SpinKind, Word};
use std::sync::atomic::Ordering::Relaxed;

/// The bytes, under a lock of their own (page locks, as it were), and their number, which is read without any (i_size).
pub struct FileData<P: Platform> {
    bytes: SpinLock<P, Vec<u8>>,
    /// Changed under the lock.
    size: P::U64,
}

impl<P: Platform> FileData<P> {
    /// Of an empty file.
    pub fn new(spin: SpinKind) -> Self {
        FileData { bytes: SpinLock::new(spin, "page lock", Vec::new()), size: P::U64::new(0) }
    }

    /// Gives its lines their names; once it is where it stays.
    pub(crate) fn name_lines(&self) {
        P::name(&self.bytes, "inode.i_data");
        P::name(&self.size, "inode.i_size");
    }

    /// How many bytes there are (i_size_read). May be another number a moment later, unless the inode's lock is held.
    pub fn size(&self) -> u64 {
        // Relaxed: a number for itself; who must know that it stays has the inode's lock, which orders.
        self.size.load(Relaxed)
    }

    /// Reads the bytes.
    pub fn read<R>(&self, read: impl FnOnce(&[u8]) -> R) -> R {
        self.bytes.with(|bytes| read(bytes))
    }

    /// Changes the bytes; under the inode's lock.
    pub fn change(&self, change: impl FnOnce(&mut Vec<u8>)) {
        self.bytes.with(|bytes| {
            let before = bytes.len();
            change(bytes);
            // i_size_write only where it is another: the line stays where it is otherwise.
            if bytes.len() != before {
                // Relaxed: as in `size`.
                self.size.store(bytes.len() as u64, Relaxed);
            }
        });
    }
}
