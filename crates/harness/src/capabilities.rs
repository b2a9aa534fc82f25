//! What a target can: asked before anything starts, so that a pair that cannot work is refused with the reason.
//!
//! The lab's capabilities are known. A directory's depend on its file system, on this kernel and on the user; where a list
//! would go out of date, the call itself is tried in the directory, on a file without a name that is gone at once.

use crate::error::Error;
use crate::preflight;
use crate::target::Target;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::path::Path;
use vfs_api::{Capability, Selected};

/// What the file that things are tried on is called where files without a name are not to be had; for a moment.
const TRIAL: &str = ".vfscale-trial";

/// Whether `workload` has on `target` all that it needs. `dir`: the directory of a `dir:` target.
///
/// # Errors
/// [`Error::Refused`] with the first thing that is missing, and why.
pub(crate) fn check(workload: &Selected, target: &Target, dir: Option<&Path>) -> Result<(), Error> {
    check_needs(workload, workload.info().needs, target, dir)
}

/// As [`check`], of these needs.
pub(crate) fn check_needs(
    workload: &Selected,
    needs: &[Capability],
    target: &Target,
    dir: Option<&Path>,
) -> Result<(), Error> {
    for need in needs {
        let lacking = match dir {
            Some(dir) => why_not_here(*need, dir),
            None => why_not_in_the_lab(*need).map(str::to_owned),
        };
        if let Some(why) = lacking {
            return Err(Error::Refused {
                what: format!("{workload} needs '{}', which {target} has not: {why}", need.name()),
                advice: "choose another workload or target (vfscale list)".into(),
            });
        }
    }
    Ok(())
}

/// Whether `workload` can run on `target` at all. What the machine has room for is [`Plan::new`](crate::Plan::new)'s question.
///
/// # Errors
/// [`Error::Refused`] with the reason.
pub fn can_run(workload: &Selected, target: &Target) -> Result<(), Error> {
    let dir = target.dir().map(preflight::resolve).transpose()?;
    check(workload, target, dir.as_deref())
}

/// Why the lab has not got it; none if it has.
fn why_not_in_the_lab(need: Capability) -> Option<&'static str> {
    use Capability as C;
    match need {
        C::Create | C::Write | C::Truncate | C::Allocate | C::Attributes | C::Mounts => None,
        C::List => Some("its directories keep no list of their names, only the hash table"),
        C::Openat2 | C::PathOnly | C::Unnamed | C::LinkFd => {
            Some("its open knows what the programs of the threads ask for, and no more")
        }
        C::Sparse => Some("its files are kept whole in memory, holes as well"),
        C::Direct | C::Map => Some("its files have no pages"),
        C::RecordLocks => Some("its inodes have no list of locks"),
        C::Events => Some("it has files and directories only"),
        C::Sync => Some("it has no device whose time could be waited for"),
        C::Children => Some("its tasks have no children"),
        C::CloseRange => Some("its descriptors are closed one by one"),
        C::Watch => Some("nothing in it tells of changes"),
        C::OwnTable => Some("a task of it has its fd table from the start"),
    }
}

