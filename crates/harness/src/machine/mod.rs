//! The machine a run is taken on: which CPUs may be used and where they sit, what limits them, and what disturbed them.
//!
//! Everything is read from sysfs and procfs below [`Roots`], without privilege, so that tests can build the tree of any
//! machine in a directory. A file that is missing is normal (containers, old kernels) and falls back to something sensible; a
//! file that is there but cannot be read is said, never guessed.

pub mod affinity;
pub mod cgroup;
pub mod conditions;
pub mod cpulist;
pub mod doctor;
pub mod host;
pub mod mounts;
pub mod topology;
pub mod warnings;

#[cfg(test)]
pub(crate) mod fixture;

use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where sysfs and procfs are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// sysfs.
    pub sys: PathBuf,
    /// procfs.
    pub proc: PathBuf,
}

impl Default for Roots {
    /// /sys and /proc.
    fn default() -> Self {
        Roots { sys: "/sys".into(), proc: "/proc".into() }
    }
}

impl Roots {
    /// sysfs directory of the CPUs.
    fn cpus(&self) -> PathBuf {
        self.sys.join("devices/system/cpu")
    }

    /// sysfs directory of one CPU.
    fn cpu(&self, id: u32) -> PathBuf {
        self.cpus().join(format!("cpu{id}"))
    }

    /// Where a path that the kernel names absolutely (a mount point) is in these trees.
    fn locate(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("/sys"), path.strip_prefix("/proc")) {
            (Ok(rest), _) => self.sys.join(rest),
            (_, Ok(rest)) => self.proc.join(rest),
            _ => path.to_path_buf(),
        }
    }
}

/// Reads a small file without its trailing newline. The error names the file.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned()),
        Err(error) => Err(at(path, error)),
    }
}

/// Like [`read_text`], with `None` for a file that does not exist.
fn read_if_there(path: &Path) -> io::Result<Option<String>> {
    match read_text(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads a number; `None` if there is none to be had.
fn read_number<T: FromStr>(path: &Path) -> Option<T> {
    read_text(path).ok()?.parse().ok()
}

/// Names the file in an error.
fn at(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// The error for a file whose text is not what the kernel documents.
fn malformed(path: &Path, text: &str) -> io::Error {
    let message = format!("{}: not understood: `{text}`", path.display());
    io::Error::new(io::ErrorKind::InvalidData, message)
}
