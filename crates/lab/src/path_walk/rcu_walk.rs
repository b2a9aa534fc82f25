//! 2.6.38 and 3.12: the walk under RCU, which writes nothing until its end, and lockref.
//!
//! Each dentry has a sequence count, d_seq, which moves whenever its name, its parent or its being hashed changes. A walk reads
//! d_seq, looks the child up, and looks at d_seq of both again: then the child was in the parent. At the end it is legitimized:
//! a reference to the mount, one to the dentry unless it is dead, and a last look at d_seq. Whatever fails on the way, the walk
//! begins again, with references (as the other designs walk). A walk begins by fs_struct's sequence count.
//!
//! Lock and count of a dentry are one word, changed without taking the lock as long as it is free (lockref). The last reference
//! is dropped under the lock (lockref_put_or_lock, as in 3.12; later kernels: `rcu_walk_fast_dput`). Its lock is the ticket lock of
//! 3.12, whatever the era's spinlock is.
//!
//! A name that is not there is answered from the hash chain and rename_lock alone, as the kernel answers from a negative dentry.
//!
//! Shared: the lockref word of the last component, twice; the count of its mount.
//!
//! Ordering: a walk's reads are between an Acquire load of d_seq and an Acquire fence before the second look; changes are
//! between a Release fence after the odd number and a Release store of the even one (seqcount). A reference is got with Acquire
//! before the last look at d_seq: if a dentry was unhashed under its lock before, that look sees it; if not, the dentry had
//! a name when the reference was got, and whoever unhashes it later finds the reference.
//!
//! Source: fs/namei.c and fs/dcache.c of 2.6.38 (44a7d7a892) and 3.12, lib/lockref.c (bc08b449ee14); from knowledge of that text.

use super::cache::Cache;
use super::components::{self, Component};
use super::dentry::Dentry;
use super::fs_struct::{FsStruct, Start};
use super::name::Name;
use super::tree::{Discipline, Lazy, Tree, Trip, put_mount};
use super::{Path, PathWalk, seeded};
use crate::design::{DesignInfo, Env};
use crate::object::{Kind, Raw};
use machine::Platform;
use vfs_api::Errno;

/// The design.
pub struct RcuWalk;

impl RcuWalk {
    /// What is known of it.
    pub const INFO: DesignInfo = DesignInfo {
        part: "path_walk",
        name: "rcu_walk",
        kernel: "3.12",
        source: "44a7d7a892 (2.6.38), bc08b449ee14 (3.12)",
        shared: "lockref of the last component",
        reconstruction: false,
    };

    /// A cache for a kernel like `env`.
    pub fn make<P: Platform>(env: &Env) -> Box<dyn PathWalk<P>> {
        Box::new(Tree::new(env, Lockrefs::<false, { seeded::NONE }>))
    }
}

/// Lock and count in one word. The last put takes the lock, or does only if the dentry changes by it.
pub(super) struct Lockrefs<const FAST_DPUT: bool, const SEEDED: u8>;

fn locked<P: Platform, R>(dentry: &Dentry<P>, f: impl FnOnce() -> R) -> R {
    dentry.lockref.lock();
    let result = f();
    dentry.lockref.unlock();
    result
}

/// One reference less. True if it was the last: then it is gone too, and the lock held.
fn put_or_lock<P: Platform>(dentry: &Dentry<P>) -> bool {
    if dentry.lockref.put_or_lock() {
        return false;
    }
    dentry.lockref.sub();
    true
}

/// The same, but a dentry that stays as it is needs no lock (fast_dput, retain_dentry). `look_again`: whether somebody has got a
/// reference before the lock, or was here before.
fn put_fast<P: Platform>(dentry: &Dentry<P>, look_again: bool) -> bool {
    match dentry.lockref.put_return() {
        Some(left) if left > 0 || (dentry.is_hashed() && dentry.on_lru()) => return false,
        Some(_) => dentry.lockref.lock(),
        None => {
            dentry.lockref.lock();
            dentry.lockref.sub();
        }
    }
    // Not 0 either if it is dead.
    let last = dentry.lockref.count() == 0 || !look_again;
    if !last {
        dentry.lockref.unlock();
    }
    last
}

impl<P: Platform, const FAST_DPUT: bool, const SEEDED: u8> Discipline<P>
    for Lockrefs<FAST_DPUT, SEEDED>
{
    const CHAIN_LOCKS: bool = true;
    const ANNOUNCES: bool = true;
    const GRACE: bool = SEEDED != seeded::FREE_AT_ONCE;

    fn start(&self, fs: &FsStruct<P>, from: Start, get: impl FnOnce(Path<P>)) -> Path<P> {
        fs.by_spinlock(from, get)
    }

    fn get(&self, dentry: &Dentry<P>) {
        dentry.lockref.get();
    }

    fn claim(&self, dentry: &Dentry<P>, is_it: impl FnOnce() -> bool) -> bool {
        locked(dentry, || {
            let is = is_it();
            if is {
                dentry.lockref.add();
            }
            is
        })
    }

    fn adopt(&self, parent: &Dentry<P>) {
        locked(parent, || {
            parent.lockref.add();
            parent.add_child();
        });
    }

    fn change(&self, dentry: &Dentry<P>, change: impl FnOnce()) {
        locked(dentry, change);
    }

    fn put(&self, cache: &Cache<P>, dentry: &Dentry<P>) -> bool {
        let last = if FAST_DPUT {
            put_fast(dentry, SEEDED != seeded::COUNT_FIRST)
        } else {
            put_or_lock(dentry)
        };
        if !last {
            return false;
        }
        let dies = !dentry.is_hashed();
        if dies {
            cache.lru.del(dentry);
            dentry.lockref.mark_dead();
        } else {
            cache.lru.add(dentry);
        }
        dentry.lockref.unlock();
        dies
    }

    fn lazy_walk(&self, cache: &Cache<P>, trip: &Trip<'_, P>) -> Lazy<P> {
        let from = if components::is_absolute(trip.path) { Start::Root } else { Start::Cwd };
        let (at, seq) = trip.fs.by_seqcount(from, begin);
        let root = (from == Start::Root).then_some(at);
        let mut walk = LazyWalk::<P, SEEDED> { cache, trip, at, seq, root };
        match walk.steps() {
            Some(Ok(())) => walk.legitimize(),
            Some(Err(errno)) => Lazy::Done(Err(errno)),
            None => Lazy::Stale(None),
        }
    }
}

