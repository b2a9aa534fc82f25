//! Subjects of the directory that is to be measured in.

use super::{Finding, bytes};
use crate::machine::{Roots, at, mounts};
use results::Mount;
use rustix::fs::Access;
use std::io;
use std::path::Path;

/// Space below which workloads that create or write files may run into ENOSPC.
const TIGHT_SPACE: u64 = 64 << 20;

/// The same for inodes.
const TIGHT_INODES: u64 = 10_000;

/// Options that mean that every change waits for the device.
const SYNCHRONOUS: [&str; 2] = ["sync", "dirsync"];

/// Options with which quotas are accounted when files are made and removed, by ext4's and XFS's names.
const QUOTAS: [&str; 9] = [
    "quota",
    "usrquota",
    "grpquota",
    "prjquota",
    "uquota",
    "gquota",
    "pquota",
    "jqfmt",
    "usrjquota",
];

/// Looks at every subject in turn.
pub(super) fn examine(roots: &Roots, dir: &Path) -> Vec<Finding> {
    let mount = match mounts::mount_of(roots, dir, "") {
        Ok(mount) => judge(&mount),
        Err(error) => Finding::unreadable("mount", error),
    };
    let statvfs = rustix::fs::statvfs(dir).map_err(|errno| at(dir, errno.into()));
    let room = match statvfs {
        Ok(statvfs) => [
            space(statvfs.f_blocks, statvfs.f_bavail.saturating_mul(statvfs.f_frsize)),
            inodes(statvfs.f_files, statvfs.f_favail),
        ],
        Err(error) => ["space", "inodes"].map(|name| Finding::unreadable(name, &error)),
    };
    [mount, writable(dir)].into_iter().chain(room).collect()
}

/// The options of a mount that change what is measured.
fn judge(mount: &Mount) -> Finding {
    let name = "mount";
    let what = format!("{} on {}", mount.fs_type, mount.mount_point);
    let options = || mount.mount_options.iter().chain(&mount.super_options).map(String::as_str);
    if options().any(|option| option == "ro") {
        return Finding::problem(name, format!("{what} is mounted read-only"))
            .remedy("mount -o remount,rw, or give another directory");
    }
    if let Some(option) = options().find(|option| SYNCHRONOUS.contains(option)) {
        return Finding::note(
            name,
            format!("{what} is mounted {option}: changes wait for the device"),
        )
        .remedy("mount -o remount,async unless that is what you measure");
    }
    let quotas: Vec<&str> = options()
        .filter(|option| QUOTAS.contains(&option.split('=').next().unwrap_or(option)))
        .collect();
    if !quotas.is_empty() {
        let quotas = quotas.join(",");
        return Finding::note(
            name,
            format!("{what} has {quotas}: making and removing files is accounted"),
        )
        .remedy("turn quotas off (quotaoff) unless you measure them");
    }
    // mountinfo has no word for strictatime: it is what is left when none of the others is there.
    let atime =
        ["noatime", "relatime"].into_iter().find(|atime| options().any(|option| option == *atime));
    match atime {
        Some(atime) => Finding::ok(name, format!("{what}, rw, {atime}")),
        None => {
            Finding::note(name, format!("{what}, rw, strictatime: every read writes the inode"))
                .remedy("mount -o remount,relatime unless that is what you measure")
        }
    }
}

/// Asked of the kernel, which knows of permissions, read-only mounts and immutable directories, and nothing is written.
fn writable(dir: &Path) -> Finding {
    let name = "directory";
    let remedy = "give an existing directory in which you may create files";
    if !dir.is_dir() {
        return match std::fs::metadata(dir) {
            Ok(_) => Finding::problem(name, format!("{} is not a directory", dir.display())),
            Err(error) => Finding::problem(name, at(dir, error).to_string()),
        }
        .remedy(remedy);
    }
    match rustix::fs::access(dir, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) => Finding::ok(name, format!("{} can be written", dir.display())),
        Err(errno) => {
            let error = io::Error::from(errno);
            Finding::problem(name, format!("{} cannot be written: {error}", dir.display()))
                .remedy(remedy)
        }
    }
}

