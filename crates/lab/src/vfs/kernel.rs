//! A kernel: the designs of an era, one file system mounted at `/`.

use super::tree::Tree;
use crate::design::Env;
use crate::dir_lock::{self, DirLockDesign};
use crate::eras::Era;
use crate::fd_table::{self, FdDesign};
use crate::file_list::{self, FileListDesign};
use crate::mount_ref::{self, MountRefDesign};
use crate::object::{Kind, Mount, Raw, SuperBlock};
use crate::orphan_list::{self, DiskImage, OrphanDesign};
use crate::path_walk::{self, Path, PathWalk};
use crate::write_count::{self, WriteCountDesign};
use machine::sync::{Backlog, Mutex, MutexKind, PerCpu, Rcu};
use machine::{Cpu, Cx, POwned, Plain, Platform, Word};
use std::sync::atomic::Ordering::Relaxed;

/// Inodes of a small machine's file system, ...
const INODES: u32 = 1 << 14;
/// ... and each CPU's share at least: the files of a task and what it makes and removes meanwhile.
const INODES_PER_CPU: u32 = 64;

/// Inode numbers of one CPU.
pub(super) struct Numbers {
    /// Given back on this CPU.
    free: Vec<u32>,
    /// Next of this CPU's share that was never used, and the end of the share.
    next: u32,
    end: u32,
}

impl Numbers {
    /// A number nobody has, if this CPU's share has one left.
    pub(super) fn take(&mut self) -> Option<u32> {
        self.free.pop().or_else(|| {
            let number = (self.next < self.end).then_some(self.next)?;
            self.next += 1;
            Some(number)
        })
    }

    /// Nobody has it any more.
    pub(super) fn give_back(&mut self, ino: u32) {
        self.free.push(ino);
    }
}

/// A kernel with one file system.
pub struct Kernel<P: Platform> {
    pub(super) env: Env,
    /// Work of a call that touches nothing shared, nanoseconds; counts on a simulated machine only.
    pub(super) call_work_ns: u32,
    pub(super) rcu: Rcu<P>,
    pub(super) fds: Box<dyn FdDesign<P>>,
    pub(super) walk: Box<dyn PathWalk<P>>,
    pub(super) dir_locks: Box<dyn DirLockDesign<P>>,
    mount_refs: Box<dyn MountRefDesign<P>>,
    pub(super) tree: Tree<P>,
    /// s_vfs_rename_mutex: renames of directories change the tree's shape, one at a time.
    pub(super) rename: Mutex<P>,
    /// namespace_sem: mounting and unmounting, one at a time.
    pub(super) namespace: Mutex<P>,
    sb: POwned<P, SuperBlock<P>>,
    pub(super) numbers: PerCpu<P, P::Cell<Numbers>>,
    /// nr_inodes, per CPU as since 2.6.38 (cffbc8aa334f) in every era: it is not what is studied.
    pub(super) nr_inodes: PerCpu<P, P::U64>,
    /// Every mount ever made; freed with the kernel. Changed under `namespace`.
    mounts: P::Cell<Vec<Made<P>>>,
}

/// A mount that was made, and whether it still holds its root.
struct Made<P: Platform> {
    mount: POwned<P, Mount<P>>,
    holds_root: bool,
}

/// What is left when a kernel has ended; all zero if no design leaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leftover {
    /// Open files.
    pub files: u64,
    /// Inodes.
    pub inodes: u64,
    /// Inodes recorded as orphans.
    pub orphans: usize,
    /// RCU callbacks that did not run.
    pub callbacks: usize,
}

impl<P: Platform> Kernel<P> {
    /// A kernel of that era with `cpus` CPUs, and an empty file system at `/`.
    pub fn new(era: &Era, cpus: usize) -> Self {
        Self::with_inodes(era, cpus, |_| Self::default_inodes(cpus))
    }

    /// For how many inodes made on one CPU there is room where nothing else is said.
    pub fn default_inodes(cpus: usize) -> u32 {
        (INODES / cpus.max(1) as u32).max(INODES_PER_CPU)
    }

