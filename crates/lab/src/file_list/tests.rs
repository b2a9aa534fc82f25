//! What every design of the part must do.

mod models;

use super::{DESIGNS, FileListDesign, SbFiles, make};
use crate::design::Env;
use crate::object::File;
use machine::sync::Rcu;
use machine::testing::Tally;
use machine::{Counted, Cpu, Cx, LockTotals, Plain, Platform, Real, SpinKind, Word, take_totals};
use proptest::prelude::*;
use std::collections::HashSet;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

pub(crate) fn env(cpus: usize) -> Env {
    Env { cpus, spin: SpinKind::Queued }
}

/// A super block and some files, whose memory stays theirs, as the slab's does.
struct World<P: Platform> {
    rcu: Rcu<P>,
    sb: Box<dyn SbFiles<P>>,
    files: Vec<File<P>>,
}

impl<P: Platform> World<P> {
    fn new(design: &dyn FileListDesign<P>, env: &Env, files: usize) -> Self {
        let files = (0..files).map(|_| File::new(env)).collect();
        World { rcu: Rcu::new(env.cpus), sb: design.sb(), files }
    }

    fn cx(&self, cpu: usize) -> Cx<'_, P> {
        Cx { cpu: Cpu(cpu), rcu: &self.rcu }
    }

    /// Writes to the file as its only owner does: before it is published, and when it is taken apart.
    fn own(&self, at: usize, open: bool) {
        let file = &self.files[at];
        // SAFETY: the file is on no list, and the caller has it for himself.
        file.body.with_mut(|body| unsafe { *body = None });
        file.pos.store(u64::from(open), Relaxed);
    }

    fn open(&self, cpu: usize, at: usize) {
        self.own(at, true);
        self.sb.add(self.cx(cpu), &self.files[at]);
    }

    fn close(&self, cpu: usize, at: usize) {
        self.sb.del(self.cx(cpu), &self.files[at]);
        self.own(at, false);
    }

    /// The files seen, in order; none if there is no list.
    fn walk(&self, cpu: usize) -> Vec<usize> {
        self.walk_some(cpu, usize::MAX).unwrap_or_default()
    }

    /// The first files, up to `limit`.
    fn walk_some(&self, cpu: usize, limit: usize) -> Option<Vec<usize>> {
        let mut seen = Vec::new();
        let walks = self.sb.walk(self.cx(cpu), &mut |file| {
            // SAFETY: a visited file cannot be taken apart; that is what the access is to find out.
            file.body.with(|body| assert!(unsafe { (*body).is_none() }));
            assert_eq!(file.pos.load(Relaxed), 1, "a closed file is visited");
            let at = self.files.iter().position(|other| std::ptr::eq(file, other));
            seen.push(at.expect("a file of this super block"));
            seen.len() < limit
        });
        walks.then_some(seen)
    }
}

#[derive(Clone, Debug)]
enum Op {
    /// Opens the file if it is closed, else closes it.
    Toggle {
        cpu: usize,
        file: usize,
    },
    Walk {
        cpu: usize,
        sb: usize,
        limit: usize,
    },
}

const CPUS: usize = 3;
/// Per super block; more than the CPUs' filevecs hold.
const FILES: usize = 60;
const SBS: usize = 2;

fn op() -> impl Strategy<Value = Op> {
    let toggle = (0..CPUS, 0..SBS * FILES).prop_map(|(cpu, file)| Op::Toggle { cpu, file });
    let limit = prop_oneof![Just(usize::MAX), 1..5_usize];
    let walk = (0..CPUS, 0..SBS, limit).prop_map(|(cpu, sb, limit)| Op::Walk { cpu, sb, limit });
    prop_oneof![12 => toggle, 1 => walk]
}

