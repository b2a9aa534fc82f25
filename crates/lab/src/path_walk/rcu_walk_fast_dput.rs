//! 4.2: the walk and the lockref of `rcu_walk`, and a dput that takes no lock for the last reference either, as long as the dentry
//! stays as it is (fast_dput).
//!
//! The count goes to 0 without d_lock. If the dentry has its name then, and is on the LRU list, that was all. If not, d_lock is taken, and
//! it is looked again: somebody may have got it meanwhile, or have put it again and been the first to take the lock.
//!
//! Why it matters: a file that nobody has open is looked up and put again and again. If each last put takes d_lock, those who find it
//! taken queue for it; who queues keeps it taken for the next, and so all stay in the queue although the lock protects nothing.
//!
//! Shared: as `rcu_walk`.
//!
//! Ordering: as `rcu_walk`; and the count goes down with AcqRel. Who unhashes a dentry has a reference, and puts it later. If that put comes
//! before one that finds 0, this one sees that the name is gone; if it comes later, it finds 0 itself. Whoever of them comes
//! first under d_lock ends the dentry, and the others find it dead; a grace period keeps it for them.
//!
//! Left out: of what makes a kernel keep a dentry (retain_dentry), DCACHE_REFERENCED, and d_op->d_delete of some file systems.
//!
//! Source: 360f54796ed6 and 8aab6a27332b of fs/dcache.c, retain_dentry as of 6.8; from knowledge of that text.

use super::rcu_walk::Lockrefs;
use super::tree::Tree;
use super::{PathWalk, seeded};
use crate::design::{DesignInfo, Env};
use machine::Platform;

/// The design.
pub struct RcuWalkFastDput;

impl RcuWalkFastDput {
    /// What is known of it.
    pub const INFO: DesignInfo = DesignInfo {
        part: "path_walk",
        name: "rcu_walk_fast_dput",
        kernel: "4.2",
        source: "360f54796ed6, 8aab6a27332b",
        shared: "lockref of the last component",
        reconstruction: true,
    };

    /// A cache for a kernel like `env`.
    pub fn make<P: Platform>(env: &Env) -> Box<dyn PathWalk<P>> {
        Box::new(Tree::new(env, Lockrefs::<true, { seeded::NONE }>))
    }
}
