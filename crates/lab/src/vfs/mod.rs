//! The VFS: system calls put together from the parts.
//!
//! Each call checks what Linux checks, in Linux's order, so that it fails with the same errno where several would be right.
//!
//! Lock order, outermost first: namespace semaphore; rename mutex; inode locks (of directories: parent before child, for two
//! unrelated ones the lower inode number first; then files); the orphan locks; the spinlocks of the parts, which do not nest
//! in each other except as their headers say.

mod attributes;
mod inode;
mod kernel;
mod mounts;
mod names;
mod open;
mod positioned;
mod process;
mod tree;

pub use kernel::{Kernel, Leftover};
pub use process::Task;
