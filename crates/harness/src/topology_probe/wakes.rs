//! What it costs to sleep and to be woken, by futexes.

use super::{TIMES, on_cpus, per_step};
use crate::error::Error;
use rustix::thread::futex::{Flags, wait, wake};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Instant;

/// Round trips that are timed together.
const ROUND_TRIPS: u32 = 100;

/// Sleeping and waking, as the simulator takes it apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wakes {
    /// From one task to another on a CPU: half of a round trip of two that take turns there, without the calls, nanoseconds.
    pub switch_ns: f64,
    /// The call that wakes a sleeper on another CPU, nanoseconds.
    pub wake_ns: f64,
    /// The rest of a wake-up on another CPU: half of a round trip, without the call and the switch, nanoseconds.
    pub ipi_ns: f64,
}

/// Measures on `cpu`, and between it and `other`.
///
/// # Errors
/// Threads cannot be made or bound; or the machine is so busy that the parts are more than the whole.
pub(super) fn measure(cpu: u32, other: u32) -> Result<Wakes, Error> {
    let busy = |what: String| Error::Refused {
        what,
        advice: "the machine is too busy to be measured: try again when it is idle".into(),
    };
    let (here_ns, _) = one_way([cpu, cpu])?;
    let (across_ns, wake_ns) = one_way([cpu, other])?;
    let calls_ns = calls_ns();
    let wake_ns = wake_ns.ok_or_else(|| {
        busy(format!("a thread on CPU {other} was never asleep when it was to be woken"))
    })?;
    let switch_ns = here_ns - calls_ns;
    if switch_ns <= 0.0 {
        return Err(busy(format!(
            "two threads of CPU {cpu} hand over to each other in {here_ns:.0} ns, with calls that take {calls_ns:.0} ns alone"
        )));
    }
    // A CPU that polls while it is idle needs no interrupt, and may be there before the call has ended.
    let ipi_ns = (across_ns - wake_ns - switch_ns).max(0.0);
    Ok(Wakes { switch_ns, wake_ns, ipi_ns })
}

/// Sleeps as long as the word has that value.
fn sleep_while(word: &AtomicU32, value: u32) {
    while word.load(SeqCst) == value {
        // Changed meanwhile, interrupted or woken: the loop looks again in any case.
        let _ = wait(word, Flags::PRIVATE, value, None);
    }
}

/// Wakes one sleeper and answers whether there was one.
fn wake_one(word: &AtomicU32) -> bool {
    // It fails only for an address that is not mapped.
    wake(word, Flags::PRIVATE, 1).is_ok_and(|woken| woken == 1)
}

/// Half of a round trip, and the call that wakes a sleeper there; none if nobody ever slept. Nanoseconds.
fn one_way(cpus: [u32; 2]) -> Result<(f64, Option<f64>), Error> {
    let turn = AtomicU32::new(0);
    let first = || {
        let mut calls = Vec::with_capacity((TIMES * ROUND_TRIPS) as usize);
        let round_trip = per_step(ROUND_TRIPS, || {
            for _ in 0..ROUND_TRIPS {
                turn.store(1, SeqCst);
                let began = Instant::now();
                if wake_one(&turn) {
                    calls.push(began.elapsed().as_nanos() as f64);
                }
                sleep_while(&turn, 1);
            }
        });
        (round_trip / 2.0, stats::median(&calls))
    };
    let second = || {
        for _ in 0..TIMES * ROUND_TRIPS {
            sleep_while(&turn, 0);
            turn.store(0, SeqCst);
            wake_one(&turn);
        }
    };
    on_cpus(cpus, first, second)
}

/// A call that wakes nobody and one that does not sleep: the way into the kernel and out of it, twice.
fn calls_ns() -> f64 {
    let word = AtomicU32::new(0);
    per_step(ROUND_TRIPS, || {
        for _ in 0..ROUND_TRIPS {
            wake_one(&word);
            // Fails, as it should: the value is another.
            let _ = wait(&word, Flags::PRIVATE, 1, None);
        }
    })
}
