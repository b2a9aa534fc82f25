//! struct super_block: a file system instance.

use crate::file_list::SbFiles;
use crate::orphan_list::Orphans;
use crate::write_count::SbWriters;
use machine::Platform;
use std::sync::Arc;

/// A file system instance.
pub struct SuperBlock<P: Platform> {
    /// Unique in the kernel.
    pub id: u32,
    /// s_files, by design.
    pub files: Box<dyn SbFiles<P>>,
    /// The writers of all mounts, by design.
    pub writers: Arc<dyn SbWriters<P>>,
    /// The disk, its journal and the orphans, by design.
    pub orphans: Box<dyn Orphans<P>>,
    /// Inodes without a name that are still in use (s_remove_count; before 3.3 found by walking the open files). Such a super
    /// block cannot become read-only.
    pub remove_count: P::U64,
}
