//! Recovery of images made by hand, and what an image is.

use super::super::image::{Corruption, DiskImage, InodeImage, InodeTable, RawInode};
use super::{ENV, LockFreeFile, LockedFile, cx, nodes, small_file, sorted, subjects};
use crate::orphan_list::Orphans;
use crate::orphan_list::file::{Atomic, Steps};
use crate::orphan_list::journal::Mode;
use machine::sync::Rcu;
use machine::{Platform, Real};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

fn raw(nlink: u32, next_orphan: u32) -> RawInode {
    RawInode { image: InodeImage { nlink, size: 5, used: true }, next_orphan }
}

/// Inodes 1 to 4 are in use; 5 is not.
fn image(last_orphan: u32, next: [u32; 4], orphan_file: &[&[u32]]) -> DiskImage {
    let mut inodes = InodeTable::new(5);
    let used = next.iter().zip([0, 1, 0, 1]).map(|(&n, nlink)| raw(nlink, n));
    inodes.block_mut(0).iter_mut().zip(used).for_each(|(to, raw)| *to = raw);
    let orphan_file = orphan_file.iter().map(|block| block.to_vec()).collect();
    DiskImage { last_orphan, inodes, orphan_file }
}

#[test]
fn list_and_file_are_processed() {
    let recovered = image(3, [0, 1, 2, 0], &[&[0, 4], &[0, 0]]).recover();
    assert_eq!(recovered.deleted, [3, 1]);
    assert_eq!(recovered.truncated, [2, 4]);
    assert_eq!(recovered.inodes.keys().copied().collect::<Vec<_>>(), [2, 4]);
    assert_eq!(recovered.errors, []);
}

#[test]
fn wrong_records_are_found() {
    let cases: [(DiskImage, Corruption, &[u32]); 7] = [
        (image(6, [0; 4], &[]), Corruption::NoSuchInode(6), &[]),
        (image(5, [0; 4], &[]), Corruption::NotAllocated(5), &[]),
        (image(1, [3, 0, 1, 0], &[]), Corruption::Cycle(1), &[1, 3]),
        (image(1, [1, 0, 0, 0], &[]), Corruption::Cycle(1), &[1]),
        (image(0, [0; 4], &[&[9, 1]]), Corruption::NoSuchInode(9), &[1]),
        (image(0, [0; 4], &[&[1, 3], &[1, 0]]), Corruption::Twice(1), &[1, 3]),
        (image(3, [0; 4], &[&[3, 1]]), Corruption::Twice(3), &[3, 1]),
    ];
    for (image, error, deleted) in cases {
        let recovered = image.recover();
        assert_eq!(recovered.errors, [error]);
        assert_eq!(recovered.deleted, deleted);
    }
}

#[test]
fn what_is_not_committed_is_lost_as_a_whole() {
    for subject in subjects::<Real>(20) {
        let (rcu, nodes) = (Rcu::new(4), nodes(2));
        let (cx, disk) = (cx(&rcu, 0), subject.orphans.disk());
        let before = disk.crash();
        let handle = disk.start(cx);
        handle.set_inode(1, InodeImage { nlink: 0, size: 1, used: true });
        subject.orphans.add(cx, &handle, &nodes[0]);
        handle.stop();
        assert_eq!(disk.crash(), before, "{}", subject.name);
        disk.commit(cx);
        assert_eq!(disk.crash().recover().deleted, [1], "{}", subject.name);
        // SAFETY: the super block is not used any more.
        unsafe { nodes[0].abandon() };
    }
}

/// Adds more than the file has room for, deletes all on another CPU, and begins anew.
fn uses_up_and_gives_back(orphans: &dyn Orphans<Real>) {
    let (rcu, nodes) = (Rcu::new(4), nodes(7));
    for round in 0..3 {
        let add = cx(&rcu, round);
        let handle = orphans.disk().start(add);
        for node in &nodes {
            handle.set_inode(node.ino(), InodeImage { nlink: 0, size: 0, used: true });
            orphans.add(add, &handle, node);
        }
        handle.stop();
        assert_eq!(nodes.iter().filter(|node| node.entry().is_some()).count(), 4);
        assert_eq!(nodes.iter().filter(|node| node.is_listed()).count(), 3);
        assert_eq!(sorted(orphans.recorded()), [1, 2, 3, 4, 5, 6, 7]);
        orphans.disk().commit(add);
        let recovered = orphans.disk().crash().recover();
        assert_eq!(
            (sorted(recovered.deleted), recovered.errors),
            (vec![1, 2, 3, 4, 5, 6, 7], vec![])
        );

        let del = cx(&rcu, round + 1);
        let handle = orphans.disk().start(del);
        nodes.iter().for_each(|node| orphans.del(del, &handle, node));
        handle.stop();
        assert_eq!(orphans.recorded(), []);
    }
}

#[test]
fn orphan_file_runs_out_and_is_given_back() {
    let geometry = small_file(7, 2, 2, Mode::LOCKLESS_ACCESS);
    uses_up_and_gives_back(&LockedFile::<Real>::new(&ENV, geometry));
    uses_up_and_gives_back(&LockFreeFile::<Real, Atomic>::new(&ENV, geometry));
}

/// Claims that always come too late; counted.
struct TooLate;

static CLAIMS: AtomicU32 = AtomicU32::new(0);

impl<P: Platform> Steps<P> for TooLate {
    fn claim(_entry: &P::U32, _ino: u32) -> bool {
        CLAIMS.fetch_add(1, Relaxed);
        false
    }
}

#[test]
fn three_rounds_in_vain_give_the_reservation_back() {
    let geometry = small_file(2, 1, 1, Mode::LOCKLESS_ACCESS);
    let orphans = LockFreeFile::<Real, TooLate>::new(&ENV, geometry);
    let (rcu, nodes) = (Rcu::new(4), nodes(2));
    let cx = cx(&rcu, 0);
    let handle = orphans.disk().start(cx);
    for (node, claims) in nodes.iter().zip([3, 6]) {
        orphans.add(cx, &handle, node);
        assert!(node.is_listed());
        assert_eq!(CLAIMS.load(Relaxed), claims, "an entry could be reserved");
    }
    nodes.iter().for_each(|node| orphans.del(cx, &handle, node));
}

#[test]
fn cpus_begin_at_blocks_of_their_own() {
    let geometry = small_file(4, 32, 2, Mode::LOCKLESS_ACCESS);
    let orphans = LockFreeFile::<Real, Atomic>::new(&ENV, geometry);
    let (rcu, nodes) = (Rcu::new(4), nodes(4));
    for (cpu, node) in nodes.iter().enumerate() {
        let cx = cx(&rcu, cpu);
        let handle = orphans.disk().start(cx);
        orphans.add(cx, &handle, node);
    }
    let entries = nodes.iter().map(|node| node.entry().expect("there is room"));
    assert_eq!(entries.collect::<Vec<_>>(), [0, 26, 52, 14]);
}

#[test]
#[should_panic(expected = "freed while it is on the orphan list")]
fn recorded_node_must_not_be_dropped() {
    let orphans = subjects::<Real>(1).remove(0).orphans;
    let (rcu, nodes) = (Rcu::new(4), nodes(1));
    let cx = cx(&rcu, 0);
    let handle = orphans.disk().start(cx);
    orphans.add(cx, &handle, &nodes[0]);
    drop(nodes);
}
