//! Arrays in memory of the platform, and the slots of a table.

use crate::object::File;
use machine::{Platform, PtrWord};
use std::alloc::Layout;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

/// A fixed number of values on cache lines of their own.
pub(super) struct Array<P: Platform, T> {
    values: NonNull<T>,
    len: usize,
    platform: PhantomData<(P, T)>,
}

// SAFETY: it owns its values, as a Vec does.
unsafe impl<P: Platform, T: Send> Send for Array<P, T> {}
// SAFETY: as above.
unsafe impl<P: Platform, T: Sync> Sync for Array<P, T> {}

impl<P: Platform, T> Array<P, T> {
    fn layout(len: usize) -> Layout {
        // Whole lines, so that no neighbour shares the first or the last one. A size of 0 has no address.
        let array = Layout::array::<T>(len.max(1)).expect("an array that fits into memory");
        array.align_to(64).expect("64 is a power of two").pad_to_align()
    }

    /// `make` is called for each place in turn; `name` is what the kernel calls the array.
    pub(super) fn new(name: &'static str, len: usize, make: impl FnMut(usize) -> T) -> Self {
        let values = P::alloc(Self::layout(len)).cast::<T>();
        for (at, value) in (0..len).map(make).enumerate() {
            // SAFETY: `at` is below `len`, for which there is room.
            unsafe { values.add(at).write(value) };
        }
        let values = NonNull::new(values).expect("alloc is never null");
        let array = Array { values, len, platform: PhantomData };
        P::name(&*array, name);
        array
    }

    /// Bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        Self::layout(self.len).size()
    }
}

impl<P: Platform, T> Deref for Array<P, T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `len` values were written in `new` and live as long as `self`.
        unsafe { std::slice::from_raw_parts(self.values.as_ptr(), self.len) }
    }
}

impl<P: Platform, T> Drop for Array<P, T> {
    fn drop(&mut self) {
        // SAFETY: the values were written in `new` and are owned; the memory came from `alloc` with the same layout.
        unsafe {
            std::ptr::slice_from_raw_parts_mut(self.values.as_ptr(), self.len).drop_in_place();
            P::dealloc(self.values.as_ptr().cast(), Self::layout(self.len));
        }
    }
}

/// A place for a file in a table; null is empty.
pub(super) type Slot<P> = <P as Platform>::Ptr<File<P>>;

/// The place that a descriptor means.
#[inline]
pub(super) fn index(fd: i32) -> Option<usize> {
    usize::try_from(fd).ok()
}

/// The descriptors that have a file. The caller is alone with the slots.
pub(super) fn used_slots<P: Platform>(slots: &[Slot<P>]) -> Vec<i32> {
    // Relaxed: alone.
    let used = slots.iter().enumerate().filter(|(_, slot)| !slot.load(Relaxed).is_null());
    used.map(|(fd, _)| fd as i32).collect()
}
