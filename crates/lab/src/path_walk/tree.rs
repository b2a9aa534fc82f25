//! What the designs have in common: the dentry cache as a tree. A design says how references are counted and what is locked.

use super::cache::Cache;
use super::dentry::Dentry;
use super::fs_struct::{FsStruct, Start};
use super::name::{LongName, Name};
use super::ref_walk::RefWalk;
use super::{MountTree, Path, PathWalk, components};
use crate::design::Env;
use crate::object::{Inode, Mount, Raw};
use machine::{Cx, Platform};
use vfs_api::Errno;

/// How a design counts references and what it locks. Calls are made within a call of the kernel, hence within an RCU read-side
/// section.
pub(super) trait Discipline<P: Platform>: Send + Sync + Sized {
    /// Whether each chain of the hash table has a lock. If not, [`Discipline::change`] excludes all others.
    const CHAIN_LOCKS: bool;
    /// Whether changes are announced by d_seq.
    const ANNOUNCES: bool;
    /// Whether a walk that needs the root keeps it, with references of its own (nd->root, 2a737871108d, 2.6.31). Before, fs->lock was
    /// taken to look at it.
    const ND_ROOT: bool = true;
    /// Whether a dead dentry is kept for a grace period. Only a seeded bug says no.
    const GRACE: bool = true;

    /// Reads where a walk begins, under what protects it; `get` takes the references there.
    fn start(&self, fs: &FsStruct<P>, from: Start, get: impl FnOnce(Path<P>)) -> Path<P>;

    /// One more reference, for who holds one or knows that somebody does.
    fn get(&self, dentry: &Dentry<P>);

    /// A reference to a dentry that may have none, if `is_it` says so under d_lock.
    fn claim(&self, dentry: &Dentry<P>, is_it: impl FnOnce() -> bool) -> bool;

    /// The parent, with a reference. The caller holds one to the dentry. Where each dentry has a lock of its own, the parent's is
    /// taken, and then it must still be the parent.
    fn parent(&self, dentry: &Dentry<P>) -> Raw<Dentry<P>> {
        loop {
            let parent = dentry.parent();
            // SAFETY: it is freed a grace period after it was the parent.
            let object = unsafe { parent.get() };
            if self.claim(object, || dentry.parent() == parent) {
                return parent;
            }
        }
    }

    /// One more child: its reference and its entry. Under the directory's lock.
    fn adopt(&self, parent: &Dentry<P>);

    /// Runs `change`, which changes where the dentry is hashed, what it is called and where it belongs.
    fn change(&self, dentry: &Dentry<P>, change: impl FnOnce());

    /// One reference less. True if it was the last of a dentry without a name: it then is dead, and the caller's to free.
    fn put(&self, cache: &Cache<P>, dentry: &Dentry<P>) -> bool;

    /// A walk that writes nothing shared but at its end.
    fn lazy_walk(&self, _cache: &Cache<P>, _trip: &Trip<'_, P>) -> Lazy<P> {
        Lazy::Stale(None)
    }
}

/// What a walk is given.
pub(super) struct Trip<'a, P: Platform> {
    pub(super) cx: Cx<'a, P>,
    pub(super) fs: &'a FsStruct<P>,
    pub(super) mounts: &'a dyn MountTree<P>,
    pub(super) path: &'a [u8],
}

/// What became of a lazy walk.
pub(super) enum Lazy<P: Platform> {
    /// It got there, or nobody can.
    Done(Result<Path<P>, Errno>),
    /// It met a change: references must be taken on the way. What it took in vain must be dropped.
    Stale(Option<Raw<Dentry<P>>>),
}

/// Drops a walk's reference to a mount.
///
/// That it may be the last one is nothing to a walk: mounts are not freed while the kernel lives.
pub(super) fn put_mount<P: Platform>(cx: Cx<'_, P>, mount: Raw<Mount<P>>) {
    // SAFETY: mounts live as long as the kernel.
    unsafe { mount.get() }.refs.put(cx);
}

/// A dentry cache of one design.
pub(super) struct Tree<P: Platform, D> {
    pub(super) cache: Cache<P>,
    pub(super) discipline: D,
}

impl<P: Platform, D: Discipline<P>> Tree<P, D> {
    pub(super) fn new(env: &Env, discipline: D) -> Self {
        Tree { cache: Cache::new(env), discipline }
    }

    /// The child called `name`, with a reference.
    pub(super) fn look_up(&self, parent: &Dentry<P>, name: &[u8]) -> Option<Raw<Dentry<P>>> {
        let name = Name::new(parent, name);
        self.cache.search(name.hash, |dentry| {
            let found = dentry.may_be(parent, &name)
                && self.discipline.claim(dentry, || dentry.is(parent, &name));
            found.then(|| Raw::of(dentry))
        })
    }

    /// Drops a reference. If that frees the dentry, its reference to its parent goes too, and so on; `freed` gets the inodes.
    fn release(&self, cx: Cx<'_, P>, dentry: Raw<Dentry<P>>, mut freed: impl FnMut(Raw<Inode<P>>)) {
        let mut next = dentry;
        loop {
            // SAFETY: a reference is held, and dropped here.
            let dentry = unsafe { next.get() };
            if !self.discipline.put(&self.cache, dentry) {
                return;
            }
            freed(dentry.inode());
            let parent = dentry.parent();
            debug_assert!(parent != next, "a root never loses its name");
            if !D::GRACE {
                dentry.wipe();
            }
            let (raw, bytes) = (next.ptr().cast(), dentry.bytes());
            // SAFETY: it is dead: on no chain, without references, and never to get one.
            unsafe { cx.rcu.call(cx, raw, bytes, Dentry::free_later) };
            next = parent;
        }
    }

