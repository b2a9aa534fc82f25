//! What was measured as a machine file: every value with its source, and what could not be measured with the reason.

use super::{Group, Probe, place};
use crate::error::Error;
use machine::sim::{Level, Machine, Node, Value};

/// Of this machine come the parameters of the model that no program can measure.
const CALIBRATED: &str = "spr-20-2024";

/// The machine `name` that was measured on `host` at `date`.
///
/// # Errors
/// The model has no place for so many CPUs, or for what was measured.
pub fn machine(probe: &Probe, name: &str, host: &str, date: &str) -> Result<Machine, Error> {
    let Probe { alone, wakes, .. } = probe;
    // Unoptimised loops take longer than the operation in them.
    let build =
        if cfg!(debug_assertions) { " by a debug build, which is too slow for it" } else { "" };
    let measured = |value: f64, how: &str| Value {
        value: (value * 100.0).round() / 100.0,
        source: format!("measured on {host}, {date}{build}: {how}"),
    };
    let assumed = |value: f64, why: &str| Value { value, source: format!("assumed: {why}") };
    let sizes = place::sizes(&probe.places);
    let siblings = sizes.iter().any(|(apart, _)| apart.level() == "smt");
    let level = |(apart, size): (place::Apart, usize)| {
        let group = probe.groups.iter().find(|group| group.apart == apart);
        let Group { measured: pairs, locked_ns, range_ns: [least, most], .. } =
            group.expect("a level of two groups has a pair");
        let how = format!(
            "compare-and-exchange from one to the other, half of a round trip; pairs: {pairs}, {least:.0} to {most:.0} ns, their median"
        );
        let Value { value, source } = measured(*locked_ns, &how);
        Level { name: apart.level().into(), size, transfer_ns: value, source }
    };
    let model = Machine::named(CALIBRATED).expect("it is built in");
    let cpus: usize = sizes.iter().map(|(_, size)| size).product();
    let of = match probe.cpus.len() {
        all if all == cpus => format!("{cpus} CPUs"),
        all => format!("{cpus} of its {all} CPUs, the others do not fit into equal groups"),
    };
    let machine = Machine {
        name: name.into(),
        summary: format!("{host} as measured on {date}: {of}"),
        levels: sizes.iter().copied().map(level).collect(),
        bus: None,
        // Nodes within a socket are the ones with memory of their own.
        node: sizes.iter().any(|(apart, _)| *apart == place::Apart::Node).then(|| Node {
            level: place::Apart::Node.level().into(),
            source: format!("NUMA nodes of {host} as its kernel has them"),
        }),
        mhz: measured(alone.mhz, "a chain of exclusive-ors and rotations, a cycle each"),
        hit_ns: measured(alone.hit_ns, "a chain of loads in the first-level cache"),
        rmw_ns: measured(alone.rmw_ns, "fetch_add on a line of its own"),
        memory_ns: assumed(
            100.0,
            "typical; to measure it takes a buffer several times the size of the last-level cache",
        ),
        hold_ns: model.hold_ns,
        home_share: model.home_share,
        read_occupancy_ns: model.read_occupancy_ns,
        invalidation_ns: model.invalidation_ns,
        fence_ns: measured(alone.fence_ns, "a store and a full fence, again and again"),
        pause_ns: measured(alone.pause_ns, "pauses one after the other"),
        context_switch_ns: measured(
            wakes.switch_ns,
            "two threads take turns on a CPU by futexes, half of a round trip without the calls",
        ),
        wake_ns: measured(wakes.wake_ns, "the futex call that wakes a sleeper on another CPU"),
        ipi_ns: measured(
            wakes.ipi_ns,
            "two threads on two CPUs take turns by futexes, half of a round trip without wake_ns and context_switch_ns",
        ),
        slice_ns: assumed(
            4e6,
            "one tick of 250 Hz; what the scheduler gives depends on who else runs",
        ),
        smt_slowdown: siblings.then(|| {
            assumed(
                1.6,
                "two siblings together do 1.25 times the work of one; it depends on the work",
            )
        }),
    };
    match Machine::from_toml(&machine.to_toml()) {
        Ok(machine) => Ok(machine),
        Err(error) => Err(Error::Refused {
            what: format!("this host is no machine for the simulator: {error}"),
            advice: "use a part of it (taskset), or write a machine file by hand".into(),
        }),
    }
}
