//! What every design must do.

mod models;

use super::*;
use crate::design::Env;
use machine::sync::Rcu;
use machine::testing::Tally;
use machine::{Cpu, Plain, Real, SpinKind, Word};
use proptest::prelude::*;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

const CPUS: usize = 4;

fn env() -> Env {
    Env { cpus: CPUS, spin: SpinKind::Queued }
}

/// A super block's mounts, with what stands for its list of open files and for the data that writers write.
struct World<P: Platform> {
    rcu: Rcu<P>,
    sb: Arc<dyn SbWriters<P>>,
    mounts: Vec<MountWorld<P>>,
}

struct MountWorld<P: Platform> {
    writers: Box<dyn MountWriters<P>>,
    /// Files open for writing.
    files: P::U64,
    /// Of each CPU; a writer on it changes its own, and who has made the mount read-only may read all.
    data: Vec<P::Cell<u32>>,
}

impl<P: Platform> World<P> {
    fn new(design: &dyn WriteCountDesign<P>, mounts: usize) -> Self {
        let sb = design.sb();
        let mount = || MountWorld {
            writers: Arc::clone(&sb).mount(),
            files: P::U64::new(0),
            data: (0..CPUS).map(|_| P::Cell::new(0)).collect(),
        };
        let mounts = (0..mounts).map(|_| mount()).collect();
        World { rcu: Rcu::new(CPUS), sb, mounts }
    }

    fn named(name: &str, mounts: usize) -> Self {
        World::new(&*make::<P>(name, &env()).expect("it is registered"), mounts)
    }

    fn cx(&self, cpu: usize) -> Cx<'_, P> {
        Cx { cpu: Cpu(cpu), rcu: &self.rcu }
    }

    /// Opens for writing.
    fn want(&self, cpu: usize, mount: usize) -> Result<(), Errno> {
        let MountWorld { writers, files, .. } = &self.mounts[mount];
        writers.want(self.cx(cpu))?;
        // Relaxed: nothing but the design orders the list with the flags.
        files.fetch_add(1, Relaxed);
        writers.listed(self.cx(cpu));
        Ok(())
    }

    /// Closes.
    fn drop(&self, cpu: usize, mount: usize) {
        let MountWorld { writers, files, .. } = &self.mounts[mount];
        // Release: a list's lock would order it so.
        files.fetch_sub(1, Release);
        writers.closed(self.cx(cpu));
    }

    /// A call that changes something without a file open for writing, by `change`.
    fn change<R>(&self, cpu: usize, mount: usize, change: impl FnOnce() -> R) -> Result<R, Errno> {
        let writers = &self.mounts[mount].writers;
        writers.want(self.cx(cpu))?;
        let result = change();
        // Not the box's own `drop`.
        MountWriters::drop(&**writers, self.cx(cpu));
        Ok(result)
    }

    fn has_writer(&self, mount: usize) -> bool {
        self.mounts[mount].files.load(Acquire) > 0
    }

    fn mount_readonly(&self, mount: usize, readonly: bool) -> Result<(), Errno> {
        let has_writer = &|| self.has_writer(mount);
        self.mounts[mount].writers.set(access(readonly, Busy { has_writer, ..Busy::NOTHING }))
    }

    fn sb_readonly(&self, readonly: bool) -> Result<(), Errno> {
        self.sb_readonly_unless(readonly, &|| false)
    }

    fn sb_readonly_unless(
        &self,
        readonly: bool,
        otherwise: &dyn Fn() -> bool,
    ) -> Result<(), Errno> {
        let has_writer = &|| (0..self.mounts.len()).any(|mount| self.has_writer(mount));
        self.sb.set(access(readonly, Busy { has_writer, otherwise }))
    }

    fn write(&self, cpu: usize, mount: usize) {
        // SAFETY: the CPU's own; who reads it has made sure that nobody writes, which is what is tested (loom sees a race).
        self.mounts[mount].data[cpu].with_mut(|data| unsafe { *data += 1 });
    }

    fn read_all(&self, mount: usize) -> u32 {
        // SAFETY: as in `write`.
        self.mounts[mount].data.iter().map(|data| data.with(|data| unsafe { *data })).sum()
    }
}

