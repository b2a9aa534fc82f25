//! Machines as data: what a file says, checked.

use serde::Deserialize;

/// A number and where it comes from.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// The number, in the unit that the key names.
    pub value: f64,
    /// Where it was published, or "assumed" and why.
    pub source: String,
}

/// A level of the machine: `size` groups of the level below make one of this.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// `smt`, `core`, `socket`, ...
    pub name: String,
    /// Groups of the level below in one of these; of the first level: CPUs.
    pub size: usize,
    /// A line from one CPU to another of the same group at this level, but of different ones below.
    pub transfer_ns: f64,
    /// Where that comes from.
    pub source: String,
}

/// A front-side bus.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bus {
    /// CPUs of one group of this level share one.
    pub level: String,
    /// How long a transfer occupies it.
    pub busy_ns: f64,
    /// Where that comes from.
    pub source: String,
}

/// What a NUMA node is.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// CPUs that differ in this level, or in an outer one, belong to different nodes.
    pub level: String,
    /// Where that comes from.
    pub source: String,
}

/// A machine. See `machines/*.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Name on the command line.
    pub name: String,
    /// What it is.
    pub summary: String,
    /// From the innermost.
    #[serde(rename = "level")]
    pub levels: Vec<Level>,
    /// The front-side bus, if it has one.
    pub bus: Option<Bus>,
    /// What a node is. If nothing is said: what the outermost level called `node` or `socket` tells apart; without one, the machine.
    pub node: Option<Node>,
    /// Clock rate.
    pub mhz: Value,
    /// A load or store that hits.
    pub hit_ns: Value,
    /// A locked operation on a line that is there.
    pub rmw_ns: Value,
    /// A line from memory.
    pub memory_ns: Value,
    /// How long a CPU keeps a line that it got to write, whoever asks.
    pub hold_ns: Value,
    /// Share of a transfer during which the line's home answers nobody else.
    pub home_share: Value,
    /// How long a read of a line that is shared already occupies the home.
    pub read_occupancy_ns: Value,
    /// What each copy adds to a write that invalidates it.
    pub invalidation_ns: Value,
    /// A full fence.
    pub fence_ns: Value,
    /// One look of a spinning CPU to the next.
    pub pause_ns: Value,
    /// From one task to another on a CPU.
    pub context_switch_ns: Value,
    /// What it costs to wake a task.
    pub wake_ns: Value,
    /// Until the woken task's CPU knows of it.
    pub ipi_ns: Value,
    /// Time slice, when there are more tasks than CPUs.
    pub slice_ns: Value,
    /// How much longer work takes while a sibling of the same core works; the first level is then `smt`.
    pub smt_slowdown: Option<Value>,
}

/// Why a machine cannot be used.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
pub enum Error {
    /// The file is not as a machine's must be; names the line and the key.
    #[error("{0}")]
    Syntax(String),
    /// A value makes no sense.
    #[error("`{key}`: expected {expected}, found {found}")]
    Value {
        /// The key.
        key: String,
        /// What is possible.
        expected: String,
        /// What is there.
        found: String,
    },
    /// No built-in machine of that name.
    #[error("no machine `{0}`; there are: {known}", known = known())]
    Unknown(String),
}

