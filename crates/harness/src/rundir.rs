//! The one place on the file system under test that a run may touch: a directory it made and marked itself.
//!
//! `TARGET/vfscale-run.PID.RANDOM/` holds the marker `.vfscale-run` and a directory per curve (`c0`, `c1`, ...). Only a
//! directory with a marker that this program wrote is ever removed, and removal neither follows symbolic links nor crosses
//! into another mount.

use crate::proc_stat::ProcStat;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, StatxFlags};
use rustix::io::Errno;
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Begin of the name of a run's directory.
const PREFIX: &str = "vfscale-run.";
/// The marker's name.
const MARKER: &CStr = c".vfscale-run";
/// The marker's first line.
const MAGIC: &str = "vfscale run directory, version 1";

/// Who made a run directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Marker {
    pid: u32,
    /// Start time of that process in clock ticks since boot: a pid alone is soon somebody else's.
    start: u64,
    boot: String,
    host: String,
    /// /etc/machine-id: host names are not unique. Empty where there is none.
    machine: String,
    pid_namespace: String,
}

/// What is known of the maker of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// It runs still: this is its pid.
    Running(u32),
    /// It is gone; the directory is a leftover.
    Gone,
    /// It cannot be seen from here: another machine, or another pid namespace of this one. Says which.
    Elsewhere(String),
}

fn one_line(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

fn pid_namespace() -> String {
    let link = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    link.to_string_lossy().into_owned()
}

impl Marker {
    pub(crate) fn of_this_process() -> Marker {
        let pid = std::process::id();
        Marker {
            pid,
            start: ProcStat::read(pid).map_or(0, |s| s.start),
            boot: one_line("/proc/sys/kernel/random/boot_id"),
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            machine: one_line("/etc/machine-id"),
            pid_namespace: pid_namespace(),
        }
    }

    fn to_text(&self) -> String {
        let Marker { pid, start, boot, host, machine, pid_namespace } = self;
        format!(
            "{MAGIC}\npid={pid}\nstart={start}\nboot={boot}\nhost={host}\nmachine={machine}\npid_namespace={pid_namespace}\n\
             # Left over if no such process runs; `vfscale clean` on the directory above removes it.\n"
        )
    }

    fn parse(text: &str) -> Option<Marker> {
        let mut lines = text.lines();
        if lines.next() != Some(MAGIC) {
            return None;
        }
        let value = |key: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
                .map(str::to_owned)
        };
        Some(Marker {
            pid: value("pid")?.parse().ok()?,
            start: value("start")?.parse().ok()?,
            boot: value("boot")?,
            host: value("host")?,
            machine: value("machine")?,
            pid_namespace: value("pid_namespace")?,
        })
    }

    /// Whether the maker is still there, as seen from `here`.
    fn owner(&self, here: &Marker) -> Owner {
        if here.boot.is_empty() || here.pid_namespace.is_empty() {
            return Owner::Elsewhere(
                "some machine: without /proc it cannot be told from this one".into(),
            );
        }
        if self.boot != here.boot {
            // After a reboot nobody of before is left; but on a shared file system it may be another machine's.
            let here = (&here.host, &here.machine);
            return if !self.machine.is_empty() && (&self.host, &self.machine) == here {
                Owner::Gone
            } else {
                Owner::Elsewhere(format!("host {}", self.host))
            };
        }
        if self.pid_namespace != here.pid_namespace {
            return Owner::Elsewhere(format!("{} of this machine", self.pid_namespace));
        }
        match ProcStat::read(self.pid) {
            Some(stat) if stat.start == self.start && stat.state != 'Z' => Owner::Running(self.pid),
            _ => Owner::Gone,
        }
    }
}

/// The name of a run directory to be made in `target`; nothing is made yet.
pub(crate) fn new_name(target: &Path, random: u64) -> PathBuf {
    target.join(format!("{PREFIX}{}.{random:016x}", std::process::id()))
}

/// Makes and marks the directory.
///
/// # Errors
/// What mkdir(2), open(2) or write(2) say; nothing is left then.
pub(crate) fn create(dir: &Path) -> io::Result<()> {
    let marker_text = Marker::of_this_process().to_text();
    rustix::fs::mkdir(dir, Mode::RWXU)?;
    let marked = (|| {
        let dir = open_dir(CWD, dir)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let marker = rustix::fs::openat(&dir, MARKER, flags, Mode::RUSR | Mode::WUSR)?;
        io::Write::write_all(&mut std::fs::File::from(marker), marker_text.as_bytes())
    })();
    if marked.is_err() {
        // Without a marker nobody would ever dare to remove it.
        let _ = rustix::fs::unlink(dir.join(OsStr::from_bytes(MARKER.to_bytes())));
        let _ = rustix::fs::rmdir(dir);
    }
    marked
}

fn open_dir<P: rustix::path::Arg>(at: impl AsFd, path: P) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, path, flags, Mode::empty())
}

fn read_marker(dir: impl AsFd) -> Option<Marker> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = rustix::fs::openat(dir, MARKER, flags, Mode::empty()).ok()?;
    let mut text = String::new();
    io::Read::read_to_string(&mut io::Read::take(std::fs::File::from(file), 4096), &mut text)
        .ok()?;
    Marker::parse(&text)
}

