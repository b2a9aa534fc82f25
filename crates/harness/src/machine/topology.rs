//! Where the usable CPUs sit, and the order in which tasks are put on them.

use super::{Roots, cpulist, read_number, read_text};
use results::{Cpu, Topology};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Capacity of the strongest kind of core: the kernel's SCHED_CAPACITY_SCALE.
const FULL_CAPACITY: u32 = 1024;

/// Intel's kinds of core and a capacity for each. The kernel lists the CPUs of a kind, but before Linux 6.12 it gives no
/// number for its strength, so that only the order of these numbers means something.
const INTEL_KINDS: [(&str, u32); 3] = [
    ("cpu_core", FULL_CAPACITY),
    ("cpu_atom", FULL_CAPACITY / 2),
    ("cpu_lowpower", FULL_CAPACITY / 4),
];

/// Reads the place of every usable CPU.
///
/// What sysfs does not tell is taken to be simple: one socket, one node, one hardware thread per core, one kind of core.
pub fn read(roots: &Roots, usable: &[u32]) -> Topology {
    let ids: BTreeSet<u32> = usable.iter().copied().collect();
    let places: Vec<Place> = ids.iter().map(|&id| Place::read(roots, id)).collect();
    let cores: BTreeSet<CoreKey> = places.iter().map(|place| place.core).collect();
    let cores: BTreeMap<CoreKey, u32> = cores.into_iter().zip(0..).collect();
    let nodes = nodes(roots);
    let capacity = capacities(roots, &ids);

    let mut unlisted_siblings: BTreeMap<CoreKey, u32> = BTreeMap::new();
    let mut cpus = Vec::with_capacity(places.len());
    for place in &places {
        let smt = place.smt.unwrap_or_else(|| {
            let next = unlisted_siblings.entry(place.core).or_default();
            *next += 1;
            *next - 1
        });
        cpus.push(Cpu {
            id: place.id,
            socket: place.core.socket,
            core: cores[&place.core],
            node: nodes.get(&place.id).copied().or_else(|| node_link(roots, place.id)).unwrap_or(0),
            smt,
            capacity: capacity[&place.id],
        });
    }
    Topology {
        sockets: distinct(&cpus, |cpu| cpu.socket),
        cores: distinct(&cpus, |cpu| cpu.core),
        nodes: distinct(&cpus, |cpu| cpu.node),
        threads_per_core: threads_per_core(&cpus),
        hybrid: distinct(&cpus, |cpu| cpu.capacity) > 1,
        cpus,
    }
}

/// What tells one core from another.
///
/// `core_id` alone repeats on every socket, on some machines on every die, and on Arm on every cluster; the first sibling
/// settles the last case and any other that firmware invents.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct CoreKey {
    socket: u32,
    die: u32,
    core_id: u32,
    first_sibling: Option<u32>,
}

/// What the topology directory of one CPU says.
struct Place {
    id: u32,
    core: CoreKey,
    /// Rank among all siblings, usable or not; none if they are not listed.
    smt: Option<u32>,
}

impl Place {
    fn read(roots: &Roots, id: u32) -> Place {
        let dir = roots.cpu(id).join("topology");
        // A kernel that does not know writes -1, which is no u32 and so reads as missing.
        let number = |file: &str| read_number::<u32>(&dir.join(file));
        let siblings = ["thread_siblings_list", "core_cpus_list"]
            .iter()
            .filter_map(|file| cpulist::parse(&read_text(&dir.join(file)).ok()?).ok())
            .find(|siblings| siblings.contains(&id));
        let first_sibling = siblings.as_ref().map(|siblings| siblings[0]);
        Place {
            id,
            core: CoreKey {
                socket: number("physical_package_id").unwrap_or(0),
                die: number("die_id").unwrap_or(0),
                core_id: number("core_id").or(first_sibling).unwrap_or(id),
                first_sibling,
            },
            smt: siblings.map(|siblings| {
                siblings.iter().zip(0..).find(|(s, _)| **s == id).map_or(0, |(_, rank)| rank)
            }),
        }
    }
}