fn access(readonly: bool, busy: Busy<'_>) -> Access<'_> {
    if readonly { Access::ReadOnly(busy) } else { Access::Writable }
}

fn names() -> impl Iterator<Item = &'static str> {
    DESIGNS.iter().map(|design| design.name)
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Want {
        cpu: usize,
        mount: usize,
    },
    /// Of the writer with that number, modulo their number.
    Drop {
        cpu: usize,
        writer: usize,
    },
    Mount {
        mount: usize,
        readonly: bool,
    },
    Sb {
        readonly: bool,
    },
    /// Unmounts it, if nobody writes there, and mounts anew.
    Remake {
        mount: usize,
    },
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0..CPUS, 0..3usize).prop_map(|(cpu, mount)| Op::Want { cpu, mount }),
        4 => (0..CPUS, 0..8usize).prop_map(|(cpu, writer)| Op::Drop { cpu, writer }),
        2 => (0..3usize, any::<bool>()).prop_map(|(mount, readonly)| Op::Mount { mount, readonly }),
        2 => any::<bool>().prop_map(|readonly| Op::Sb { readonly }),
        1 => (0..3usize).prop_map(|mount| Op::Remake { mount }),
    ]
}

/// Two flags and a list of writers.
#[derive(Default)]
struct Oracle {
    sb_readonly: bool,
    mount_readonly: [bool; 3],
    /// The mount of each.
    writers: Vec<usize>,
}

