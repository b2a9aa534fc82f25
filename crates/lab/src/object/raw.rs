//! A pointer as the kernel has it: who may follow it is a matter of reference counts and RCU, not of types.

use std::ptr::NonNull;

/// A pointer to a kernel object. `Copy`: taking and dropping references is the designs' business, which is what is studied here.
pub struct Raw<T>(NonNull<T>);

impl<T> std::fmt::Debug for Raw<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<T> Clone for Raw<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Raw<T> {}

impl<T> PartialEq for Raw<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T> Eq for Raw<T> {}

// SAFETY: a pointer alone does nothing; following it is unsafe, and the objects are `Sync`.
unsafe impl<T: Sync> Send for Raw<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Raw<T> {}

impl<T> Raw<T> {
    /// From a pointer that is not null.
    pub fn new(ptr: *mut T) -> Option<Raw<T>> {
        NonNull::new(ptr).map(Raw)
    }

    /// From a reference.
    pub fn of(object: &T) -> Raw<T> {
        Raw(NonNull::from(object))
    }

    /// The plain pointer.
    pub fn ptr(self) -> *mut T {
        self.0.as_ptr()
    }

    /// The pointer as the slab wants it.
    pub fn non_null(self) -> NonNull<T> {
        self.0
    }

    /// The object.
    ///
    /// # Safety
    /// The object must stay allocated as this type for `'a`: by a reference held, inside an RCU read-side section, by type-safe
    /// slab memory, or because it is never freed. For each use one of them is named.
    #[inline(always)]
    pub unsafe fn get<'a>(self) -> &'a T {
        // SAFETY: the caller's promise.
        unsafe { self.0.as_ref() }
    }
}

impl<T> From<NonNull<T>> for Raw<T> {
    fn from(ptr: NonNull<T>) -> Self {
        Raw(ptr)
    }
}