/// Node of every CPU that a node lists.
fn nodes(roots: &Roots) -> BTreeMap<u32, u32> {
    let mut node_of = BTreeMap::new();
    let dir = roots.sys.join("devices/system/node");
    for node in numbered(&dir, "node") {
        let list = read_text(&dir.join(format!("node{node}/cpulist"))).unwrap_or_default();
        for id in cpulist::parse(&list).unwrap_or_default() {
            node_of.insert(id, node);
        }
    }
    node_of
}

/// Node of a CPU by the link in its own directory.
fn node_link(roots: &Roots, id: u32) -> Option<u32> {
    numbered(&roots.cpu(id), "node").into_iter().next()
}

/// The numbers N of the entries `prefixN` of a directory, ascending; none if it cannot be read.
fn numbered(dir: &Path, prefix: &str) -> BTreeSet<u32> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.strip_prefix(prefix)?.parse().ok())
        .collect()
}

/// Capacity of every CPU of `ids`.
///
/// Capacities within a twentieth of each other are made equal: firmware rates the best cores of one kind slightly higher than
/// the others, and that does not make a machine hybrid.
fn capacities(roots: &Roots, ids: &BTreeSet<u32>) -> BTreeMap<u32, u32> {
    let read_one = |id: u32| {
        read_number::<u32>(&roots.cpu(id).join("cpu_capacity")).filter(|&capacity| capacity > 0)
    };
    let mut capacity: BTreeMap<u32, u32> =
        ids.iter().map(|&id| (id, read_one(id).unwrap_or(FULL_CAPACITY))).collect();
    let kinds: BTreeSet<u32> = capacity.values().copied().collect();
    let (weakest, strongest) = match (kinds.first(), kinds.last()) {
        (Some(&weakest), Some(&strongest)) => (weakest, strongest),
        _ => return capacity,
    };
    if u64::from(weakest) * 20 < u64::from(strongest) * 19 {
        return capacity;
    }
    for value in capacity.values_mut() {
        *value = strongest;
    }
    for (kind, value) in INTEL_KINDS {
        let list = read_text(&kind_file(roots, kind)).unwrap_or_default();
        for id in cpulist::parse(&list).unwrap_or_default() {
            capacity.entry(id).and_modify(|capacity| *capacity = value);
        }
    }
    capacity
}

fn distinct(cpus: &[Cpu], of: impl Fn(&Cpu) -> u32) -> u32 {
    cpus.iter().map(of).collect::<BTreeSet<_>>().len() as u32
}

fn threads_per_core(cpus: &[Cpu]) -> u32 {
    let mut threads: BTreeMap<u32, u32> = BTreeMap::new();
    for cpu in cpus {
        *threads.entry(cpu.core).or_default() += 1;
    }
    threads.into_values().max().unwrap_or(0)
}

/// How tasks are put on CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Pin {
    /// One hardware thread of every core first, socket by socket and node by node; siblings last.
    #[default]
    Cores,
    /// Both siblings of a core, then the next core.
    Smt,
    /// Round robin over sockets and over the nodes of each, one hardware thread of every core first; siblings last.
    Sockets,
    /// Left to the scheduler.
    None,
}

impl Pin {
    /// All of them, in the order in which to list them.
    pub const ALL: [Pin; 4] = [Pin::Cores, Pin::Smt, Pin::Sockets, Pin::None];

    /// As written on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Pin::Cores => "cores",
            Pin::Smt => "smt",
            Pin::Sockets => "sockets",
            Pin::None => "none",
        }
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no [`Pin`] has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no way of pinning is called `{0}`: use cores, smt, sockets or none")]
pub struct UnknownPin(String);

impl FromStr for Pin {
    type Err = UnknownPin;

    fn from_str(name: &str) -> Result<Pin, UnknownPin> {
        let found = Pin::ALL.into_iter().find(|pin| pin.name() == name);
        found.ok_or_else(|| UnknownPin(name.to_owned()))
    }
}

