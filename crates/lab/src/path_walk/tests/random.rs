//! Random calls, one after the other, beside the oracle.

use super::fixture::{ENV, World, ino};
use super::oracle::{Oracle, OracleMount};
use crate::object::{Kind, Raw};
use crate::path_walk::{DESIGNS, Dentry, Path, make};
use machine::Cpu;
use machine::testing::Tally;
use proptest::prelude::*;
use proptest::sample::select;

#[derive(Clone, Debug)]
enum Op {
    Walk(String),
    Hold(String),
    /// The nth of those held, modulo.
    Release(usize),
    Make(String, &'static str, bool),
    Remove(String),
    Rename(String, String, &'static str),
    Chdir(String),
    Bind(String, String),
}

/// One of them does not fit into a dentry.
const NAMES: [&str; 4] = ["a", "b", "c", "a name of more than thirty-two bytes"];

fn path() -> impl Strategy<Value = String> {
    let component = prop_oneof![
        8 => select(&NAMES[..]).prop_map(str::to_owned),
        2 => Just("..".to_owned()),
        1 => Just(".".to_owned()),
        1 => Just(String::new()),
    ];
    let components = prop::collection::vec(component, 0..4);
    (any::<bool>(), components, prop::bool::weighted(0.1)).prop_map(|(absolute, names, slash)| {
        format!(
            "{}{}{}",
            if absolute { "/" } else { "" },
            names.join("/"),
            if slash { "/" } else { "" }
        )
    })
}

fn op() -> impl Strategy<Value = Op> {
    let name = || select(&NAMES[..]);
    prop_oneof![
        6 => path().prop_map(Op::Walk),
        3 => path().prop_map(Op::Hold),
        3 => any::<usize>().prop_map(Op::Release),
        8 => (path(), name(), prop::bool::weighted(0.7)).prop_map(|(p, n, d)| Op::Make(p, n, d)),
        5 => path().prop_map(Op::Remove),
        4 => (path(), path(), name()).prop_map(|(p, q, n)| Op::Rename(p, q, n)),
        2 => path().prop_map(Op::Chdir),
        1 => (path(), path()).prop_map(|(p, q)| Op::Bind(p, q)),
    ]
}

/// A path of the cache and the same of the oracle.
type Both = (Path<Tally>, (usize, usize));

struct Run {
    world: World<Tally>,
    oracle: Oracle,
    held: Vec<Both>,
    cpu: usize,
    /// The dentry of each node, as long as it is alive.
    dentries: Vec<Raw<Dentry<Tally>>>,
}

impl Run {
    fn walk(&mut self, path: &str) -> Result<Option<Both>, TestCaseError> {
        let got = self.world.walk(self.cpu, path.as_bytes());
        let expected = self.oracle.walk(path.as_bytes());
        match (got, expected) {
            (Ok(got), Ok(expected)) => {
                prop_assert_eq!(ino(got.dentry) as usize, expected.1 + 1, "{}", path);
                // SAFETY: a reference is held.
                prop_assert_eq!(unsafe { got.mount.get() }.id as usize, expected.0 + 1, "{}", path);
                self.oracle.nodes[expected.1].references += 1;
                Ok(Some((got, expected)))
            }
            (Err(got), Err(expected)) => {
                prop_assert_eq!(got, expected, "{}", path);
                Ok(None)
            }
            (got, expected) => {
                let got = got.map(|path| ino(path.dentry));
                Err(TestCaseError::fail(format!("{path}: {got:?}, not {expected:?}")))
            }
        }
    }

    fn put(&mut self, (path, (_, node)): Both) {
        self.world.put_path(self.cpu, path);
        self.oracle.put(node);
    }

    fn is_directory(&self, both: &Both) -> bool {
        self.oracle.nodes[both.1.1].directory
    }

    fn make(&mut self, parent: &Both, name: &str, directory: bool) {
        let node = &self.oracle.nodes[parent.1.1];
        if node.directory && node.named && !node.children.contains_key(name.as_bytes()) {
            let kind = if directory { Kind::Directory } else { Kind::Regular };
            let made = self.world.make(self.cpu, parent.0.dentry, name.as_bytes(), kind);
            self.dentries.push(made);
            self.world.put(self.cpu, made);
            self.oracle.insert(parent.1.1, name.as_bytes(), directory);
        }
    }

    fn remove(&mut self, what: &Both) -> Result<(), TestCaseError> {
        let node = &self.oracle.nodes[what.1.1];
        // SAFETY: a reference is held.
        let dentry = unsafe { what.0.dentry.get() };
        prop_assert_eq!(self.world.walk.is_empty(dentry), node.children.is_empty());
        if node.named && node.children.is_empty() && !self.oracle.is_mounted(what.1.1) {
            self.world.walk.unhash(self.world.cx(self.cpu), dentry);
            self.oracle.remove(what.1.1);
        }
        prop_assert_eq!(dentry.is_hashed(), self.oracle.nodes[what.1.1].named);
        Ok(())
    }

    fn rename(&mut self, what: &Both, to: &Both, name: &str) {
        let (from, parent) = (what.1.1, to.1.1);
        let directory = &self.oracle.nodes[parent];
        let free = directory.directory
            && directory.named
            && !directory.children.contains_key(name.as_bytes());
        let movable = self.oracle.nodes[from].named && !self.oracle.is_mounted(from);
        if free && movable && !self.oracle.is_below(parent, from) {
            // SAFETY: references are held.
            let (dentry, parent_dentry) = unsafe { (what.0.dentry.get(), to.0.dentry.get()) };
            let cx = self.world.cx(self.cpu);
            self.world.walk.rename(cx, dentry, parent_dentry, name.as_bytes());
            self.oracle.rename(from, parent, name.as_bytes());
        }
    }

    fn step(&mut self, op: &Op) -> Result<(), TestCaseError> {
        match op {
            Op::Walk(path) => {
                if let Some(found) = self.walk(path)? {
                    self.put(found);
                }
            }
            Op::Hold(path) => {
                let found = self.walk(path)?;
                self.held.extend(found);
            }
            Op::Release(nth) => {
                if !self.held.is_empty() {
                    let released = self.held.swap_remove(nth % self.held.len());
                    self.put(released);
                }
            }
            Op::Make(path, name, directory) => {
                if let Some(parent) = self.walk(path)? {
                    self.make(&parent, name, *directory);
                    self.put(parent);
                }
            }
            Op::Remove(path) => {
                if let Some(found) = self.walk(path)? {
                    self.remove(&found)?;
                    self.put(found);
                }
            }
            Op::Rename(from, to, name) => {
                if let Some(from) = self.walk(from)? {
                    if let Some(to) = self.walk(to)? {
                        self.rename(&from, &to, name);
                        self.put(to);
                    }
                    self.put(from);
                }
            }
            Op::Chdir(path) => {
                if let Some(found) = self.walk(path)? {
                    if self.is_directory(&found) {
                        self.world.set_cwd(self.cpu, found.0);
                        let old = std::mem::replace(&mut self.oracle.cwd, found.1);
                        self.oracle.put(old.1);
                    } else {
                        self.put(found);
                    }
                }
            }
            Op::Bind(what, at) => {
                if let Some(what) = self.walk(what)? {
                    match self.walk(at)? {
                        Some(at) if self.is_directory(&what) && self.is_directory(&at) => {
                            self.bind(what, at);
                        }
                        at => {
                            at.into_iter().for_each(|at| self.put(at));
                            self.put(what);
                        }
                    }
                }
            }
        }
        let dead: Vec<u32> = std::mem::take(&mut self.oracle.dead)
            .into_iter()
            .map(|node| u32::try_from(node).unwrap() + 1)
            .collect();
        let mut dead = dead;
        dead.sort_unstable();
        prop_assert_eq!(self.world.take_gone(), dead);
        self.world.rcu.quiescent(self.world.cx(self.cpu));
        Ok(())
    }

    fn bind(&mut self, what: Both, at: Both) {
        self.world.mount(what.0.dentry, at.0);
        // SAFETY: mounts live as long as the world.
        unsafe { what.0.mount.get() }.refs.put(self.world.cx(self.cpu));
        self.oracle.mounts.push(OracleMount { root: what.1.1, on: Some(at.1) });
    }

    fn check_counts(&self) -> Result<(), TestCaseError> {
        for (at, node) in self.oracle.nodes.iter().enumerate().filter(|(_, node)| node.alive) {
            // SAFETY: it is alive, hence not freed.
            let count = unsafe { self.dentries[at].get() }.references();
            prop_assert_eq!(count, self.oracle.count(at), "{:?}", node.name);
        }
        Ok(())
    }
}

fn run(design: &str, ops: &[Op]) -> Result<(), TestCaseError> {
    let world = World::<Tally>::new(make(design, &ENV).unwrap());
    let dentries = vec![world.root.dentry];
    let mut run = Run { world, oracle: Oracle::new(), held: Vec::new(), cpu: 0, dentries };
    (0..ENV.cpus).for_each(|cpu| run.world.rcu.online(Cpu(cpu)));
    for (at, op) in ops.iter().enumerate() {
        // Opened on one CPU, closed on another.
        run.cpu = at % ENV.cpus;
        run.step(op)?;
    }
    run.check_counts()?;
    while let Some(held) = run.held.pop() {
        run.put(held);
    }
    run.check_counts()?;
    // The process and the mounts hold the rest: two the first mount, one each other their mount point.
    prop_assert_eq!(
        run.world.mount_references(),
        2 + i64::try_from(run.oracle.mounts.len()).unwrap() - 1
    );
    (0..ENV.cpus).for_each(|cpu| run.world.rcu.offline(Cpu(cpu)));
    // What only the process holds is not found by a tear-down.
    let root = run.world.root;
    // SAFETY: the mount holds the root.
    run.world.walk.get(run.world.cx(0), unsafe { root.dentry.get() });
    // SAFETY: as above.
    unsafe { root.mount.get() }.refs.get(run.world.cx(0));
    run.world.set_cwd(0, root);
    run.world.end();
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_design_does_what_the_oracle_does(ops in prop::collection::vec(op(), 1..120)) {
        for design in DESIGNS {
            let before = Tally::bytes();
            run(design.name, &ops)?;
            prop_assert_eq!(Tally::bytes(), before, "{}: memory", design.name);
        }
    }
}
