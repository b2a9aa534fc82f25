//! Real threads, whose crash images are recovered while they run.

use super::super::image::{DiskImage, InodeImage};
use super::super::node::OrphanNode;
use super::{ENV, Subject, cx, sorted, subjects};
use crate::orphan_list::Orphans;
use machine::sync::Rcu;
use machine::{Cpu, Cx, POwned, Real};
use std::sync::Mutex;

const THREADS: usize = 3;
const ROUNDS: u32 = 1000;
const INODES: u32 = 48;

/// It does not move when it changes hands.
type Node = POwned<Real, OrphanNode<Real>>;

/// In every transaction: an inode is recorded if and only if it is in use and has no link or an odd size.
pub(super) fn check_image(image: &DiskImage, name: &str) {
    let recovered = image.recover();
    assert_eq!(recovered.errors, [], "{name}");
    let those = |f: fn(&InodeImage) -> bool| {
        let inodes = image.inodes.iter();
        inodes.filter(move |(_, raw)| raw.image.used && f(&raw.image)).map(|(ino, _)| ino)
    };
    let deleted: Vec<u32> = those(|inode| inode.nlink == 0).collect();
    let truncated: Vec<u32> = those(|inode| inode.nlink > 0 && inode.size % 2 == 1).collect();
    assert_eq!(sorted(recovered.deleted), deleted, "{name}: deleted");
    assert_eq!(sorted(recovered.truncated), truncated, "{name}: truncated");
}

fn unused_nodes(thread: usize) -> Vec<Node> {
    // Neighbours in the inode table belong to different threads.
    let inos = (1..=INODES).filter(|ino| *ino as usize % THREADS == thread);
    inos.map(|ino| POwned::new(OrphanNode::new(&ENV, ino))).collect()
}

struct Task<'a> {
    orphans: &'a dyn Orphans<Real>,
    cx: Cx<'a, Real>,
    /// Inodes that any thread may delete: unlinked, closed on another CPU.
    unlinked: &'a Mutex<Vec<Node>>,
    name: &'a str,
    random: u64,
}

impl Task<'_> {
    fn random(&mut self, below: usize) -> usize {
        // xorshift64.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as usize % below
    }

    fn set(&self, node: &OrphanNode<Real>, image: InodeImage, recorded: bool) {
        let handle = self.orphans.disk().start(self.cx);
        handle.set_inode(node.ino(), image);
        if recorded {
            self.orphans.add(self.cx, &handle, node);
        } else {
            self.orphans.del(self.cx, &handle, node);
        }
    }

    fn evict(&self, node: &OrphanNode<Real>) {
        self.set(node, InodeImage::default(), false);
    }

    /// One inode's life up to its unlinking.
    fn live(&mut self, node: &OrphanNode<Real>) {
        let image = |nlink, size| InodeImage { nlink, size, used: true };
        self.set(node, image(1, 0), false);
        for _ in 0..self.random(3) {
            self.set(node, image(1, 7), true);
            if self.random(2) == 0 {
                self.set(node, image(1, 8), false);
            }
        }
        self.set(node, image(0, 8), true);
    }

    fn run(&mut self, mut unused: Vec<Node>) {
        self.cx.rcu.online(self.cx.cpu);
        for _ in 0..ROUNDS {
            if self.random(16) == 0 {
                self.orphans.disk().commit(self.cx);
                check_image(&self.orphans.disk().crash(), self.name);
            }
            // The number of an evicted inode is free for the thread that evicted it.
            if !unused.is_empty() {
                let at = self.random(unused.len());
                let node = unused.swap_remove(at);
                self.live(&node);
                self.unlinked.lock().expect("no thread panicked").push(node);
            }
            if self.random(2) == 0 {
                let unlinked = self.unlinked.lock().expect("no thread panicked").pop();
                if let Some(node) = unlinked {
                    self.evict(&node);
                    unused.push(node);
                }
            }
            self.cx.rcu.quiescent(self.cx);
        }
        self.cx.rcu.offline(self.cx.cpu);
    }
}

fn stress(subject: &Subject<Real>) {
    let (rcu, unlinked) = (Rcu::new(ENV.cpus), Mutex::new(Vec::new()));
    let task = |thread: usize| Task {
        orphans: &*subject.orphans,
        cx: Cx { cpu: Cpu(thread), rcu: &rcu },
        unlinked: &unlinked,
        name: &subject.name,
        random: 0x9E37_79B9 + thread as u64,
    };
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || task(thread).run(unused_nodes(thread)));
        }
    });

    let disk = subject.orphans.disk();
    let left = unlinked.lock().expect("no thread panicked");
    let left_inos = sorted(left.iter().map(|node| node.ino()).collect());
    assert_eq!(sorted(subject.orphans.recorded()), left_inos, "{}", subject.name);
    disk.commit(cx(&rcu, 0));
    check_image(&disk.crash(), &subject.name);
    left.iter().for_each(|node| task(0).evict(node));
    disk.commit(cx(&rcu, 0));
    assert_eq!(subject.orphans.recorded(), []);
    let image = disk.crash();
    assert!(image.inodes.iter().all(|(_, raw)| !raw.image.used && raw.next_orphan == 0));
    assert_eq!(image.last_orphan, 0);
}

#[test]
fn crash_images_of_racing_threads_are_consistent() {
    for subject in subjects::<Real>(INODES) {
        stress(&subject);
    }
}
