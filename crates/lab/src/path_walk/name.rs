//! Names: their hash, and those that do not fit into the dentry.

use super::dentry::{Dentry, INLINE};
use crate::object::Raw;
use machine::{Cx, POwned, Plain, Platform};

/// Longest component (NAME_MAX).
pub(super) const NAME_MAX: usize = 255;

/// A name to look up (struct qstr).
#[derive(Clone, Copy, Debug)]
pub(super) struct Name<'a> {
    pub(super) bytes: &'a [u8],
    /// Of the directory and the name, as since 4.6: one number to compare and to find the chain by.
    pub(super) hash: u32,
}

impl<'a> Name<'a> {
    /// `bytes` as a name in `parent`.
    #[inline]
    pub(super) fn new<P: Platform>(parent: &Dentry<P>, bytes: &'a [u8]) -> Self {
        // partial_name_hash, begun with the directory.
        let hash = bytes.iter().fold(parent.id(), |hash, &byte| {
            let c = u32::from(byte);
            hash.wrapping_add(c << 4).wrapping_add(c >> 4).wrapping_mul(11)
        });
        Name { bytes, hash }
    }

    /// Hash and length in one word, so that both are compared at once.
    #[inline]
    pub(super) fn hash_len(&self) -> u64 {
        u64::from(self.hash) | (self.bytes.len() as u64) << 32
    }

    /// The hash in such a word.
    #[inline]
    pub(super) fn hash_of(hash_len: u64) -> u32 {
        hash_len as u32
    }
}

/// A name in a buffer of its own (struct external_name): too long for the dentry, or given by a rename. Never changed.
pub(super) struct LongName<P: Platform> {
    len: usize,
    bytes: P::Cell<[u8; NAME_MAX]>,
}

impl<P: Platform> LongName<P> {
    /// A buffer with `name`.
    pub(super) fn new(name: &Name<'_>) -> POwned<P, Self> {
        let mut bytes = [0; NAME_MAX];
        bytes[..name.bytes.len()].copy_from_slice(name.bytes);
        let long = POwned::new(LongName { len: name.bytes.len(), bytes: P::Cell::new(bytes) });
        P::name(&*long, "external_name");
        long
    }

    /// A buffer, if the name does not fit into a dentry.
    pub(super) fn if_needed(name: &Name<'_>) -> Option<POwned<P, Self>> {
        (name.bytes.len() > INLINE).then(|| LongName::new(name))
    }

    /// Whether it is this name.
    pub(super) fn is(&self, name: &[u8]) -> bool {
        // SAFETY: nobody writes the bytes as long as the buffer can be found.
        self.bytes.with(|bytes| unsafe { &(&(*bytes))[..self.len] == name })
    }

    /// Frees it.
    ///
    /// # Safety
    /// It came from `POwned::into_raw`, has no owner, and nobody can be reading it.
    pub(super) unsafe fn free(long: Raw<Self>) {
        // SAFETY: the caller's promise.
        let owned = unsafe { POwned::<P, Self>::from_raw(long.ptr()) };
        // Overwritten, so that loom reports a walker that still reads it.
        // SAFETY: as above: nobody reads it.
        owned.bytes.with_mut(|bytes| unsafe { *bytes = [0; NAME_MAX] });
    }

    /// Frees it after a grace period.
    ///
    /// # Safety
    /// It came from `POwned::into_raw`, and nobody who begins to read now can find it.
    pub(super) unsafe fn free_later(cx: Cx<'_, P>, long: Raw<Self>) {
        unsafe fn callback<P: Platform>(long: *mut (), _cx: Cx<'_, P>) {
            if let Some(long) = Raw::new(long.cast::<LongName<P>>()) {
                // SAFETY: a grace period after nobody could find it any more.
                unsafe { LongName::free(long) };
            }
        }
        // SAFETY: the caller's promise.
        unsafe { cx.rcu.call(cx, long.ptr().cast(), size_of::<Self>(), callback::<P>) };
    }
}
