//! What stands after `--on`.

use lab::eras::{Era, NoKernel};
use std::ffi::CString;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use vfs_api::Capability;

/// Where a workload runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A directory on this kernel.
    Dir(PathBuf),
    /// The lab with the designs of an era.
    Lab {
        /// As it was written: era and overrides.
        name: String,
        /// What that means.
        era: Era,
    },
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
pub const KINDS: &[Kind] = &[
    Kind {
        name: "dir",
        syntax: "dir:PATH",
        summary: "system calls of this kernel, in a private directory made in PATH and removed afterwards",
    },
    Kind {
        name: "lab",
        syntax: "lab:ERA[,part=design]...",
        summary: "vfscale's own VFS with the locking designs of an era (list designs), on this machine's atomics",
    },
];

impl Target {
    /// The directory of a `dir:` target.
    pub fn dir(&self) -> Option<&Path> {
        match self {
            Target::Dir(path) => Some(path),
            Target::Lab { .. } => None,
        }
    }

    /// Whether a workload that needs `capability` can run here. Both kinds have all that the workloads ask for so far; whether
    /// a directory may be written is the preflight's question.
    pub fn has(&self, capability: Capability) -> bool {
        match (self, capability) {
            (
                Target::Dir(_) | Target::Lab { .. },
                Capability::Create | Capability::Write | Capability::Truncate,
            ) => true,
        }
    }

    /// Whether its locks can be counted.
    pub fn counts_locks(&self) -> bool {
        matches!(self, Target::Lab { .. })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Dir(path) => write!(f, "dir:{}", path.display()),
            Target::Lab { name, .. } => write!(f, "lab:{name}"),
        }
    }
}

/// Not a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoTarget {
    /// No such kind.
    #[error(
        "'{0}' is not a target; write dir:PATH or lab:ERA, for example dir:/mnt/test (see: vfscale list targets)"
    )]
    Kind(String),
    /// No such kernel.
    #[error("{0} (see: vfscale list designs)")]
    Era(#[from] NoKernel),
}

impl FromStr for Target {
    type Err = NoTarget;

    fn from_str(text: &str) -> Result<Target, NoTarget> {
        match text.split_once(':') {
            Some(("dir", path)) if !path.is_empty() => Ok(Target::Dir(path.into())),
            Some(("lab", name)) => {
                Ok(Target::Lab { name: name.to_owned(), era: lab::eras::parse(name)? })
            }
            _ => Err(NoTarget::Kind(text.to_owned())),
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
        for text in ["dir:/mnt/x", "dir:.", "dir:/a:b", "lab:linux-2.6.7,fd_table=rcu"] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        for text in ["/mnt/x", "dir:", "dri:/x", ""] {
            let error = text.parse::<Target>().unwrap_err().to_string();
            assert!(error.contains("dir:PATH"), "{error}");
        }
        let error = "lab:linux-9".parse::<Target>().unwrap_err().to_string();
        assert!(error.contains("linux-2.6.20+s_files"), "it lists what there is: {error}");
    }
}