fn known() -> String {
    MACHINES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

macro_rules! machines {
    ($($name:literal: $summary:literal),* $(,)?) => {
        /// Built-in machines: name and summary.
        pub const MACHINES: &[(&str, &str)] = &[$(($name, $summary)),*];
        const TEXTS: &[&str] =
            &[$(include_str!(concat!("../../../../machines/", $name, ".toml"))),*];
    };
}

machines! {
    "dual-core-2007": "the dual-core desktop of mail 004",
    "8-socket-2007": "the 8-socket machine of mail 004",
    "numa-32-2007": "the 32-way x86-64 NUMA machine of mail 000",
    "piii-4-2004": "the 4-way Pentium III Xeon of mail 001, on one front-side bus",
    "power5-64-2009": "the 64-core POWER5+ of mail 003",
    "xeon-16-2014": "the 16-CPU machine of mail 002",
    "xeon-160-2014": "the 8-socket, 160-CPU Westmere-EX of mail 002",
    "spr-20-2024": "20 cores of a Sapphire Rapids; calibrates home_share and hold_ns",
    "thunderx2-28-2019": "28 cores of a ThunderX2; calibrates hold_ns",
    "epyc-256-2024": "two EPYC of 64 cores, 256 CPUs",
    "numa-1024": "1024 CPUs that nobody has: 16 nodes of 64",
    "numa-4096": "4096 CPUs that nobody has: 64 nodes of 64",
}

/// Where each CPU is, and how far apart CPUs are.
pub(super) struct Layout {
    /// By CPU: its groups as bit fields, the innermost lowest.
    pub(super) place: Vec<u16>,
    /// Bits of a place.
    pub(super) bits: u32,
    /// By the number of the highest bit, from 1, in which two places differ.
    pub(super) distance_ns: [f64; 17],
    /// The bits of a place that say which node it is in.
    pub(super) node: u16,
}

fn bits(size: usize) -> u32 {
    size.next_power_of_two().trailing_zeros()
}

impl Machine {
    /// The machine that a file describes.
    ///
    /// # Errors
    /// It is none; says which key is wrong and what was expected.
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        let machine: Machine =
            toml::from_str(text).map_err(|error| Error::Syntax(error.to_string()))?;
        machine.check()?;
        Ok(machine)
    }

    /// A built-in machine.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn named(name: &str) -> Result<Self, Error> {
        let at = MACHINES.iter().position(|(known, _)| *known == name);
        let at = at.ok_or_else(|| Error::Unknown(name.to_owned()))?;
        Machine::from_toml(TEXTS[at])
    }

    /// Number of CPUs.
    pub fn cpus(&self) -> usize {
        self.levels.iter().map(|level| level.size).product()
    }

    /// The machine with all latencies between CPUs, and to memory, times `factor`: for a look at how much they matter.
    #[must_use]
    pub fn with_latencies(&self, factor: f64) -> Self {
        let mut machine = self.clone();
        for level in &mut machine.levels {
            level.transfer_ns *= factor;
        }
        machine.memory_ns.value *= factor;
        machine
    }

    pub(super) fn values(&self) -> impl Iterator<Item = (&'static str, &Value, f64)> {
        /// A second: longer than anything here takes.
        const SECOND: f64 = 1e9;
        [
            ("mhz", &self.mhz, 1e6),
            ("hit_ns", &self.hit_ns, SECOND),
            ("rmw_ns", &self.rmw_ns, SECOND),
            ("memory_ns", &self.memory_ns, SECOND),
            ("hold_ns", &self.hold_ns, SECOND),
            ("home_share", &self.home_share, 1.0),
            ("read_occupancy_ns", &self.read_occupancy_ns, SECOND),
            ("invalidation_ns", &self.invalidation_ns, SECOND),
            ("fence_ns", &self.fence_ns, SECOND),
            ("pause_ns", &self.pause_ns, SECOND),
            ("context_switch_ns", &self.context_switch_ns, SECOND),
            ("wake_ns", &self.wake_ns, SECOND),
            ("ipi_ns", &self.ipi_ns, SECOND),
            ("slice_ns", &self.slice_ns, SECOND),
        ]
        .into_iter()
        .chain(self.smt_slowdown.iter().map(|value| ("smt_slowdown", value, 16.0)))
    }

    fn check(&self) -> Result<(), Error> {
        let wrong = |key: &str, expected: &str, found: String| {
            Err(Error::Value { key: key.to_owned(), expected: expected.to_owned(), found })
        };
        for (key, value, most) in self.values() {
            if !(0.0..=most).contains(&value.value) {
                return wrong(key, &format!("a number from 0 to {most}"), value.value.to_string());
            }
            if value.source.trim().is_empty() {
                return wrong(key, "a source", "an empty one".to_owned());
            }
        }
        // Spinning that took no time would never end.
        for (key, value) in [("hit_ns", &self.hit_ns), ("pause_ns", &self.pause_ns)] {
            if value.value < 0.01 {
                return wrong(key, "a number from 0.01", value.value.to_string());
            }
        }
        if self.levels.is_empty() {
            return wrong("level", "at least one [[level]]", "none".to_owned());
        }
        for level in &self.levels {
            let key = |what: &str| format!("level.{what} of `{}`", level.name);
            if !(1..=super::queue::MAX_CPUS).contains(&level.size) {
                return wrong(&key("size"), "a number from 1 to 4096", level.size.to_string());
            }
            if !(0.0..=1e9).contains(&level.transfer_ns) {
                let found = level.transfer_ns.to_string();
                return wrong(&key("transfer_ns"), "a number from 0 to 1e9", found);
            }
            if level.source.trim().is_empty() {
                return wrong(&key("source"), "a source", "an empty one".to_owned());
            }
        }
        let place: u32 = self.levels.iter().map(|level| bits(level.size)).sum();
        if place > 16 || self.cpus() > super::queue::MAX_CPUS {
            return wrong("level", "at most 4096 CPUs", format!("{}", self.cpus()));
        }
        if let Some(bus) = &self.bus {
            if !self.levels.iter().any(|level| level.name == bus.level) {
                return wrong("bus.level", "the name of a level", format!("`{}`", bus.level));
            }
            if !(0.0..=1e9).contains(&bus.busy_ns) {
                return wrong("bus.busy_ns", "a number from 0 to 1e9", bus.busy_ns.to_string());
            }
        }
        if let Some(node) = &self.node {
            if !self.levels.iter().any(|level| level.name == node.level) {
                return wrong("node.level", "the name of a level", format!("`{}`", node.level));
            }
            if node.source.trim().is_empty() {
                return wrong("node.source", "a source", "an empty one".to_owned());
            }
        }
        if self.smt_slowdown.is_some() && !self.has_smt() {
            let found = format!("`{}`", self.levels[0].name);
            return wrong("level.name", "`smt` as the first level, for smt_slowdown", found);
        }
        Ok(())
    }

    fn has_smt(&self) -> bool {
        self.levels[0].name == "smt"
    }

    /// Number of the level that tells nodes apart; none if all CPUs are of one.
    fn node_level(&self) -> Option<usize> {
        let is_node = |level: &Level| match &self.node {
            Some(node) => level.name == node.level,
            None => ["node", "socket"].contains(&level.name.as_str()),
        };
        self.levels.iter().rposition(is_node)
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        let inner = self.node_level().unwrap_or(self.levels.len());
        self.levels[inner..].iter().map(|level| level.size).product()
    }

    /// Bits of a place that tell CPUs of one group of that level apart.
    pub(super) fn bits_of(&self, level: &str) -> u32 {
        let at = self.levels.iter().position(|known| known.name == level);
        let inner = at.map_or(0, |at| at + 1);
        self.levels[..inner].iter().map(|level| bits(level.size)).sum()
    }

    /// The CPUs' numbers: cores in the order of their places; siblings of a core come after all cores, as Linux has it.
    pub(super) fn layout(&self) -> Layout {
        let mut distance_ns = [0.0; 17];
        let mut all_bits = 0;
        for level in &self.levels {
            for _ in 0..bits(level.size) {
                all_bits += 1;
                distance_ns[all_bits as usize] = level.transfer_ns;
            }
        }
        let siblings = if self.has_smt() { self.levels[0].size } else { 1 };
        let cores = self.cpus() / siblings;
        let place = |cpu: usize| {
            let (sibling, mut core) = (cpu / cores, cpu % cores);
            let (mut place, mut shift) = (0, 0);
            for (at, level) in self.levels.iter().enumerate() {
                let group = if at == 0 && self.has_smt() {
                    sibling
                } else {
                    let group = core % level.size;
                    core /= level.size;
                    group
                };
                place |= group << shift;
                shift += bits(level.size);
            }
            place as u16
        };
        let inner = self.node_level().unwrap_or(self.levels.len());
        let in_node: u32 = self.levels[..inner].iter().map(|level| bits(level.size)).sum();
        Layout {
            place: (0..self.cpus()).map(place).collect(),
            bits: all_bits,
            distance_ns,
            // A place has up to 16 bits.
            node: (u32::from(u16::MAX) << in_node) as u16,
        }
    }
}
