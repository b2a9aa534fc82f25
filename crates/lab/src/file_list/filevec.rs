//! A vector of 15 files per CPU in front of a list whose nodes have locks of their own.
//!
//! open: the file goes into the next slot of the own CPU's vector, under the file's own lock, and its `next` holds the slot's
//! address with bit 0 set; the list it would go on is kept in `prev`, for the vector is the whole kernel's. The 15th file makes
//! the CPU move those that are still in their slots to their lists, itself among them, and begin again at the first slot. close,
//! under the file's own lock: if bit 0 is set the slot is cleared, and that is all; else the file is on the list and comes off
//! it (`lock_list::del`). So of files that are closed soon, 14 of 15 never reach the list.
//!
//! A walk first empties every CPU's vector, then goes along the list, hand over hand. Every file that is on the list from
//! begin to end is seen: it is in a slot that the drain moves, or somebody else has moved it; whoever moves a file links it
//! *before* he clears the slot, so that who finds the slot empty will find the file on the list; and files do not move on the
//! list. A file that is being visited is locked, so that its close waits.
//!
//! What is different from the kernel: there the drain was `schedule_on_each_cpu`, which ran it on each CPU in turn (and in -rt
//! dead-locked, or was called where sleeping is not allowed). Here the walker does it itself from where it runs. So slots are
//! atomics, only the CPU itself fills them and counts them, and anybody may clear them, under the lock of the file that is in
//! it. The kernel's `s_barrier`, at which opens and closes waited for the end of a walk, is not there: a remount, for which it
//! was made, holds newcomers by other means (the write_count design `none`).
//!
//! Shared: none by 14 of 15 opens and closes in the order of most programs: the own CPU's vector (two lines) and the file's own
//! line. By the 15th, and by a file that stays open: the list's head and its neighbours' links and locks. Closing another
//! CPU's file: its slot.
//! Ordering: "slot holds file" and "file's `next` is that slot, tagged" are one fact, which changes only under the file's lock;
//! so what is read of it under the lock may be Relaxed. A slot is filled with Release and read by a drain with Acquire, for the
//! file's memory must be one that was made, lock included; it is cleared with Release, so that who finds it empty has seen the
//! file get onto the list. A drain may find a file that has been closed and is another now: its memory stays a file's (the slab's
//! promise), and under its lock the slot no longer holds it.
//! Source: Peter Zijlstra, "breaking the global file_list_lock", 2007-01 (mail 004), as in the -rt trees of 2.6.20 to 2.6.22.

use super::steps::{AllSteps, Steps};
use super::{FileListDesign, SbFiles, list, lock_list};
use crate::design::{DesignInfo, Env};
use crate::object::{File, Link};
use machine::sync::PerCpu;
use machine::{Cx, POwned, Plain, Platform, PtrWord, Word};
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// A per-CPU filevec and the lock_list (2007).
pub struct FileVec;

impl FileVec {
    /// What is known of it.
    pub const INFO: DesignInfo = DesignInfo {
        part: "file_list",
        name: "filevec",
        kernel: "proposed 2007, 2.6.20-rt",
        source: "Zijlstra, [PATCH 0/7] breaking the global file_list_lock, 2007-01-28",
        shared: "none by 14 of 15 short opens; else head and neighbours on the list",
        reconstruction: false,
    };

    /// For a kernel like `env`.
    pub fn make<P: Platform>(env: &Env) -> Box<dyn FileListDesign<P>> {
        Box::new(Kernel::<P, AllSteps, SLOTS>::new(env))
    }
}

/// With the count beside them they are two lines.
const SLOTS: usize = 15;

/// Set in `Link::next` while the file is in a vector.
const IN_VEC: u64 = 1;

type Slot<P> = <P as Platform>::Ptr<Link<P>>;

#[repr(C)]
struct Vector<P: Platform, const N: usize> {
    /// Slots used since the CPU last emptied it; those of files that were closed meanwhile count. Only the CPU itself touches it.
    nr: P::Cell<usize>,
    slots: [Slot<P>; N],
}

type Vectors<P, const N: usize> = Arc<PerCpu<P, Vector<P, N>>>;

/// The design; `N` slots, so that models can do with few.
pub(super) struct Kernel<P: Platform, S, const N: usize> {
    env: Env,
    vectors: Vectors<P, N>,
    steps: PhantomData<S>,
}

