//! Which mount is where.
//!
//! Looked up by path walks at mount points, changed under the namespace semaphore. A list of immutable nodes read under RCU; what
//! protects the look-up in the kernel of an era (vfsmount_lock or its CPU's part) is taken round it by the mount_ref design.

use super::Kernel;
use crate::object::{Mount, Raw};
use crate::path_walk::{Dentry, MountTree, Path};
use machine::{Cx, POwned, Platform, PtrWord};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// A mount and where it is.
pub(super) struct Node<P: Platform> {
    at: Path<P>,
    mount: Raw<Mount<P>>,
    next: P::Ptr<Node<P>>,
}

/// The mounts that are attached, but for the root.
pub(super) struct Tree<P: Platform> {
    /// The root mount; null before it is made and after all was taken apart.
    root: P::Ptr<Mount<P>>,
    first: P::Ptr<Node<P>>,
}

impl<P: Platform> Tree<P> {
    pub(super) fn new() -> Self {
        Tree { root: P::Ptr::new(null_mut()), first: P::Ptr::new(null_mut()) }
    }

    pub(super) fn name_lines(&self) {
        P::name(&self.root, "init_fs.root");
        P::name(&self.first, "mount_hashtable");
    }

    pub(super) fn set_root(&self, mount: Raw<Mount<P>>) {
        // Release: the mount is complete for whoever finds it.
        self.root.store(mount.ptr(), Release);
    }

    pub(super) fn root(&self) -> Raw<Mount<P>> {
        Raw::new(self.root.load(Acquire)).expect("a kernel has a root from its making to its end")
    }

    pub(super) fn is_taken_apart(&self) -> bool {
        self.root.load(Acquire).is_null()
    }

    /// Attaches `mount`; under the namespace semaphore.
    pub(super) fn attach(&self, at: Path<P>, mount: Raw<Mount<P>>) {
        // Relaxed: changes exclude each other. Release below: readers find the node complete.
        let next = P::Ptr::new(self.first.load(Relaxed));
        let node = POwned::<P, _>::new(Node { at, mount, next });
        P::name(&*node, "mount_hashtable");
        self.first.store(node.into_raw(), Release);
    }

    /// Detaches `mount`; under the namespace semaphore. Answers where it was.
    pub(super) fn detach(&self, cx: Cx<'_, P>, mount: Raw<Mount<P>>) -> Option<Path<P>> {
        let mut link = &self.first;
        loop {
            let node = link.load(Relaxed);
            // SAFETY: nodes are freed only by this function, which the semaphore admits one at a time, and after a grace period.
            let found = unsafe { node.as_ref() }?;
            if found.mount == mount {
                link.store(found.next.load(Relaxed), Release);
                let at = found.at;
                // SAFETY: it was just unlinked, by us alone, and came from `attach`.
                unsafe { cx.rcu.call(cx, node.cast(), size_of::<Node<P>>(), free_node::<P>) };
                return Some(at);
            }
            link = &found.next;
        }
    }

    fn find(&self, wanted: impl Fn(&Node<P>) -> bool) -> Option<&Node<P>> {
        let mut node = self.first.load(Acquire);
        loop {
            // SAFETY: the caller is in a call, hence in an RCU read-side section; nodes are freed after a grace period.
            let found = unsafe { node.as_ref() }?;
            if wanted(found) {
                return Some(found);
            }
            node = found.next.load(Acquire);
        }
    }

    /// What is mounted on a place: the topmost, if several are stacked.
    fn top(&self, mut at: Path<P>) -> Option<Raw<Mount<P>>> {
        let mut top = None;
        while let Some(node) = self.find(|node| node.at == at) {
            top = Some(node.mount);
            // SAFETY: mounts live as long as the kernel.
            at = Path { mount: node.mount, dentry: unsafe { node.mount.get() }.root };
        }
        top
    }

    /// Whether something is mounted inside `mount`.
    pub(super) fn has_children(&self, mount: Raw<Mount<P>>) -> bool {
        self.find(|node| node.at.mount == mount).is_some()
    }

    /// Whether something is mounted on the dentry, whichever mount it is seen through.
    pub(super) fn is_mounted_on(&self, dentry: Raw<Dentry<P>>) -> bool {
        self.find(|node| node.at.dentry == dentry).is_some()
    }

    /// Frees all nodes and lets go of what they hold.
    ///
    /// # Safety
    /// The caller is alone with the kernel.
    pub(super) unsafe fn take_apart(&self, _cx: Cx<'_, P>, drop_dentry: impl Fn(Raw<Dentry<P>>)) {
        let mut node = self.first.swap(null_mut(), Acquire);
        while !node.is_null() {
            // SAFETY: it came from `attach`, and nobody else looks (the caller's promise).
            let owned = unsafe { POwned::<P, Node<P>>::from_raw(node) };
            drop_dentry(owned.at.dentry);
            node = owned.next.load(Relaxed);
        }
        self.root.store(null_mut(), Release);
    }
}

/// Frees a node after a grace period.
///
/// # Safety
/// As an RCU callback of a node that `detach` unlinked.
unsafe fn free_node<P: Platform>(node: *mut (), _cx: Cx<'_, P>) {
    // SAFETY: the callback's contract.
    drop(unsafe { POwned::<P, Node<P>>::from_raw(node.cast()) });
}

impl<P: Platform> MountTree<P> for Kernel<P> {
    fn mounted_at(&self, cx: Cx<'_, P>, at: Path<P>) -> Option<Raw<Mount<P>>> {
        let mut top = None;
        self.mount_refs().protect_lookup(cx, &mut || top = self.tree.top(at));
        top
    }

    fn get_mounted_at(&self, cx: Cx<'_, P>, at: Path<P>) -> Option<Raw<Mount<P>>> {
        let mut top = None;
        self.mount_refs().protect_lookup(cx, &mut || {
            top = self.tree.top(at);
            if let Some(top) = top {
                // SAFETY: mounts live as long as the kernel.
                unsafe { top.get() }.refs.get(cx);
            }
        });
        top
    }

    fn mount_point(&self, cx: Cx<'_, P>, mount: Raw<Mount<P>>) -> Option<Path<P>> {
        let mut at = None;
        self.mount_refs().protect_lookup(cx, &mut || {
            at = self.tree.find(|node| node.mount == mount).map(|node| node.at);
        });
        at
    }
}