/// Removes a run directory and all in it, the marker last, so that an interrupted removal can be taken up again.
///
/// A directory without marker is removed only if it is empty: it is what a death between mkdir and marking leaves.
///
/// # Errors
/// What is in the way. Not being there is none.
pub(crate) fn remove(dir: &Path) -> io::Result<()> {
    let opened = match open_dir(CWD, dir) {
        Ok(opened) => opened,
        Err(Errno::NOENT) => return Ok(()),
        Err(errno) => return Err(errno.into()),
    };
    if read_marker(&opened).is_some() {
        let mount = Mount::of(opened.as_fd())?;
        empty(opened.as_fd(), mount, Some(MARKER))?;
        gone(rustix::fs::unlinkat(&opened, MARKER, AtFlags::empty()))?;
    } else if holds_only_an_empty_marker(opened.as_fd())? {
        gone(rustix::fs::unlinkat(&opened, MARKER, AtFlags::empty()))?;
    }
    gone(rustix::fs::rmdir(dir))
}

/// Somebody else who removes the same (the janitor, or another `vfscale clean`) is welcome.
fn gone(removed: rustix::io::Result<()>) -> io::Result<()> {
    match removed {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Which mount a directory is on. The device alone does not tell a bind mount from the file system it is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mount {
    device: u64,
    /// None where the kernel does not say: before 3.15, or before 5.8 without /proc.
    id: Option<u64>,
}

impl Mount {
    fn of(dir: BorrowedFd<'_>) -> io::Result<Mount> {
        let device = rustix::fs::fstat(dir)?.st_dev;
        Ok(Mount { device, id: mount_id(dir) })
    }
}

fn mount_id(dir: BorrowedFd<'_>) -> Option<u64> {
    let statx = rustix::fs::statx(dir, c"", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID);
    if let Ok(statx) = statx
        && statx.stx_mask & StatxFlags::MNT_ID.bits() != 0
    {
        return Some(statx.stx_mnt_id);
    }
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", dir.as_raw_fd())).ok()?;
    info.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok())
}

/// What a death between the making of the marker and its writing leaves.
fn holds_only_an_empty_marker(dir: BorrowedFd<'_>) -> io::Result<bool> {
    let mut found = false;
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == MARKER {
            let stat = rustix::fs::statat(dir, MARKER, AtFlags::SYMLINK_NOFOLLOW)?;
            found =
                FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_size == 0;
        } else if name != c"." && name != c".." {
            return Ok(false);
        }
    }
    Ok(found)
}

/// Removes what is in `dir`, but for `keep`.
fn empty(dir: BorrowedFd<'_>, mount: Mount, keep: Option<&CStr>) -> io::Result<()> {
    // Names first, then removal: what readdir answers of a directory that changes under it depends on the file system.
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        if name != c"." && name != c".." && Some(name) != keep {
            names.push((name.to_owned(), entry.file_type()));
        }
    }
    for (name, kind) in names {
        remove_entry(dir, &name, kind, mount)?;
    }
    Ok(())
}

