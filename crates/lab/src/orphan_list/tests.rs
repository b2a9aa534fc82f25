//! Conformance of every design, recovery, and models.

mod faulty;
mod models;
mod oracle;
mod recovery;
mod stress;

use super::disk::{Disk, Geometry};
use super::file::{Atomic, LockFree};
use super::file_spin::Locked;
use super::hashed::HashedList;
use super::journal::Mode;
use super::node::OrphanNode;
use super::orphan_file::OrphanFile;
use super::reduced::ReducedList;
use super::{DESIGNS, Orphans, make};
use crate::design::Env;
use machine::sync::Rcu;
use machine::{Cpu, Cx, Platform, SpinKind};

const ENV: Env = Env { cpus: 4, spin: SpinKind::Queued };

type LockedFile<P> = OrphanFile<P, Locked<P>>;
type LockFreeFile<P, S> = OrphanFile<P, LockFree<S>>;

/// A super block's orphans to be tested.
struct Subject<P: Platform> {
    name: String,
    orphans: Box<dyn Orphans<P>>,
    /// Handles after which a transaction is full.
    max_handles: u32,
}

fn subject<P: Platform>(name: &str, orphans: impl Orphans<P> + 'static, mode: Mode) -> Subject<P> {
    let (name, orphans) = (name.to_owned(), Box::new(orphans));
    Subject { name, orphans, max_handles: mode.max_handles }
}

/// An orphan file that is soon used up.
fn small_file(inodes: u32, orphan_blocks: usize, entries: usize, journal: Mode) -> Geometry {
    Geometry { inodes, orphan_blocks, entries, journal }
}

/// Every design as it is registered, and small ones: two mutexes to hash to, an orphan file of 2 blocks with 2 entries, and
/// transactions that are full after 7 handles.
fn subjects<P: Platform>(inodes: u32) -> Vec<Subject<P>> {
    let registered = DESIGNS.iter().map(|info| Subject {
        name: info.name.to_owned(),
        orphans: make::<P>(info.name, &ENV).expect("it is registered").sb(inodes),
        max_handles: Mode::LOCKED_ACCESS.max_handles,
    });
    let mut subjects: Vec<_> = registered.collect();
    let locked = Mode { max_handles: 7, ..Mode::LOCKED_ACCESS };
    let lockless = Mode { max_handles: 7, ..Mode::LOCKLESS_ACCESS };
    let list = Geometry { journal: locked, ..Geometry::list_only(inodes) };
    let file = small_file(inodes, 2, 2, lockless);
    let reduced = ReducedList::new(Disk::new(&ENV, list));
    subjects.push(subject("reduced, small", reduced, locked));
    let hashed = HashedList::new(&ENV, inodes, 1);
    subjects.push(subject("hashed, small", hashed, Mode::LOCKED_ACCESS));
    subjects.push(subject("file_spin, small", LockedFile::<P>::new(&ENV, file), lockless));
    let lock_free = LockFreeFile::<P, Atomic>::new(&ENV, file);
    subjects.push(subject("file, small", lock_free, lockless));
    subjects
}

fn cx<P: Platform>(rcu: &Rcu<P>, cpu: usize) -> Cx<'_, P> {
    Cx { cpu: Cpu(cpu), rcu }
}

/// Nodes 1 to `count`, which do not move.
fn nodes<P: Platform>(count: u32) -> Box<[OrphanNode<P>]> {
    (1..=count).map(|ino| OrphanNode::new(&ENV, ino)).collect()
}

fn sorted(mut inos: Vec<u32>) -> Vec<u32> {
    inos.sort_unstable();
    inos
}

#[test]
fn designs_are_registered_in_the_order_of_time() {
    let names: Vec<_> = DESIGNS.iter().map(|info| info.name).collect();
    assert_eq!(names, ["mutex", "reduced", "hashed", "file_spin", "file"]);
    assert!(DESIGNS.iter().all(|info| info.part == "orphan_list"));
    assert!(make::<machine::Real>("none", &ENV).is_none());
}
