//! One lock of the whole kernel, and a list per super block through the files.
//!
//! open: files_lock, list_add. close: files_lock, list_del. A walk holds files_lock from begin to end, so that nothing changes
//! meanwhile; a visitor must not open or close files.
//!
//! Shared: files_lock, by every open and close of the machine; the list's head; by open the link of the file that was first, by
//! close those of both neighbours, which are other tasks' files.
//! Ordering: everything is under files_lock.
//! Source: Linux 2.6.20, fs/file_table.c (file_move, file_kill), fs_may_remount_ro.

use super::{FileListDesign, SbFiles, list};
use crate::design::{DesignInfo, Env};
use crate::object::{File, Link};
use machine::sync::Spin;
use machine::{Cx, POwned, Platform};
use std::sync::Arc;

/// One files_lock for all (2.6.20).
pub struct Global;

impl Global {
    /// What is known of it.
    pub const INFO: DesignInfo = DesignInfo {
        part: "file_list",
        name: "global",
        kernel: "2.6.20",
        source: "Linux 2.6.20, fs/file_table.c",
        shared: "files_lock and the list's links: by open and by close",
        reconstruction: false,
    };

    /// For a kernel like `env`.
    pub fn make<P: Platform>(env: &Env) -> Box<dyn FileListDesign<P>> {
        let files_lock = Arc::new(POwned::new(Spin::new(env.spin, "files_lock")));
        Box::new(Kernel::<P> { env: *env, files_lock })
    }
}

/// The lock has a line of its own (____cacheline_aligned_in_smp).
type FilesLock<P> = Arc<POwned<P, Spin<P>>>;

struct Kernel<P: Platform> {
    env: Env,
    files_lock: FilesLock<P>,
}

struct Sb<P: Platform> {
    files_lock: FilesLock<P>,
    s_files: POwned<P, Link<P>>,
}

impl<P: Platform> FileListDesign<P> for Kernel<P> {
    fn sb(&self) -> Box<dyn SbFiles<P>> {
        Box::new(Sb { files_lock: self.files_lock.clone(), s_files: list::head(&self.env) })
    }
}

impl<P: Platform> SbFiles<P> for Sb<P> {
    fn add(&self, _cx: Cx<'_, P>, file: &File<P>) {
        let head = std::ptr::from_ref(&*self.s_files).cast_mut();
        // SAFETY: the lock protects every edge; the file is on no list and stays alive until it is taken off (contract).
        self.files_lock.with(|| unsafe { list::insert(head, list::node(file)) });
    }

    fn del(&self, _cx: Cx<'_, P>, file: &File<P>) {
        // SAFETY: the file is on the list (contract), and the lock protects every edge.
        self.files_lock.with(|| unsafe { list::unlink(list::node(file)) });
    }

    fn walk(&self, _cx: Cx<'_, P>, visit: &mut dyn FnMut(&File<P>) -> bool) -> bool {
        // SAFETY: only files are on the list, and the lock protects every edge.
        self.files_lock.with(|| unsafe { list::visit(&self.s_files, visit) });
        true
    }
}
