//! A count per CPU and a vfsmount_lock per CPU; a mount in the tree is known not to lose its last reference.
//!
//! mntget: own CPU's count, no lock. mntput: own CPU's lock; if MNT_MOUNTED is set, own CPU's count, and that is all; if not, every
//! CPU's lock, own count, sum of all. Look-ups in the mount hash take the own CPU's lock. Attach, detach and remount take all.
//! A remount sets the user's flags anew and puts MNT_MOUNTED back.
//!
//! Shared: none as long as the mount is in the tree; else every mntput writes every CPU's lock.
//! Ordering: see the modules `mounted` and `counter`.
//! Source: Nick Piggin, vfs-scale patches of October 2009 with the fix of mail 003. The patches are not available: a
//! reconstruction from the mail and from b3e19d924b6e and 423e0ab086ad.

use super::MountRefDesign;
use super::mounted::{Kernel, Rules};
use crate::design::{DesignInfo, Env};
use machine::Platform;

/// Per-CPU counts with MNT_MOUNTED (2009).
pub struct PerCpuCount;

impl Rules for PerCpuCount {
    const REMOUNT_KEEPS_MOUNTED: bool = true;
}

impl PerCpuCount {
    /// What is known of it.
    pub const INFO: DesignInfo = DesignInfo {
        part: "mount_ref",
        name: "percpu",
        kernel: "proposed 2009, 2.6.32 + vfs-scale",
        source: "Piggin, vfs-scale rollup, 2009-10, with the remount fix",
        shared: "none while mounted",
        reconstruction: true,
    };

    /// For a kernel like `env`.
    pub fn make<P: Platform>(env: &Env) -> Box<dyn MountRefDesign<P>> {
        Box::new(Kernel::<P, PerCpuCount>::new(env))
    }
}
