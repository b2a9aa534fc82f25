//! What the designs have in common whose f_count is the number of references: only the table differs.

use super::files::{self, Files};
use super::{FdDesign, FdTable};
use crate::design::Env;
use crate::object::{File, Raw};
use machine::{Cx, Platform};

/// A table that a [`Plain`] design makes.
pub(super) trait Table<P: Platform>: FdTable<P> + 'static {
    /// Whether look-ups may still be at a file whose last reference is gone, so that it is freed by RCU.
    const READERS_UNDER_RCU: bool;

    /// An empty table of `first` slots.
    fn new(env: &Env, first: usize, limit: usize, shared: bool) -> Self;
}

/// The design with tables of type `T`.
pub(super) struct Plain<P: Platform, T> {
    files: Files<P>,
    env: Env,
    first: usize,
    table: std::marker::PhantomData<fn() -> T>,
}

impl<P: Platform, T: Table<P>> Plain<P, T> {
    /// Its tables start with `first` slots.
    pub(super) fn new(env: &Env, first: usize) -> Self {
        Plain { files: Files::new(env), env: *env, first, table: std::marker::PhantomData }
    }
}

impl<P: Platform, T: Table<P>> FdDesign<P> for Plain<P, T> {
    fn table(&self, limit: usize, shared: bool) -> Box<dyn FdTable<P>> {
        let table = Box::new(T::new(&self.env, self.first, limit, shared));
        P::name(&*table, "files_struct");
        table
    }

    fn alloc(&self, cx: Cx<'_, P>) -> Raw<File<P>> {
        self.files.alloc(cx, 1)
    }

    fn get_again(&self, file: &File<P>) {
        files::inc::<P>(&file.count);
    }

    fn drop_ref(&self, file: &File<P>) -> bool {
        files::dec_and_test::<P>(&file.count)
    }

    unsafe fn free(&self, cx: Cx<'_, P>, file: Raw<File<P>>) {
        if T::READERS_UNDER_RCU {
            // SAFETY: the last reference is gone (the caller's promise), the table's with it, so that no slot has it.
            unsafe { self.files.free_by_rcu(cx, file) };
        } else {
            // SAFETY: the last reference is gone, and look-ups take one under the lock that clears the slot.
            unsafe { self.files.free(cx, file) };
        }
    }

    unsafe fn in_use(&self) -> u64 {
        // SAFETY: the caller's promise.
        unsafe { self.files.in_use() }
    }
}