struct Sb<P: Platform, S, const N: usize> {
    vectors: Vectors<P, N>,
    s_files: POwned<P, Link<P>>,
    steps: PhantomData<S>,
}

impl<P: Platform, S: Steps, const N: usize> Kernel<P, S, N> {
    pub(super) fn new(env: &Env) -> Self {
        let slots = || std::array::from_fn(|_| Slot::<P>::new(null_mut()));
        let vector = |_| Vector { nr: P::Cell::new(0), slots: slots() };
        let vectors = Arc::new(PerCpu::new(env.cpus, vector));
        vectors.iter().for_each(|cpu| P::name(cpu, "filevec (per CPU)"));
        Kernel { env: *env, vectors, steps: PhantomData }
    }
}

impl<P: Platform, S: Steps, const N: usize> FileListDesign<P> for Kernel<P, S, N> {
    fn sb(&self) -> Box<dyn SbFiles<P>> {
        let s_files = list::head(&self.env);
        Box::new(Sb::<P, S, N> { vectors: self.vectors.clone(), s_files, steps: PhantomData })
    }
}

impl<P: Platform, const N: usize> Vector<P, N> {
    /// Moves the files that are still here to their lists. Anybody may do it.
    fn drain<S: Steps>(&self) {
        for slot in &self.slots {
            let node = slot.load(Acquire);
            if node.is_null() {
                continue;
            }
            // SAFETY: a file, or one that was: its memory is a file still (the slab's promise).
            let link = unsafe { &*node };
            link.lock.with(|| {
                if slot.load(Relaxed) != node {
                    // Closed, or moved by another.
                    return;
                }
                if !S::LINK_BEFORE_CLEAR {
                    slot.store(null_mut(), Release);
                }
                let head = link.prev.load(Relaxed);
                // SAFETY: the file is in the slot, so it is open, and so is its super block, whose list's head this is; it
                // is on no list, and we hold its lock.
                unsafe { lock_list::add_locked(head, node) };
                if S::LINK_BEFORE_CLEAR {
                    slot.store(null_mut(), Release);
                }
            });
        }
    }
}

impl<P: Platform, S: Steps, const N: usize> Sb<P, S, N> {
    /// Clears the slot that the file is in; false if it is in none. Under the file's lock.
    fn leave_vector(link: &Link<P>) -> bool {
        let word = link.next.load(Relaxed);
        if word & IN_VEC == 0 {
            return false;
        }
        let slot = list::pointer::<Slot<P>>(word & !IN_VEC);
        // SAFETY: a slot of one of the kernel's vectors, which live as long as any super block.
        unsafe { &*slot }.store(null_mut(), Release);
        list::clear(link);
        true
    }
}

impl<P: Platform, S: Steps, const N: usize> SbFiles<P> for Sb<P, S, N> {
    fn add(&self, cx: Cx<'_, P>, file: &File<P>) {
        let vector = self.vectors.get(cx.cpu);
        // SAFETY: only the CPU itself touches it, one operation at a time.
        let at = vector.nr.with(|nr| unsafe { *nr });
        let slot = &vector.slots[at];
        let head = std::ptr::from_ref(&*self.s_files).cast_mut();
        file.link.lock.with(|| {
            file.link.prev.store(head, Relaxed);
            file.link.next.store(list::word(std::ptr::from_ref(slot)) | IN_VEC, Relaxed);
            slot.store(list::node(file), Release);
        });
        let full = at + 1 == N;
        if full {
            vector.drain::<S>();
        }
        // SAFETY: as above.
        vector.nr.with_mut(|nr| unsafe { *nr = if full { 0 } else { at + 1 } });
    }

    fn del(&self, _cx: Cx<'_, P>, file: &File<P>) {
        let link = &file.link;
        let left = if S::CLOSE_UNDER_LOCK {
            link.lock.with(|| Self::leave_vector(link))
        } else {
            Self::leave_vector(link)
        };
        if !left {
            // SAFETY: the file is on the list (contract), and nobody puts it back into a vector or takes it off but its one
            // closer; files stay files (the slab's promise).
            unsafe { lock_list::del::<P, S>(list::node(file)) };
        }
    }

    fn walk(&self, _cx: Cx<'_, P>, visit: &mut dyn FnMut(&File<P>) -> bool) -> bool {
        self.vectors.iter().for_each(Vector::drain::<S>);
        // SAFETY: only files are on it.
        unsafe { lock_list::walk(&self.s_files, visit) };
        true
    }
}
