//! What is known of a workload before it runs: its name, what it needs, and under which heads it is listed.

use crate::{Param, Params};
use std::fmt;

/// How the tasks of a curve are made. It decides whether they share an fd table, so it is never implied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskMode {
    /// One fork per task; each has its own fd table.
    Process,
    /// Threads of one process; they share its fd table.
    Thread,
}

impl TaskMode {
    /// As on the command line and in the record.
    pub const fn name(self) -> &'static str {
        match self {
            TaskMode::Process => "process",
            TaskMode::Thread => "thread",
        }
    }
}

impl fmt::Display for TaskMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$about])* $variant,)*
        }

        impl $name {
            /// Every one, in the order of lists.
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// As in lists and on the command line.
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }
        }
    };
}

named! {
    /// What a workload asks of its target. The planner refuses a pair before anything starts.
    Capability {
        /// Names can be made and removed.
        Create = "create",
        /// Files can be written.
        Write = "write",
        /// Files can be cut and extended.
        Truncate = "truncate",
        /// Room can be made in a file ahead (fallocate).
        Allocate = "fallocate",
        /// Holes in files take no room.
        Sparse = "holes",
        /// Mode and times can be changed.
        Attributes = "chmod",
        /// Directories can be bound elsewhere and remounted, which takes an administrator.
        Mounts = "mount",
        /// The names in a directory can be listed (getdents64).
        List = "readdir",
        /// openat2.
        Openat2 = "openat2",
        /// O_PATH.
        PathOnly = "O_PATH",
        /// O_TMPFILE.
        Unnamed = "O_TMPFILE",
        /// An open file can be given a name (linkat with AT_EMPTY_PATH).
        LinkFd = "linkat",
        /// O_DIRECT.
        Direct = "O_DIRECT",
        /// Record locks.
        RecordLocks = "record locks",
        /// poll, pipes, eventfd: descriptors of other things than files.
        Events = "poll",
        /// Files can be mapped into memory.
        Map = "mmap",
        /// Data can be forced to where it is kept (fsync).
        Sync = "fsync",
        /// A task can have a child with a copy of its fd table.
        Children = "clone",
        /// Ranges of descriptors can be closed at once.
        CloseRange = "close_range",
        /// Directories can be watched (inotify).
        Watch = "inotify",
        /// A thread can have an fd table of its own (unshare CLONE_FILES).
        OwnTable = "unshare",
    }
}

named! {
    /// What the measured calls are about; a head of `list workloads`.
    Calls {
        /// open and close.
        Open = "open",
        /// Making and removing names of files.
        Create = "create and unlink",
        /// mkdir and rmdir.
        Mkdir = "mkdir and rmdir",
        /// rename.
        Rename = "rename",
        /// stat and its kin: look-ups.
        LookUp = "look-up",
        /// getdents64.
        Readdir = "readdir",
        /// chmod, utimensat.
        Attributes = "attributes",
        /// Reading data.
        Read = "read",
        /// Writing data.
        Write = "write",
        /// Length and room: truncate, fallocate.
        Length = "truncate and fallocate",
        /// fsync.
        Sync = "fsync",
        /// The fd table: dup, fstat, lseek, close_range.
        Descriptors = "descriptors",
        /// Record locks.
        Locks = "record locks",
        /// poll, pipe, eventfd.
        Events = "events",
        /// mmap and page faults.
        Memory = "memory",
    }
}

named! {
    /// What tasks share beside the super block; a head of `list workloads`.
    Shared {
        /// A file, or the last component of a path.
        File = "one file",
        /// A directory in which each task has its own files.
        Directory = "one directory",
        /// A tree of directories.
        Tree = "one tree",
        /// A mount.
        Mount = "one mount",
        /// In thread mode the fd table, else nothing.
        Descriptors = "nothing but the fd table of threads",
        /// Nothing but the file system itself.
        FileSystem = "nothing but the file system",
    }
}

named! {
    /// A set of workloads: where they come from, or what they are good for. For `run --suite` and as a head of `list workloads`.
    Suite {
        /// Of the five mails.
        Mails = "mails",
        /// will-it-scale's file tests.
        WillItScale = "will-it-scale",
        /// FxMark's microbenchmarks and their background variants.
        Fxmark = "fxmark",
        /// mdtest's phases.
        Mdtest = "mdtest",
        /// fs_mark's loop.
        FsMark = "fs_mark",
        /// fio's engines for files and directories.
        Fio = "fio",
        /// In no other tool.
        Own = "own",
        /// Names, directories and attributes, whatever the origin.
        Metadata = "metadata",
        /// One of each kind, for a first look.
        Quick = "quick",
    }
}

impl Suite {
    /// Whether it says where a workload comes from; the others are choices across origins.
    pub const fn is_origin(self) -> bool {
        !matches!(self, Suite::Metadata | Suite::Quick)
    }
}

/// What one task takes of the machine; the preflight adds it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Descriptors open at the same time at most.
    pub fds: u64,
    /// Room for descriptors beside those of the tasks: up to the largest that is asked for by number.
    pub fd_limit: u64,
    /// Inodes at most, what is shared not counted.
    pub inodes: u64,
    /// Bytes of file data at most, what is shared not counted.
    pub bytes: u64,
    /// Inodes that all tasks share, the curve's directory and one file in it not counted.
    pub shared_inodes: u64,
    /// Bytes of file data that all tasks share.
    pub shared_bytes: u64,
}

impl Demand {
    /// Nothing: what is not named of a demand.
    pub const NONE: Demand =
        Demand { fds: 0, fd_limit: 0, inodes: 0, bytes: 0, shared_inodes: 0, shared_bytes: 0 };

    /// One open file of so many bytes: what most take.
    pub const fn one_file(bytes: u64) -> Demand {
        Demand { fds: 1, inodes: 1, bytes, ..Demand::NONE }
    }
}

/// The description of a workload; `vfscale list workloads` prints it.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// snake_case, and the name on the command line.
    pub name: &'static str,
    /// Other names it answers to, mostly those of peers (`wis:open1`).
    pub aliases: &'static [&'static str],
    /// One line.
    pub summary: &'static str,
    /// The mail or the peer it comes from.
    pub origin: &'static str,
    /// What the calls are about.
    pub calls: Calls,
    /// What tasks share.
    pub shared: Shared,
    /// The suites it belongs to.
    pub suites: &'static [Suite],
    /// Its parameters.
    pub params: &'static [Param],
    /// The modes in which it says something.
    pub modes: &'static [TaskMode],
    /// What is counted as one operation.
    pub operation: &'static str,
    /// What it needs of a target.
    pub needs: &'static [Capability],
    /// Whether a further task works in the background while the others are measured (see
    /// [`Workload::background`](crate::Workload::background)).
    pub background: bool,
    /// What one task takes.
    pub demand: fn(&Params) -> Demand,
}
