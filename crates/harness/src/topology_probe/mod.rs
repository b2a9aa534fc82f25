//! Measuring this host as a machine: how far its CPUs are from each other, and what simple things cost on one of them.
//!
//! What the simulator wants to know of a machine is measured where a program can measure it: a line that goes from one CPU to
//! another and back (`pairs`), operations on a line that is there (`alone`), sleeping and waking (`wakes`). CPUs are grouped by
//! what they share (`place`), and `describe` puts it all into a machine file.

mod alone;
mod describe;
mod pairs;
mod place;
mod wakes;

pub use alone::Alone;
pub use describe::machine;
pub use pairs::Pair;
pub use place::Apart;
pub use wakes::Wakes;

use crate::error::Error;
use crate::machine::{Roots, affinity, topology};
use place::Place;
use results::Topology;

/// Pairs that are measured; of a machine with more, as many of every kind.
const MOST_PAIRS: usize = 4096;

/// What was measured.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The CPUs, in the order of the matrix.
    pub cpus: Vec<u32>,
    /// Where they are.
    pub topology: Topology,
    /// Each pair that was measured, the lower CPU first.
    pub pairs: Vec<Pair>,
    /// Pairs of the same kind, the nearest first.
    pub groups: Vec<Group>,
    /// What things cost on one CPU.
    pub alone: Alone,
    /// What sleeping costs.
    pub wakes: Wakes,
    places: Vec<Place>,
}

/// Pairs of CPUs that share as much.
#[derive(Clone, Debug)]
pub struct Group {
    /// What the two do not share.
    pub apart: Apart,
    /// Pairs of this kind on this host.
    pub pairs: usize,
    /// Of them, those that were measured.
    pub measured: usize,
    /// Median over the measured pairs of a line's way from one to the other with a compare-and-exchange, nanoseconds.
    pub locked_ns: f64,
    /// The same with a load and a store.
    pub plain_ns: f64,
    /// The fastest and the slowest pair's `locked_ns`.
    pub range_ns: [f64; 2],
}

impl Probe {
    /// A pair's result, in either order.
    pub fn pair(&self, a: u32, b: u32) -> Option<&Pair> {
        let cpus = [a.min(b), a.max(b)];
        self.pairs.iter().find(|pair| pair.cpus == cpus)
    }
}

/// Measures this host, on the CPUs that this process may use; `told` is called with the number of pairs done and of all.
///
/// # Errors
/// [`Error::Refused`] if there is one CPU only or threads cannot be pinned; or a call of the kernel failed.
pub fn probe(roots: &Roots, told: &mut dyn FnMut(usize, usize)) -> Result<Probe, Error> {
    let os = |error| Error::Os { call: "sched_getaffinity", error };
    let cpus = affinity::usable().map_err(os)?;
    if cpus.len() < 2 {
        return Err(Error::Refused {
            what: format!("only CPU {} may be used: a line has nowhere to go", cpus[0]),
            advice: "give the process two CPUs or more (taskset, the cpuset of its container); of a machine with one CPU there \
                     is no core-to-core latency"
                .into(),
        });
    }
    let topology = topology::read(roots, &cpus);
    let places = place::places(roots, &topology);
    let chosen = place::choose(&places, MOST_PAIRS);
    let mut pairs = Vec::with_capacity(chosen.len());
    for (done, [a, b]) in chosen.iter().enumerate() {
        told(done, chosen.len());
        pairs.push(pairs::measure(*a, *b)?);
    }
    let groups = groups(&places, &pairs);
    // Not siblings of one core, if there is another.
    let order = topology::order(topology::Pin::Cores, &topology);
    let alone = alone::measure(order[0])?;
    let wakes = wakes::measure(order[0], order[1])?;
    Ok(Probe { cpus, topology, pairs, groups, alone, wakes, places })
}

fn groups(places: &[Place], pairs: &[Pair]) -> Vec<Group> {
    let group = |(apart, all): (Apart, Vec<[u32; 2]>)| {
        let of_kind: Vec<&Pair> = pairs.iter().filter(|pair| all.contains(&pair.cpus)).collect();
        let mut locked: Vec<f64> = of_kind.iter().map(|pair| pair.locked_ns).collect();
        locked.sort_by(f64::total_cmp);
        let plain: Vec<f64> = of_kind.iter().map(|pair| pair.plain_ns).collect();
        Group {
            apart,
            pairs: all.len(),
            measured: of_kind.len(),
            range_ns: [locked[0], locked[locked.len() - 1]],
            locked_ns: median(&locked),
            plain_ns: median(&plain),
        }
    };
    place::kinds(places).into_iter().map(group).collect()
}

