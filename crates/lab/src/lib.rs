//! A VFS whose locks can be swapped.
//!
//! Every place where the five threads changed the kernel is a part: a trait, and one file per design in the part's folder. An
//! era names one design per part and the spinlock of its time. All of it is generic over the machine facade
//! ([`machine::Platform`]): real atomics, loom, later the simulator.
//!
//! Which lines an operation writes is the subject; so structures are laid out as the kernel's are, where it matters, and a
//! header in each file says what moves.

pub mod design;
pub mod dir_lock;
pub mod eras;
pub mod fd_table;
pub mod file_list;
pub mod mount_ref;
pub mod object;
pub mod orphan_list;
pub mod path_walk;
pub mod vfs;
pub mod write_count;