/// The CPUs in the order in which tasks get them: every CPU once, and the same order every time.
///
/// On a hybrid machine the strongest kind of core comes first. [`Pin::None`] gives ascending ids, on which nothing is pinned.
pub fn order(pin: Pin, topology: &Topology) -> Vec<u32> {
    let mut seats = seats(topology);
    match pin {
        Pin::None => seats.sort_by_key(|seat| seat.cpu.id),
        Pin::Cores => seats.sort_by_key(|seat| (seat.rank, seat.weakness(), seat.place())),
        Pin::Smt => seats.sort_by_key(|seat| (seat.weakness(), seat.place())),
        Pin::Sockets => {
            seats.sort_by_key(|seat| (seat.rank, seat.weakness(), seat.place()));
            seats = seats
                .chunk_by(|a, b| (a.rank, a.weakness()) == (b.rank, b.weakness()))
                .flat_map(over_sockets)
                .collect();
        }
    }
    seats.iter().map(|seat| seat.cpu.id).collect()
}

/// Whether this kernel lists Intel's kinds of core, even if only one of them is usable.
pub(crate) fn lists_kinds(roots: &Roots) -> bool {
    INTEL_KINDS.iter().any(|(kind, _)| kind_file(roots, kind).exists())
}

/// The file that lists the CPUs of one of Intel's kinds of core.
fn kind_file(roots: &Roots, kind: &str) -> PathBuf {
    roots.sys.join("devices").join(kind).join("cpus")
}

/// CPUs of the strongest kind, one hardware thread per core counted.
pub(crate) fn strongest_cores(topology: &Topology) -> u32 {
    let strongest = topology.cpus.iter().map(|cpu| cpu.capacity).max();
    let cpus: Vec<Cpu> =
        topology.cpus.iter().filter(|cpu| Some(cpu.capacity) == strongest).copied().collect();
    distinct(&cpus, |cpu| cpu.core)
}

/// A CPU that a task can be put on.
#[derive(Clone, Copy)]
struct Seat {
    cpu: Cpu,
    /// Rank among the usable hardware threads of its core. Unlike `cpu.smt` it is 0 for a second thread whose first one is
    /// not usable: that core is as free as any other.
    rank: u32,
}

impl Seat {
    /// Sorts the strongest kind of core first.
    fn weakness(&self) -> std::cmp::Reverse<u32> {
        std::cmp::Reverse(self.cpu.capacity)
    }

    fn place(&self) -> impl Ord + use<> {
        let Cpu { id, socket, core, node, smt, .. } = self.cpu;
        (socket, node, core, smt, id)
    }
}

fn seats(topology: &Topology) -> Vec<Seat> {
    let mut cpus = topology.cpus.clone();
    cpus.sort_by_key(|cpu| (cpu.core, cpu.smt, cpu.id));
    let cores = cpus.chunk_by(|a, b| a.core == b.core);
    cores.flat_map(|core| core.iter().zip(0..).map(|(&cpu, rank)| Seat { cpu, rank })).collect()
}

/// Deals seats that are sorted by place out over the sockets, and over the nodes of each socket.
fn over_sockets(seats: &[Seat]) -> Vec<Seat> {
    let sockets = seats.chunk_by(|a, b| a.cpu.socket == b.cpu.socket);
    round_robin(
        sockets
            .map(|socket| {
                let nodes = socket.chunk_by(|a, b| a.cpu.node == b.cpu.node);
                round_robin(nodes.map(<[Seat]>::to_vec).collect())
            })
            .collect(),
    )
}

