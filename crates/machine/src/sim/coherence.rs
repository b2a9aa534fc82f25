//! The model of coherence: what a request costs, and what its completion changes.
//!
//! A line has a home that answers requests one after the other. A request that must take the line from its owner takes the
//! distance to it, and blocks the home for a share of that; a read of a line that is shared already blocks it shortly. A write
//! invalidates all copies: it takes the distance to the farthest, and a little for each. A CPU that has got a line to write
//! keeps it for a moment, whoever asks, so that a try that failed can be repeated on it.
//!
//! The home is in the node of the CPU that touched the line first in the run: memory comes from the node that asks for it (first
//! touch, and slab caches per node), and what a run uses was not there before it. A request from one node to another goes by way
//! of the home. What is published as the distance of two nodes was measured on lines whose home is one of the two, so that is what
//! those cost; with the home in a third node a request takes the mean of that and of the way round: one and a half times with
//! three nodes as far from each other. Of copies in several nodes, the two at the ends of the places are looked at: if one of
//! those is the home and the other one's node writes, a copy in between does not count as a third. In a node there is no detour.

use super::lines::{Lines, NOBODY};
use super::spec::Machine;

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Read,
    Write,
    /// Reads and writes in one.
    Modify,
}

/// Ticks in a nanosecond.
pub(super) const NS: u64 = 100;

/// The machine in ticks.
pub(super) struct Costs {
    /// Cost of an access that hits, or once the line is there, by kind.
    pub(super) hit: [u64; 3],
    pub(super) memory: u64,
    pub(super) pause: u64,
    pub(super) fence: u64,
    pub(super) switch: u64,
    pub(super) wake: u64,
    pub(super) ipi: u64,
    pub(super) slice: u64,
    hold: u64,
    read_occupancy: u64,
    invalidation: u64,
    /// In 1/1024.
    home_share: u64,
    bus: u64,
    /// By number of bits in which two places differ.
    distance: [u64; 17],
    /// The bits of a place that say which node it is in.
    node: u16,
    /// Place of each CPU: its groups as bit fields.
    pub(super) place: Vec<u16>,
    /// Bus of each CPU, if the machine has such.
    bus_of: Vec<u16>,
    /// Slow-down of a core's CPUs when both work, in 1/1024, and CPUs of a core.
    pub(super) smt: Option<(u64, u16)>,
    /// CPUs with the same place but for the lowest bits, by place; for `smt`.
    pub(super) cpu_at: Vec<u16>,
}

fn ticks(ns: f64) -> u64 {
    (ns * NS as f64).round() as u64
}

impl Costs {
    pub(super) fn new(machine: &Machine) -> Self {
        let layout = machine.layout();
        let hit = ticks(machine.hit_ns.value);
        let bus_of = match &machine.bus {
            Some(bus) => {
                let bits = machine.bits_of(&bus.level);
                layout.place.iter().map(|place| place >> bits).collect()
            }
            None => Vec::new(),
        };
        let mut cpu_at = vec![NOBODY; 1 << layout.bits];
        for (cpu, place) in layout.place.iter().enumerate() {
            cpu_at[usize::from(*place)] = cpu as u16;
        }
        let smt = machine.smt_slowdown.as_ref().map(|slowdown| {
            (
                (slowdown.value * 1024.0).round() as u64,
                1 << machine.bits_of(&machine.levels[0].name),
            )
        });
        Costs {
            hit: [hit, hit, ticks(machine.rmw_ns.value)],
            memory: ticks(machine.memory_ns.value),
            pause: ticks(machine.pause_ns.value),
            fence: ticks(machine.fence_ns.value),
            switch: ticks(machine.context_switch_ns.value),
            wake: ticks(machine.wake_ns.value),
            ipi: ticks(machine.ipi_ns.value),
            slice: ticks(machine.slice_ns.value),
            hold: ticks(machine.hold_ns.value),
            read_occupancy: ticks(machine.read_occupancy_ns.value),
            invalidation: ticks(machine.invalidation_ns.value),
            home_share: (machine.home_share.value * 1024.0).round() as u64,
            bus: machine.bus.as_ref().map_or(0, |bus| ticks(bus.busy_ns)),
            distance: layout.distance_ns.map(ticks),
            node: layout.node,
            place: layout.place,
            bus_of,
            smt,
            cpu_at,
        }
    }

