//! The tree as it should be, in the plainest way.

use std::collections::BTreeMap;
use vfs_api::Errno;

/// A dentry.
pub(super) struct Node {
    pub(super) parent: usize,
    pub(super) name: Vec<u8>,
    pub(super) children: BTreeMap<Vec<u8>, usize>,
    pub(super) directory: bool,
    pub(super) named: bool,
    /// References of walks, processes and mounts.
    pub(super) references: u32,
    pub(super) alive: bool,
}

/// A mount: its root, and where it is.
pub(super) struct OracleMount {
    pub(super) root: usize,
    pub(super) on: Option<(usize, usize)>,
}

/// Nodes and mounts by number; 0 is the root of either. The number of a node's inode is one more.
pub(super) struct Oracle {
    pub(super) nodes: Vec<Node>,
    pub(super) mounts: Vec<OracleMount>,
    pub(super) cwd: (usize, usize),
    /// Nodes that died since somebody last looked.
    pub(super) dead: Vec<usize>,
}

impl Oracle {
    pub(super) fn new() -> Self {
        let root = Node {
            parent: 0,
            name: Vec::new(),
            children: BTreeMap::new(),
            directory: true,
            named: true,
            references: 3,
            alive: true,
        };
        Oracle {
            nodes: vec![root],
            mounts: vec![OracleMount { root: 0, on: None }],
            cwd: (0, 0),
            dead: Vec::new(),
        }
    }

    fn top(&self, mut at: (usize, usize)) -> (usize, usize) {
        while let Some(mount) = self.mounts.iter().position(|mount| mount.on == Some(at)) {
            at = (mount, self.mounts[mount].root);
        }
        at
    }

    fn up(&self, mut at: (usize, usize)) -> (usize, usize) {
        while at != (0, 0) {
            let (mount, node) = at;
            if node != self.mounts[mount].root {
                return (mount, self.nodes[node].parent);
            }
            match self.mounts[mount].on {
                Some(on) => at = on,
                None => break,
            }
        }
        at
    }

    /// Mount and node at a path.
    pub(super) fn walk(&self, path: &[u8]) -> Result<(usize, usize), Errno> {
        if path.is_empty() {
            return Err(Errno::NOENT);
        }
        let mut at = if path[0] == b'/' { (0, 0) } else { self.cwd };
        for component in path.split(|&byte| byte == b'/').enumerate() {
            let directory = self.nodes[at.1].directory;
            match component {
                (0, b"") => {}
                _ if !directory => return Err(Errno::NOTDIR),
                (_, b"" | b".") => {}
                (_, b"..") => at = self.top(self.up(at)),
                (_, name) => match self.nodes[at.1].children.get(name) {
                    Some(&child) => at = self.top((at.0, child)),
                    None => return Err(Errno::NOENT),
                },
            }
        }
        Ok(at)
    }

    /// What d_count should be.
    pub(super) fn count(&self, node: usize) -> u32 {
        let child =
            |&&at: &&usize| at != 0 && self.nodes[at].alive && self.nodes[at].parent == node;
        let all: Vec<usize> = (0..self.nodes.len()).collect();
        self.nodes[node].references + u32::try_from(all.iter().filter(child).count()).unwrap()
    }

    /// Drops a reference, and what falls with it.
    pub(super) fn put(&mut self, node: usize) {
        self.nodes[node].references -= 1;
        let mut at = node;
        while !self.nodes[at].named && self.count(at) == 0 {
            self.nodes[at].alive = false;
            self.dead.push(at);
            at = self.nodes[at].parent;
        }
    }

    pub(super) fn insert(&mut self, parent: usize, name: &[u8], directory: bool) {
        let node = self.nodes.len();
        self.nodes.push(Node {
            parent,
            name: name.to_vec(),
            children: BTreeMap::new(),
            directory,
            named: true,
            references: 0,
            alive: true,
        });
        self.nodes[parent].children.insert(name.to_vec(), node);
    }

    /// Takes the name away; the caller holds a reference.
    pub(super) fn remove(&mut self, node: usize) {
        let (parent, name) = (self.nodes[node].parent, self.nodes[node].name.clone());
        self.nodes[parent].children.remove(&name);
        self.nodes[node].named = false;
    }

    pub(super) fn rename(&mut self, node: usize, parent: usize, name: &[u8]) {
        let (old, old_name) = (self.nodes[node].parent, self.nodes[node].name.clone());
        self.nodes[old].children.remove(&old_name);
        self.nodes[parent].children.insert(name.to_vec(), node);
        self.nodes[node].parent = parent;
        self.nodes[node].name = name.to_vec();
    }

    /// Whether `node` is `above` or below it.
    pub(super) fn is_below(&self, mut node: usize, above: usize) -> bool {
        while node != above && node != 0 {
            node = self.nodes[node].parent;
        }
        node == above
    }

    /// Whether something is mounted on it or shows it as its root.
    pub(super) fn is_mounted(&self, node: usize) -> bool {
        self.mounts.iter().any(|m| m.root == node || m.on.is_some_and(|(_, on)| on == node))
    }
}
