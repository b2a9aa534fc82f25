//! Who waited for which lock of this kernel, and how that was seen.
//!
//! Several sources can tell, some better than others and some only to the privileged: [`sources`] takes the best that works
//! and says of each better one why it does not, and what would change that. Everything that a source sets up hangs on file
//! descriptors of this process: whatever ends the process, nothing stays attached, enabled or mounted.
//!
//! A source traces between `start` and `stop`, as often as wanted, and costs the tasks nothing otherwise. Tracing slows the
//! tasks down, so slices that are traced are not the ones that are measured.

mod bpf;
mod clock;
mod error;
mod fold;
mod lock_stat;
mod pairing;
mod perf;
mod privilege;
mod report;
mod scheduling;
mod source;
mod symbols;
mod tasks;

pub use error::Error;
pub use perf::Tracefs;
pub use report::{Cost, KernelWait, LockKind, Report, Samples, Scheduling, WaitStack};
pub use source::{Chosen, Kind, Options, Refused, Source, sources};
pub use symbols::Symbols;