fn agrees_with_a_set<P: Platform>(name: &str, ops: &[Op]) {
    let env = env(CPUS);
    let design = make::<P>(name, &env).unwrap();
    let worlds: Vec<_> = (0..SBS).map(|_| World::new(&*design, &env, FILES)).collect();
    let mut open = vec![HashSet::new(); SBS];
    for op in ops {
        match *op {
            Op::Toggle { cpu, file } => {
                let (sb, file) = (file / FILES, file % FILES);
                if open[sb].insert(file) {
                    worlds[sb].open(cpu, file);
                } else {
                    open[sb].remove(&file);
                    worlds[sb].close(cpu, file);
                }
            }
            Op::Walk { cpu, sb, limit } => {
                let seen = worlds[sb].walk_some(cpu, limit);
                assert_eq!(seen.is_some(), name != "none");
                let Some(seen) = seen else { continue };
                assert_eq!(seen.len(), open[sb].len().min(limit));
                let seen_set: HashSet<_> = seen.iter().copied().collect();
                assert_eq!(seen_set.len(), seen.len(), "each once");
                assert!(seen_set.is_subset(&open[sb]));
            }
        }
    }
    for (world, open) in worlds.iter().zip(open) {
        open.into_iter().for_each(|file| world.close(0, file));
        assert_eq!(world.walk(0), []);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_design_is_a_set(ops in proptest::collection::vec(op(), 0..400)) {
        for info in DESIGNS {
            agrees_with_a_set::<Real>(info.name, &ops);
        }
    }
}

/// Two tasks open files and close each other's; a third walks all the time.
#[test]
fn a_walk_sees_what_stays_open_and_nothing_closed() {
    const PINNED: usize = 5;
    const OPS: usize = 10_000;
    for info in DESIGNS {
        let env = env(3);
        let world = World::<Real>::new(&*make(info.name, &env).unwrap(), &env, 200);
        (0..PINNED).for_each(|at| world.open(at % 3, at));
        // Files on their way from one task to another, + 1; 0 is none.
        let handed: Vec<_> = (0..30).map(|_| AtomicUsize::new(0)).collect();
        let task = |cpu: usize| {
            let mut closed: Vec<usize> = (PINNED..200).filter(|at| at % 2 == cpu).collect();
            let mut random = 12345 + cpu;
            for _ in 0..OPS {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let place = &handed[(random >> 33) % handed.len()];
                let mine = closed.pop().map_or(0, |at| {
                    world.open(cpu, at);
                    at + 1
                });
                // AcqRel: a file is handed over with what was done to it.
                if let Some(other) = place.swap(mine, AcqRel).checked_sub(1) {
                    world.close(cpu, other);
                    closed.push(other);
                }
            }
        };
        std::thread::scope(|scope| {
            let tasks = [scope.spawn(|| task(0)), scope.spawn(|| task(1))];
            while !tasks.iter().all(|task| task.is_finished()) {
                let seen = world.walk(2);
                let set: HashSet<_> = seen.iter().copied().collect();
                assert_eq!(set.len(), seen.len(), "{}: each once", info.name);
                let all = (0..PINNED).all(|at| set.contains(&at));
                assert!(all || info.name == "none", "{}: missed one", info.name);
            }
        });
        handed.iter().filter_map(|place| place.load(Relaxed).checked_sub(1)).for_each(|at| {
            world.close(2, at);
        });
        (0..PINNED).for_each(|at| world.close(2, at));
        assert_eq!(world.walk(0), []);
    }
}

fn totals(name: &str) -> LockTotals {
    let all = take_totals();
    all.into_iter().find(|total| total.name == name).unwrap_or_default()
}

/// Locks taken by 100 opens and closes on CPU 0, all of that name.
fn locks_of_open_close(design: &str, lock: &str) -> u64 {
    let env = env(4);
    let world = World::<Counted>::new(&*make(design, &env).unwrap(), &env, 1);
    take_totals();
    for _ in 0..100 {
        world.open(0, 0);
        world.close(0, 0);
    }
    totals(lock).acquisitions
}

#[test]
fn an_open_and_a_close_take_the_lock_once_each() {
    assert_eq!(locks_of_open_close("global", "files_lock"), 200);
    assert_eq!(locks_of_open_close("lglock", "files_lglock"), 200);
    // The file's own; but 6 times a vector is full: then once more the file's own and the head's, by open and by close.
    assert_eq!(locks_of_open_close("filevec", "llist_lock"), 200 + 6 * 4);
}

#[test]
fn a_walk_of_an_lglock_takes_all() {
    let env = env(4);
    let world = World::<Counted>::new(&*make("lglock", &env).unwrap(), &env, 1);
    take_totals();
    world.walk(0);
    assert_eq!(totals("files_lglock").acquisitions, 4);
}

#[test]
fn the_fifteenth_file_empties_the_filevec() {
    let env = env(1);
    let world = World::<Counted>::new(&*make("filevec", &env).unwrap(), &env, 15);
    take_totals();
    (0..14).for_each(|at| world.open(0, at));
    assert_eq!(totals("llist_lock").acquisitions, 14);
    world.open(0, 14);
    // Its own; then each file's again, and with it the head's.
    assert_eq!(totals("llist_lock").acquisitions, 1 + 2 * 15);
    (0..15).for_each(|at| world.close(0, at));
}

#[test]
fn nothing_is_left_over() {
    for info in DESIGNS {
        {
            let env = env(3);
            let design = make::<Tally>(info.name, &env).unwrap();
            let world = World::new(&*design, &env, 40);
            assert_eq!(Tally::pieces() > 1, info.name != "none");
            (0..40).for_each(|at| world.open(at % 3, at));
            (0..40).for_each(|at| world.close(0, at));
        }
        assert_eq!(Tally::pieces(), 0, "{}", info.name);
    }
}
