//! One call after the other against a map.

use super::{Kernel, all, env};
use crate::fd_table::Got;
use crate::object::{File, Raw};
use machine::testing::Tally;
use machine::{Platform, Real};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use vfs_api::Errno;

const LIMIT: usize = 11;

#[derive(Clone, Copy, Debug)]
enum Op {
    Open,
    Reserve,
    /// A claimed descriptor, by number.
    Install(usize),
    Unreserve(usize),
    Dup(i32),
    Get(i32),
    /// A held reference, by number.
    Put(usize),
    Close(i32),
}

fn op() -> impl Strategy<Value = Op> {
    let fd = || -2..LIMIT as i32 + 3;
    let number = 0..LIMIT;
    prop_oneof![
        4 => Just(Op::Open),
        1 => Just(Op::Reserve),
        1 => number.clone().prop_map(Op::Install),
        1 => number.clone().prop_map(Op::Unreserve),
        1 => fd().prop_map(Op::Dup),
        3 => fd().prop_map(Op::Get),
        2 => number.prop_map(Op::Put),
        3 => fd().prop_map(Op::Close),
    ]
}

struct Oracle<'a, P: Platform> {
    kernel: &'a Kernel<P>,
    shared: bool,
    files: BTreeMap<i32, u64>,
    claimed: BTreeSet<i32>,
    references: BTreeMap<u64, usize>,
    held: Vec<(Got<P>, u64)>,
}

impl<P: Platform> Oracle<'_, P> {
    fn reserve(&mut self, cpu: usize) -> Option<i32> {
        let taken = |fd: &i32| self.files.contains_key(fd) || self.claimed.contains(fd);
        let lowest = (0..LIMIT as i32).find(|fd| !taken(fd));
        let answer = self.kernel.table.reserve(self.kernel.cx(cpu));
        assert_eq!(answer, lowest.ok_or(Errno::MFILE));
        self.claimed.extend(lowest);
        lowest
    }

    fn install(&mut self, cpu: usize, fd: i32, file: Raw<File<P>>, stamp: u64) {
        assert_eq!(self.kernel.table.get(self.kernel.cx(cpu), fd).map(|_| ()), None);
        self.kernel.table.install(self.kernel.cx(cpu), fd, file);
        self.claimed.remove(&fd);
        self.files.insert(fd, stamp);
        *self.references.entry(stamp).or_default() += 1;
    }

    /// Whether the reference dropped was the last.
    fn dropped(&mut self, stamp: u64) -> bool {
        let references = self.references.get_mut(&stamp).expect("it has some");
        *references -= 1;
        *references == 0
    }

    fn get(&mut self, cpu: usize, fd: i32) -> Option<(Got<P>, u64)> {
        let got = self.kernel.table.get(self.kernel.cx(cpu), fd);
        let stamp = self.files.get(&fd).copied();
        assert_eq!(got.map(|got| self.kernel.stamp(got.file)), stamp);
        let (got, stamp) = (got?, stamp?);
        assert_eq!(got.counted, self.shared);
        *self.references.get_mut(&stamp).expect("it is open") += usize::from(got.counted);
        Some((got, stamp))
    }

    fn put(&mut self, cpu: usize, (got, stamp): (Got<P>, u64)) {
        assert_eq!(self.kernel.stamp(got.file), stamp);
        let last = got.counted && self.dropped(stamp);
        assert_eq!(self.kernel.table.put(self.kernel.cx(cpu), got), last);
        if last {
            self.kernel.take_apart(cpu, got.file);
        }
    }

    fn run(&mut self, cpu: usize, op: Op, stamp: u64) {
        let kernel = self.kernel;
        match op {
            Op::Open => {
                if let Some(fd) = self.reserve(cpu) {
                    self.install(cpu, fd, kernel.file(cpu, stamp), stamp);
                }
            }
            Op::Reserve => drop(self.reserve(cpu)),
            Op::Install(number) => {
                if let Some(&fd) = self.claimed.iter().nth(number) {
                    self.install(cpu, fd, kernel.file(cpu, stamp), stamp);
                }
            }
            Op::Unreserve(number) => {
                if let Some(&fd) = self.claimed.iter().nth(number) {
                    kernel.table.unreserve(kernel.cx(cpu), fd);
                    self.claimed.remove(&fd);
                }
            }
            Op::Dup(fd) => {
                let Some((got, stamp)) = self.get(cpu, fd) else { return };
                if let Some(to) = self.reserve(cpu) {
                    // SAFETY: the reference just taken, or the table's.
                    kernel.design.get_again(unsafe { got.file.get() });
                    self.install(cpu, to, got.file, stamp);
                }
                self.put(cpu, (got, stamp));
            }
            Op::Get(fd) => {
                if let Some(got) = self.get(cpu, fd) {
                    if self.shared {
                        self.held.push(got);
                    } else {
                        self.put(cpu, got);
                    }
                }
            }
            Op::Put(number) => {
                if number < self.held.len() {
                    let got = self.held.swap_remove(number);
                    self.put(cpu, got);
                }
            }
            Op::Close(fd) => {
                let file = kernel.table.remove(kernel.cx(cpu), fd);
                let stamp = self.files.remove(&fd);
                assert_eq!(file.map(|file| kernel.stamp(file)), stamp);
                let (Some(file), Some(stamp)) = (file, stamp) else { return };
                let last = self.dropped(stamp);
                // SAFETY: the reference that was the table's.
                assert_eq!(kernel.design.drop_ref(unsafe { file.get() }), last);
                if last {
                    kernel.take_apart(cpu, file);
                }
            }
        }
        assert!(kernel.table.used().iter().eq(self.files.keys()));
    }
}

