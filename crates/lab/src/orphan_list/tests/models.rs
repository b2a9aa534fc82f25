//! Every interleaving of two CPUs.

use super::super::image::InodeImage;
use super::super::node::OrphanNode;
use super::faulty::{Fault, Faulty};
use super::stress::check_image;
use super::{ENV, LockFreeFile, LockedFile, cx, nodes, small_file, sorted};
use crate::orphan_list::Orphans;
use crate::orphan_list::disk::{Disk, Geometry};
use crate::orphan_list::file::{Atomic, Steps};
use crate::orphan_list::hashed::HashedList;
use crate::orphan_list::journal::Mode;
use crate::orphan_list::mutex::GlobalMutex;
use crate::orphan_list::reduced::ReducedList;
use machine::sync::Rcu;
use machine::testing::{found, model};
use machine::{Loom, Platform, Word};
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

const INODES: u32 = 3;

type Made = Box<dyn Orphans<Loom>>;
type Make = fn() -> Made;

/// Each design in a size that a model can hold. The file has one block with one entry: the second orphan goes to the list.
const MAKERS: [(&str, Make); 5] = [
    ("mutex", || GlobalMutex::make(&ENV).sb(INODES)),
    ("reduced", || Box::new(ReducedList::new(Disk::new(&ENV, Geometry::list_only(INODES))))),
    ("hashed", || Box::new(HashedList::new(&ENV, INODES, 1))),
    ("file_spin", || {
        Box::new(LockedFile::<Loom>::new(&ENV, small_file(INODES, 1, 1, Mode::LOCKLESS_ACCESS)))
    }),
    ("file", || file::<Atomic>(1)),
];

fn file<S: Steps<Loom>>(entries: usize) -> Made {
    let geometry = small_file(INODES, 1, entries, Mode::LOCKLESS_ACCESS);
    Box::new(LockFreeFile::<Loom, S>::new(&ENV, geometry))
}

/// A super block with three inodes.
struct Bench {
    nodes: Box<[OrphanNode<Loom>]>,
    orphans: Made,
    rcu: Rcu<Loom>,
}

impl Bench {
    fn new(orphans: Made) -> Arc<Self> {
        Arc::new(Bench { nodes: nodes(INODES), orphans, rcu: Rcu::new(2) })
    }

    /// Unlinks the inode, in one handle.
    fn add(&self, cpu: usize, ino: u32) {
        let cx = cx(&self.rcu, cpu);
        let handle = self.orphans.disk().start(cx);
        handle.set_inode(ino, InodeImage { nlink: 0, size: 0, used: true });
        self.orphans.add(cx, &handle, &self.nodes[ino as usize - 1]);
    }

    /// Deletes it, in one handle.
    fn del(&self, cpu: usize, ino: u32) {
        let cx = cx(&self.rcu, cpu);
        let handle = self.orphans.disk().start(cx);
        self.orphans.del(cx, &handle, &self.nodes[ino as usize - 1]);
        handle.set_inode(ino, InodeImage::default());
    }

    fn commit(&self, cpu: usize) {
        self.orphans.disk().commit(cx(&self.rcu, cpu));
    }

    /// At the end: exactly these are recorded, in memory and on disk. Then all of them are deleted.
    fn finish(&self, recorded: &[u32]) {
        assert_eq!(sorted(self.orphans.recorded()), recorded);
        self.commit(0);
        let image = self.orphans.disk().crash();
        check_image(&image, "model");
        assert_eq!(sorted(image.recover().deleted), recorded);
        recorded.iter().for_each(|&ino| self.del(0, ino));
        self.commit(0);
        assert_eq!(self.orphans.recorded(), []);
        let image = self.orphans.disk().crash();
        assert_eq!(image.last_orphan, 0);
        assert!(image.orphan_file.iter().flatten().all(|&ino| ino == 0));
    }
}

/// Runs `first` on CPU 0 and `second` on CPU 1 at the same time.
fn race(
    bench: &Arc<Bench>,
    first: impl FnOnce(&Bench),
    second: impl FnOnce(&Bench) + Send + 'static,
) {
    let other = {
        let bench = bench.clone();
        loom::thread::spawn(move || second(&bench))
    };
    first(bench);
    other.join().expect("the other CPU does not panic");
}

fn each_design(test: fn(&Arc<Bench>)) {
    for (name, make) in MAKERS {
        println!("design {name}");
        model(2, move || test(&Bench::new(make())));
    }
}

#[test]
fn two_add() {
    each_design(|bench| {
        race(bench, |bench| bench.add(0, 1), |bench| bench.add(1, 2));
        bench.finish(&[1, 2]);
    });
}

/// Both are recorded; on a list one is the other's predecessor, whose inode the deletion of the other changes.
#[test]
fn two_delete_neighbours() {
    each_design(|bench| {
        bench.add(0, 1);
        bench.add(0, 2);
        race(bench, |bench| bench.del(0, 1), |bench| bench.del(1, 2));
        bench.finish(&[]);
    });
}

/// The inode that is being added is the predecessor of the one that is being deleted.
#[test]
fn one_adds_in_front_of_a_deletion() {
    each_design(|bench| {
        bench.add(0, 1);
        race(bench, |bench| bench.del(0, 1), |bench| bench.add(1, 2));
        bench.finish(&[2]);
    });
}

