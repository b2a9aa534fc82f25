//! No list at all: a remount asks the mounts' writer counts instead, and nobody else ever read it.
//!
//! Shared: none.
//! Ordering: nothing is stored.
//! Source: Linux 3.13, eee5cc270292 (get rid of s_files and files_lock).

use super::{FileListDesign, SbFiles};
use crate::design::{DesignInfo, Env};
use crate::object::File;
use machine::{Cx, Platform};

/// Open files are on no list (3.13).
pub struct NoList;

impl NoList {
    /// What is known of it.
    pub const INFO: DesignInfo = DesignInfo {
        part: "file_list",
        name: "none",
        kernel: "3.13",
        source: "eee5cc270292",
        shared: "none",
        reconstruction: false,
    };

    /// For a kernel like `env`.
    pub fn make<P: Platform>(_env: &Env) -> Box<dyn FileListDesign<P>> {
        Box::new(NoList)
    }
}

impl<P: Platform> FileListDesign<P> for NoList {
    fn sb(&self) -> Box<dyn SbFiles<P>> {
        Box::new(NoList)
    }
}

impl<P: Platform> SbFiles<P> for NoList {
    fn add(&self, _cx: Cx<'_, P>, _file: &File<P>) {}

    fn del(&self, _cx: Cx<'_, P>, _file: &File<P>) {}

    fn walk(&self, _cx: Cx<'_, P>, _visit: &mut dyn FnMut(&File<P>) -> bool) -> bool {
        false
    }
}
