//! The list with a lock in each node (lock_list of 2007): far ends of a list can be changed at the same time.
//!
//! A node's lock protects the edge behind it: its `next`, and the `prev` of the node that this points to. Locks are taken along
//! the list, from prev to next, the head's first. A node that is on no list yet may be locked before the head (`insert` by who
//! holds it): nobody who holds a lock of the list can be waiting for it.
//!
//! To take a node off, its predecessor's lock is needed, but which node that is may change until the lock is held: `del` reads
//! `prev` without a lock, locks that, and looks again. Between the look and the lock the predecessor may itself be taken off,
//! and its memory used for another file. That is harmless as long as the memory stays a file, lock included, which is what
//! the slab of files promises: the second look then finds another predecessor. (The kernel had files freed by RCU.)
//!
//! Ordering: `prev` is stored with Release and read with Acquire by `del`, so that the lock behind the pointer is one that has
//! been made. The second look may be Relaxed: `prev` changes only under the lock of the predecessor before the change; who
//! has taken that lock afterwards sees the change. All else is under the locks.

use super::list;
use super::steps::Steps;
use crate::object::{File, Link};
use machine::{Platform, PtrWord, Word};
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// Puts `node` behind `head`.
///
/// # Safety
/// Both are alive, `head` is the head of a lock_list, `node` is on no list, and the caller holds its lock.
pub(super) unsafe fn add_locked<P: Platform>(head: *mut Link<P>, node: *mut Link<P>) {
    // SAFETY: alive, by the caller's promise.
    let lock = unsafe { &(*head).lock };
    // SAFETY: the edge behind the head is locked, and the node is the caller's.
    lock.with(|| unsafe { list::insert(head, node) });
}

/// Takes `node` off.
///
/// # Safety
/// It is on a lock_list; nobody else takes it off; its memory and that of every file that was on the list stays a file.
pub(super) unsafe fn del<P: Platform, S: Steps>(node: *mut Link<P>) {
    // SAFETY: alive: it is on the list until the end of this function.
    let gone = unsafe { &*node };
    let before = loop {
        let prev = gone.prev.load(Acquire);
        // SAFETY: the head, which outlives its list, or a file, or one that was: its memory is a file still.
        let before = unsafe { &*prev };
        before.lock.lock();
        if !S::RECHECK_PREV || gone.prev.load(Relaxed) == prev {
            break before;
        }
        before.lock.unlock();
    };
    // SAFETY: the predecessor's lock is held, and the node's: both edges.
    gone.lock.with(|| unsafe { list::unlink(node) });
    before.lock.unlock();
}

/// Visits the files behind `head`, each under its own lock, until `visit` answers false. A file cannot be taken off while it is
/// visited, nor can one be passed unseen: the next node is locked before this one is let go.
///
/// # Safety
/// `head` is the head of a lock_list of files.
pub(super) unsafe fn walk<P: Platform>(head: &Link<P>, visit: &mut dyn FnMut(&File<P>) -> bool) {
    let end = list::word(std::ptr::from_ref(head));
    let mut at = head;
    at.lock.lock();
    loop {
        let next = at.next.load(Relaxed);
        if next == end {
            break;
        }
        // SAFETY: on the list and not the head: the link of a file. It is alive, for to take it off needs the lock of `at`.
        let file = unsafe { &*File::of_link(list::pointer::<Link<P>>(next)) };
        file.link.lock.lock();
        at.lock.unlock();
        at = &file.link;
        if !visit(file) {
            break;
        }
    }
    at.lock.unlock();
}
