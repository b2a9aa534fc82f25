//! `percpu` as it was measured first: a remount loses MNT_MOUNTED.
//!
//! do_remount assigned the user's flags to mnt_flags. Distributions remount the root file system at boot; from then on every
//! mntput on it, several per open and close, takes all CPUs' locks and sums all counts, as if the mount were not in the tree.
//! Slow, but not wrong: the tree's reference is in the sum.
//!
//! Shared: none while mounted; after a remount every mntput writes every CPU's lock and reads every CPU's count.
//! Ordering: see the modules `mounted` and `counter`.
//! Source: mail 003 (symptom and fix; the mechanism is inferred: a reconstruction).

use super::MountRefDesign;
use super::mounted::{Kernel, Rules};
use crate::design::{DesignInfo, Env};
use machine::Platform;

/// Per-CPU counts, and a remount that drops MNT_MOUNTED (2009).
pub struct PerCpuRemountBug;

impl Rules for PerCpuRemountBug {
    const REMOUNT_KEEPS_MOUNTED: bool = false;
}

impl PerCpuRemountBug {
    /// What is known of it.
    pub const INFO: DesignInfo = DesignInfo {
        part: "mount_ref",
        name: "percpu_remount_bug",
        kernel: "proposed 2009, 2.6.32 + vfs-scale",
        source: "Piggin, vfs-scale rollup, 2009-10, as first measured in mail 003",
        shared: "none while mounted; after a remount all CPUs' locks, by each mntput",
        reconstruction: true,
    };

    /// For a kernel like `env`.
    pub fn make<P: Platform>(env: &Env) -> Box<dyn MountRefDesign<P>> {
        Box::new(Kernel::<P, PerCpuRemountBug>::new(env))
    }
}
