//! sysfs and procfs trees of other machines, for tests.

use super::{Roots, cpulist};
use std::path::Path;
use tempfile::TempDir;

/// A directory with `sys` and `proc` in it.
pub(crate) struct Tree(TempDir);

impl Tree {
    /// Without any file.
    pub(crate) fn new() -> Tree {
        Tree(tempfile::tempdir().expect("a temporary directory"))
    }

    pub(crate) fn roots(&self) -> Roots {
        Roots { sys: self.0.path().join("sys"), proc: self.0.path().join("proc") }
    }

    /// Writes a file below /sys.
    pub(crate) fn sys(&self, path: &str, text: &str) {
        write(&self.roots().sys.join(path), text);
    }

    /// Writes a file below /proc.
    pub(crate) fn proc(&self, path: &str, text: &str) {
        write(&self.roots().proc.join(path), text);
    }

    /// Writes a file of one CPU.
    pub(crate) fn cpu(&self, id: u32, path: &str, text: &str) {
        self.sys(&format!("devices/system/cpu/cpu{id}/{path}"), text);
    }

    /// Writes the topology files that Linux 3.2 has, for the hardware threads of one core.
    pub(crate) fn core(&self, socket: u32, core_id: u32, threads: &[u32]) {
        for &id in threads {
            self.cpu(id, "topology/physical_package_id", &format!("{socket}\n"));
            self.cpu(id, "topology/core_id", &format!("{core_id}\n"));
            self.cpu(id, "topology/thread_siblings_list", &(cpulist::format(threads) + "\n"));
        }
    }

    /// Two sockets of four cores with two hardware threads each, numbered as firmware does on servers: 0-7 are the first
    /// threads, 8-15 their siblings; one node per socket; core ids repeat on every socket.
    pub(crate) fn two_sockets() -> Tree {
        let tree = Tree::new();
        for core in 0..8 {
            tree.core(core / 4, core % 4, &[core, core + 8]);
        }
        tree.sys("devices/system/node/node0/cpulist", "0-3,8-11\n");
        tree.sys("devices/system/node/node1/cpulist", "4-7,12-15\n");
        tree
    }
}

fn write(path: &Path, text: &str) {
    let parent = path.parent().expect("a file below the tree");
    std::fs::create_dir_all(parent).expect("directories of the tree");
    std::fs::write(path, text).expect("a file of the tree");
}