/// ramfs and virtual file systems report no blocks at all, which says nothing about what fits.
fn space(total_blocks: u64, available: u64) -> Finding {
    match total_blocks {
        0 => Finding::unreadable("space", "the file system reports no size"),
        _ => room("space", format!("{} free", bytes(available)), available, TIGHT_SPACE),
    }
}

/// File systems that make inodes as they need them report none in total.
fn inodes(total: u64, available: u64) -> Finding {
    match total {
        0 => Finding::ok("inodes", "made as needed, without a fixed number"),
        _ => room("inodes", format!("{available} free"), available, TIGHT_INODES),
    }
}

fn room(name: &'static str, what: String, available: u64, tight: u64) -> Finding {
    let remedy = "remove files or give a directory on another file system";
    match available {
        0 => Finding::problem(name, what).remedy(remedy),
        few if few < tight => {
            Finding::note(name, format!("{what}: workloads that make files may fail"))
                .remedy(remedy)
        }
        _ => Finding::ok(name, what),
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;
    use crate::machine::fixture::Tree;

    fn mount(mount_options: &str, super_options: &str) -> Mount {
        let options = |list: &str| list.split(',').map(str::to_owned).collect();
        Mount {
            target: String::new(),
            fs_type: "ext4".into(),
            source: "/dev/sdb".into(),
            mount_point: "/mnt".into(),
            mount_options: options(mount_options),
            super_options: options(super_options),
        }
    }

    #[test]
    fn options_that_matter() {
        let cases = [
            ("rw,relatime", "rw,errors=remount-ro", State::Ok, "relatime"),
            ("rw,noatime", "rw", State::Ok, "noatime"),
            ("rw", "rw", State::Note, "strictatime"),
            ("ro,relatime", "rw", State::Problem, "read-only"),
            ("rw,relatime", "ro", State::Problem, "read-only"),
            ("rw,relatime", "rw,sync", State::Note, "wait for the device"),
            ("rw,relatime", "rw,noquota", State::Ok, "relatime"),
            ("rw,relatime", "rw,usrjquota=aquota.user,jqfmt=vfsv0", State::Note, "accounted"),
        ];
        for (mount_options, super_options, state, word) in cases {
            let finding = judge(&mount(mount_options, super_options));
            assert_eq!(finding.state, state, "{mount_options} {super_options}: {finding:?}");
            assert!(finding.what.contains(word), "{finding:?}");
            assert_eq!(finding.remedy.is_some(), state != State::Ok);
        }
    }

    #[test]
    fn only_a_directory_can_be_measured_in() {
        let tree = Tree::new();
        tree.sys("file", "");
        let dir = tree.roots().sys;
        assert_eq!(writable(&dir).state, State::Ok);
        assert!(writable(&dir.join("file")).what.contains("is not a directory"));
        let missing = writable(&dir.join("missing"));
        assert_eq!(missing.state, State::Problem);
        assert!(missing.what.contains("missing: "), "{missing:?}");
        // Not even root may create files there.
        assert_eq!(writable(Path::new("/proc/self")).state, State::Problem);
    }

    #[test]
    fn room_for_files() {
        assert_eq!(space(1, 0).state, State::Problem);
        assert_eq!(space(1, 1 << 20).state, State::Note);
        assert_eq!(space(1, 1 << 30).what, "1.0 GiB free");
        assert!(space(0, 0).what.starts_with("not readable"), "ramfs");
        assert_eq!(inodes(0, 0).state, State::Ok, "btrfs");
        assert_eq!(inodes(100_000, 0).state, State::Problem);
        assert_eq!(inodes(100_000, 50_000).state, State::Ok);
    }
}
