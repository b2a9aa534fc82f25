//! Names of places in memory: what a line of the report is called.

use super::arena::with_arena;
use std::cell::RefCell;
use std::collections::BTreeMap;

thread_local! {
    /// By first address: the length and the name.
    static NAMES: RefCell<BTreeMap<usize, (usize, String)>> = const { RefCell::new(BTreeMap::new()) };
}

/// Says that the `len` bytes at `at` are `structure.field`. The latest name of an address counts. For this host thread.
pub fn name_range<T: ?Sized>(at: *const T, len: usize, name: impl Into<String>) {
    let at = at.cast::<u8>() as usize;
    let name = name.into();
    with_arena(false, || NAMES.with_borrow_mut(|names| names.insert(at, (len, name))));
}

/// Forgets all names of this host thread.
pub fn clear_names() {
    NAMES.with_borrow_mut(BTreeMap::clear);
}

/// The names that touch the `len` bytes at `at`, if any; joined if several.
pub(super) fn name_of(at: usize, len: usize) -> Option<String> {
    /// Ranges that begin further before are not looked for.
    const LONGEST: usize = 4096;
    NAMES.with_borrow(|names| {
        let mut found: Vec<&str> = Vec::new();
        for (begin, (length, name)) in names.range(at.saturating_sub(LONGEST)..at + len) {
            if begin + length > at && !found.contains(&name.as_str()) {
                found.push(name);
            }
        }
        (!found.is_empty()).then(|| found.join(", "))
    })
}
