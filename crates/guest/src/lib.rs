//! Guests: another kernel in QEMU, with this same program inside, that is handed slices over a serial port.
//!
//! The host's side finds kernel, modules and accelerator, packs the first root and boots ([`Prepared`], [`Guest`]); the guest's
//! side makes a machine of what was packed ([`init`]). What a slice is, neither knows: that is the harness's.

mod accelerator;
mod binary;
mod bzimage;
pub mod cache;
mod cpio;
mod disk;
mod doctor;
mod error;
mod fetch;
mod guest;
pub mod init;
mod kernel;
mod memory_file;
mod modinfo;
mod modules;
mod programs;
pub mod protocol;
mod qemu;
mod spec;
mod watch;

pub use accelerator::{Accelerator, TCG_CPU, kvm_works};
pub use doctor::{Finding, examine};
pub use error::Error;
pub use fetch::fetch;
pub use guest::{About, Clock, Guest, Prepared, Slice, Trace};
pub use spec::{Disk, Fs, NoSpec, Spec};
