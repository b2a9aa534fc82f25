//! The machine that the lab's designs run on, as a facade: atomics, plain memory, waiting, sleeping, time, allocation.
//!
//! A design is written once, generic over [`Platform`]. [`Real`] is this machine: std's atomics and nothing else in between.
//! `Loom` (feature `loom`) explores all interleavings of a small test. [`Counted`] is [`Real`] with lock accounting. The
//! platform is a type parameter and not a `cfg`, so that one binary holds several.
//!
//! On top of it, still generic, the kernel's building blocks in [`sync`]: spinlocks as Linux had them (test-and-set, ticket,
//! queued), the reader-writer lock, the sleeping mutex with and without optimistic spinning, the rwsem, seqcount, per-CPU data,
//! per-CPU locks (lglock/brlock), RCU, and the slab.

mod accounting;
mod alloc;
#[cfg(feature = "loom")]
mod loom_platform;
mod platform;
mod real;
pub mod sim;
pub mod sync;
#[cfg(feature = "loom")]
pub mod testing;

pub use accounting::{LockKind, LockTag, LockTotals, take_totals};
pub use alloc::POwned;
#[cfg(feature = "loom")]
pub use loom_platform::Loom;
pub use platform::{Cpu, Cx, Futex, Plain, Platform, PtrWord, RawSpin, SpinKind, Word};
pub use real::{Counted, Real};
pub use sim::Sim;