/// d_seq for a look that takes no notice of a change in progress but the second look does (raw_seqcount_begin).
fn begin<P: Platform>(dentry: &Dentry<P>) -> u32 {
    dentry.seq.read_begin_now() & !1
}

/// A walk on its way: without references, under RCU.
struct LazyWalk<'a, P: Platform, const SEEDED: u8> {
    cache: &'a Cache<P>,
    trip: &'a Trip<'a, P>,
    at: Path<P>,
    /// d_seq of the dentry of `at` when the walk got there.
    seq: u32,
    root: Option<Path<P>>,
}

// Where a function answers an Option, none means that something has changed.
impl<P: Platform, const SEEDED: u8> LazyWalk<'_, P, SEEDED> {
    fn steps(&mut self) -> Option<Result<(), Errno>> {
        for (component, must_be_directory) in components::steps(self.trip.path) {
            match component {
                Component::Dot => {}
                Component::DotDot => self.up()?,
                Component::Name(name) => {
                    if let Err(errno) = self.down(name)? {
                        return Some(Err(errno));
                    }
                }
            }
            // SAFETY: dentry and inode are freed a grace period after they were found.
            let inode = unsafe { self.at.dentry.get().inode().get() };
            if must_be_directory && inode.kind != Kind::Directory {
                return Some(Err(Errno::NOTDIR));
            }
        }
        Some(Ok(()))
    }

    /// lookup_fast
    fn down(&mut self, name: &[u8]) -> Option<Result<(), Errno>> {
        // SAFETY: found in this call, under RCU.
        let directory = unsafe { self.at.dentry.get() };
        if let Err(errno) = components::check_name(directory, name) {
            return Some(Err(errno));
        }
        let name = Name::new(directory, name);
        let found = self.cache.search(name.hash, |dentry| {
            let seq = begin(dentry);
            dentry.is(directory, &name).then_some((dentry.seq.retry(seq), Raw::of(dentry), seq))
        });
        // The child is what was looked for, and was so while the directory was still where the walk had found it.
        if let Some((changed, ..)) = found
            && changed
            && SEEDED != seeded::NO_RECHECK
        {
            return None;
        }
        if directory.seq.retry(self.seq) {
            return None;
        }
        let Some((_, child, seq)) = found else { return Some(Err(Errno::NOENT)) };
        (self.at.dentry, self.seq) = (child, seq);
        self.cross();
        Some(Ok(()))
    }

    /// follow_dotdot_rcu
    fn up(&mut self) -> Option<()> {
        let Trip { cx, fs, mounts, .. } = *self.trip;
        let root = *self.root.get_or_insert_with(|| fs.by_seqcount(Start::Root, |_| ()).0);
        loop {
            if self.at == root {
                break;
            }
            // SAFETY: mounts live as long as the kernel; the dentry was found in this call, under RCU.
            let (mount, dentry) = unsafe { (self.at.mount.get(), self.at.dentry.get()) };
            if self.at.dentry != mount.root {
                let parent = dentry.parent();
                // SAFETY: the dentry holds it, or did when this call began: RCU.
                let seq = begin(unsafe { parent.get() });
                if dentry.seq.retry(self.seq) {
                    return None;
                }
                (self.at.dentry, self.seq) = (parent, seq);
                break;
            }
            let Some(above) = mounts.mount_point(cx, self.at.mount) else { break };
            self.enter(above);
        }
        self.cross();
        Some(())
    }

    /// __follow_mount_rcu
    fn cross(&mut self) {
        let Trip { cx, mounts, .. } = *self.trip;
        // SAFETY: found in this call, under RCU.
        while unsafe { self.at.dentry.get() }.is_mount_point() {
            let Some(mounted) = mounts.mounted_at(cx, self.at) else { break };
            // SAFETY: mounts live as long as the kernel.
            self.enter(Path { mount: mounted, dentry: unsafe { mounted.get() }.root });
        }
    }

    fn enter(&mut self, at: Path<P>) {
        self.at = at;
        // SAFETY: a mount holds its root and its mount point, or did when this call began: RCU.
        self.seq = begin(unsafe { at.dentry.get() });
    }

    /// complete_walk
    fn legitimize(&self) -> Lazy<P> {
        let Path { mount, dentry: raw } = self.at;
        let cx = self.trip.cx;
        // SAFETY: found in this call, under RCU.
        let dentry = unsafe { raw.get() };
        // SAFETY: mounts live as long as the kernel.
        if !unsafe { mount.get() }.legitimize(cx) {
            return Lazy::Stale(None);
        }
        let in_vain = if !dentry.lockref.get_not_dead() {
            None
        } else if dentry.seq.retry(self.seq) && SEEDED != seeded::NO_RECHECK {
            Some(raw)
        } else {
            return Lazy::Done(Ok(self.at));
        };
        put_mount(cx, mount);
        Lazy::Stale(in_vain)
    }
}
