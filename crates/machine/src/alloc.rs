//! Owned memory of a platform: a box whose address the simulator knows.

use crate::platform::Platform;
use std::alloc::Layout;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// A value in memory of platform `P`, aligned to a cache line at least, so that two of them never share one.
pub struct POwned<P: Platform, T> {
    value: NonNull<T>,
    platform: PhantomData<(P, T)>,
}

/// Line size of every machine here (POWER and the prefetcher's pairs aside).
const LINE: usize = 64;

impl<P: Platform, T> POwned<P, T> {
    fn layout() -> Layout {
        let layout = Layout::new::<T>().align_to(LINE).expect("64 is a power of two");
        // A size of 0 has no address; and no neighbour on the last line.
        Layout::from_size_align(layout.size().max(1), layout.align())
            .expect("it was valid")
            .pad_to_align()
    }

    /// Moves `value` there.
    pub fn new(value: T) -> Self {
        let memory = P::alloc(Self::layout()).cast::<T>();
        // SAFETY: fresh memory of T's size and alignment.
        unsafe { memory.write(value) };
        POwned { value: NonNull::new(memory).expect("alloc is never null"), platform: PhantomData }
    }

    /// Gives up ownership.
    pub fn into_raw(self) -> *mut T {
        let raw = self.value.as_ptr();
        std::mem::forget(self);
        raw
    }

    /// Takes ownership again.
    ///
    /// # Safety
    /// `raw` came from [`POwned::into_raw`] of the same platform and type and has no owner.
    pub unsafe fn from_raw(raw: *mut T) -> Self {
        POwned { value: NonNull::new(raw).expect("into_raw is never null"), platform: PhantomData }
    }
}

// SAFETY: it owns its value, as a box does.
unsafe impl<P: Platform, T: Send> Send for POwned<P, T> {}
// SAFETY: as above.
unsafe impl<P: Platform, T: Sync> Sync for POwned<P, T> {}

impl<P: Platform, T> Deref for POwned<P, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the value lives as long as `self`.
        unsafe { self.value.as_ref() }
    }
}

impl<P: Platform, T> DerefMut for POwned<P, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { self.value.as_mut() }
    }
}

impl<P: Platform, T> Drop for POwned<P, T> {
    fn drop(&mut self) {
        // SAFETY: the value is owned and was written in `new`; its memory came from `alloc` with the same layout.
        unsafe {
            self.value.drop_in_place();
            P::dealloc(self.value.as_ptr().cast(), Self::layout());
        }
    }
}

impl<P: Platform, T: std::fmt::Debug> std::fmt::Debug for POwned<P, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}
