//! One spinlock in the super block; the mount's and the super block's counters under it. Mail 000 measured what it costs.
//!
//! Shared: per want and per drop s_mnt_writers_lock and s_writers (one line, of the super block) and mnt_writers (a line of the
//! mount).
//!
//! Ordering: everything is under the lock.
//!
//! Source: Dave Hansen's posting of 2007-01-10, a month before the measured one, whose text was not found; the words of mail
//! 000 ("mount-wide spin_lock/unlock for each for-writing open() and close()") fit it. It has a bug, an early exit that does not
//! count, which is not copied.

use crate::design::{DesignInfo, Env};
use crate::write_count::{Access, MountWriters, SbWriters, WriteCountDesign};
use machine::sync::Spin;
use machine::{Cx, POwned, Plain, Platform};
use std::sync::Arc;
use vfs_api::Errno;

/// One spinlock per super block.
pub struct Spinlock;

impl Spinlock {
    /// What is known of it.
    pub const INFO: DesignInfo = DesignInfo {
        part: "write_count",
        name: "spinlock",
        kernel: "proposed 2007",
        source: "Dave Hansen, read-only bind mounts, 2007-01-10; measured in mail 000",
        shared: "s_mnt_writers_lock with s_writers; mnt_writers",
        reconstruction: false,
    };

    /// The design, for a kernel like `env`.
    pub fn make<P: Platform>(env: &Env) -> Box<dyn WriteCountDesign<P>> {
        Box::new(Design { env: *env })
    }
}

struct Design {
    env: Env,
}

impl<P: Platform> WriteCountDesign<P> for Design {
    fn sb(&self) -> Arc<dyn SbWriters<P>> {
        let lock = Spin::new(self.env.spin, "s_mnt_writers_lock");
        let hot = POwned::new(Locked { lock, count: P::Cell::new(Count::default()) });
        P::name(&*hot, "super_block.s_mnt_writers");
        Arc::new(Sb::<P> { hot })
    }
}

/// Writers of a mount or super block, and its flag.
#[derive(Default)]
struct Count {
    writers: u64,
    readonly: bool,
}

impl Count {
    fn set(&mut self, to: Access<'_>) -> Result<(), Errno> {
        match to {
            Access::Writable => self.readonly = false,
            Access::ReadOnly(busy) if self.writers > 0 || (busy.otherwise)() => {
                return Err(Errno::BUSY);
            }
            Access::ReadOnly(_) => self.readonly = true,
        }
        Ok(())
    }
}

/// The super block's line.
struct Locked<P: Platform> {
    lock: Spin<P>,
    count: P::Cell<Count>,
}

struct Sb<P: Platform> {
    hot: POwned<P, Locked<P>>,
}

impl<P: Platform> Sb<P> {
    fn with<R>(&self, f: impl FnOnce(&mut Count) -> R) -> R {
        let Locked { lock, count } = &*self.hot;
        // SAFETY: under the lock, which all users of the cell take (here).
        lock.with(|| count.with_mut(|count| f(unsafe { &mut *count })))
    }
}

impl<P: Platform> SbWriters<P> for Sb<P> {
    fn mount(self: Arc<Self>) -> Box<dyn MountWriters<P>> {
        let count = POwned::new(P::Cell::new(Count::default()));
        P::name(&*count, "vfsmount.mnt_writers");
        Box::new(Mount { count, sb: self })
    }

    fn set(&self, to: Access<'_>) -> Result<(), Errno> {
        self.with(|count| count.set(to))
    }

    fn is_readonly(&self) -> bool {
        self.with(|count| count.readonly)
    }
}

struct Mount<P: Platform> {
    /// Under the super block's lock.
    count: POwned<P, P::Cell<Count>>,
    sb: Arc<Sb<P>>,
}

impl<P: Platform> Mount<P> {
    /// Runs `f` on the counts of mount and super block.
    fn with<R>(&self, f: impl FnOnce(&mut Count, &mut Count) -> R) -> R {
        // SAFETY: under the super block's lock, which all users of the cell take (here).
        self.sb.with(|sb| self.count.with_mut(|count| f(unsafe { &mut *count }, sb)))
    }
}

impl<P: Platform> MountWriters<P> for Mount<P> {
    fn want(&self, _cx: Cx<'_, P>) -> Result<(), Errno> {
        self.with(|mount, sb| {
            if mount.readonly || sb.readonly {
                return Err(Errno::ROFS);
            }
            sb.writers += 1;
            mount.writers += 1;
            Ok(())
        })
    }

    fn drop(&self, _cx: Cx<'_, P>) {
        self.with(|mount, sb| {
            sb.writers -= 1;
            mount.writers -= 1;
        });
    }

    fn set(&self, to: Access<'_>) -> Result<(), Errno> {
        self.with(|mount, _| mount.set(to))
    }

    fn is_readonly(&self) -> bool {
        self.with(|mount, _| mount.readonly)
    }
}
