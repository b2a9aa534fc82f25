//! One value per CPU, each on lines of its own.

use crate::platform::{Cpu, Platform};
use crossbeam_utils::CachePadded;
use std::alloc::Layout;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// An array indexed by CPU, padded to 128 bytes an element (x86 fetches lines in pairs).
pub struct PerCpu<P: Platform, T> {
    values: NonNull<CachePadded<T>>,
    cpus: usize,
    platform: PhantomData<(P, T)>,
}

// SAFETY: it owns its values, as a Vec does.
unsafe impl<P: Platform, T: Send> Send for PerCpu<P, T> {}
// SAFETY: as above.
unsafe impl<P: Platform, T: Sync> Sync for PerCpu<P, T> {}

impl<P: Platform, T> PerCpu<P, T> {
    fn layout(cpus: usize) -> Layout {
        Layout::array::<CachePadded<T>>(cpus.max(1)).expect("an array that fits into memory")
    }

    /// `make` is called for each CPU of `cpus` in turn.
    pub fn new(cpus: usize, make: impl FnMut(Cpu) -> T) -> Self {
        let values = P::alloc(Self::layout(cpus)).cast::<CachePadded<T>>();
        for (at, value) in (0..cpus).map(Cpu).map(make).enumerate() {
            // SAFETY: `at` is below `cpus`, for which there is room.
            unsafe { values.add(at).write(CachePadded::new(value)) };
        }
        let values = NonNull::new(values).expect("alloc is never null");
        PerCpu { values, cpus, platform: PhantomData }
    }

    /// The CPU's value.
    ///
    /// # Panics
    /// If there is no such CPU.
    #[inline(always)]
    pub fn get(&self, cpu: Cpu) -> &T {
        &self.all()[cpu.0]
    }

    /// Every CPU's.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.all().iter().map(|padded| &**padded)
    }

    #[inline(always)]
    fn all(&self) -> &[CachePadded<T>] {
        // SAFETY: `cpus` values were written in `new`.
        unsafe { std::slice::from_raw_parts(self.values.as_ptr(), self.cpus) }
    }
}

impl<P: Platform, T> Drop for PerCpu<P, T> {
    fn drop(&mut self) {
        // SAFETY: the values were written in `new` and are owned; the memory came from `alloc` with the same layout.
        unsafe {
            std::ptr::slice_from_raw_parts_mut(self.values.as_ptr(), self.cpus).drop_in_place();
            P::dealloc(self.values.as_ptr().cast(), Self::layout(self.cpus));
        }
    }
}
