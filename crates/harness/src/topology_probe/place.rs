//! Which CPUs share what: the kinds of pairs there are, and how a machine file nests them.

use crate::machine::{Roots, cpulist, read_text};
use results::Topology;
use std::collections::{BTreeMap, BTreeSet};

/// What two CPUs do not share; the next outer thing they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Apart {
    /// Hardware threads of one core.
    Smt,
    /// Cores under one last-level cache.
    Core,
    /// Last-level caches of one NUMA node.
    Cache,
    /// NUMA nodes of one socket.
    Node,
    /// Sockets.
    Socket,
}

impl Apart {
    /// The innermost first.
    pub const ALL: [Apart; 5] = [Apart::Smt, Apart::Core, Apart::Cache, Apart::Node, Apart::Socket];

    /// The level's name in a machine file.
    pub fn level(self) -> &'static str {
        match self {
            Apart::Smt => "smt",
            Apart::Core => "core",
            Apart::Cache => "cache",
            Apart::Node => "node",
            Apart::Socket => "socket",
        }
    }

    /// The pair in words.
    pub fn pair(self) -> &'static str {
        match self {
            Apart::Smt => "threads of a core",
            Apart::Core => "cores",
            Apart::Cache => "caches of a node",
            Apart::Node => "nodes of a socket",
            Apart::Socket => "sockets",
        }
    }
}

/// A CPU and where it is: socket, node, last-level cache, core, from the outside. A number says something only within what is
/// outside of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    at: [u32; 4],
    pub(super) cpu: u32,
}

impl Place {
    pub(super) fn apart(&self, other: &Place) -> Apart {
        let shared = self.at.iter().zip(&other.at).take_while(|(a, b)| a == b).count();
        Apart::ALL[4 - shared]
    }
}

/// Where every CPU is. One whose caches sysfs does not tell of shares its cache with the rest of its node.
pub(super) fn places(roots: &Roots, topology: &Topology) -> Vec<Place> {
    let place = |cpu: &results::Cpu| {
        let cache = last_level_cache(roots, cpu.id).unwrap_or(u32::MAX);
        Place { at: [cpu.socket, cpu.node, cache, cpu.core], cpu: cpu.id }
    };
    topology.cpus.iter().map(place).collect()
}

/// The first of the CPUs that share the largest cache with this one.
fn last_level_cache(roots: &Roots, cpu: u32) -> Option<u32> {
    let dir = roots.sys.join(format!("devices/system/cpu/cpu{cpu}/cache"));
    let caches = std::fs::read_dir(dir).ok()?.flatten().filter_map(|entry| {
        let level: u32 = read_text(&entry.path().join("level")).ok()?.parse().ok()?;
        let sharing = read_text(&entry.path().join("shared_cpu_list")).ok()?;
        Some((level, cpulist::parse(&sharing).ok()?.into_iter().min()?))
    });
    // Without a third level, cores that share nothing are not told apart by it.
    caches.filter(|(level, _)| *level >= 3).max().map(|(_, first)| first)
}

/// All pairs by kind, the nearest kind first, the lower CPU of a pair first.
pub(super) fn kinds(places: &[Place]) -> BTreeMap<Apart, Vec<[u32; 2]>> {
    let mut kinds: BTreeMap<Apart, Vec<[u32; 2]>> = BTreeMap::new();
    for (at, a) in places.iter().enumerate() {
        for b in &places[at + 1..] {
            let pair = [a.cpu.min(b.cpu), a.cpu.max(b.cpu)];
            kinds.entry(a.apart(b)).or_default().push(pair);
        }
    }
    kinds
}

/// All pairs, or `most` of them, as many of each kind, spread evenly.
pub(super) fn choose(places: &[Place], most: usize) -> Vec<[u32; 2]> {
    let kinds = kinds(places);
    let all: usize = kinds.values().map(Vec::len).sum();
    let of_each = if all <= most { all } else { most / kinds.len() };
    let spread = |pairs: Vec<[u32; 2]>| {
        let taken = pairs.len().min(of_each);
        (0..taken).map(|at| pairs[at * pairs.len() / taken]).collect::<Vec<_>>()
    };
    kinds.into_values().flat_map(spread).collect()
}

