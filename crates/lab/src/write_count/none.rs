//! Nobody counts open files: a remount looks through the list of open files for one that is open for writing.
//!
//! Linux 2.6.20 had only the super block's flag. Here a mount has one too, handled in the same way, so that every design of the
//! lab can do what a read-only bind mount needs; both are bits of one word of the mount, read where the kernel read s_flags.
//!
//! In the kernel a writer looked at the flag, and that was all; it was a writer on a read-only file system if a remount came
//! between that look and the moment when its file was on the list, or, without a file (create, unlink, rename), whenever one
//! came before its end. (The s_barrier of mail 004's series was to close the first gap; counting the writers closed both.) The
//! lab wants the same answers of every design, so that here a writer is counted for as long as nobody else could know of it: until
//! its file is on the list, or its change is done; always within one call, on its own CPU's counter. A remount holds newcomers,
//! looks at the counters of what is under way and walks the list; then it sets the flag or gives up, and lets the newcomers
//! look. So one that fails has refused nobody.
//!
//! Shared: none written; the flags of the mount are read. What the kernel did not do: a fence, and the own CPU's counter, which
//! is written twice, by plain stores. Newcomers take a lock while a remount is under way, or on a read-only mount.
//!
//! Ordering: store buffering. A writer counts itself, fences, reads the flags; the remount sets HOLD, fences, reads the counters:
//! it sees the writer, or the writer sees HOLD and waits. A count that is taken back is a Release store and read with Acquire:
//! then the file is on the list for the walk that comes after, or the change is there to be seen. Mounts that are read-only by
//! the other flag are not held: there are no writers, and who is counted there is about to be refused.
//!
//! Source: fs_may_remount_ro of 2.6.20 (list walk) and IS_RDONLY in open_namei and permission; the counters are this lab's.

use super::mounts::Mounts;
use crate::design::{DesignInfo, Env};
use crate::write_count::{Access, Busy, MountWriters, SbWriters, WriteCountDesign};
use machine::sync::PerCpu;
use machine::{Cpu, Cx, POwned, Platform, Word};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use vfs_api::Errno;

/// No counts. (Not called `None`, which Rust has already.)
pub struct NoCount;

impl NoCount {
    /// What is known of it.
    pub const INFO: DesignInfo = DesignInfo {
        part: "write_count",
        name: "none",
        kernel: "2.6.20",
        source: "fs_may_remount_ro; mail 004 lists the users of s_files",
        shared: "none; remount walks the open files",
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
        Arc::new(Sb::<P> {
            cpus: self.env.cpus,
            readonly: POwned::new(P::U32::new(0)),
            mounts: Mounts::new(&self.env),
        })
    }

    fn needs_file_list(&self) -> bool {
        true
    }
}

/// The mount is read-only.
const READONLY: u32 = 1;
/// Its super block is.
const SB_READONLY: u32 = 2;
/// A remount is looking: newcomers wait for it.
const HOLD: u32 = 4;

struct Count<P: Platform> {
    flags: POwned<P, P::U32>,
    /// Writers that are on no list, by CPU.
    under_way: PerCpu<P, P::U32>,
}

impl<P: Platform> Count<P> {
    /// Adds to the own CPU's counter, which nobody else writes.
    #[inline]
    fn add(&self, cpu: Cpu, by: i32) {
        let under_way = self.under_way.get(cpu);
        // Relaxed: the CPU's own. Release: see the header.
        under_way.store(under_way.load(Relaxed).wrapping_add_signed(by), Release);
    }

    fn has_any_under_way(&self) -> bool {
        self.under_way.iter().any(|cpu| cpu.load(Acquire) > 0)
    }

    fn is_readonly(&self) -> bool {
        // Acquire: pairs with the Release of who made it writable.
        self.flags.load(Acquire) & (READONLY | SB_READONLY) != 0
    }
}

struct Sb<P: Platform> {
    cpus: usize,
    /// For mounts that are made meanwhile, and who asks. Changed under the mounts' lock.
    readonly: POwned<P, P::U32>,
    mounts: Mounts<P, Count<P>>,
}