/// Calls that have nothing to do, while neighbours change the links that they look at.
#[test]
fn early_exit_sees_its_own_state() {
    each_design(|bench| {
        bench.add(0, 2);
        let twice = |bench: &Bench| {
            bench.add(0, 2);
            assert!(bench.nodes[1].is_listed() || bench.nodes[1].entry().is_some());
            bench.del(0, 2);
            bench.del(0, 2);
        };
        race(bench, twice, |bench| bench.add(1, 3));
        bench.finish(&[3]);
    });
}

/// A handle beside a commit: all of it is in the image, or nothing.
fn add_beside_commit(bench: &Arc<Bench>) {
    bench.add(0, 2);
    let commit = |bench: &Bench| {
        bench.commit(1);
        let image = bench.orphans.disk().crash();
        check_image(&image, "model");
        assert!(image.recover().deleted.contains(&2));
    };
    race(bench, |bench| bench.add(0, 1), commit);
    bench.finish(&[1, 2]);
}

#[test]
fn commit_is_consistent() {
    each_design(add_beside_commit);
    // With room in the file for both; nothing but the handle's end orders the entry before the commit.
    model(2, || add_beside_commit(&Bench::new(file::<Atomic>(2))));
}

#[test]
fn two_commit() {
    model(2, || {
        let bench = Bench::new(MAKERS[1].1());
        let unlink = |cpu: usize, ino| {
            move |bench: &Bench| {
                bench.add(cpu, ino);
                bench.commit(cpu);
                assert!(bench.orphans.disk().crash().recover().deleted.contains(&ino));
            }
        };
        race(&bench, unlink(0, 1), unlink(1, 2));
        bench.finish(&[1, 2]);
    });
}

#[test]
fn missing_lock_is_found() {
    assert!(found(2, || {
        let bench = Bench::new(Box::new(Faulty::new(INODES, Fault::TakesNoLock)));
        race(&bench, |bench| bench.add(0, 1), |bench| bench.add(1, 2));
        bench.finish(&[1, 2]);
    }));
}

/// An entry is taken by looking and writing.
struct LoadStoreClaim;

impl<P: Platform> Steps<P> for LoadStoreClaim {
    fn claim(entry: &P::U32, ino: u32) -> bool {
        let free = entry.load(Acquire) == 0;
        if free {
            entry.store(ino, Release);
        }
        free
    }
}

/// A count is looked at and then decremented.
struct LateDecrement;

impl<P: Platform> Steps<P> for LateDecrement {
    fn reserve(free_entries: &P::U32) -> bool {
        let free = free_entries.load(Acquire) > 0;
        if free {
            free_entries.fetch_sub(1, AcqRel);
        }
        free
    }
}

/// The count is incremented without publishing the freed entry.
struct RelaxedRelease;

impl<P: Platform> Steps<P> for RelaxedRelease {
    fn release(entry: &P::U32, free_entries: &P::U32) {
        entry.store(0, Relaxed);
        free_entries.fetch_add(1, Relaxed);
    }
}

/// Records the inode, and nothing else.
fn record(bench: &Bench, cpu: usize, ino: u32) {
    let cx = cx(&bench.rcu, cpu);
    let handle = bench.orphans.disk().start(cx);
    bench.orphans.add(cx, &handle, &bench.nodes[ino as usize - 1]);
}

fn two_claim_of_two<S: Steps<Loom>>() {
    let bench = Bench::new(file::<S>(2));
    race(&bench, |bench| record(bench, 0, 1), |bench| record(bench, 1, 2));
    let entries: Vec<_> = bench.nodes[..2].iter().map(OrphanNode::entry).collect();
    assert!(entries.iter().all(Option::is_some), "there was room");
    assert_eq!(sorted(bench.orphans.recorded()), [1, 2]);
}

#[test]
fn two_claim_entries_of_one_block() {
    model(2, two_claim_of_two::<Atomic>);
}

#[test]
fn claim_without_exchange_is_found() {
    assert!(found(2, two_claim_of_two::<LoadStoreClaim>));
}

/// Two CPUs want the only entry.
fn two_reserve_one<S: Steps<Loom>>() {
    let free_entries = Arc::new(<Loom as Platform>::U32::new(1));
    let other = {
        let free_entries = free_entries.clone();
        loom::thread::spawn(move || S::reserve(&free_entries))
    };
    let mine = S::reserve(&free_entries);
    let others = other.join().expect("the other CPU does not panic");
    assert!(mine ^ others, "exactly one gets it");
    assert_eq!(free_entries.load(Relaxed), 0);
}

#[test]
fn decrement_if_positive_is_exact() {
    model(2, two_reserve_one::<Atomic>);
    assert!(found(2, two_reserve_one::<LateDecrement>));
}

/// A CPU frees the only entry while another one wants it: if it gets the reservation, then it sees the entry free.
fn freed_entry_is_seen<S: Steps<Loom>>() {
    let block = Arc::new((<Loom as Platform>::U32::new(1), <Loom as Platform>::U32::new(0)));
    let other = {
        let block = block.clone();
        loom::thread::spawn(move || S::release(&block.0, &block.1))
    };
    if S::reserve(&block.1) {
        assert_eq!(block.0.load(Relaxed), 0);
        assert!(S::claim(&block.0, 2));
    }
    other.join().expect("the other CPU does not panic");
}

#[test]
fn reservation_publishes_the_freed_entry() {
    model(2, freed_entry_is_seen::<Atomic>);
    assert!(found(2, freed_entry_is_seen::<RelaxedRelease>));
}