    /// The same with room for so many inodes that are made on a CPU.
    pub fn with_inodes(era: &Era, cpus: usize, inodes: impl Fn(Cpu) -> u32) -> Self {
        let env = Env { cpus, spin: era.spin };
        let parts = era.parts;
        let missing = "an era names designs that there are (a test checks it)";
        let files: Box<dyn FileListDesign<P>> =
            file_list::make(parts.file_list, &env).expect(missing);
        let writers: Box<dyn WriteCountDesign<P>> =
            write_count::make(parts.write_count, &env).expect(missing);
        let orphans: Box<dyn OrphanDesign<P>> =
            orphan_list::make(parts.orphan_list, &env).expect(missing);
        let mount_refs: Box<dyn MountRefDesign<P>> =
            mount_ref::make(parts.mount_ref, &env).expect(missing);
        // Numbers begin at 1.
        let mut next = 1;
        let shares: Vec<(u32, u32)> = (0..cpus)
            .map(|cpu| {
                let first = next;
                next += inodes(Cpu(cpu));
                (first, next)
            })
            .collect();
        let sb = SuperBlock {
            id: 0,
            files: files.sb(),
            writers: writers.sb(),
            orphans: orphans.sb(next - 1),
            remove_count: P::U64::new(0),
        };
        let kernel = Kernel {
            call_work_ns: 0,
            rcu: Rcu::new(cpus),
            fds: fd_table::make(parts.fd_table, &env).expect(missing),
            walk: path_walk::make(parts.path_walk, &env).expect(missing),
            dir_locks: dir_lock::make(parts.dir_lock, &env).expect(missing),
            mount_refs,
            tree: Tree::new(),
            rename: Mutex::new(MutexKind::Sleeping, "s_vfs_rename_mutex"),
            namespace: Mutex::new(MutexKind::Sleeping, "namespace_sem"),
            sb: POwned::new(sb),
            numbers: PerCpu::new(cpus, |cpu| {
                let (next, end) = shares[cpu.0];
                P::Cell::new(Numbers { free: Vec::new(), next, end })
            }),
            nr_inodes: PerCpu::new(cpus, |_| P::U64::new(0)),
            mounts: P::Cell::new(Vec::new()),
            env,
        };
        kernel.mount_root();
        kernel
    }

    /// Sets how long a call takes beside what it does to shared memory: entry and exit, copying the path, allocation. A real machine
    /// takes that time anyway.
    pub fn set_call_work(&mut self, ns: u32) {
        self.call_work_ns = ns;
    }

    /// Says what the lines of the kernel itself are called. To be called when it has its place.
    pub fn name_lines(&self) {
        self.rcu.name_lines();
        self.tree.name_lines();
        P::name(&self.sb.remove_count, "super_block.s_remove_count");
        self.numbers.iter().for_each(|cpu| P::name(cpu, "free inode numbers (per CPU)"));
        self.nr_inodes.iter().for_each(|cpu| P::name(cpu, "nr_inodes (per CPU)"));
    }

    fn mount_root(&self) {
        let cx = self.cx(Cpu(0));
        self.rcu.online(cx.cpu);
        let inode = self.new_inode(cx, Kind::Directory).expect("an empty file system has room");
        let root = self.walk.root(cx, inode);
        let mount = self.new_mount(root);
        // SAFETY: mounts live as long as the kernel.
        unsafe { mount.get() }.refs.attach(cx);
        self.tree.set_root(mount);
        self.rcu.offline(cx.cpu);
    }

