//! The list of a super block's open files (threads: mail 004): every open adds to it, every close takes off it, and almost
//! nobody reads it.

use crate::design::designs;
use crate::object::File;
use machine::{Cx, Platform};

/// One super block's list.
pub trait SbFiles<P: Platform>: Send + Sync {
    /// Adds a file. It is on no list.
    fn add(&self, cx: Cx<'_, P>, file: &File<P>);

    /// Takes it off; on whichever CPU. Its memory may be used again when this returns.
    fn del(&self, cx: Cx<'_, P>, file: &File<P>);

    /// Visits files until `visit` answers false. Sees every file that is on the list from begin to end; others perhaps. The
    /// files cannot be freed while they are visited. False if it cannot walk (there is no list).
    fn walk(&self, cx: Cx<'_, P>, visit: &mut dyn FnMut(&File<P>) -> bool) -> bool;
}

/// A design. What all super blocks share (the global lock) is in it.
pub trait FileListDesign<P: Platform>: Send + Sync {
    /// The list of a new super block.
    fn sb(&self) -> Box<dyn SbFiles<P>>;
}

mod list;
mod lock_list;
mod steps;
#[cfg(test)]
pub(crate) mod tests;

designs! {
    FileListDesign;
    global::Global,
    filevec::FileVec,
    lglock::PerCpuLists,
    none::NoList,
}
