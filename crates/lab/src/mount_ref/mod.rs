//! References to a mount: every path walk and every open file takes one (threads: mail 003).

use crate::design::designs;
use machine::{Cx, Platform};

/// The references of one mount. A new mount is not attached and has one reference, its maker's.
pub trait MountRef<P: Platform>: Send + Sync {
    /// One more (mntget), for who holds one or is protected by RCU from the last one's going.
    fn get(&self, cx: Cx<'_, P>);

    /// One less (mntput); on whichever CPU. True if it was the last: the caller frees the mount. Never true while attached.
    fn put(&self, cx: Cx<'_, P>) -> bool;

    /// The mount is in the tree from now on (MNT_MOUNTED; a long-term reference). It takes over the caller's reference.
    fn attach(&self, cx: Cx<'_, P>);

    /// Takes it out of the tree by `unhash` if nobody else holds a reference; then the caller holds the last one. False (EBUSY)
    /// if somebody does, and nothing has changed. Look-ups ([`MountRefDesign::protect_lookup`]) are before or after all of it.
    fn detach(&self, cx: Cx<'_, P>, unhash: &mut dyn FnMut()) -> bool;

    /// The mount's flags were set anew (do_remount). A correct design does nothing.
    fn remounted(&self, cx: Cx<'_, P>);

    /// References of others than the tree; exact only while nobody takes or drops any.
    fn references(&self) -> i64;
}

/// A design. What all mounts share (vfsmount_lock) is in it.
pub trait MountRefDesign<P: Platform>: Send + Sync {
    /// The references of a new mount.
    fn mount(&self) -> Box<dyn MountRef<P>>;

    /// Runs `f`, a look-up in the mount hash (path walk crosses a mount point), under what protects it: vfsmount_lock or one's own
    /// CPU's part of it. A reference to what was found is taken in `f`, or under RCU alone (`Mount::legitimize`).
    fn protect_lookup(&self, cx: Cx<'_, P>, f: &mut dyn FnMut());
}

mod counter;
mod mounted;
#[cfg(test)]
mod tests;

designs! {
    MountRefDesign;
    shared::Shared,
    percpu_remount_bug::PerCpuRemountBug,
    percpu::PerCpuCount,
    long_short::LongShort,
}