fn check<P: Platform>(ops: &[(usize, Op)], first: usize, shared: bool) {
    for (_, make) in all::<P>() {
        let kernel = Kernel::<P>::new(make, 2, first, LIMIT, shared);
        kernel.rcu.online(kernel.cx(0).cpu);
        kernel.rcu.online(kernel.cx(1).cpu);
        let mut oracle = Oracle {
            kernel: &kernel,
            shared,
            files: BTreeMap::new(),
            claimed: BTreeSet::new(),
            references: BTreeMap::new(),
            held: Vec::new(),
        };
        for (&(cpu, op), stamp) in ops.iter().zip(1..) {
            oracle.run(cpu, op, stamp);
            kernel.rcu.quiescent(kernel.cx(cpu));
        }
        while let Some(got) = oracle.held.pop() {
            oracle.put(0, got);
        }
        kernel.rcu.offline(kernel.cx(0).cpu);
        kernel.rcu.offline(kernel.cx(1).cpu);
        kernel.end();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_sequence_of_calls_answers_as_the_map_does(
        ops in prop::collection::vec((0..2_usize, op()), 0..200),
        first in prop::sample::select(&[1_usize, 3, 64]),
        shared: bool,
    ) {
        check::<Real>(&ops, first, shared);
    }
}

#[test]
fn all_memory_is_given_back() {
    let ops: Vec<_> =
        [Op::Open, Op::Open, Op::Get(0), Op::Dup(1), Op::Close(0), Op::Open, Op::Put(0)]
            .into_iter()
            .cycle()
            .take(400)
            .enumerate()
            .map(|(at, op)| (at / 3 % 2, op))
            .collect();
    check::<Tally>(&ops, 1, true);
    assert_eq!(Tally::bytes(), 0);
}

#[test]
fn a_table_grows_from_its_first_slots_to_its_limit() {
    for info in crate::fd_table::DESIGNS {
        let design = crate::fd_table::make::<Real>(info.name, &env(1)).expect(info.name);
        let kernel = Kernel::of(design, 1, 1000, true);
        for fd in 0..1000 {
            assert_eq!(kernel.open(0, fd + 1), Some(fd as i32), "{}", info.name);
        }
        assert_eq!(kernel.table.reserve(kernel.cx(0)), Err(Errno::MFILE));
        for fd in 0..1000 {
            assert_eq!(kernel.look(0, fd), Some(fd as u64 + 1));
        }
        for fd in [-1, i32::MIN, 1000, 1024, i32::MAX] {
            assert_eq!(kernel.look(0, fd), None);
            assert!(!kernel.close(0, fd));
        }
        for fd in [700, 3, 64] {
            assert!(kernel.close(0, fd));
            assert_eq!(kernel.look(0, fd), None);
        }
        for fd in [3, 64, 700] {
            assert_eq!(kernel.open(0, 5000), Some(fd));
        }
        kernel.end();
    }
}
