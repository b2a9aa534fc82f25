//! Doubly linked lists of files, as the kernel's list_head: circular, through a head that is a link itself.
//!
//! Ordering: whoever reads or writes a list holds the lock that protects the edge, so that all accesses may be Relaxed; but
//! for `prev`, which lock_list reads without a lock to learn which one to take: see [`super::lock_list`].

use crate::design::Env;
use crate::object::{File, Link};
use machine::{POwned, Platform, PtrWord, Word};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// The link of a file, with the right to go back to the file.
pub(super) fn node<P: Platform>(file: &File<P>) -> *mut Link<P> {
    // The link is the first field (see `File::of_link`); a pointer to the field alone would not reach the rest.
    std::ptr::from_ref(file).cast_mut().cast()
}

/// A pointer as `Link::next` keeps it.
pub(super) fn word<T>(pointer: *const T) -> u64 {
    pointer.expose_provenance() as u64
}

/// What `Link::next` points to.
pub(super) fn pointer<T>(word: u64) -> *mut T {
    std::ptr::with_exposed_provenance_mut(word as usize)
}

fn raw<P: Platform>(head: &Link<P>) -> *mut Link<P> {
    std::ptr::from_ref(head).cast_mut()
}

/// The head of an empty list, on a line of its own.
pub(super) fn head<P: Platform>(env: &Env) -> POwned<P, Link<P>> {
    let head = POwned::new(Link::new(env));
    P::name(&*head, "super_block.s_files");
    init(&head);
    head
}

/// Makes `head`, which has its final address, an empty list.
pub(super) fn init<P: Platform>(head: &Link<P>) {
    head.next.store(word(raw(head)), Relaxed);
    head.prev.store(raw(head), Release);
}

/// Puts `node` behind `head` (list_add).
///
/// # Safety
/// Both are alive; `head` is on a list and `node` on none; the caller holds what protects the edge behind `head`, and `node`
/// is its own.
pub(super) unsafe fn insert<P: Platform>(head: *mut Link<P>, node: *mut Link<P>) {
    // SAFETY: alive, by the caller's promise.
    let (before, new) = unsafe { (&*head, &*node) };
    let next = before.next.load(Relaxed);
    // SAFETY: what is on a list is alive; the edge is the caller's.
    let after = unsafe { &*pointer::<Link<P>>(next) };
    new.next.store(next, Relaxed);
    new.prev.store(head, Release);
    after.prev.store(node, Release);
    before.next.store(word(node), Relaxed);
}

/// Takes `node` off its list (list_del).
///
/// # Safety
/// It is on a list, and the caller holds what protects the edges on both sides.
pub(super) unsafe fn unlink<P: Platform>(node: *mut Link<P>) {
    // SAFETY: alive, by the caller's promise.
    let gone = unsafe { &*node };
    let (prev, next) = (gone.prev.load(Relaxed), gone.next.load(Relaxed));
    // SAFETY: neighbours on the list are alive; both edges are the caller's.
    let (before, after) = unsafe { (&*prev, &*pointer::<Link<P>>(next)) };
    after.prev.store(prev, Release);
    before.next.store(next, Relaxed);
    clear(gone);
}

/// Marks a link as being on no list.
pub(super) fn clear<P: Platform>(link: &Link<P>) {
    link.next.store(0, Relaxed);
    link.prev.store(null_mut(), Release);
}

/// Visits the files behind `head` until `visit` answers false; then it answers false, too.
///
/// # Safety
/// The head was initialised, everything on the list is the link of a file, and the caller holds what protects all edges.
pub(super) unsafe fn visit<P: Platform>(
    head: &Link<P>,
    visit: &mut dyn FnMut(&File<P>) -> bool,
) -> bool {
    let mut next = head.next.load(Relaxed);
    while next != word(raw(head)) {
        let node = pointer::<Link<P>>(next);
        // SAFETY: on the list and not the head: the link of a file, which is alive as long as it is on the list.
        let file = unsafe { &*File::of_link(node) };
        next = file.link.next.load(Relaxed);
        if !visit(file) {
            return false;
        }
    }
    true
}
