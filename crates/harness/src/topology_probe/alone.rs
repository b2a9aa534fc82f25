//! What simple operations cost on one CPU, on a line that nobody else touches.

use super::{on_cpu, per_step};
use crate::error::Error;
use crossbeam_utils::CachePadded;
use std::array::from_fn;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicUsize, fence};

/// Operations that are timed together: some microseconds.
const STEPS: u32 = 5000;

/// Costs on one CPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alone {
    /// The CPU.
    pub cpu: u32,
    /// Its clock while it worked, MHz.
    pub mhz: f64,
    /// From one load to the next that needs its value, in the first-level cache, nanoseconds.
    pub hit_ns: f64,
    /// A locked operation on a line that the CPU has, nanoseconds.
    pub rmw_ns: f64,
    /// A full fence, nanoseconds.
    pub fence_ns: f64,
    /// A pause between two looks of a spinning CPU, nanoseconds.
    pub pause_ns: f64,
}

/// Measures `cpu`.
///
/// # Errors
/// No thread can be made, or not be bound to it.
pub(super) fn measure(cpu: u32) -> Result<Alone, Error> {
    on_cpu(cpu, || {
        let word = CachePadded::new(AtomicU32::new(0));
        Alone {
            cpu,
            mhz: mhz(),
            hit_ns: hit_ns(),
            // SeqCst: the strongest of each is what kernels use for these.
            rmw_ns: per_step(STEPS, || {
                for _ in 0..STEPS {
                    word.fetch_add(1, SeqCst);
                }
            }),
            fence_ns: per_step(STEPS, || {
                for step in 0..STEPS {
                    // A fence has something to wait for; two without anything in between would be one.
                    word.store(step, Relaxed);
                    fence(SeqCst);
                }
            }),
            pause_ns: per_step(STEPS, || {
                for _ in 0..STEPS {
                    spin_loop();
                }
            }),
        }
    })
}

/// By a chain in which each step needs the one before: an exclusive-or and a rotation, a cycle each.
fn mhz() -> f64 {
    const CYCLES: f64 = 2.0;
    let mut x = black_box(1_u64);
    let key = black_box(0x9E37_79B9_7F4A_7C15_u64);
    let step_ns = per_step(STEPS, || {
        for _ in 0..STEPS {
            x = (x ^ key).rotate_left(7);
        }
        black_box(x);
    });
    CYCLES * 1000.0 / step_ns
}

/// By a chain of loads, each of which says where the next one is: round a few lines.
fn hit_ns() -> f64 {
    const LINES: usize = 8;
    let ring: [CachePadded<AtomicUsize>; LINES] =
        from_fn(|at| CachePadded::new(AtomicUsize::new((at + 1) % LINES)));
    let mut at = 0;
    per_step(STEPS, || {
        for _ in 0..STEPS {
            // Relaxed: only this thread is here.
            at = ring[at & (LINES - 1)].load(Relaxed);
        }
        black_box(at);
    })
}
