//! What a workload sees of a file system, and what the harness sees of a workload.
//!
//! A workload is a loop body over [`FileSystem`]; a target (`dir:`, later `lab:`, `sim:`) is something that implements it.
//! Both are joined by monomorphisation, so that for a directory of this kernel the body compiles to the bare system calls.
//! Flags, modes and errno are Linux's own (re-exported from rustix), because every target answers as Linux does.

mod call;
mod errno;
mod file_system;
mod info;
mod os_calls;
mod params;
mod phased;
mod workload;

pub use call::{Call, Cause, Failure, expect, expect_errno, expect_len};
pub use errno::errno_name;
pub use file_system::{Fd, FileSystem, Mounts, Stat};
pub use info::{Calls, Capability, Demand, Info, Shared, Suite, TaskMode};
pub use os_calls::{OsCalls, PAGE, PollSet, Sharing};
pub use params::{Bytes, Param, Params, Selected, Values};
pub use phased::{Meter, Phase, Phased, Rate};
pub use rustix::fs::{Mode, OFlags};
pub use rustix::io::Errno;
pub use workload::{Place, Workload};