/// Why this kernel has not got it in `dir`; none if it has.
fn why_not_here(need: Capability, dir: &Path) -> Option<String> {
    use Capability as C;
    match need {
        // Whether the directory may be written is the preflight's question; the rest every Linux with a dir: target has.
        C::Create | C::Write | C::Truncate | C::Attributes | C::List | C::PathOnly => None,
        // FAT has no holes; there the region is filled, as it was in FxMark.
        C::Sparse | C::RecordLocks | C::Events | C::Map | C::Sync | C::OwnTable | C::Children => {
            None
        }
        C::Mounts => (!may_mount()).then(|| "it takes the right to mount (CAP_SYS_ADMIN)".into()),
        C::Openat2 => {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let tried = rustix::fs::openat2(CWD, dir, flags, Mode::empty(), ResolveFlags::empty());
            said(tried, "openat2 came with Linux 5.6")
        }
        C::Unnamed => said(unnamed(dir, OFlags::RDWR), "its file system makes no nameless files"),
        C::LinkFd => {
            // Refused with ENOENT, so the file in memory is asked to be linked here: if that is allowed, it is the wrong device.
            let file = rustix::fs::memfd_create(c"vfscale", rustix::fs::MemfdFlags::CLOEXEC);
            let tried = file.and_then(|file| {
                rustix::fs::linkat(file, c"", CWD, dir.join(TRIAL), AtFlags::EMPTY_PATH)
            });
            match tried {
                Err(Errno::XDEV) => None,
                _ => {
                    Some("linkat with AT_EMPTY_PATH takes Linux 6.10 or CAP_DAC_READ_SEARCH".into())
                }
            }
        }
        C::Direct => said(trial(dir, OFlags::DIRECT), "its file system does no direct I/O"),
        C::Allocate => {
            let tried = trial(dir, OFlags::empty()).and_then(|file| {
                rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, 4096)
            });
            said(tried, "its file system has no fallocate")
        }
        C::CloseRange => {
            // An empty range of numbers that no descriptor has.
            // SAFETY: three integers.
            let tried = unsafe { libc::syscall(libc::SYS_close_range, u32::MAX, u32::MAX, 0) };
            (tried != 0).then(|| "close_range came with Linux 5.9".into())
        }
        C::Watch => {
            let tried = rustix::fs::inotify::init(rustix::fs::inotify::CreateFlags::CLOEXEC);
            said(tried, "no inotify instance is to be had (fs.inotify.max_user_instances)")
        }
    }
}

/// What went wrong, if it did. A full disk or a directory that may not be written is for the preflight to say.
fn said<T>(tried: rustix::io::Result<T>, why: &str) -> Option<String> {
    match tried {
        Ok(_) | Err(Errno::NOSPC | Errno::DQUOT | Errno::ROFS | Errno::ACCESS) => None,
        Err(errno) => Some(format!("{why} ({})", vfs_api::errno_name(errno))),
    }
}

fn may_mount() -> bool {
    let sets = rustix::thread::capabilities(None);
    sets.is_ok_and(|sets| sets.effective.contains(rustix::thread::CapabilitySet::SYS_ADMIN))
}

fn unnamed(dir: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    rustix::fs::open(dir, OFlags::TMPFILE | OFlags::CLOEXEC | flags, Mode::RUSR | Mode::WUSR)
}

/// A file to try things on: without a name, or with one that is taken away at once.
fn trial(dir: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::RDWR;
    match unnamed(dir, flags) {
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
            let path = dir.join(format!("{TRIAL}.{}", std::process::id()));
            let create = OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let file = rustix::fs::open(&path, create | flags, Mode::RUSR | Mode::WUSR);
            if file.is_err() {
                // O_DIRECT is refused after the file was made.
                let _ = rustix::fs::unlink(&path);
                return file;
            }
            rustix::fs::unlink(&path)?;
            file
        }
        tried => tried,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_capability_is_refused_with_the_reason() {
        let lab: Target = "lab:linux-2.6.20".parse().unwrap();
        let info = workloads::ALL.iter().find(|info| info.needs.contains(&Capability::RecordLocks));
        let locks = Selected::from(info.expect("a workload takes record locks"));
        let error = check(&locks, &lab, None).unwrap_err();
        assert!(error.is_refusal());
        let text = error.to_string();
        assert!(text.contains("'record locks'") && text.contains("list of locks"), "{text}");
    }

    #[test]
    fn what_is_tried_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        for need in Capability::ALL {
            if let Some(why) = why_not_here(*need, dir.path()) {
                println!("{}: {why}", need.name());
            }
        }
        drop(trial(dir.path(), OFlags::empty()).unwrap());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_the_file_system_cannot_is_told_by_trying() {
        // procfs makes no files at all.
        let why = why_not_here(Capability::Unnamed, Path::new("/proc/self")).unwrap();
        assert!(why.contains("nameless"), "{why}");
        assert_eq!(why_not_here(Capability::Create, Path::new("/proc/self")), None);
    }
}