    #[inline(always)]
    fn between(&self, a: u16, b: u16) -> u64 {
        self.distance[16 - (a ^ b).leading_zeros() as usize]
    }

    /// From `a` to `b` with the home of the line at `home`.
    #[inline(always)]
    fn by_way_of(&self, home: u16, a: u16, b: u16) -> u64 {
        let direct = self.between(a, b);
        let of_one = |a: u16, b: u16| (a ^ b) & self.node == 0;
        if of_one(a, b) || of_one(a, home) || of_one(home, b) {
            return direct;
        }
        let round = self.between(a, home) + self.between(home, b);
        (direct + round.max(direct)) / 2
    }
}

/// The lines and those who have them.
pub(super) struct Coherence {
    pub(super) lines: Lines,
    pub(super) costs: Costs,
    buses: Vec<u64>,
    pub(super) inversions: u64,
    pub(super) transfers: u64,
}

impl Coherence {
    pub(super) fn new(machine: &Machine) -> Self {
        let costs = Costs::new(machine);
        let buses = costs.bus_of.iter().max().map_or(0, |most| usize::from(*most) + 1);
        Coherence {
            lines: Lines::new(machine.cpus()),
            costs,
            buses: vec![0; buses],
            inversions: 0,
            transfers: 0,
        }
    }

    /// Whether `cpu` may do it at `now` with what it has. A line that `cpu` did not have to itself loses its sole toucher.
    #[inline]
    pub(super) fn hits(&mut self, at: usize, cpu: u16, kind: Kind, now: u64) -> bool {
        let line = &mut self.lines.all[at];
        if line.sole != NOBODY && line.sole != cpu {
            line.sole = NOBODY;
            self.inversions += u64::from(line.written > now);
            line.written = 0;
        }
        let line = &self.lines.all[at];
        if line.shared {
            return kind == Kind::Read && self.lines.shares(line, cpu);
        }
        let reserved = line.tail != cpu || line.tail_shared;
        line.owner == cpu && (kind == Kind::Read || !reserved || now <= line.hold)
    }

    /// Queues the request of `cpu`, made at `now`, and answers when it completes.
    #[inline]
    pub(super) fn reserve(&mut self, at: usize, cpu: u16, kind: Kind, now: u64) -> u64 {
        let costs = &self.costs;
        let line = &mut self.lines.all[at];
        let me = costs.place[usize::from(cpu)];
        let tail = costs.place[usize::from(line.tail)];
        let (latency, occupancy, not_before);
        if kind == Kind::Read {
            latency = costs.by_way_of(line.home, me, tail);
            not_before = line.written + costs.hold;
            if line.tail_shared {
                occupancy = costs.read_occupancy;
                line.least = line.least.min(me);
                line.greatest = line.greatest.max(me);
                line.readers += 1;
            } else {
                occupancy = (latency * costs.home_share) >> 10;
                line.tail_shared = true;
                line.least = me.min(tail);
                line.greatest = me.max(tail);
                line.readers = 2;
            }
        } else if line.tail_shared {
            let to = |copy| costs.by_way_of(line.home, me, copy);
            let far = to(line.least).max(to(line.greatest));
            latency = far + costs.invalidation * u64::from(line.readers - 1);
            occupancy = (latency * costs.home_share) >> 10;
            not_before = (line.written + costs.hold).max(line.read);
        } else {
            latency = costs.by_way_of(line.home, me, tail);
            occupancy = (latency * costs.home_share) >> 10;
            not_before = (line.written + costs.hold).max(line.read);
        }
        let mut start = now.max(line.busy).max(not_before.saturating_sub(latency));
        if costs.bus != 0 {
            let (mine, theirs) =
                (costs.bus_of[usize::from(cpu)], costs.bus_of[usize::from(line.tail)]);
            for bus in [mine, theirs] {
                start = start.max(self.buses[usize::from(bus)]);
            }
            for bus in [mine, theirs] {
                self.buses[usize::from(bus)] = start + costs.bus;
            }
        }
        line.busy = start + occupancy;
        let done = start + latency;
        if kind == Kind::Read {
            line.read = line.read.max(done);
        } else {
            line.tail = cpu;
            line.tail_shared = false;
            line.written = done;
        }
        self.transfers += 1;
        let count = &mut self.lines.counts[at];
        // A run has 10 million accesses as a rule; more of one line than fit are not counted.
        count.transfers = count.transfers.saturating_add(1);
        count.wait += done - now;
        done
    }

