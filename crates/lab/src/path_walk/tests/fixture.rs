//! A kernel with nothing but a dentry cache: inodes without contents, mounts with plain counts.

use crate::design::Env;
use crate::dir_lock::DirLock;
use crate::mount_ref::MountRef;
use crate::object::{FileData, Inode, Kind, Mount, Raw};
use crate::orphan_list::OrphanNode;
use crate::path_walk::cache::Cache;
use crate::path_walk::dcache_lock::GlobalLock;
use crate::path_walk::dentry_locks::OwnLocks;
use crate::path_walk::rcu_walk::Lockrefs;
use crate::path_walk::seeded;
use crate::path_walk::tree::{Discipline, Tree};
use crate::path_walk::{Dentry, FsStruct, MountTree, Path, PathWalk};
use crate::write_count::{Access, MountWriters};
use machine::sync::Rcu;
use machine::{Cpu, Cx, POwned, Platform, SpinKind, Word};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use vfs_api::Errno;

/// Four CPUs.
pub(super) const ENV: Env = Env { cpus: 4, spin: SpinKind::Queued };

struct NoLock;

impl<P: Platform> DirLock<P> for NoLock {
    fn lock(&self, _cx: Cx<'_, P>) {}
    fn unlock(&self, _cx: Cx<'_, P>) {}
}

/// References, and how often one was taken.
struct Count<P: Platform>(P::U64, Arc<AtomicU32>);

impl<P: Platform> MountRef<P> for Count<P> {
    fn get(&self, _cx: Cx<'_, P>) {
        self.0.fetch_add(1, SeqCst);
        self.1.fetch_add(1, SeqCst);
    }
    fn put(&self, _cx: Cx<'_, P>) -> bool {
        self.0.fetch_sub(1, SeqCst) == 1
    }
    fn attach(&self, _cx: Cx<'_, P>) {}
    fn detach(&self, _cx: Cx<'_, P>, _unhash: &mut dyn FnMut()) -> bool {
        unreachable!("nobody unmounts here")
    }
    fn remounted(&self, _cx: Cx<'_, P>) {}
    fn references(&self) -> i64 {
        self.0.load(SeqCst).cast_signed() - 1
    }
}

struct NoWriters;

impl<P: Platform> MountWriters<P> for NoWriters {
    fn want(&self, _cx: Cx<'_, P>) -> Result<(), Errno> {
        Ok(())
    }
    fn drop(&self, _cx: Cx<'_, P>) {}
    fn set(&self, _to: Access<'_>) -> Result<(), Errno> {
        Err(Errno::BUSY)
    }
    fn is_readonly(&self) -> bool {
        false
    }
}

/// A mount, and where it is.
type Mounted<P> = (Path<P>, Raw<Mount<P>>);

/// Mounts in the order in which they were mounted.
struct Mounts<P: Platform>(Mutex<Vec<Mounted<P>>>);

impl<P: Platform> MountTree<P> for Mounts<P> {
    fn mounted_at(&self, _cx: Cx<'_, P>, at: Path<P>) -> Option<Raw<Mount<P>>> {
        let mounts = self.0.lock().unwrap();
        let on = |at| mounts.iter().find(|(point, _)| *point == at).map(|&(_, mount)| mount);
        let mut top = on(at)?;
        // SAFETY: mounts live as long as the fixture.
        while let Some(next) = on(Path { mount: top, dentry: unsafe { top.get() }.root }) {
            top = next;
        }
        Some(top)
    }
    fn get_mounted_at(&self, cx: Cx<'_, P>, at: Path<P>) -> Option<Raw<Mount<P>>> {
        // SAFETY: as above; the fixture's mounts are never unmounted.
        self.mounted_at(cx, at).inspect(|mount| unsafe { mount.get() }.refs.get(cx))
    }
    fn mount_point(&self, _cx: Cx<'_, P>, mount: Raw<Mount<P>>) -> Option<Path<P>> {
        self.0.lock().unwrap().iter().find(|(_, other)| *other == mount).map(|&(point, _)| point)
    }
}

/// The kernel, with one process.
pub(super) struct World<P: Platform> {
    pub(super) walk: Box<dyn PathWalk<P>>,
    pub(super) rcu: Rcu<P>,
    pub(super) fs: FsStruct<P>,
    pub(super) root: Path<P>,
    mounts: Mounts<P>,
    /// Owned here until the end, so that a test can look at an inode that it should not have found.
    inodes: Mutex<Vec<POwned<P, Inode<P>>>>,
    all_mounts: Mutex<Vec<POwned<P, Mount<P>>>>,
    next_ino: AtomicU32,
    /// References to mounts that were taken, whether or not they were given back.
    pub(super) mount_gets: Arc<AtomicU32>,
    /// Numbers of the inodes whose dentries went.
    gone: Mutex<Vec<u32>>,
    /// Those of them that [`World::take_gone`] has told of.
    told: Mutex<Vec<u32>>,
}

fn new_inode<P: Platform>(ino: u32, kind: Kind) -> POwned<P, Inode<P>> {
    POwned::new(Inode {
        ino,
        kind,
        // Never followed here.
        sb: Raw::from(NonNull::dangling()),
        lock: Box::new(NoLock),
        nlink: P::U32::new(1),
        count: P::U64::new(1),
        data: FileData::new(ENV.spin),
        orphan: OrphanNode::new(&ENV, ino),
    })
}

fn new_mount<P: Platform>(
    id: u32,
    root: Raw<Dentry<P>>,
    gets: &Arc<AtomicU32>,
) -> POwned<P, Mount<P>> {
    POwned::new(Mount {
        id,
        // Never followed here.
        sb: Raw::from(NonNull::dangling()),
        root,
        refs: Box::new(Count::<P>(P::U64::new(1), Arc::clone(gets))),
        writers: Box::new(NoWriters),
        leaving: P::U32::new(0),
    })
}

impl<P: Platform> World<P> {
    pub(super) fn new(walk: Box<dyn PathWalk<P>>) -> Self {
        let rcu = Rcu::new(ENV.cpus);
        let inode = new_inode::<P>(1, Kind::Directory);
        let cx = Cx { cpu: Cpu(0), rcu: &rcu };
        let dentry = walk.root(cx, Raw::of(&*inode));
        let mount_gets = Arc::default();
        let mount = new_mount(1, dentry, &mount_gets);
        let root = Path { mount: Raw::of(&*mount), dentry };
        // One for the mount (from `root`), two for the process.
        for _ in 0..2 {
            // SAFETY: a reference is held.
            walk.get(cx, unsafe { dentry.get() });
            mount.refs.get(cx);
        }
        let fs = FsStruct::new(&ENV, root, root);
        World {
            walk,
            rcu,
            fs,
            root,
            mounts: Mounts(Mutex::new(Vec::new())),
            inodes: Mutex::new(vec![inode]),
            all_mounts: Mutex::new(vec![mount]),
            next_ino: AtomicU32::new(2),
            mount_gets,
            gone: Mutex::new(Vec::new()),
            told: Mutex::new(Vec::new()),
        }
    }

    pub(super) fn cx(&self, cpu: usize) -> Cx<'_, P> {
        Cx { cpu: Cpu(cpu), rcu: &self.rcu }
    }

    pub(super) fn walk(&self, cpu: usize, path: &[u8]) -> Result<Path<P>, Errno> {
        self.walk.walk(self.cx(cpu), &self.fs, &self.mounts, path)
    }

    /// Walks and drops what was found; its inode number.
    pub(super) fn look(&self, cpu: usize, path: &str) -> Result<u32, Errno> {
        let found = self.walk(cpu, path.as_bytes())?;
        let ino = ino(found.dentry);
        self.put_path(cpu, found);
        Ok(ino)
    }

    pub(super) fn put_path(&self, cpu: usize, path: Path<P>) {
        // SAFETY: mounts live as long as the world.
        unsafe { path.mount.get() }.refs.put(self.cx(cpu));
        self.put(cpu, path.dentry);
    }

    pub(super) fn put(&self, cpu: usize, dentry: Raw<Dentry<P>>) {
        if let Some(inode) = self.walk.put(self.cx(cpu), dentry) {
            // SAFETY: inodes live as long as the world.
            self.gone.lock().unwrap().push(unsafe { inode.get() }.ino);
        }
    }

    /// Makes a name and keeps the reference.
    pub(super) fn make(
        &self,
        cpu: usize,
        parent: Raw<Dentry<P>>,
        name: &[u8],
        kind: Kind,
    ) -> Raw<Dentry<P>> {
        let inode = new_inode(self.next_ino.fetch_add(1, SeqCst), kind);
        let raw = Raw::of(&*inode);
        self.inodes.lock().unwrap().push(inode);
        // SAFETY: the caller holds the parent.
        self.walk.insert(self.cx(cpu), unsafe { parent.get() }, name, raw)
    }

    /// Makes a name and drops the reference; the number of its inode.
    pub(super) fn create(&self, cpu: usize, parent: &str, name: &str, kind: Kind) -> u32 {
        let parent = self.walk(cpu, parent.as_bytes()).unwrap();
        let made = self.make(cpu, parent.dentry, name.as_bytes(), kind);
        let ino = ino(made);
        self.put(cpu, made);
        self.put_path(cpu, parent);
        ino
    }

    /// Removes a name.
    pub(super) fn remove(&self, cpu: usize, path: &str) {
        let found = self.walk(cpu, path.as_bytes()).unwrap();
        // SAFETY: a reference is held.
        self.walk.unhash(self.cx(cpu), unsafe { found.dentry.get() });
        self.put_path(cpu, found);
    }

    /// Gives a name another place.
    pub(super) fn rename(&self, cpu: usize, from: &str, parent: &str, name: &str) {
        let from = self.walk(cpu, from.as_bytes()).unwrap();
        let parent = self.walk(cpu, parent.as_bytes()).unwrap();
        // SAFETY: references are held to both.
        let (dentry, directory) = unsafe { (from.dentry.get(), parent.dentry.get()) };
        self.walk.rename(self.cx(cpu), dentry, directory, name.as_bytes());
        self.put_path(cpu, parent);
        self.put_path(cpu, from);
    }

    /// Makes a directory the working directory; takes over its references.
    pub(super) fn set_cwd(&self, cpu: usize, new: Path<P>) {
        let old = self.fs.set_cwd(self.cx(cpu), &*self.walk, new);
        self.put_path(cpu, old);
    }

    pub(super) fn chdir(&self, cpu: usize, path: &str) {
        let new = self.walk(cpu, path.as_bytes()).unwrap();
        self.set_cwd(cpu, new);
    }

    /// Mounts what is at `what` on `at`; takes over a reference to each dentry, and the one to the mount of `at`.
    pub(super) fn mount(&self, what: Raw<Dentry<P>>, at: Path<P>) -> Raw<Mount<P>> {
        let mut all = self.all_mounts.lock().unwrap();
        let id = u32::try_from(all.len()).unwrap() + 1;
        all.push(new_mount(id, what, &self.mount_gets));
        let mount = Raw::of(&**all.last().unwrap());
        self.mounts.0.lock().unwrap().push((at, mount));
        // SAFETY: a reference was just taken over.
        unsafe { at.dentry.get() }.set_mount_point(true);
        mount
    }

    /// `mount --bind`, by paths.
    pub(super) fn bind(&self, what: &str, at: &str) {
        let what = self.walk(0, what.as_bytes()).unwrap();
        let at = self.walk(0, at.as_bytes()).unwrap();
        self.mount(what.dentry, at);
        // SAFETY: mounts live as long as the world.
        unsafe { what.mount.get() }.refs.put(self.cx(0));
    }

    /// Numbers of the inodes that came free since the last call, ascending.
    pub(super) fn take_gone(&self) -> Vec<u32> {
        for cpu in 0..ENV.cpus {
            let cx = self.cx(cpu);
            // What was left on this CPU comes with any put.
            let left = || {
                // SAFETY: the mount holds the root.
                self.walk.get(cx, unsafe { self.root.dentry.get() });
                self.walk.put(cx, self.root.dentry)
            };
            for inode in std::iter::from_fn(left) {
                // SAFETY: inodes live as long as the world.
                self.gone.lock().unwrap().push(unsafe { inode.get() }.ino);
            }
        }
        let mut gone = std::mem::take(&mut *self.gone.lock().unwrap());
        gone.sort_unstable();
        self.told.lock().unwrap().extend(&gone);
        gone
    }

    /// References to mounts beyond the tree's, summed.
    pub(super) fn mount_references(&self) -> i64 {
        self.all_mounts.lock().unwrap().iter().map(|mount| mount.refs.references()).sum()
    }

    /// Ends the kernel. Every CPU must be offline.
    ///
    /// # Panics
    /// If some inode comes free twice or never.
    pub(super) fn end(self) {
        let mut gone = std::mem::take(&mut *self.gone.lock().unwrap());
        gone.append(&mut self.told.lock().unwrap());
        // Bind mounts let go of their roots and places, which may be directories that were removed.
        let mounts = std::mem::take(&mut *self.mounts.0.lock().unwrap());
        for (at, mount) in mounts {
            // SAFETY: mounts live until the end of the test.
            for dentry in [unsafe { mount.get() }.root, at.dentry] {
                let inode = self.walk.put(self.cx(0), dentry);
                // SAFETY: so do inodes.
                gone.extend(inode.map(|inode| unsafe { inode.get() }.ino));
            }
        }
        // SAFETY: the caller is alone; callbacks have run before anything is torn down.
        unsafe { self.rcu.drain() };
        // SAFETY: as above; references that are still held are not used any more.
        unsafe {
            self.walk.tear_down(self.cx(0), &mut |inode| gone.push(inode.get().ino));
        }
        gone.sort_unstable();
        let all: Vec<u32> = (1..self.next_ino.load(SeqCst)).collect();
        assert_eq!(gone, all, "each inode comes free once");
    }
}

/// The design with few chains in its hash table (a power of two).
///
/// # Panics
/// If it is not known here.
pub(super) fn small<P: Platform>(design: &str, log2: u32) -> Box<dyn PathWalk<P>> {
    const NONE: u8 = seeded::NONE;
    match design {
        "dcache_lock_fs_root" => tree(log2, GlobalLock::<P, false, NONE>::new(&ENV)),
        "dcache_lock" => tree(log2, GlobalLock::<P, true, NONE>::new(&ENV)),
        "dentry_locks" => tree(log2, OwnLocks::<NONE>),
        "rcu_walk" => tree(log2, Lockrefs::<false, NONE>),
        "rcu_walk_fast_dput" => tree(log2, Lockrefs::<true, NONE>),
        design => panic!("{design} is to be added to the tests"),
    }
}

/// A cache with few chains.
pub(super) fn tree<P: Platform, D: Discipline<P> + 'static>(
    log2: u32,
    discipline: D,
) -> Box<dyn PathWalk<P>> {
    Box::new(Tree { cache: Cache::with_buckets(&ENV, log2), discipline })
}

/// Number of a dentry's inode.
pub(super) fn ino<P: Platform>(dentry: Raw<Dentry<P>>) -> u32 {
    // SAFETY: the caller holds the dentry, and inodes live as long as the world.
    unsafe { dentry.get().inode().get() }.ino
}