fn check(name: &str, ops: &[Op]) {
    let mut world = World::<Real>::named(name, 3);
    let mut oracle = Oracle::default();
    let refuse = |error, refused| if refused { Err(error) } else { Ok(()) };
    for &op in ops {
        match op {
            Op::Want { cpu, mount } => {
                let readonly = oracle.sb_readonly || oracle.mount_readonly[mount];
                assert_eq!(world.want(cpu, mount), refuse(Errno::ROFS, readonly), "{name}: {op:?}");
                if !readonly {
                    oracle.writers.push(mount);
                }
            }
            Op::Drop { cpu, writer } => {
                if !oracle.writers.is_empty() {
                    let mount = oracle.writers.swap_remove(writer % oracle.writers.len());
                    world.drop(cpu, mount);
                }
            }
            Op::Mount { mount, readonly } => {
                let busy = readonly && oracle.writers.contains(&mount);
                let answer = world.mount_readonly(mount, readonly);
                assert_eq!(answer, refuse(Errno::BUSY, busy), "{name}: {op:?}");
                if !busy {
                    oracle.mount_readonly[mount] = readonly;
                }
            }
            Op::Sb { readonly } => {
                let busy = readonly && !oracle.writers.is_empty();
                let answer = world.sb_readonly(readonly);
                assert_eq!(answer, refuse(Errno::BUSY, busy), "{name}: {op:?}");
                if !busy {
                    oracle.sb_readonly = readonly;
                }
            }
            Op::Remake { mount } => {
                if !oracle.writers.contains(&mount) {
                    world.mounts[mount].writers = Arc::clone(&world.sb).mount();
                    oracle.mount_readonly[mount] = false;
                }
            }
        }
        assert_eq!(world.sb.is_readonly(), oracle.sb_readonly, "{name}: {op:?}");
        for (mount, readonly) in world.mounts.iter().zip(oracle.mount_readonly) {
            assert_eq!(mount.writers.is_readonly(), readonly, "{name}: {op:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn every_design_answers_as_the_oracle(ops in prop::collection::vec(op(), 1..60)) {
        names().for_each(|name| check(name, &ops));
    }
}

#[test]
fn super_blocks_are_apart() {
    for name in names() {
        let design = make::<Real>(name, &env()).expect("it is registered");
        let (one, other) = (World::new(&*design, 1), World::new(&*design, 1));
        one.want(0, 0).expect("it is writable");
        assert_eq!(other.sb_readonly(true), Ok(()), "{name}");
        assert_eq!(other.want(0, 0), Err(Errno::ROFS), "{name}");
        assert_eq!(one.sb_readonly(true), Err(Errno::BUSY), "{name}");
        one.drop(1, 0);
        assert_eq!(one.sb_readonly(true), Ok(()), "{name}");
    }
}

#[test]
fn only_the_design_without_counts_needs_the_list() {
    for name in names() {
        let design = make::<Real>(name, &env()).expect("it is registered");
        assert_eq!(design.needs_file_list(), name == "none");
    }
}

/// Something in the way of a remount is looked for last, and in every design; what is refused leaves nothing behind.
#[test]
fn a_remount_is_refused_for_other_reasons_too() {
    for name in names() {
        let world = World::<Real>::named(name, 2);
        assert_eq!(world.sb_readonly_unless(true, &|| true), Err(Errno::BUSY), "{name}");
        assert!(!world.sb.is_readonly(), "{name}");
        assert_eq!(world.want(0, 0), Ok(()), "{name}");
        let unasked = || panic!("{name}: a file is open");
        assert_eq!(world.sb_readonly_unless(true, &unasked), Err(Errno::BUSY), "{name}");
        world.drop(1, 0);
        let asked = std::cell::Cell::new(0);
        let count = || {
            asked.set(asked.get() + 1);
            false
        };
        assert_eq!(world.sb_readonly_unless(true, &count), Ok(()), "{name}");
        assert_eq!(asked.get(), 1, "{name}");
        assert_eq!(world.change(0, 0, || ()), Err(Errno::ROFS), "{name}");
        assert_eq!(world.sb_readonly_unless(false, &unasked), Ok(()), "{name}");
        assert_eq!(world.change(0, 0, || ()), Ok(()), "{name}");
    }
}

/// Every open is on CPU 0 and every close on CPU 1.
#[test]
fn counters_that_drift_apart_still_add_up() {
    for name in names() {
        let world = World::<Real>::named(name, 2);
        for at in 0..140_000 {
            let mount = usize::from(at % 7 == 0);
            world.want(0, mount).expect("it is writable");
            if at > 0 {
                world.drop(1, usize::from((at - 1) % 7 == 0));
            }
        }
        assert_eq!(world.sb_readonly(true), Err(Errno::BUSY), "{name}");
        world.drop(1, usize::from(139_999 % 7 == 0));
        assert_eq!(world.mount_readonly(0, true), Ok(()), "{name}");
        assert_eq!(world.sb_readonly(true), Ok(()), "{name}");
    }
}

#[test]
fn all_memory_is_given_back() {
    for name in names() {
        let before = Tally::bytes();
        let world = World::<Tally>::named(name, 2);
        world.want(0, 0).expect("it is writable");
        world.want(1, 1).expect("it is writable");
        world.drop(1, 0);
        world.drop(1, 1);
        assert_eq!(world.sb_readonly(true), Ok(()), "{name}");
        let sb = Arc::downgrade(&world.sb);
        assert!(Tally::bytes() > before, "{name}: it allocates from the platform");
        drop(world);
        assert!(sb.upgrade().is_none(), "{name}");
        assert_eq!(Tally::bytes(), before, "{name}");
    }
}

/// Writers come and go, closing on each other's behalf, while mounts and super block become read-only and writable again.
#[test]
fn no_writer_meets_a_read_only_mount() {
    const WRITERS: usize = 3;
    const WANTS: usize = 20_000;
    for name in names() {
        let world = World::<Real>::named(name, 2);
        let frozen = [AtomicBool::new(false), AtomicBool::new(false)];
        let done = AtomicBool::new(false);
        let (world, frozen, done) = (&world, &frozen, &done);
        std::thread::scope(|scope| {
            // Descriptors passed on: opened by one thread, closed by another, on its CPU.
            let (give, take) = std::sync::mpsc::channel::<usize>();
            let close = |cpu, mount: usize| {
                assert!(!frozen[mount].load(SeqCst), "{name}");
                world.drop(cpu, mount);
            };
            let mut writers = Vec::new();
            for cpu in 0..WRITERS - 1 {
                let give = give.clone();
                writers.push(scope.spawn(move || {
                    for at in 0..WANTS {
                        let mount = (at + cpu) % 2;
                        match world.want(cpu, mount) {
                            Ok(()) => {
                                assert!(!frozen[mount].load(SeqCst), "{name}");
                                world.write(cpu, mount);
                                if at % 3 == 0 {
                                    give.send(mount).expect("the closer waits for all");
                                } else {
                                    close(cpu, mount);
                                }
                            }
                            Err(error) => {
                                assert_eq!(error, Errno::ROFS, "{name}");
                                std::thread::yield_now();
                            }
                        }
                    }
                }));
            }
            drop(give);
            writers.push(scope.spawn(move || {
                for mount in take {
                    close(WRITERS - 1, mount);
                }
            }));
            let remounter = scope.spawn(move || {
                let mut rounds = 0;
                while !done.load(SeqCst) {
                    rounds += 1;
                    let whole = rounds % 3 == 2;
                    let mounts = if whole { 0..2 } else { rounds % 3..rounds % 3 + 1 };
                    let set = |readonly| {
                        if whole {
                            world.sb_readonly(readonly)
                        } else {
                            world.mount_readonly(mounts.start, readonly)
                        }
                    };
                    match set(true) {
                        Ok(()) => {
                            let mark = |to| {
                                frozen[mounts.clone()].iter().for_each(|f| f.store(to, SeqCst))
                            };
                            mark(true);
                            let sums =
                                || mounts.clone().map(|mount| world.read_all(mount)).sum::<u32>();
                            let before = sums();
                            std::thread::yield_now();
                            assert_eq!(sums(), before, "{name}");
                            mark(false);
                            assert_eq!(set(false), Ok(()), "{name}");
                        }
                        Err(error) => assert_eq!(error, Errno::BUSY, "{name}"),
                    }
                    std::thread::yield_now();
                }
            });
            for writer in writers {
                writer.join().expect("no assertion failed");
            }
            done.store(true, SeqCst);
            remounter.join().expect("no assertion failed");
        });
        assert_eq!(world.sb_readonly(true), Ok(()), "{name}: nobody is left");
    }
}