    /// The request of `cpu` completes at `now`. True if CPUs are parked on the line and must look again.
    #[inline]
    pub(super) fn complete(&mut self, at: usize, cpu: u16, kind: Kind, now: u64) -> bool {
        let line = &mut self.lines.all[at];
        if kind == Kind::Read {
            if !line.shared {
                line.shared = true;
                line.sharers = 0;
                let owner = line.owner;
                self.lines.share(at, owner);
            }
            self.lines.share(at, cpu);
            return false;
        }
        line.shared = false;
        line.owner = cpu;
        line.hold = now + self.costs.hold;
        line.parked != NOBODY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(machine: &str) -> Costs {
        Costs::new(&Machine::named(machine).expect("built in"))
    }

    /// Every three places of a machine: home, from, to.
    fn triples(costs: &Costs) -> impl Iterator<Item = [u16; 3]> {
        let places = &costs.place;
        places.iter().flat_map(move |home| {
            places.iter().flat_map(move |a| places.iter().map(move |b| [*home, *a, *b]))
        })
    }

    #[test]
    fn with_one_or_two_nodes_every_transfer_costs_its_distance() {
        for machine in ["spr-20-2024", "thunderx2-28-2019", "piii-4-2004", "xeon-16-2014"] {
            let costs = costs(machine);
            for [home, a, b] in triples(&costs) {
                assert_eq!(costs.by_way_of(home, a, b), costs.between(a, b), "{machine}");
            }
        }
    }

    #[test]
    fn a_third_node_costs_half_of_the_way_round() {
        // 8 nodes of 4 CPUs, 300 ns within and 600 ns across: all equally far.
        let equal = costs("numa-32-2007");
        for [home, a, b] in triples(&equal) {
            let expected = match [home, a, b].map(|place| place >> 2) {
                _ if a == b => 0,
                [_, a, b] if a == b => 300,
                [home, a, b] if home == a || home == b => 600,
                _ => 900,
            };
            assert_eq!(equal.by_way_of(home, a, b), expected * NS, "{home} {a} {b}");
        }
        // 8 sockets of one CPU, 150, 175 and 200 ns apart.
        let hops = costs("8-socket-2007");
        let by = |home, a, b| hops.by_way_of(home, a, b) as f64 / NS as f64;
        assert_eq!([by(0, 0, 4), by(4, 0, 4), by(0, 0, 1)], [200.0, 200.0, 150.0]);
        assert_eq!(by(1, 0, 4), (200.0 + 150.0 + 200.0) / 2.0);
        assert_eq!(by(4, 0, 1), (150.0 + 200.0 + 200.0) / 2.0);
        assert_eq!(by(2, 0, 1), (150.0 + 175.0 + 175.0) / 2.0);
    }

    #[test]
    fn the_home_is_where_a_line_was_touched_first_and_stays_there() {
        let machine = Machine::named("numa-32-2007").expect("built in");
        let mut memory = Coherence::new(&machine);
        let (first, second, third) = (0, 4, 8);
        let line = memory.lines.touch(4096, first, memory.costs.place[usize::from(first)]);
        let mut now = 0;
        let mut takes = |cpu, kind| {
            now += 100_000 * NS;
            let done = memory.reserve(line, cpu, kind, now);
            memory.complete(line, cpu, kind, done);
            (done - now) / NS
        };
        assert_eq!(takes(second, Kind::Write), 600, "from the home");
        assert_eq!(takes(third, Kind::Write), 900, "neither has the home");
        assert_eq!(takes(third + 1, Kind::Write), 300, "within a node");
        assert_eq!(takes(first, Kind::Write), 600, "to the home");
        assert_eq!(takes(second, Kind::Read), 600, "a copy of the home's");
        assert_eq!(takes(third, Kind::Write), 902, "two copies, one of them not at the home");
        assert_eq!(takes(second, Kind::Read), 900);
    }
}