    /// Drops a reference where nobody can be told that an inode is free: the next [`PathWalk::put`] on this CPU tells.
    pub(super) fn drop_dentry(&self, cx: Cx<'_, P>, dentry: Raw<Dentry<P>>) {
        self.release(cx, dentry, |inode| self.cache.leave(cx, inode));
    }

    /// Drops a walk's references to both.
    pub(super) fn drop_path(&self, cx: Cx<'_, P>, path: Path<P>) {
        self.drop_dentry(cx, path.dentry);
        put_mount(cx, path.mount);
    }

    /// Changes the dentry so that lazy walks notice.
    fn announce(&self, dentry: &Dentry<P>, change: impl FnOnce()) {
        self.discipline.change(dentry, || {
            if D::ANNOUNCES {
                dentry.seq.write_begin();
            }
            change();
            if D::ANNOUNCES {
                dentry.seq.write_end();
            }
        });
    }
}

impl<P: Platform, D: Discipline<P>> PathWalk<P> for Tree<P, D> {
    fn root(&self, _cx: Cx<'_, P>, inode: Raw<Inode<P>>) -> Raw<Dentry<P>> {
        self.cache.add_root(inode)
    }

    fn walk(
        &self,
        cx: Cx<'_, P>,
        fs: &FsStruct<P>,
        mounts: &dyn MountTree<P>,
        path: &[u8],
    ) -> Result<Path<P>, Errno> {
        components::check(path)?;
        let trip = Trip { cx, fs, mounts, path };
        match self.discipline.lazy_walk(&self.cache, &trip) {
            Lazy::Done(result) => result,
            Lazy::Stale(in_vain) => {
                if let Some(dentry) = in_vain {
                    self.drop_dentry(cx, dentry);
                }
                RefWalk::run(self, &trip)
            }
        }
    }

    fn child(&self, _cx: Cx<'_, P>, parent: &Dentry<P>, name: &[u8]) -> Option<Raw<Dentry<P>>> {
        self.look_up(parent, name)
    }

    fn insert(
        &self,
        _cx: Cx<'_, P>,
        parent: &Dentry<P>,
        name: &[u8],
        inode: Raw<Inode<P>>,
    ) -> Raw<Dentry<P>> {
        let raw = Dentry::alloc(&self.cache.env, inode, parent, &Name::new(parent, name));
        self.discipline.adopt(parent);
        // SAFETY: just made; the reference is the caller's.
        let dentry = unsafe { raw.get() };
        self.discipline.change(dentry, || {
            dentry.set_hashed();
            self.cache.hash(dentry, D::CHAIN_LOCKS);
        });
        raw
    }

    fn unhash(&self, _cx: Cx<'_, P>, dentry: &Dentry<P>) {
        self.announce(dentry, || {
            dentry.clear_hashed();
            self.cache.unhash(dentry, D::CHAIN_LOCKS);
        });
        // SAFETY: the dentry holds a reference to its parent.
        unsafe { dentry.parent().get() }.remove_child();
    }

    fn rename(&self, cx: Cx<'_, P>, dentry: &Dentry<P>, parent: &Dentry<P>, name: &[u8]) {
        let from = dentry.parent();
        let name = Name::new(parent, name);
        let long = LongName::new(&name);
        let mut replaced = None;
        self.discipline.adopt(parent);
        self.cache.renaming(|| {
            self.announce(dentry, || {
                self.cache.unhash(dentry, D::CHAIN_LOCKS);
                replaced = dentry.move_to(parent, &name, long);
                self.cache.hash(dentry, D::CHAIN_LOCKS);
            });
        });
        if let Some(long) = replaced {
            // SAFETY: the dentry has another now.
            unsafe { LongName::free_later(cx, long) };
        }
        // SAFETY: the dentry's reference to its old parent is dropped here.
        unsafe { from.get() }.remove_child();
        self.drop_dentry(cx, from);
    }

    fn is_empty(&self, directory: &Dentry<P>) -> bool {
        !directory.has_children()
    }

    fn get(&self, _cx: Cx<'_, P>, dentry: &Dentry<P>) {
        self.discipline.get(dentry);
    }

    fn put(&self, cx: Cx<'_, P>, dentry: Raw<Dentry<P>>) -> Option<Raw<Inode<P>>> {
        let mut answer = None;
        self.release(cx, dentry, |inode| {
            if answer.is_none() {
                answer = Some(inode);
            } else {
                self.cache.leave(cx, inode);
            }
        });
        answer.or_else(|| self.cache.claim(cx))
    }

    #[inline]
    fn claim(&self, cx: Cx<'_, P>) -> Option<Raw<Inode<P>>> {
        self.cache.claim(cx)
    }

    unsafe fn tear_down(&self, _cx: Cx<'_, P>, inode: &mut dyn FnMut(Raw<Inode<P>>)) {
        // SAFETY: the caller's promise.
        unsafe { self.cache.tear_down(inode) };
    }
}
