//! What every design of the part must do.

mod model_platform;
mod models;
mod oracle;
mod stress;

use super::{FdDesign, FdTable};
use crate::design::Env;
use crate::object::{File, FileBody, Raw};
use machine::sync::Rcu;
use machine::{Cpu, Cx, Plain, Platform, SpinKind, Word};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use vfs_api::OFlags;

/// Makes a design whose tables start with so many slots.
type Make<P> = fn(&Env, usize) -> Box<dyn FdDesign<P>>;

/// Every design, with its name.
fn all<P: Platform>() -> [(&'static str, Make<P>); 5] {
    [
        (super::Spinlock::INFO.name, super::Spinlock::with_slots),
        (super::Rwlock::INFO.name, super::Rwlock::with_slots),
        (super::Kref::INFO.name, super::Kref::with_slots),
        (super::Rcu::INFO.name, super::Rcu::with_slots),
        (super::Typesafe::INFO.name, super::Typesafe::with_slots),
    ]
}

#[test]
fn every_registered_design_is_tested_and_can_be_made() {
    let tested: Vec<_> = all::<machine::Real>().map(|(name, _)| name).into();
    let registered: Vec<_> = super::DESIGNS.iter().map(|info| info.name).collect();
    assert_eq!(tested, registered);
    for info in super::DESIGNS {
        assert_eq!(info.part, "fd_table");
        let design = super::make::<machine::Real>(info.name, &env(1)).expect(info.name);
        assert_eq!(design.table(10, true).used(), []);
    }
    assert!(super::make::<machine::Real>("none", &env(1)).is_none());
}

fn env(cpus: usize) -> Env {
    Env { cpus, spin: SpinKind::Queued }
}

/// A kernel that has nothing but files and one table.
struct Kernel<P: Platform> {
    rcu: Rcu<P>,
    table: Box<dyn FdTable<P>>,
    design: Box<dyn FdDesign<P>>,
    opened: AtomicU64,
    closed: AtomicU64,
}

impl<P: Platform> Kernel<P> {
    fn new(make: Make<P>, cpus: usize, first: usize, limit: usize, shared: bool) -> Self {
        Self::of(make(&env(cpus), first), cpus, limit, shared)
    }

    fn of(design: Box<dyn FdDesign<P>>, cpus: usize, limit: usize, shared: bool) -> Self {
        Kernel {
            rcu: Rcu::new(cpus),
            table: design.table(limit, shared),
            design,
            opened: AtomicU64::new(0),
            closed: AtomicU64::new(0),
        }
    }

    fn cx(&self, cpu: usize) -> Cx<'_, P> {
        Cx { cpu: Cpu(cpu), rcu: &self.rcu }
    }

    /// A file that says `stamp` in two places. The pointers in its body are never followed.
    fn file(&self, cpu: usize, stamp: u64) -> Raw<File<P>> {
        fn nowhere<T>(stamp: u64) -> Raw<T> {
            Raw::new(std::ptr::without_provenance_mut(stamp as usize)).expect("a stamp above 0")
        }
        let file = self.design.alloc(self.cx(cpu));
        let body = FileBody {
            mount: nowhere(stamp),
            dentry: nowhere(stamp),
            inode: nowhere(stamp),
            flags: OFlags::RDWR,
        };
        // SAFETY: the file is ours, and not published yet.
        unsafe {
            file.get().body.with_mut(|old| assert!((*old).replace(body).is_none()));
            file.get().pos.store(stamp, Relaxed);
        }
        self.opened.fetch_add(1, Relaxed);
        file
    }

    /// What the file says, for who holds a reference.
    fn stamp(&self, file: Raw<File<P>>) -> u64 {
        // SAFETY: the caller holds a reference.
        let (body, pos) = unsafe { (file.get().body(), file.get().pos.load(Relaxed)) };
        let stamp = body.inode.ptr().addr() as u64;
        assert_eq!(stamp, pos, "the file is another's");
        stamp
    }

    /// What __fput does, for who was told that the last reference is gone.
    fn take_apart(&self, cpu: usize, file: Raw<File<P>>) {
        // SAFETY: the last reference is gone.
        unsafe {
            file.get().body.with_mut(|body| assert!((*body).take().is_some(), "closed twice"));
            file.get().pos.store(0, Relaxed);
            self.design.free(self.cx(cpu), file);
        }
        self.closed.fetch_add(1, Relaxed);
    }

    /// Drops a reference that is in no table.
    fn drop_ref(&self, cpu: usize, file: Raw<File<P>>) {
        // SAFETY: the caller's reference.
        if self.design.drop_ref(unsafe { file.get() }) {
            self.take_apart(cpu, file);
        }
    }

    /// open(2).
    fn open(&self, cpu: usize, stamp: u64) -> Option<i32> {
        let fd = self.table.reserve(self.cx(cpu)).ok()?;
        self.table.install(self.cx(cpu), fd, self.file(cpu, stamp));
        Some(fd)
    }

    /// close(2).
    fn close(&self, cpu: usize, fd: i32) -> bool {
        match self.table.remove(self.cx(cpu), fd) {
            Some(file) => self.drop_ref(cpu, file),
            None => return false,
        }
        true
    }

    /// A call that looks a descriptor up; the file's stamp.
    fn look(&self, cpu: usize, fd: i32) -> Option<u64> {
        let stamp = self.table.get(self.cx(cpu), fd).map(|got| {
            let stamp = self.stamp(got.file);
            if self.table.put(self.cx(cpu), got) {
                self.take_apart(cpu, got.file);
            }
            stamp
        });
        self.end_call(cpu);
        stamp
    }

    /// Takes apart what look-ups in this call were left with; how many files.
    fn end_call(&self, cpu: usize) -> usize {
        let delayed = || self.design.delayed(self.cx(cpu));
        std::iter::from_fn(delayed).map(|file| self.take_apart(cpu, file)).count()
    }

    /// Ends the process and the kernel. All CPUs are offline and idle.
    fn end(&self) {
        for fd in self.table.used() {
            assert!(self.close(0, fd), "{fd} is used but cannot be closed");
        }
        assert_eq!(self.table.used(), []);
        // SAFETY: nobody else does anything.
        let in_use = unsafe {
            self.rcu.drain();
            self.design.in_use()
        };
        assert_eq!(in_use, 0, "files leaked");
        assert_eq!(self.opened.load(Relaxed), self.closed.load(Relaxed));
    }
}