/// How many groups of the level below make one of each level; levels with one are left out. Where groups differ in size, the
/// smallest counts: the machine has then fewer CPUs than the host, but none that is not there.
pub(super) fn sizes(places: &[Place]) -> Vec<(Apart, usize)> {
    // The CPU is the innermost number.
    let key = |place: &Place, depth: usize| -> Vec<u32> {
        place.at.iter().chain([&place.cpu]).take(depth).copied().collect()
    };
    let size = |apart: Apart| {
        // Smt is at depth 5 within depth 4, ..., Socket at depth 1 within depth 0.
        let outer = Apart::ALL.len() - 1 - apart as usize;
        let mut inner: BTreeMap<Vec<u32>, BTreeSet<Vec<u32>>> = BTreeMap::new();
        for place in places {
            inner.entry(key(place, outer)).or_default().insert(key(place, outer + 1));
        }
        inner.values().map(BTreeSet::len).min().unwrap_or(1)
    };
    let sizes = Apart::ALL.map(|apart| (apart, size(apart)));
    sizes.into_iter().filter(|(_, size)| *size > 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::fixture::Tree;
    use crate::machine::topology;

    fn read(tree: &Tree, cpus: &[u32]) -> Vec<Place> {
        places(&tree.roots(), &topology::read(&tree.roots(), cpus))
    }

    #[test]
    fn two_sockets_with_siblings_are_three_kinds() {
        let tree = Tree::two_sockets();
        let places = read(&tree, &Vec::from_iter(0..16));
        let kinds = kinds(&places);
        let counts: Vec<_> = kinds.iter().map(|(kind, pairs)| (*kind, pairs.len())).collect();
        assert_eq!(counts, [(Apart::Smt, 8), (Apart::Core, 48), (Apart::Socket, 64)]);
        assert!(kinds[&Apart::Smt].contains(&[0, 8]));
        let expected = [(Apart::Smt, 2), (Apart::Core, 4), (Apart::Socket, 2)];
        assert_eq!(sizes(&places), expected);
    }

    #[test]
    fn caches_divide_a_node() {
        let tree = Tree::new();
        for cpu in 0..8 {
            tree.core(0, cpu, &[cpu]);
            let first = cpu / 4 * 4;
            tree.cpu(cpu, "cache/index3/level", "3\n");
            tree.cpu(cpu, "cache/index3/shared_cpu_list", &format!("{first}-{}\n", first + 3));
            tree.cpu(cpu, "cache/index0/level", "1\n");
            tree.cpu(cpu, "cache/index0/shared_cpu_list", &format!("{cpu}\n"));
        }
        let places = read(&tree, &Vec::from_iter(0..8));
        assert_eq!(sizes(&places), [(Apart::Core, 4), (Apart::Cache, 2)]);
    }

    #[test]
    fn where_groups_differ_the_smallest_counts() {
        let tree = Tree::two_sockets();
        // A whole core, half of one, and two cores of the other socket.
        let places = read(&tree, &[0, 8, 1, 4, 5]);
        assert_eq!(sizes(&places), [(Apart::Core, 2), (Apart::Socket, 2)]);
    }

    #[test]
    fn few_pairs_of_each_kind_of_a_large_machine_are_chosen() {
        let tree = Tree::two_sockets();
        let places = read(&tree, &Vec::from_iter(0..16));
        assert_eq!(choose(&places, 120).len(), 120, "all");
        let few = choose(&places, 12);
        assert_eq!(few.len(), 12);
        let kinds = kinds(&places);
        for pairs in kinds.values() {
            assert_eq!(pairs.iter().filter(|pair| few.contains(pair)).count(), 4);
        }
    }
}
