//! A cache line that two CPUs write in turn: how long it takes from one to the other.
//!
//! The method is that of core-to-core-latency (nviennot), from which the built-in machines have their figures, so that they
//! compare: half of a round trip.

use super::{TIMES, on_cpus, per_step};
use crate::error::Error;
use crossbeam_utils::CachePadded;
use std::hint::spin_loop;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// Round trips that are timed together: long against the clock's own cost, short against a time slice.
const ROUND_TRIPS: u32 = 500;

/// Two CPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The lower one first.
    pub cpus: [u32; 2],
    /// One way with a compare-and-exchange, nanoseconds.
    pub locked_ns: f64,
    /// One way with a load that waits and a store, nanoseconds.
    pub plain_ns: f64,
}

/// Measures two CPUs.
///
/// # Errors
/// Threads cannot be made, or not be bound to them.
pub(super) fn measure(a: u32, b: u32) -> Result<Pair, Error> {
    let cpus = [a.min(b), a.max(b)];
    let locked_ns = one_way(cpus, |word, mine, next| {
        // AcqRel: a turn hands the line over with all that was done before. A failed try publishes nothing.
        while word.compare_exchange_weak(mine, next, AcqRel, Relaxed).is_err() {
            spin_loop();
        }
    })?;
    let plain_ns = one_way(cpus, |word, mine, next| {
        // Acquire and Release: as above.
        while word.load(Acquire) != mine {
            spin_loop();
        }
        word.store(next, Release);
    })?;
    Ok(Pair { cpus, locked_ns, plain_ns })
}

/// `turn` waits for a value and puts the next one there.
fn one_way(cpus: [u32; 2], turn: impl Fn(&AtomicU32, u32, u32) + Sync) -> Result<f64, Error> {
    const FIRST: u32 = 0;
    const SECOND: u32 = 1;
    let word = CachePadded::new(AtomicU32::new(FIRST));
    let first = || {
        let round_trip = per_step(ROUND_TRIPS, || {
            for _ in 0..ROUND_TRIPS {
                turn(&word, FIRST, SECOND);
            }
            // The last answer is part of it.
            while word.load(Acquire) != FIRST {
                spin_loop();
            }
        });
        round_trip / 2.0
    };
    let second = || {
        for _ in 0..TIMES * ROUND_TRIPS {
            turn(&word, SECOND, FIRST);
        }
    };
    on_cpus(cpus, first, second)
}
