//! The walk with references: each component gets one before the one before it is let go (link_path_walk, up to 2.6.37).

use super::Path;
use super::components::{self, Component};
use super::dentry::Dentry;
use super::fs_struct::Start;
use super::tree::{Discipline, Tree, Trip, put_mount};
use crate::object::{Kind, Mount, Raw};
use machine::{Cx, Platform};
use vfs_api::Errno;

/// A walk on its way. Holds a reference to the mount and the dentry of `at`, and to those of `root`, if it has one.
pub(super) struct RefWalk<'a, P: Platform, D: Discipline<P>> {
    tree: &'a Tree<P, D>,
    trip: &'a Trip<'a, P>,
    at: Path<P>,
    /// nd->root, where there is one: looked up when it is needed.
    root: Option<Path<P>>,
}

impl<'a, P: Platform, D: Discipline<P>> RefWalk<'a, P, D> {
    /// Walks to the end.
    ///
    /// # Errors
    /// As [`PathWalk::walk`](super::PathWalk::walk).
    pub(super) fn run(tree: &'a Tree<P, D>, trip: &'a Trip<'a, P>) -> Result<Path<P>, Errno> {
        let cx = trip.cx;
        let start = |from| tree.discipline.start(trip.fs, from, |path| get_path(tree, cx, path));
        let (at, root) = if components::is_absolute(trip.path) {
            let root = start(Start::Root);
            if D::ND_ROOT {
                get_path(tree, cx, root);
            }
            (root, D::ND_ROOT.then_some(root))
        } else {
            (start(Start::Cwd), None)
        };
        let mut walk = RefWalk { tree, trip, at, root };
        let result = walk.steps();
        if let Some(root) = walk.root {
            tree.drop_path(cx, root);
        }
        match result {
            Ok(()) => Ok(walk.at),
            Err(errno) => {
                tree.drop_path(cx, walk.at);
                Err(errno)
            }
        }
    }

    fn steps(&mut self) -> Result<(), Errno> {
        for (component, must_be_directory) in components::steps(self.trip.path) {
            match component {
                Component::Dot => {}
                Component::DotDot => self.up(),
                Component::Name(name) => self.down(name)?,
            }
            // SAFETY: the reference held keeps the dentry, and that its inode.
            let inode = unsafe { self.at.dentry.get().inode().get() };
            if must_be_directory && inode.kind != Kind::Directory {
                return Err(Errno::NOTDIR);
            }
        }
        Ok(())
    }

    /// do_lookup
    fn down(&mut self, name: &[u8]) -> Result<(), Errno> {
        // SAFETY: a reference is held.
        let directory = unsafe { self.at.dentry.get() };
        components::check_name(directory, name)?;
        let child = self.tree.look_up(directory, name).ok_or(Errno::NOENT)?;
        self.move_to(child);
        self.cross();
        Ok(())
    }

    /// Whether the walk is where nothing is above for this process.
    fn is_at_root(&mut self) -> bool {
        let Trip { cx, fs, .. } = *self.trip;
        let tree = self.tree;
        let root = |get: &dyn Fn(Path<P>)| tree.discipline.start(fs, Start::Root, get);
        if D::ND_ROOT {
            self.at == *self.root.get_or_insert_with(|| root(&|path| get_path(tree, cx, path)))
        } else {
            // Without a reference: only compared, with a place that has one.
            self.at == root(&|_| ())
        }
    }

    /// follow_dotdot
    fn up(&mut self) {
        let Trip { cx, mounts, .. } = *self.trip;
        let tree = self.tree;
        loop {
            if self.is_at_root() {
                break;
            }
            // SAFETY: a reference is held to both.
            let (mount, dentry) = unsafe { (self.at.mount.get(), self.at.dentry.get()) };
            if self.at.dentry != mount.root {
                let parent = tree.discipline.parent(dentry);
                self.move_to(parent);
                break;
            }
            let Some(above) = mounts.mount_point(cx, self.at.mount) else { break };
            // SAFETY: a mount holds its mount point, and the reference held the mount.
            let point = unsafe { above.dentry.get() };
            // A mount point cannot be removed: without a name, it is one no more, and the mount is no longer on it.
            if tree.discipline.claim(point, || point.is_hashed()) {
                // SAFETY: mounts live as long as the kernel. It stays in the tree, for the one that is left is mounted on it.
                unsafe { above.mount.get() }.refs.get(cx);
                self.enter(above.mount, above.dentry);
            }
        }
        self.cross();
    }

    /// Goes on to what is mounted here, if anything (follow_mount).
    fn cross(&mut self) {
        let Trip { cx, mounts, .. } = *self.trip;
        // SAFETY: a reference is held.
        while unsafe { self.at.dentry.get() }.is_mount_point() {
            let Some(mounted) = mounts.get_mounted_at(cx, self.at) else { break };
            // SAFETY: mounts live as long as the kernel.
            let root = unsafe { mounted.get() }.root;
            // SAFETY: a mount holds its root as long as it lives.
            self.tree.discipline.get(unsafe { root.get() });
            self.enter(mounted, root);
        }
    }

    /// Goes on to a dentry of the same mount, which has a reference for it.
    fn move_to(&mut self, dentry: Raw<Dentry<P>>) {
        let old = std::mem::replace(&mut self.at.dentry, dentry);
        self.tree.drop_dentry(self.trip.cx, old);
    }

    /// Goes on to another mount and a dentry, both of which have a reference for it.
    fn enter(&mut self, mount: Raw<Mount<P>>, dentry: Raw<Dentry<P>>) {
        self.move_to(dentry);
        put_mount(self.trip.cx, std::mem::replace(&mut self.at.mount, mount));
    }
}

/// Takes a reference to both (path_get), of which the caller knows that somebody has some.
fn get_path<P: Platform, D: Discipline<P>>(tree: &Tree<P, D>, cx: Cx<'_, P>, path: Path<P>) {
    // SAFETY: somebody has references.
    unsafe { path.mount.get() }.refs.get(cx);
    // SAFETY: as above.
    tree.discipline.get(unsafe { path.dentry.get() });
}