/// Holds newcomers on these mounts and says whether somebody writes there, or something else is in the way. Under the mounts' lock.
fn hold<P: Platform>(mounts: &[Arc<Count<P>>], busy: Busy<'_>) -> Result<(), Errno> {
    let writable = || mounts.iter().filter(|mount| !mount.is_readonly());
    for mount in writable() {
        // Relaxed: the fence orders it before the look at the counters.
        mount.flags.fetch_or(HOLD, Relaxed);
    }
    P::fence(SeqCst);
    let under_way = writable().any(|mount| mount.has_any_under_way());
    if under_way || (busy.has_writer)() || (busy.otherwise)() { Err(Errno::BUSY) } else { Ok(()) }
}

/// Sets or clears `flag` on these mounts, all of it or nothing. Under the mounts' lock.
fn change<P: Platform>(mounts: &[Arc<Count<P>>], flag: u32, to: Access<'_>) -> Result<(), Errno> {
    let (set, clear) = match to {
        Access::Writable => (Ok(0), flag),
        Access::ReadOnly(busy) => (hold(mounts, busy).map(|()| flag), HOLD),
    };
    for mount in mounts {
        // Relaxed: only who has the lock stores. Release: what was done before is seen by who finds the mount writable.
        let flags = mount.flags.load(Relaxed) & !clear;
        mount.flags.store(flags | set.unwrap_or(0), Release);
    }
    set.map(|_| ())
}

impl<P: Platform> SbWriters<P> for Sb<P> {
    fn mount(self: Arc<Self>) -> Box<dyn MountWriters<P>> {
        let me = self.mounts.add(|| Count {
            flags: POwned::new(P::U32::new(if self.is_readonly() { SB_READONLY } else { 0 })),
            under_way: PerCpu::new(self.cpus, |_| P::U32::new(0)),
        });
        P::name(&*me.flags, "vfsmount.mnt_flags");
        me.under_way.iter().for_each(|count| P::name(count, "writers under way"));
        Box::new(Mount { me, sb: self })
    }

    fn set(&self, to: Access<'_>) -> Result<(), Errno> {
        self.mounts.with(|mounts| {
            change(mounts, SB_READONLY, to)?;
            // Release: pairs with whoever asks.
            self.readonly.store(u32::from(matches!(to, Access::ReadOnly(_))), Release);
            Ok(())
        })
    }

    fn is_readonly(&self) -> bool {
        self.readonly.load(Acquire) != 0
    }
}

struct Mount<P: Platform> {
    me: Arc<Count<P>>,
    sb: Arc<Sb<P>>,
}

impl<P: Platform> Mount<P> {
    /// Waits for the remount that may be under way, and does as it says.
    #[cold]
    fn want_after_remount(&self, cpu: Cpu) -> Result<(), Errno> {
        // Nobody holds newcomers when the lock is free. The count is taken back under it, so that no remount takes who is
        // refused for a writer.
        self.sb.mounts.with(|_| {
            if self.me.is_readonly() {
                self.me.add(cpu, -1);
                return Err(Errno::ROFS);
            }
            Ok(())
        })
    }
}

impl<P: Platform> MountWriters<P> for Mount<P> {
    fn want(&self, cx: Cx<'_, P>) -> Result<(), Errno> {
        self.me.add(cx.cpu, 1);
        P::fence(SeqCst);
        // Acquire: as in `is_readonly`.
        if self.me.flags.load(Acquire) == 0 { Ok(()) } else { self.want_after_remount(cx.cpu) }
    }

    fn listed(&self, cx: Cx<'_, P>) {
        self.me.add(cx.cpu, -1);
    }

    fn drop(&self, cx: Cx<'_, P>) {
        self.me.add(cx.cpu, -1);
    }

    fn closed(&self, _cx: Cx<'_, P>) {}

    fn set(&self, to: Access<'_>) -> Result<(), Errno> {
        self.sb.mounts.with(|_| change(std::slice::from_ref(&self.me), READONLY, to))
    }

    fn is_readonly(&self) -> bool {
        // Acquire: pairs with the Release of who made it writable.
        self.me.flags.load(Acquire) & READONLY != 0
    }
}

impl<P: Platform> Drop for Mount<P> {
    fn drop(&mut self) {
        self.sb.mounts.remove(&self.me);
    }
}