/// The first of every hand, then the second of every hand that has one, ...
fn round_robin(hands: Vec<Vec<Seat>>) -> Vec<Seat> {
    let longest = hands.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest)
        .flat_map(|turn| hands.iter().filter_map(move |hand| hand.get(turn).copied()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::fixture::Tree;
    use proptest::prelude::*;

    fn counts(topology: &Topology) -> [u32; 4] {
        [topology.sockets, topology.nodes, topology.cores, topology.threads_per_core]
    }

    #[test]
    fn two_sockets_of_four_cores_with_siblings() {
        let tree = Tree::two_sockets();
        let topology = read(&tree.roots(), &Vec::from_iter(0..16));
        assert_eq!(counts(&topology), [2, 2, 8, 2]);
        assert!(!topology.hybrid);
        let expected = Cpu { id: 13, socket: 1, core: 5, node: 1, smt: 1, capacity: 1024 };
        assert_eq!(topology.cpus[13], expected);

        let orders = [
            (Pin::Cores, vec![0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]),
            (Pin::Smt, vec![0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15]),
            (Pin::Sockets, vec![0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15]),
            (Pin::None, Vec::from_iter(0..16)),
        ];
        for (pin, expected) in orders {
            assert_eq!(order(pin, &topology), expected, "{pin}");
        }
    }

    #[test]
    fn a_sibling_alone_on_its_core_counts_as_a_core() {
        let tree = Tree::two_sockets();
        let topology = read(&tree.roots(), &[0, 8, 9, 15]);
        assert_eq!(counts(&topology), [2, 2, 3, 2]);
        assert_eq!(topology.cpus[2].smt, 1, "the rank counts siblings that are not usable");
        assert_eq!(order(Pin::Cores, &topology), [0, 9, 15, 8]);
        assert_eq!(order(Pin::Sockets, &topology), [0, 15, 9, 8]);
    }

    #[test]
    fn sub_numa_nodes_take_turns_within_their_socket() {
        let tree = Tree::new();
        for cpu in 0..8 {
            tree.core(cpu / 4, cpu, &[cpu]);
        }
        for node in 0..4 {
            let list = format!("{}-{}\n", node * 2, node * 2 + 1);
            tree.sys(&format!("devices/system/node/node{node}/cpulist"), &list);
        }
        let topology = read(&tree.roots(), &Vec::from_iter(0..8));
        assert_eq!(counts(&topology), [2, 4, 8, 1]);
        assert_eq!(order(Pin::Sockets, &topology), [0, 4, 2, 6, 1, 5, 3, 7]);
    }

    #[test]
    fn intel_hybrid_puts_performance_cores_first() {
        let tree = Tree::new();
        // Firmware may number the efficient cores first.
        tree.core(0, 0, &[0]);
        tree.core(0, 1, &[1]);
        tree.core(0, 8, &[2, 3]);
        tree.core(0, 12, &[4, 5]);
        tree.sys("devices/cpu_core/cpus", "2-5\n");
        tree.sys("devices/cpu_atom/cpus", "0-1\n");
        let topology = read(&tree.roots(), &Vec::from_iter(0..6));
        assert!(topology.hybrid);
        assert_eq!(topology.threads_per_core, 2);
        assert_eq!(strongest_cores(&topology), 2);
        assert_eq!(order(Pin::Cores, &topology), [2, 4, 0, 1, 3, 5]);
        assert_eq!(order(Pin::Smt, &topology), [2, 3, 4, 5, 0, 1]);
        assert!(!read(&tree.roots(), &[2, 3]).hybrid, "one kind is left");
    }

    #[test]
    fn arm_clusters_repeat_core_ids_and_differ_in_capacity() {
        let tree = Tree::new();
        for cpu in 0..4 {
            tree.core(0, cpu % 2, &[cpu]);
            tree.cpu(cpu, "cpu_capacity", if cpu < 2 { "446\n" } else { "1024\n" });
        }
        let topology = read(&tree.roots(), &[0, 1, 2, 3]);
        assert_eq!(topology.cores, 4);
        assert!(topology.hybrid);
        assert_eq!(order(Pin::Cores, &topology), [2, 3, 0, 1]);
    }

    #[test]
    fn favoured_cores_are_not_another_kind() {
        let tree = Tree::new();
        for (cpu, capacity) in [(0, "1004\n"), (1, "1024\n")] {
            tree.cpu(cpu, "cpu_capacity", capacity);
        }
        let topology = read(&tree.roots(), &[0, 1]);
        assert!(!topology.hybrid);
        assert_eq!(topology.cpus[0].capacity, topology.cpus[1].capacity);
    }

    #[test]
    fn without_sysfs_every_cpu_is_a_core() {
        let topology = read(&Tree::new().roots(), &[3, 7]);
        assert_eq!(counts(&topology), [1, 1, 2, 1]);
        assert_eq!(order(Pin::Cores, &topology), [3, 7]);
        assert_eq!(counts(&read(&Tree::new().roots(), &[])), [0; 4]);
    }

    #[test]
    fn unlisted_siblings_and_unknown_packages() {
        let tree = Tree::new();
        for cpu in [0, 1] {
            tree.cpu(cpu, "topology/physical_package_id", "-1\n");
            tree.cpu(cpu, "topology/core_id", "0\n");
            tree.cpu(cpu, "node1/cpulist", "0-1\n");
        }
        let topology = read(&tree.roots(), &[0, 1]);
        assert_eq!(counts(&topology), [1, 1, 1, 2]);
        assert_eq!(topology.cpus.iter().map(|cpu| cpu.smt).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(topology.cpus[0].node, 1, "from the CPU's own link");
    }

    #[test]
    fn dies_separate_cores() {
        let tree = Tree::new();
        for cpu in 0..4 {
            tree.cpu(cpu, "topology/core_id", "0\n");
            tree.cpu(cpu, "topology/die_id", &format!("{}\n", cpu / 2));
        }
        assert_eq!(read(&tree.roots(), &[0, 1, 2, 3]).cores, 2);
    }

    #[test]
    fn more_than_1024_cpus_with_gaps() {
        let tree = Tree::new();
        let ids: Vec<u32> = (0..5001).step_by(100).collect();
        for &id in &ids {
            tree.core(id / 2500, id, &[id]);
        }
        tree.sys("devices/system/node/node0/cpulist", "0-2499\n");
        tree.sys("devices/system/node/node1/cpulist", "2500-4999\n");
        tree.sys("devices/system/node/node2/cpulist", "5000\n");
        let topology = read(&tree.roots(), &ids);
        assert_eq!(counts(&topology), [3, 3, 51, 1]);
        assert_eq!(order(Pin::Cores, &topology), ids);
        assert_eq!(order(Pin::Sockets, &topology)[..4], [0, 2500, 5000, 100]);
    }

    #[test]
    fn names_round_trip() {
        for pin in Pin::ALL {
            assert_eq!(pin.to_string().parse(), Ok(pin));
        }
        let error = "core".parse::<Pin>().expect_err("not a name");
        assert!(error.to_string().contains("cores, smt, sockets or none"), "{error}");
    }

    fn any_topology() -> impl Strategy<Value = Topology> {
        let place = (0..3u32, 0..4u32, 0..12u32, 0..4u32, prop_oneof![Just(1024u32), Just(512)]);
        proptest::collection::btree_map(0..6000u32, place, 0..60).prop_map(|places| Topology {
            cpus: places
                .into_iter()
                .map(|(id, (socket, node, core, smt, capacity))| Cpu {
                    id,
                    socket,
                    core,
                    node,
                    smt,
                    capacity,
                })
                .collect(),
            ..Topology::default()
        })
    }

    proptest! {
        #[test]
        fn every_order_has_every_cpu_once(topology in any_topology()) {
            for pin in Pin::ALL {
                let mut order = order(pin, &topology);
                order.sort_unstable();
                let ids: Vec<u32> = topology.cpus.iter().map(|cpu| cpu.id).collect();
                prop_assert_eq!(order, ids);
            }
        }

        #[test]
        fn no_core_is_doubled_before_every_core_has_one(topology in any_topology()) {
            let cores = distinct(&topology.cpus, |cpu| cpu.core) as usize;
            for pin in [Pin::Cores, Pin::Sockets] {
                let first = &order(pin, &topology)[..cores];
                let used: Vec<Cpu> =
                    topology.cpus.iter().filter(|cpu| first.contains(&cpu.id)).copied().collect();
                prop_assert_eq!(distinct(&used, |cpu| cpu.core) as usize, cores);
            }
        }

        #[test]
        fn the_order_of_the_record_does_not_matter(topology in any_topology()) {
            let mut reversed = topology.clone();
            reversed.cpus.reverse();
            for pin in Pin::ALL {
                prop_assert_eq!(order(pin, &topology), order(pin, &reversed));
            }
        }
    }
}
