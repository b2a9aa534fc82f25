//! What stands after `--on`.

use std::ffi::CString;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use vfs_api::Capability;

/// Where a workload runs. One kind so far; the name before the colon leaves room for the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A directory on this kernel.
    Dir(PathBuf),
}

/// A kind of target, for `vfscale list targets`.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// As written before the colon.
    pub name: &'static str,
    /// How it is written.
    pub syntax: &'static str,
    /// What runs there.
    pub summary: &'static str,
}

/// The kinds there are.
pub const KINDS: &[Kind] = &[Kind {
    name: "dir",
    syntax: "dir:PATH",
    summary: "system calls of this kernel, in a private directory made in PATH and removed afterwards",
}];

impl Target {
    /// The directory the target is in.
    pub fn path(&self) -> &Path {
        let Target::Dir(path) = self;
        path
    }

    /// Whether a workload that needs `capability` can run here. A directory of a Linux kernel has all that the workloads ask
    /// for so far; whether it may be written is the preflight's question.
    pub fn has(&self, capability: Capability) -> bool {
        let Target::Dir(_) = self;
        match capability {
            Capability::Create | Capability::Write | Capability::Truncate => true,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Target::Dir(path) = self;
        write!(f, "dir:{}", path.display())
    }
}

/// Not a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a target; write dir:PATH, for example dir:/mnt/test (see: vfscale list targets)")]
pub struct NoTarget(String);

impl FromStr for Target {
    type Err = NoTarget;

    fn from_str(text: &str) -> Result<Target, NoTarget> {
        match text.split_once(':') {
            Some(("dir", path)) if !path.is_empty() => Ok(Target::Dir(path.into())),
            _ => Err(NoTarget(text.to_owned())),
        }
    }
}

/// A path for a system call.
pub(crate) fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).expect("a path that the kernel gave out holds no NUL")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_reads_back_as_written() {
        for text in ["dir:/mnt/x", "dir:.", "dir:/a:b"] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        for text in ["/mnt/x", "dir:", "dri:/x", ""] {
            let error = text.parse::<Target>().unwrap_err().to_string();
            assert!(error.contains("dir:PATH"), "{error}");
        }
    }
}
