//! Who is told of every open and close in a directory: inotify and fanotify, found in the fdinfo of all processes.

use super::Finding;
use crate::machine::{Roots, at, mounts};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What a mark can be on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    inode: u64,
    /// In the kernel's own form.
    device: u64,
    /// None where the kernel does not tell.
    mount: Option<u64>,
}

/// What was found in a line of fdinfo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Directory,
    Mount,
    FileSystem,
}

/// Who watches, of whom may be looked at.
#[derive(Debug, Default, PartialEq, Eq)]
struct Watchers {
    /// Pids that watch the directory itself, ...
    directory: Vec<u32>,
    /// ... or all of its mount or file system.
    everything: Vec<u32>,
    /// Processes that may not be looked at.
    closed: usize,
}

/// Looks for watchers of `dir`.
pub(super) fn examine(roots: &Roots, dir: &Path) -> Finding {
    let name = "watchers";
    let metadata = match fs::metadata(dir) {
        Ok(metadata) => metadata,
        Err(error) => return Finding::unreadable(name, at(dir, error)),
    };
    let device = metadata.dev();
    let place = Place {
        inode: metadata.ino(),
        device: u64::from(rustix::fs::major(device)) << 20 | u64::from(rustix::fs::minor(device)),
        mount: mounts::mount_number(dir),
    };
    match find(roots, &place) {
        Ok(watchers) => judge(&watchers),
        Err(error) => Finding::unreadable(name, error),
    }
}

fn judge(watchers: &Watchers) -> Finding {
    let name = "watchers";
    let Watchers { directory, everything, closed } = watchers;
    let pids = |pids: &[u32]| pids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let unknown = match closed {
        0 => String::new(),
        closed => format!("; {closed} processes may not be looked at"),
    };
    if !everything.is_empty() {
        let what = format!(
            "fanotify of process {} is told of every open on this file system{unknown}",
            pids(everything)
        );
        return Finding::note(name, what)
            .remedy("stop that program (a virus scanner, an indexer, an auditor) while measuring");
    }
    if !directory.is_empty() {
        let what = format!("process {} watches the directory{unknown}", pids(directory));
        return Finding::note(name, what).remedy(
            "stop that program: many watch new directories below as well, as a run makes them",
        );
    }
    match closed {
        0 => Finding::ok(name, "nobody is told of opens and closes there (inotify, fanotify)"),
        _ => Finding::note(name, format!("none among the processes of this user{unknown}"))
            .remedy("run vfscale doctor as root to see all"),
    }
}

fn find(roots: &Roots, place: &Place) -> std::io::Result<Watchers> {
    let mut watchers = Watchers::default();
    for entry in fs::read_dir(&roots.proc).map_err(|error| at(&roots.proc, error))? {
        let entry = entry.map_err(|error| at(&roots.proc, error))?;
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let marks = match marks(&entry.path(), place) {
            Ok(marks) => marks,
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                watchers.closed += 1;
                continue;
            }
            // It has ended meanwhile.
            Err(_) => continue,
        };
        if marks.iter().any(|mark| *mark != Mark::Directory) {
            watchers.everything.push(pid);
        } else if !marks.is_empty() {
            watchers.directory.push(pid);
        }
    }
    watchers.directory.sort_unstable();
    watchers.everything.sort_unstable();
    Ok(watchers)
}

fn marks(process: &Path, place: &Place) -> std::io::Result<Vec<Mark>> {
    let mut marks = Vec::new();
    for descriptor in fs::read_dir(process.join("fd"))? {
        let descriptor = descriptor?;
        // Descriptors come and go.
        let Ok(link) = fs::read_link(descriptor.path()) else { continue };
        if !link.to_str().is_some_and(|link| link.contains("notify")) {
            continue;
        }
        let info = process.join("fdinfo").join(descriptor.file_name());
        let Ok(info) = fs::read_to_string(info) else { continue };
        marks.extend(info.lines().filter_map(|line| mark(line, place)));
    }
    Ok(marks)
}

