//! Random operations of one task beside a model that knows what a crash must leave.

use super::super::image::{InodeImage, Recovered};
use super::super::node::OrphanNode;
use super::{ENV, Subject, cx, sorted, subjects};
use machine::Real;
use machine::sync::Rcu;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Spread over three blocks of the inode table.
pub(super) const INODES: u32 = 40;

/// What is done to the inode with a number; nothing where it does not apply.
#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    /// Makes the inode, if its number is free: new, or used before.
    Create(u32),
    /// Takes its last link and records it.
    Unlink(u32),
    /// Deletes an inode without links: takes the record away and frees the number in one handle.
    Evict(u32),
    /// Cuts it to a size and records it.
    BeginTruncate(u32, u64),
    /// Takes the record away.
    EndTruncate(u32),
    /// Takes away a record that may not be there.
    Del(u32),
    Commit,
}

#[derive(Clone, Copy)]
struct State {
    image: InodeImage,
    recorded: bool,
}

pub(super) struct Run {
    subject: Subject<Real>,
    rcu: Rcu<Real>,
    nodes: BTreeMap<u32, Box<OrphanNode<Real>>>,
    now: BTreeMap<u32, State>,
    durable: BTreeMap<u32, State>,
    handles: u32,
    /// The next operation's CPU.
    cpu: usize,
}

impl Run {
    pub(super) fn new(subject: Subject<Real>) -> Self {
        Run {
            subject,
            rcu: Rcu::new(ENV.cpus),
            nodes: BTreeMap::new(),
            now: BTreeMap::new(),
            durable: BTreeMap::new(),
            handles: 0,
            cpu: 0,
        }
    }

    /// A handle in which the inode is written and its record changed.
    fn handle(&mut self, ino: u32, state: Option<State>) {
        if self.handles == self.subject.max_handles {
            self.durable = self.now.clone();
            self.handles = 0;
        }
        self.handles += 1;
        let cx = cx(&self.rcu, self.cpu);
        let orphans = &*self.subject.orphans;
        let handle = orphans.disk().start(cx);
        let node = self.nodes.entry(ino).or_insert_with(|| Box::new(OrphanNode::new(&ENV, ino)));
        if state.is_some_and(|state| state.recorded) {
            orphans.add(cx, &handle, node);
        } else {
            orphans.del(cx, &handle, node);
        }
        handle.set_inode(ino, state.map(|state| state.image).unwrap_or_default());
        handle.stop();
        match state {
            Some(state) => drop(self.now.insert(ino, state)),
            None => {
                self.now.remove(&ino);
                self.nodes.remove(&ino);
            }
        }
    }

    fn apply(&mut self, op: Op) {
        self.cpu = (self.cpu + 1) % ENV.cpus;
        let found = |ino| self.now.get(&ino).copied();
        match op {
            Op::Create(ino) if found(ino).is_none() => {
                let image = InodeImage { nlink: 1, size: 0, used: true };
                self.handle(ino, Some(State { image, recorded: false }));
            }
            Op::Unlink(ino) => {
                if let Some(State { image: image @ InodeImage { nlink: 1, .. }, .. }) = found(ino) {
                    let image = InodeImage { nlink: 0, ..image };
                    self.handle(ino, Some(State { image, recorded: true }));
                }
            }
            Op::Evict(ino) if found(ino).is_some_and(|state| state.image.nlink == 0) => {
                self.handle(ino, None);
            }
            Op::BeginTruncate(ino, size) => {
                if let Some(state) = found(ino) {
                    let image = InodeImage { size, ..state.image };
                    self.handle(ino, Some(State { image, recorded: true }));
                }
            }
            Op::EndTruncate(ino) | Op::Del(ino) => {
                if let Some(state) = found(ino).filter(|state| state.image.nlink > 0) {
                    self.handle(ino, Some(State { recorded: false, ..state }));
                }
            }
            Op::Commit => {
                self.subject.orphans.disk().commit(cx(&self.rcu, self.cpu));
                self.durable = self.now.clone();
                self.handles = 0;
            }
            Op::Create(_) | Op::Evict(_) => {}
        }
    }

    /// What mounting must find if it crashed now.
    fn expected(&self) -> Recovered {
        let mut expected = Recovered::default();
        for (&ino, state) in &self.durable {
            if state.image.nlink == 0 {
                expected.deleted.push(ino);
            } else {
                expected.inodes.insert(ino, state.image);
                if state.recorded {
                    expected.truncated.push(ino);
                }
            }
        }
        expected
    }

    fn check(&self) {
        let name = &self.subject.name;
        for (ino, state) in &self.now {
            let node = &self.nodes[ino];
            let recorded = node.is_listed() || node.entry().is_some();
            assert_eq!(recorded, state.recorded, "{name}: inode {ino}");
        }
        // Between commits the image stays as it is, which `what_is_not_committed_is_lost_as_a_whole` looks at.
        if self.handles > 1 {
            return;
        }
        let mut found = self.subject.orphans.disk().crash().recover();
        found.deleted = sorted(found.deleted);
        found.truncated = sorted(found.truncated);
        assert_eq!(found, self.expected(), "{name}: on disk");
        let recorded = self.now.iter().filter(|(_, state)| state.recorded);
        let recorded: Vec<_> = recorded.map(|(&ino, _)| ino).collect();
        assert_eq!(sorted(self.subject.orphans.recorded()), recorded, "{name}: in memory");
    }

    /// Applies the operations, crashing after every commit as it were, and takes everything apart.
    pub(super) fn run(mut self, ops: &[Op]) {
        for &op in ops {
            self.apply(op);
            self.check();
        }
        for ino in 1..=INODES {
            [Op::Unlink(ino), Op::Evict(ino)].into_iter().for_each(|op| self.apply(op));
        }
        self.apply(Op::Commit);
        self.check();
        let image = self.subject.orphans.disk().crash();
        assert_eq!(image.last_orphan, 0);
        assert!(image.inodes.iter().all(|(_, raw)| raw.next_orphan == 0 && !raw.image.used));
        assert!(image.orphan_file.iter().flatten().all(|&ino| ino == 0));
    }
}

pub(super) fn ops() -> impl Strategy<Value = Vec<Op>> {
    // Few numbers in use, in several blocks, so that operations meet.
    let ino = prop::sample::select(vec![1, 2, 3, 15, 16, 17, 18, 33, 39, 40]);
    let op = (ino, 0..18_u8, 0..100_u64).prop_map(|(ino, kind, size)| match kind {
        0..5 => Op::Create(ino),
        5..8 => Op::Unlink(ino),
        8..10 => Op::Evict(ino),
        10..13 => Op::BeginTruncate(ino, size),
        13..15 => Op::EndTruncate(ino),
        15 => Op::Del(ino),
        _ => Op::Commit,
    });
    prop::collection::vec(op, 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_crash_at_any_commit_loses_no_orphan_and_frees_no_live_inode(ops in ops()) {
        for subject in subjects::<Real>(INODES) {
            Run::new(subject).run(&ops);
        }
    }
}
