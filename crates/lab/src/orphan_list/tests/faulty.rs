//! A list with an error planted in it, to see that the tests find it.

use super::oracle::{INODES, Op, Run};
use super::{ENV, subject};
use crate::orphan_list::Orphans;
use crate::orphan_list::disk::{Disk, Geometry, Handle};
use crate::orphan_list::journal::Mode;
use crate::orphan_list::list::{self, OrphanList};
use crate::orphan_list::node::OrphanNode;
use machine::{Cx, Platform, Real};

/// The error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// None: the list is right.
    None,
    /// A deletion does not change its predecessor on disk.
    ForgetsPredecessor,
    /// The super block is changed, but not dirtied.
    ForgetsToDirty,
    /// The deleted inode's next pointer stays.
    KeepsNext,
    /// Nothing is locked.
    TakesNoLock,
}

/// The list of 3.15, with an error.
pub(super) struct Faulty<P: Platform> {
    disk: Disk<P>,
    list: OrphanList<P>,
    fault: Fault,
}

impl<P: Platform> Faulty<P> {
    pub(super) fn new(inodes: u32, fault: Fault) -> Self {
        let disk = Disk::new(&ENV, Geometry::list_only(inodes));
        Faulty { disk, list: list::new(), fault }
    }

    fn locked(&self, cx: Cx<'_, P>, f: impl FnOnce()) {
        let locks = self.fault != Fault::TakesNoLock;
        if locks {
            self.list.lock.lock(cx);
        }
        f();
        if locks {
            self.list.lock.unlock();
        }
    }
}

impl<P: Platform> Orphans<P> for Faulty<P> {
    fn disk(&self) -> &Disk<P> {
        &self.disk
    }

    fn add(&self, cx: Cx<'_, P>, handle: &Handle<'_, P>, inode: &OrphanNode<P>) {
        self.locked(cx, || {
            if inode.is_listed() {
                return;
            }
            let super_block = handle.super_write_access();
            let own = handle.reserve_inode_write(inode.ino());
            // SAFETY: under the lock; without it the model ends at this very race.
            unsafe { list::push(&super_block, inode) };
            // SAFETY: as above.
            unsafe { self.list.add(inode) };
            if self.fault != Fault::ForgetsToDirty {
                handle.dirty_super(&super_block);
            }
            handle.mark_next_dirty(&own, inode);
        });
    }

    fn del(&self, cx: Cx<'_, P>, handle: &Handle<'_, P>, inode: &OrphanNode<P>) {
        self.locked(cx, || {
            if !inode.is_listed() {
                return;
            }
            let next_ino = inode.next_orphan();
            let own = handle.reserve_inode_write(inode.ino());
            // SAFETY: under the lock; without it a model ends at the race on the super block before.
            match unsafe { self.list.del(inode) } {
                None => {
                    let super_block = handle.super_write_access();
                    // SAFETY: as above.
                    unsafe { super_block.set_last_orphan(next_ino) };
                    handle.dirty_super(&super_block);
                }
                Some(_) if self.fault == Fault::ForgetsPredecessor => {}
                Some(prev) => list::bypass(handle, prev, next_ino),
            }
            if self.fault != Fault::KeepsNext {
                inode.set_next_orphan(0);
            }
            handle.mark_next_dirty(&own, inode);
        });
    }

    fn recorded(&self) -> Vec<u32> {
        // SAFETY: the caller is alone with the super block (the trait's contract).
        unsafe { self.list.inos() }
    }
}

/// Two orphans, of which the older one goes first.
const OLDER_GOES_FIRST: [Op; 9] = [
    Op::Create(1),
    Op::Create(20),
    Op::Unlink(1),
    Op::Commit,
    Op::BeginTruncate(20, 3),
    Op::Commit,
    Op::Evict(1),
    Op::Commit,
    Op::EndTruncate(20),
];

/// Two orphans, of which the newer one goes first.
const NEWER_GOES_FIRST: [Op; 5] =
    [Op::Create(1), Op::Create(20), Op::Unlink(1), Op::Unlink(20), Op::Evict(20)];

fn run(fault: Fault, ops: &[Op]) {
    let faulty = Faulty::new(INODES, fault);
    Run::new(subject("faulty", faulty, Mode::LOCKED_ACCESS)).run(ops);
}

#[test]
fn right_list_passes() {
    run(Fault::None, &OLDER_GOES_FIRST);
    run(Fault::None, &NEWER_GOES_FIRST);
}

#[test]
#[should_panic(expected = "on disk")]
fn forgotten_predecessor_is_found() {
    run(Fault::ForgetsPredecessor, &OLDER_GOES_FIRST);
}

#[test]
#[should_panic(expected = "on disk")]
fn forgotten_dirtying_is_found() {
    run(Fault::ForgetsToDirty, &OLDER_GOES_FIRST);
}

#[test]
#[should_panic(expected = "next_orphan == 0")]
fn kept_next_pointer_is_found() {
    run(Fault::KeepsNext, &NEWER_GOES_FIRST);
}

/// Why the disk must be looked at.
#[test]
fn faults_do_not_show_in_memory() {
    use super::{cx, nodes};
    let (rcu, nodes) = (machine::sync::Rcu::<Real>::new(ENV.cpus), nodes(3));
    let orphans = Faulty::new(3, Fault::ForgetsPredecessor);
    let cx = cx(&rcu, 0);
    let handle = orphans.disk().start(cx);
    nodes.iter().for_each(|node| orphans.add(cx, &handle, node));
    orphans.del(cx, &handle, &nodes[1]);
    assert_eq!(orphans.recorded(), [3, 1]);
    nodes.iter().for_each(|node| orphans.del(cx, &handle, node));
    assert_eq!(orphans.recorded(), []);
}
