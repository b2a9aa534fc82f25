//! Up to 2.6.30: dcache_lock as in 2.6.31, but a walk keeps no reference to the root.
//!
//! An absolute path begins with one reference to the root and one to its mount, which the first component's replaces. A `..` takes
//! fs->lock to look whether it is at the root, and takes no reference for that. The rest is in `dcache_lock`.
//!
//! Shared: as `dcache_lock`, with the root's d_count and its mount's twice less where the path begins there or has a `..`, and
//! fs->lock twice more at each `..`.
//!
//! Ordering: as `dcache_lock`. The root that a `..` looks at may be replaced afterwards; it is only compared, with a place that the walk
//! has a reference to.
//!
//! Source: fs/namei.c of 2.6.20 (do_path_lookup, follow_dotdot); what changed it is 2a737871108d (2.6.31); from knowledge of that text.

use super::dcache_lock::GlobalLock;
use super::tree::Tree;
use super::{PathWalk, seeded};
use crate::design::{DesignInfo, Env};
use machine::Platform;

/// The design.
pub struct DcacheLockFsRoot;

impl DcacheLockFsRoot {
    /// What is known of it.
    pub const INFO: DesignInfo = DesignInfo {
        part: "path_walk",
        name: "dcache_lock_fs_root",
        kernel: "2.6.20",
        source: "fs/namei.c, before 2a737871108d (2.6.31)",
        shared: "d_lock and d_count of each component; fs->lock; dcache_lock at a last put",
        reconstruction: true,
    };

    /// A cache for a kernel like `env`.
    pub fn make<P: Platform>(env: &Env) -> Box<dyn PathWalk<P>> {
        Box::new(Tree::new(env, GlobalLock::<P, false, { seeded::NONE }>::new(env)))
    }
}