/// `inotify wd:1 ino:9e7e sdev:800013 mask:...`, `fanotify ino:4f969 sdev:800013 ...`, `fanotify mnt_id:12 ...`, `fanotify
/// sdev:800013 ...`; the numbers are hexadecimal.
fn mark(line: &str, place: &Place) -> Option<Mark> {
    let mut words = line.split(' ');
    let system = words.next()?;
    if system != "inotify" && system != "fanotify" {
        return None;
    }
    let field = |name: &str| {
        let value = line.split(' ').find_map(|word| word.strip_prefix(name))?;
        u64::from_str_radix(value, 16).ok()
    };
    match (field("ino:"), field("sdev:"), field("mnt_id:")) {
        (Some(inode), Some(device), _) => {
            ((inode, device) == (place.inode, place.device)).then_some(Mark::Directory)
        }
        (None, _, Some(mount)) => (Some(mount) == place.mount).then_some(Mark::Mount),
        (None, Some(device), None) => (device == place.device).then_some(Mark::FileSystem),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;
    use crate::machine::fixture::Tree;

    const PLACE: Place = Place { inode: 0x9e7e, device: 0x80_0013, mount: Some(0x12) };

    #[test]
    fn marks_are_told_apart() {
        let cases = [
            (
                "inotify wd:3 ino:9e7e sdev:800013 mask:800afce ignored_mask:0",
                Some(Mark::Directory),
            ),
            ("inotify wd:2 ino:9e7f sdev:800013 mask:800afce ignored_mask:0", None),
            ("inotify wd:1 ino:9e7e sdev:800014 mask:800afce", None),
            ("fanotify flags:10 event-flags:0", None),
            ("fanotify mnt_id:12 mflags:0 mask:38 ignored_mask:40000000", Some(Mark::Mount)),
            ("fanotify mnt_id:13 mflags:0 mask:38", None),
            ("fanotify sdev:800013 mflags:0 mask:38", Some(Mark::FileSystem)),
            ("fanotify ino:9e7e sdev:800013 mflags:0 mask:3b", Some(Mark::Directory)),
            ("mnt_id:\t12", None),
            ("inotify ino:zz sdev:800013", Some(Mark::FileSystem)),
            ("", None),
        ];
        for (line, expected) in cases {
            assert_eq!(mark(line, &PLACE), expected, "{line}");
        }
    }

    fn descriptor(tree: &Tree, pid: u32, fd: u32, link: &str, info: &str) {
        tree.proc(&format!("{pid}/fdinfo/{fd}"), info);
        tree.proc(&format!("{pid}/fd/.keep"), "");
        let path = tree.roots().proc.join(format!("{pid}/fd/{fd}"));
        std::os::unix::fs::symlink(link, path).expect("a link of the tree");
    }

    #[test]
    fn watchers_are_found_by_process() {
        let tree = Tree::new();
        let here = "pos:\t0\ninotify wd:1 ino:9e7e sdev:800013 mask:3\n";
        descriptor(&tree, 700, 5, "anon_inode:inotify", here);
        descriptor(&tree, 800, 5, "anon_inode:inotify", "inotify wd:1 ino:1 sdev:800013 mask:3\n");
        descriptor(&tree, 900, 5, "/a/file", here);
        tree.proc("self/note", "no number");
        let found = find(&tree.roots(), &PLACE).expect("readable");
        assert_eq!(found, Watchers { directory: vec![700], ..Watchers::default() });
        assert_eq!(judge(&found).what, "process 700 watches the directory");
        descriptor(&tree, 800, 6, "anon_inode:[fanotify]", "fanotify mnt_id:12 mask:3\n");
        let found = find(&tree.roots(), &PLACE).expect("readable");
        assert_eq!(found.everything, [800]);
        assert_eq!(judge(&found).state, State::Note);
        assert!(find(&Tree::new().roots(), &PLACE).is_err(), "without /proc nothing is known");
    }

    #[test]
    fn whoever_may_not_be_looked_at_is_counted() {
        assert_eq!(judge(&Watchers::default()).state, State::Ok);
        let finding = judge(&Watchers { closed: 3, ..Watchers::default() });
        assert_eq!(finding.state, State::Note);
        assert!(finding.what.ends_with("3 processes may not be looked at"), "{finding:?}");
    }

    #[test]
    fn a_watch_of_this_process_is_seen() {
        let dir = tempfile::tempdir().expect("a directory");
        let inotify = rustix::fs::inotify::init(rustix::fs::inotify::CreateFlags::CLOEXEC)
            .expect("an inotify instance");
        let flags = rustix::fs::inotify::WatchFlags::OPEN;
        rustix::fs::inotify::add_watch(&inotify, dir.path(), flags).expect("a watch");
        let what = examine(&Roots::default(), dir.path()).what;
        let own = format!("process {} watches the directory", std::process::id());
        assert!(what.starts_with(&own) || what.contains("fanotify"), "{what}");
    }
}
