//! struct file, and its place on a list of open files.

use super::{Inode, Mount, Raw};
use crate::design::Env;
use crate::path_walk::Dentry;
use machine::sync::Spin;
use machine::{Plain, Platform, PtrWord, Word};
use std::ptr::null_mut;
use vfs_api::OFlags;

/// A file's place on a list of open files (fu_list and what the designs added to it).
///
/// Every list design finds what it needs here; a design leaves the other fields alone.
pub struct Link<P: Platform> {
    /// The next link, or what the design makes of the word (the filevec of 2007 keeps a tagged slot address here).
    pub next: P::U64,
    /// The link before.
    pub prev: P::Ptr<Link<P>>,
    /// The node's own lock (lock_list of 2007).
    pub lock: Spin<P>,
    /// CPU under whose lock it was put (lglock of 2.6.36).
    pub cpu: P::U32,
}

impl<P: Platform> Link<P> {
    /// A link that is on no list.
    pub fn new(env: &Env) -> Self {
        Link {
            next: P::U64::new(0),
            prev: P::Ptr::new(null_mut()),
            lock: Spin::new(env.spin, "llist_lock"),
            cpu: P::U32::new(0),
        }
    }
}

/// An open file. Lives in a slab; see the fd_table designs for who frees it, and when.
///
/// `f_count` shares its line with the list link, as in 2.6.20.
#[repr(C)]
pub struct File<P: Platform> {
    /// First, so that a pointer to the link is a pointer to the file.
    pub link: Link<P>,
    /// f_count, in the encoding of the fd_table design.
    pub count: P::U64,
    /// f_pos.
    pub pos: P::U64,
    /// What open made of it. Written before the file is published and after its last reference is gone; in between it is only read.
    pub body: P::Cell<Option<FileBody<P>>>,
}

/// What does not change while a file is open.
pub struct FileBody<P: Platform> {
    /// f_path.mnt; the file holds a reference.
    pub mount: Raw<Mount<P>>,
    /// f_path.dentry; the file holds a reference.
    pub dentry: Raw<Dentry<P>>,
    /// The dentry's inode, kept alive by the dentry.
    pub inode: Raw<Inode<P>>,
    /// f_flags.
    pub flags: OFlags,
}

impl<P: Platform> Clone for FileBody<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Platform> Copy for FileBody<P> {}

impl<P: Platform> File<P> {
    /// A file that nobody uses.
    pub fn new(env: &Env) -> Self {
        File {
            link: Link::new(env),
            count: P::U64::new(0),
            pos: P::U64::new(0),
            body: P::Cell::new(None),
        }
    }

    /// To be called when it has its place.
    pub(crate) fn name_lines(&self) {
        P::name(&self.link, "file.fu_list");
        P::name(&self.count, "file.f_count");
        P::name(&self.pos, "file.f_pos");
        P::name(&self.body, "file.f_path");
    }

    /// The file that a list link is part of.
    ///
    /// # Safety
    /// `link` points to the link of a file.
    pub unsafe fn of_link(link: *mut Link<P>) -> *mut File<P> {
        // The link is the first field and the struct is repr(C).
        link.cast()
    }

    /// The body, for who holds a reference.
    ///
    /// # Safety
    /// The file is published and the caller holds a reference to it.
    pub unsafe fn body(&self) -> FileBody<P> {
        // SAFETY: nobody writes it as long as there are references.
        self.body.with(|body| unsafe { (*body).expect("a published file has a body") })
    }

    /// Whether it is open for writing.
    ///
    /// # Safety
    /// As for [`File::body`].
    pub unsafe fn writes(&self) -> bool {
        // SAFETY: the caller's promise.
        let access = unsafe { self.body() }.flags & OFlags::RWMODE;
        access == OFlags::WRONLY || access == OFlags::RDWR
    }
}