fn remove_entry(
    dir: BorrowedFd<'_>,
    name: &CString,
    kind: FileType,
    mount: Mount,
) -> io::Result<()> {
    if kind != FileType::Directory {
        match rustix::fs::unlinkat(dir, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            // The type was unknown (some file systems do not tell) and it is a directory: go on below.
            Err(Errno::ISDIR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    let inner = match open_dir(dir, name) {
        Ok(inner) => inner,
        Err(Errno::NOENT) => return Ok(()),
        Err(errno) => return Err(errno.into()),
    };
    if Mount::of(inner.as_fd())? != mount {
        return Err(io::Error::other(format!(
            "{} is a mount point: unmount it first",
            name.to_string_lossy()
        )));
    }
    empty(inner.as_fd(), mount, None)?;
    gone(rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR))
}

/// A directory that looks like a run's.
#[derive(Debug)]
pub struct Found {
    /// Its path.
    pub path: PathBuf,
    /// None: it has the name, but no marker of this program (an empty one in an otherwise empty directory counts as one).
    pub owner: Option<Owner>,
}

/// The run directories directly in `target`.
///
/// # Errors
/// If `target` cannot be read.
pub fn find(target: &Path) -> io::Result<Vec<Found>> {
    let here = Marker::of_this_process();
    let mut found = Vec::new();
    for entry in std::fs::read_dir(target)? {
        let name = entry?.file_name();
        if !name.as_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        let path = target.join(OsStr::from_bytes(&name.into_vec()));
        if let Ok(dir) = open_dir(CWD, &path) {
            let owner = match read_marker(&dir) {
                Some(marker) => Some(marker.owner(&here)),
                None if holds_only_an_empty_marker(dir.as_fd())? => half_made_by(&path),
                None => None,
            };
            found.push(Found { path, owner });
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// The maker of a directory whose marker is still empty, by the pid in its name.
fn half_made_by(path: &Path) -> Option<Owner> {
    let pid = path.file_name()?.to_str()?.strip_prefix(PREFIX)?.split('.').next()?.parse().ok()?;
    if ProcStat::read(std::process::id()).is_none() {
        return Some(Owner::Elsewhere("some machine: /proc cannot be read".into()));
    }
    Some(if ProcStat::read(pid).is_some() { Owner::Running(pid) } else { Owner::Gone })
}

/// Removes a leftover that [`find`] has found. The marker is read again: nothing unmarked is removed.
///
/// # Errors
/// If it is not marked, or not all of it could be removed.
pub fn remove_leftover(path: &Path) -> io::Result<()> {
    let dir = open_dir(CWD, path)?;
    if read_marker(&dir).is_none() && !holds_only_an_empty_marker(dir.as_fd())? {
        return Err(io::Error::other("it has no marker of vfscale"));
    }
    remove(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_run_directory_is_marked_found_and_removed_with_all_in_it() {
        let target = tempfile::tempdir().unwrap();
        let dir = new_name(target.path(), 7);
        create(&dir).unwrap();
        fs::create_dir_all(dir.join("c0/deep")).unwrap();
        fs::write(dir.join("c0/deep/f"), "x").unwrap();
        let found = find(target.path()).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].owner, Some(Owner::Running(std::process::id())));
        remove(&dir).unwrap();
        assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0);
        remove(&dir).expect("nothing there is nothing to complain about");
    }

    #[test]
    fn nothing_unmarked_is_removed() {
        let target = tempfile::tempdir().unwrap();
        let dir = target.path().join("vfscale-run.1.0");
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("precious"), "x").unwrap();
        assert_eq!(find(target.path()).unwrap()[0].owner, None);
        assert!(remove_leftover(&dir).is_err());
        assert!(remove(&dir).is_err());
        fs::write(dir.join(".vfscale-run"), "something else\npid=1\n").unwrap();
        assert!(remove_leftover(&dir).is_err());
        assert!(remove(&dir).is_err());
        assert!(dir.join("precious").exists());
    }

    #[test]
    fn a_directory_that_was_not_marked_in_time_is_a_leftover_only_while_nothing_else_is_in_it() {
        let target = tempfile::tempdir().unwrap();
        // No process has this pid: it is above the largest pid_max.
        let dir = target.path().join("vfscale-run.4999999.0");
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join(".vfscale-run"), "").unwrap();
        assert_eq!(find(target.path()).unwrap()[0].owner, Some(Owner::Gone));
        fs::write(dir.join("precious"), "x").unwrap();
        assert_eq!(find(target.path()).unwrap()[0].owner, None);
        assert!(remove_leftover(&dir).is_err());
        fs::remove_file(dir.join("precious")).unwrap();
        remove_leftover(&dir).unwrap();
        assert!(!dir.exists());
    }

    #[test]
    fn a_symbolic_link_is_removed_and_not_followed() {
        let target = tempfile::tempdir().unwrap();
        let outside = target.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("precious"), "x").unwrap();
        let dir = new_name(target.path(), 8);
        create(&dir).unwrap();
        std::os::unix::fs::symlink(&outside, dir.join("link")).unwrap();
        remove(&dir).unwrap();
        assert!(outside.join("precious").exists());
        // Nor is a link in the place of a run directory.
        std::os::unix::fs::symlink(&outside, &dir).unwrap();
        assert!(find(target.path()).unwrap().is_empty());
        assert!(remove(&dir).is_err());
    }

    #[test]
    fn the_owner_is_judged_by_boot_namespace_pid_and_start_time() {
        let here = Marker::of_this_process();
        assert_eq!(here.owner(&here), Owner::Running(here.pid));
        let reused = Marker { start: here.start + 1, ..here.clone() };
        assert_eq!(reused.owner(&here), Owner::Gone);
        let dead = Marker { pid: 0, ..here.clone() };
        assert_eq!(dead.owner(&here), Owner::Gone);
        let known = Marker { machine: "m".into(), ..here.clone() };
        let rebooted = Marker { boot: "x".into(), ..known.clone() };
        assert_eq!(rebooted.owner(&known), Owner::Gone);
        let namesake = Marker { machine: "n".into(), ..rebooted.clone() };
        assert!(matches!(namesake.owner(&known), Owner::Elsewhere(_)));
        let blind = Marker { boot: String::new(), ..here.clone() };
        assert!(matches!(here.owner(&blind), Owner::Elsewhere(_)), "no /proc, no judgement");
        let other_host = Marker { boot: "x".into(), host: "y".into(), ..here.clone() };
        assert!(matches!(other_host.owner(&here), Owner::Elsewhere(_)));
        let container = Marker { pid_namespace: "pid:[1]".into(), ..here.clone() };
        assert!(matches!(container.owner(&here), Owner::Elsewhere(_)));
    }

    #[test]
    fn a_marker_reads_back_as_written() {
        let marker = Marker::of_this_process();
        assert_eq!(Marker::parse(&marker.to_text()), Some(marker));
        assert_eq!(Marker::parse(""), None);
        assert_eq!(Marker::parse(&format!("{MAGIC}\npid=x\n")), None);
    }
}
