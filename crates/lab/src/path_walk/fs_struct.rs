//! struct fs_struct: root and working directory of a process, shared by its threads.

use super::{Path, PathWalk};
use crate::design::Env;
use crate::object::{Mount, Raw};
use crate::path_walk::Dentry;
use machine::sync::{RwSpin, SeqCount, Spin};
use machine::{Cx, Platform, PtrWord};
use std::sync::atomic::Ordering::{Acquire, Release};

/// Where a walk begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Root,
    Cwd,
}

/// A path that can be read while it is replaced.
struct Place<P: Platform> {
    mount: P::Ptr<Mount<P>>,
    dentry: P::Ptr<Dentry<P>>,
}

// Acquire and Release: who finds a new directory without having taken a lock sees its fields.
impl<P: Platform> Place<P> {
    fn new(path: Path<P>) -> Self {
        Place { mount: P::Ptr::new(path.mount.ptr()), dentry: P::Ptr::new(path.dentry.ptr()) }
    }

    fn load(&self) -> Path<P> {
        let set = "a place is never empty";
        Path {
            mount: Raw::new(self.mount.load(Acquire)).expect(set),
            dentry: Raw::new(self.dentry.load(Acquire)).expect(set),
        }
    }

    fn store(&self, path: Path<P>) {
        self.mount.store(path.mount.ptr(), Release);
        self.dentry.store(path.dentry.ptr(), Release);
    }
}

/// Root and working directory; both hold a reference to their mount and one to their dentry.
///
/// fs->lock was a reader-writer lock until 2a4419b5b2a7 (2.6.36), a spinlock since, with a sequence count beside it
/// since 2.6.38. All three are here, and a design reads under the one of its time; who writes takes all.
pub struct FsStruct<P: Platform> {
    rwlock: RwSpin<P>,
    spinlock: Spin<P>,
    seq: SeqCount<P>,
    root: Place<P>,
    cwd: Place<P>,
}

impl<P: Platform> FsStruct<P> {
    /// With these places; takes over one reference to each mount and each dentry.
    pub fn new(env: &Env, root: Path<P>, cwd: Path<P>) -> Self {
        FsStruct {
            rwlock: RwSpin::new("fs->lock"),
            spinlock: Spin::new(env.spin, "fs->lock"),
            seq: SeqCount::default(),
            root: Place::new(root),
            cwd: Place::new(cwd),
        }
    }

    /// Gives its lines their names; once it is where it stays.
    pub fn name_lines(&self) {
        P::name(&self.rwlock, "fs_struct.lock");
        P::name(&self.spinlock, "fs_struct.lock");
        P::name(&self.seq, "fs_struct.seq");
        P::name(&self.root, "fs_struct.root");
        P::name(&self.cwd, "fs_struct.pwd");
    }

    /// Replaces the working directory (set_fs_pwd). Takes over the references of `new`; those of the path answered are the
    /// caller's to drop.
    pub fn set_cwd(&self, _cx: Cx<'_, P>, _walk: &dyn PathWalk<P>, new: Path<P>) -> Path<P> {
        self.rwlock.write_lock();
        let old = self.spinlock.with(|| {
            self.seq.write_begin();
            let old = self.cwd.load();
            self.cwd.store(new);
            self.seq.write_end();
            old
        });
        self.rwlock.write_unlock();
        old
    }

    /// The root. The references are still the process's: for tear-down, and for who is alone with the process.
    pub fn root(&self) -> Path<P> {
        self.root.load()
    }

    /// The working directory, as [`FsStruct::root`].
    pub fn cwd(&self) -> Path<P> {
        self.cwd.load()
    }

    fn at(&self, from: Start) -> &Place<P> {
        match from {
            Start::Root => &self.root,
            Start::Cwd => &self.cwd,
        }
    }

    /// The place under the reader-writer lock; `get` takes the references there.
    pub(super) fn by_rwlock(&self, from: Start, get: impl FnOnce(Path<P>)) -> Path<P> {
        self.rwlock.read_lock();
        let path = self.at(from).load();
        get(path);
        self.rwlock.read_unlock();
        path
    }

    /// The place under the spinlock; `get` takes the references there.
    pub(super) fn by_spinlock(&self, from: Start, get: impl FnOnce(Path<P>)) -> Path<P> {
        self.spinlock.with(|| {
            let path = self.at(from).load();
            get(path);
            path
        })
    }

    /// The place by the sequence count, without any store, and what `look` says of its dentry at that time.
    pub(super) fn by_seqcount<T>(
        &self,
        from: Start,
        look: impl Fn(&Dentry<P>) -> T,
    ) -> (Path<P>, T) {
        loop {
            let seq = self.seq.read_begin();
            let path = self.at(from).load();
            // SAFETY: even one that is being replaced is freed only a grace period after its reference was dropped.
            let seen = look(unsafe { path.dentry.get() });
            if !self.seq.retry(seq) {
                return (path, seen);
            }
        }
    }
}
