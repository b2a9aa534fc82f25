//! What stands after `--on`.

use crate::sim_target::SimTarget;
use crate::user_machines::UserMachines;
use guest::{NoSpec, Spec};
use lab::eras::{Era, NoKernel};
use machine::sim::Machine;
use std::ffi::{CString, OsStr};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where a workload runs.
#[derive(Clone, Debug)]
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
    /// The lab on a simulated machine.
    Sim {
        /// As it was written: machine, era and overrides.
        name: String,
        /// What that means.
        target: Box<SimTarget>,
    },
    /// Another kernel in QEMU.
    Guest(Box<Spec>),
}

/// Targets that are written alike are alike.
impl PartialEq for Target {
    fn eq(&self, other: &Target) -> bool {
        self.to_string() == other.to_string()
    }
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
    Kind {
        name: "sim",
        syntax: "sim:MACHINE/ERA[,part=design]...[,work=NS]",
        summary: "the same VFS on a simulated machine (list machines; one of your own: topology --save, or ./FILE.toml), in virtual time",
    },
    Kind {
        name: "guest",
        syntax: "guest:KERNEL[,cpus=N][,fs=KIND][,memory=SIZE][,disk=[ram|virtio:]SIZE][,cpu=MODEL][,append=...]",
        summary: "another kernel in QEMU with vfscale inside (a bzImage, vmlinuz, .deb, or fetch-kernel's 6.12); fs: tmpfs, ramfs, ext4, xfs, btrfs",
    },
];

impl Target {
    /// The directory of a `dir:` target.
    pub fn dir(&self) -> Option<&Path> {
        match self {
            Target::Dir(path) => Some(path),
            Target::Lab { .. } | Target::Sim { .. } | Target::Guest(_) => None,
        }
    }

    /// CPUs that tasks have there; `usable` on this machine.
    pub fn cpus(&self, usable: usize) -> usize {
        match self {
            Target::Dir(_) | Target::Lab { .. } => usable,
            Target::Sim { target, .. } => target.machine.cpus(),
            Target::Guest(spec) => spec.cpus.map_or(usable, |cpus| cpus as usize),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Dir(path) => write!(f, "dir:{}", path.display()),
            Target::Lab { name, .. } => write!(f, "lab:{name}"),
            Target::Sim { name, .. } => write!(f, "sim:{name}"),
            Target::Guest(spec) => write!(f, "guest:{spec}"),
        }
    }
}

/// Not a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoTarget {
    /// No such kind.
    #[error(
        "'{0}' is not a target; write dir:PATH, lab:ERA, sim:MACHINE/ERA or guest:KERNEL, for example dir:/mnt/test (see: vfscale list targets)"
    )]
    Kind(String),
    /// No such kernel.
    #[error("{0} (see: vfscale list designs)")]
    Era(#[from] NoKernel),
    /// No such machine.
    #[error("{0} (see: vfscale list machines)")]
    Machine(String),
    /// No such guest.
    #[error(transparent)]
    Guest(#[from] NoSpec),
}

/// Work of a call beside its shared accesses where nothing else is said, in cycles of the machine: entry and exit, the copy of the
/// path, allocation. Assumed; a reproduction sets it from one published row (`work=NS`).
const CALL_CYCLES: f64 = 1200.0;

/// A file, a built-in machine, or one of the user's.
fn machine_of(name: &str) -> Result<Machine, String> {
    if name.contains('/') || name.ends_with(".toml") {
        let text = std::fs::read_to_string(name).map_err(|error| format!("{name}: {error}"))?;
        return Machine::from_toml(&text).map_err(|error| format!("{name}: {error}"));
    }
    let own = UserMachines::of_user();
    if let Some(machine) = own.as_ref().map_or(Ok(None), |own| own.find(name))? {
        return Ok(machine);
    }
    Machine::named(name).map_err(|error| match &own {
        Some(own) => format!("{error}; and of your own in {}", own.folder().display()),
        None => error.to_string(),
    })
}

fn sim(name: &str) -> Result<Target, NoTarget> {
    // A machine may be a file with slashes in its path; an era has none.
    let Some((machine, kernel)) = name.rsplit_once('/') else {
        return Err(NoTarget::Machine(format!("'{name}': write sim:MACHINE/ERA")));
    };
    let machine = machine_of(machine).map_err(NoTarget::Machine)?;
    let mut call_work_ns = (CALL_CYCLES * 1000.0 / machine.mhz.value) as u32;
    let mut words = Vec::new();
    for word in kernel.split(',') {
        match word.strip_prefix("work=") {
            Some(ns) => {
                call_work_ns = ns.parse().map_err(|_| {
                    NoTarget::Machine(format!("'{word}': write work= and nanoseconds"))
                })?;
            }
            None => words.push(word),
        }
    }
    let era = lab::eras::parse(&words.join(","))?;
    let target = Box::new(SimTarget { machine, era, call_work_ns });
    Ok(Target::Sim { name: name.to_owned(), target })
}

impl Target {
    /// As [`FromStr`]; the path of a directory may be any bytes.
    ///
    /// # Errors
    /// It is no target.
    pub fn parse(text: &OsStr) -> Result<Target, NoTarget> {
        match text.as_bytes().strip_prefix(b"dir:") {
            Some(path) if !path.is_empty() => Ok(Target::Dir(OsStr::from_bytes(path).into())),
            _ => text.to_string_lossy().parse(),
        }
    }
}

impl FromStr for Target {
    type Err = NoTarget;

    fn from_str(text: &str) -> Result<Target, NoTarget> {
        match text.split_once(':') {
            Some(("dir", path)) if !path.is_empty() => Ok(Target::Dir(path.into())),
            Some(("lab", name)) => {
                Ok(Target::Lab { name: name.to_owned(), era: lab::eras::parse(name)? })
            }
            Some(("sim", name)) => sim(name),
            Some(("guest", spec)) => Ok(Target::Guest(Box::new(spec.parse()?))),
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
        for text in [
            "dir:/mnt/x",
            "dir:.",
            "dir:/a:b",
            "lab:linux-2.6.7,fd_table=rcu",
            "sim:dual-core-2007/linux-2.6.20,work=300",
            "guest:boot/vmlinuz,cpus=2,fs=ext4",
        ] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        for text in ["/mnt/x", "dir:", "dri:/x", ""] {
            let error = text.parse::<Target>().unwrap_err().to_string();
            assert!(error.contains("dir:PATH"), "{error}");
        }
        for wrong in ["sim:dual-core-2007", "sim:pdp-11/linux-2.6.20", "sim:./no.toml/linux-2.6.20"]
        {
            assert!(wrong.parse::<Target>().is_err(), "{wrong}");
        }
        let error = "lab:linux-9".parse::<Target>().unwrap_err().to_string();
        assert!(error.contains("linux-2.6.20+s_files"), "it lists what there is: {error}");
    }
}