    /// The context of a call on `cpu`.
    pub(super) fn cx(&self, cpu: Cpu) -> Cx<'_, P> {
        Cx { cpu, rcu: &self.rcu }
    }

    /// The file system.
    pub(super) fn sb(&self) -> &SuperBlock<P> {
        &self.sb
    }

    /// A mount of the file system that shows `root`, over which it takes one reference. It has one reference, the caller's.
    ///
    /// Called under `namespace`, or alone with the kernel.
    pub(super) fn new_mount(&self, root: Raw<crate::path_walk::Dentry<P>>) -> Raw<Mount<P>> {
        self.mounts.with_mut(|mounts| {
            // SAFETY: only mounting touches the list, one at a time.
            let mounts = unsafe { &mut *mounts };
            let mount = Mount {
                id: mounts.len() as u32,
                sb: Raw::of(&*self.sb),
                root,
                refs: self.mount_refs.mount(),
                writers: std::sync::Arc::clone(&self.sb.writers).mount(),
                leaving: P::U32::new(0),
            };
            let mount = POwned::new(mount);
            P::name(&*mount, "vfsmount");
            let raw = Raw::of(&*mount);
            mounts.push(Made { mount, holds_root: true });
            raw
        })
    }

    /// A mount that is out of the tree, with nobody in it, lets go of its root. Its memory stays until the kernel ends: a path
    /// walk may still look at it. Called under `namespace`.
    pub(super) fn bury_mount(&self, cx: Cx<'_, P>, mount: &Mount<P>) {
        self.mounts.with_mut(|mounts| {
            // SAFETY: only mounting touches the list, one at a time.
            let mounts = unsafe { &mut *mounts };
            mounts[mount.id as usize].holds_root = false;
        });
        self.put_dentry(cx, mount.root);
    }

    /// The part that protects look-ups in the mount tree.
    pub(super) fn mount_refs(&self) -> &dyn MountRefDesign<P> {
        &*self.mount_refs
    }

    /// The root of everything, without a reference: it is never unmounted.
    pub(super) fn root(&self) -> Path<P> {
        let mount = self.tree.root();
        // SAFETY: mounts live as long as the kernel.
        Path { mount, dentry: unsafe { mount.get() }.root }
    }

    /// How far RCU callbacks lag behind.
    ///
    /// # Safety
    /// No task is in a call.
    pub unsafe fn backlog(&self) -> Backlog {
        // SAFETY: the caller's promise.
        unsafe { self.rcu.backlog() }
    }

    /// Commits the journal: makes everything durable that calls have done which ended before. `cpu` is the caller's own; no
    /// call is under way on it.
    pub fn commit(&self, cpu: Cpu) {
        let cx = self.cx(cpu);
        self.rcu.online(cpu);
        self.sb.orphans.disk().commit(cx);
        self.rcu.offline(cpu);
    }

    /// What a crash at this moment would leave on the disk: the state as of the last commit.
    pub fn disk_image(&self) -> DiskImage {
        self.sb.orphans.disk().crash()
    }

    /// What is recorded as an orphan; for tests.
    pub fn orphans(&self) -> Vec<u32> {
        self.sb.orphans.recorded()
    }

    /// Number of files on the list of open files, if there is such a list.
    pub fn listed_files(&self, cpu: Cpu) -> Option<usize> {
        let cx = self.cx(cpu);
        self.rcu.online(cpu);
        let mut files = 0;
        let walked = self.sb.files.walk(cx, &mut |_| {
            files += 1;
            true
        });
        self.rcu.offline(cpu);
        walked.then_some(files)
    }

    /// Ends the kernel and says what its designs leaked. All tasks must have ended.
    pub fn shut_down(mut self) -> Leftover {
        self.take_apart()
    }

    fn take_apart(&mut self) -> Leftover {
        let cx = Cx { cpu: Cpu(0), rcu: &self.rcu };
        // SAFETY: `self` is borrowed exclusively: no task is left, so nobody else is in the kernel.
        unsafe {
            self.rcu.drain();
            let drop_dentry = |dentry| self.put_dentry(cx, dentry);
            self.tree.take_apart(cx, drop_dentry);
            let roots = self.mounts.with_mut(|mounts| {
                let holding = (*mounts).iter().filter(|made| made.holds_root);
                holding.map(|made| made.mount.root).collect::<Vec<_>>()
            });
            roots.into_iter().for_each(drop_dentry);
            self.end_call(cx);
            self.rcu.drain();
            self.walk.tear_down(cx, &mut |inode| self.free_inode(cx, inode));
            let inodes =
                self.nr_inodes.iter().map(|nr| nr.load(Relaxed)).fold(0, u64::wrapping_add);
            Leftover {
                files: self.fds.in_use(),
                inodes,
                orphans: self.orphans().len(),
                callbacks: self.rcu.backlog().waiting,
            }
        }
    }
}

impl<P: Platform> Drop for Kernel<P> {
    fn drop(&mut self) {
        if !self.tree.is_taken_apart() {
            self.take_apart();
        }
    }
}
