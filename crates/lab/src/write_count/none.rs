//! Nobody counts writers: a remount looks through the list of open files for one that is open for writing.
//!
//! Linux 2.6.20 had only the super block's flag. Here a mount has one too, handled in the same way, so that every design of the
//! lab can do what a read-only bind mount needs.
//!
//! An open tests the flags, puts its file on the list and tests again ([`MountWriters::confirm`]). A remount sets its flag, then
//! walks the list, and takes the flag back if there is a writer: an open at that moment fails with EROFS although the remount
//! fails with EBUSY. Who writes without an open file (create, unlink, rename) is on no list: a remount does not see it, as it did
//! not in the kernel.
//!
//! Shared: none written; the flags of mount and super block are read.
//!
//! Ordering: store buffering. The open puts its file on the list, fences, reads the flags; the remount sets the flag, fences,
//! walks the list. Whichever fence is second, its side sees the other's store: never is a writer left on a read-only mount.
//!
//! Source: fs_may_remount_ro of 2.6.20 (list walk) and IS_RDONLY in open_namei; the second test is this lab's, for the kernel
//! had a race there (the s_barrier of mail 004's series was to close it).

use crate::design::{DesignInfo, Env};
use crate::write_count::{MountWriters, SbWriters, WriteCountDesign};
use machine::sync::Spin;
use machine::{Cx, POwned, Platform, Word};
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
        Arc::new(Sb::<P> { flag: Flag::new(), umount: Spin::new(self.env.spin, "s_umount") })
    }

    fn needs_file_list(&self) -> bool {
        true
    }
}

/// A read-only flag; 1 while a remount tries, too.
struct Flag<P: Platform>(POwned<P, P::U32>);

impl<P: Platform> Flag<P> {
    fn new() -> Self {
        let flag = POwned::new(P::U32::new(0));
        P::name(&*flag, "read-only flag");
        Flag(flag)
    }

    fn get(&self) -> bool {
        // Acquire: pairs with the Release of a remount that made it writable; what went before it is seen.
        self.0.load(Acquire) != 0
    }

    /// Under s_umount.
    fn set(&self, readonly: bool, has_writer: &dyn Fn() -> bool) -> Result<(), Errno> {
        if !readonly {
            self.0.store(0, Release);
        } else if !self.get() {
            // Relaxed: the fence orders it before the walk, and whoever must see it has a fence as well (`confirm`).
            self.0.store(1, Relaxed);
            P::fence(SeqCst);
            if has_writer() {
                // Relaxed: nothing has changed.
                self.0.store(0, Relaxed);
                return Err(Errno::BUSY);
            }
        }
        Ok(())
    }
}

struct Sb<P: Platform> {
    flag: Flag<P>,
    /// Remounts exclude each other. A semaphore in the kernel, but nobody sleeps under it here.
    umount: Spin<P>,
}

impl<P: Platform> SbWriters<P> for Sb<P> {
    fn mount(self: Arc<Self>) -> Box<dyn MountWriters<P>> {
        Box::new(Mount { flag: Flag::new(), sb: self })
    }

    fn set_readonly(
        &self,
        _cx: Cx<'_, P>,
        readonly: bool,
        has_writer: &dyn Fn() -> bool,
    ) -> Result<(), Errno> {
        self.umount.with(|| self.flag.set(readonly, has_writer))
    }

    fn is_readonly(&self) -> bool {
        self.flag.get()
    }
}

struct Mount<P: Platform> {
    flag: Flag<P>,
    sb: Arc<Sb<P>>,
}

impl<P: Platform> MountWriters<P> for Mount<P> {
    fn want(&self, _cx: Cx<'_, P>) -> Result<(), Errno> {
        if self.sb.flag.get() || self.flag.get() { Err(Errno::ROFS) } else { Ok(()) }
    }

    fn confirm(&self, cx: Cx<'_, P>) -> Result<(), Errno> {
        P::fence(SeqCst);
        self.want(cx)
    }

    fn drop(&self, _cx: Cx<'_, P>) {}

    fn set_readonly(
        &self,
        _cx: Cx<'_, P>,
        readonly: bool,
        has_writer: &dyn Fn() -> bool,
    ) -> Result<(), Errno> {
        self.sb.umount.with(|| self.flag.set(readonly, has_writer))
    }

    fn is_readonly(&self) -> bool {
        self.flag.get()
    }
}