/// Runs `f` on a thread bound to `cpu`.
fn on_cpu<T: Send>(cpu: u32, f: impl FnOnce() -> T + Send) -> Result<T, Error> {
    let pinned = || affinity::pin_self_to(cpu).map(|()| f()).map_err(not_pinned);
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, pinned).map_err(no_thread)?;
        thread.join().expect("a measurement does not panic")
    })
}

/// Runs `a` and `b` at the same time, each on a thread bound to its CPU. Neither begins if one of them cannot be bound.
fn on_cpus<T: Send>(
    [cpu_a, cpu_b]: [u32; 2],
    a: impl FnOnce() -> T + Send,
    b: impl FnOnce() + Send,
) -> Result<T, Error> {
    let both = std::sync::Barrier::new(2);
    let pinned = std::sync::atomic::AtomicU32::new(0);
    let enter = |cpu: u32| {
        use std::sync::atomic::Ordering::SeqCst;
        let result = affinity::pin_self_to(cpu).map_err(not_pinned);
        pinned.fetch_add(u32::from(result.is_ok()), SeqCst);
        both.wait();
        result.map(|()| pinned.load(SeqCst) == 2)
    };
    std::thread::scope(|scope| {
        let other = std::thread::Builder::new()
            .spawn_scoped(scope, || {
                let go = enter(cpu_b)?;
                if go {
                    b();
                }
                Ok(())
            })
            .map_err(no_thread)?;
        // Not on the caller's own thread, which would stay bound.
        let mine = std::thread::Builder::new().spawn_scoped(scope, || {
            let go = enter(cpu_a)?;
            Ok(go.then(a))
        });
        let mine = match mine {
            Ok(thread) => thread.join().expect("a measurement does not panic"),
            Err(error) => {
                // The other one waits for somebody.
                both.wait();
                Err(no_thread(error))
            }
        };
        let other: Result<(), Error> = other.join().expect("a measurement does not panic");
        let result = mine?;
        other?;
        Ok(result.expect("both were bound, or one of them has said why not"))
    })
}

fn no_thread(error: std::io::Error) -> Error {
    Error::Os { call: "cannot make a thread", error }
}

fn not_pinned(error: std::io::Error) -> Error {
    Error::Refused {
        what: error.to_string(),
        advice: "a latency between two CPUs can only be measured by threads that stay on them: allow sched_setaffinity (a \
                 seccomp filter or the container may forbid it)"
            .into(),
    }
}

/// How often everything is timed.
const TIMES: u32 = 25;

/// Nanoseconds that `f` takes per step, if it takes `steps` of them: the median of many times, so that what interrupts some of
/// them does not count.
fn per_step(steps: u32, mut f: impl FnMut()) -> f64 {
    let mut times = Vec::with_capacity(TIMES as usize);
    for _ in 0..TIMES {
        let began = std::time::Instant::now();
        f();
        times.push(began.elapsed().as_nanos() as f64 / f64::from(steps));
    }
    median(&times)
}

/// The median of something that is not empty.
fn median(values: &[f64]) -> f64 {
    stats::median(values).expect("something was measured")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_is_not_there_ends_both_threads_with_advice() {
        let usable = affinity::usable().expect("affinity");
        let missing = crate::machine::cpulist::ID_LIMIT - 1;
        for cpus in [[usable[0], missing], [missing, usable[0]], [missing, missing]] {
            let error = on_cpus(cpus, || (), || ()).expect_err("no such CPU");
            assert!(error.is_refusal(), "{error}");
            assert!(error.to_string().contains("sched_setaffinity"), "{error}");
        }
        assert!(on_cpu(missing, || ()).expect_err("no such CPU").is_refusal());
    }

    #[test]
    fn this_host_is_measured() {
        match probe(&Roots::default(), &mut |_, _| ()) {
            Ok(probe) => {
                let cpus = probe.cpus.len();
                assert_eq!(
                    probe.groups.iter().map(|g| g.pairs).sum::<usize>(),
                    cpus * (cpus - 1) / 2
                );
                assert!(probe.pairs.iter().all(|pair| pair.locked_ns > 0.0 && pair.plain_ns > 0.0));
                let machine = machine(&probe, "mine", "here", "2026-01-02").expect("a machine");
                assert!(machine.cpus() >= 2 && machine.cpus() <= cpus);
                let read = machine::sim::Machine::from_toml(&machine.to_toml());
                assert_eq!(read.as_ref(), Ok(&machine));
            }
            Err(error) => assert!(error.is_refusal(), "{error}"),
        }
    }
}
