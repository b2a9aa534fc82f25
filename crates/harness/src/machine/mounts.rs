//! The mounts of this process, and the one a path is on.
//!
//! A benchmark of a file system has to say which one it measured and how it was mounted: `relatime` or `sync` change what an
//! open or a truncate does.

use super::{Roots, at, malformed};
use results::Mount;
use rustix::fs::{AtFlags, CWD, StatxFlags};
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The mount that holds `path`, recorded for the target that asked for it.
///
/// The kernel is asked for the number of the mount (statx, Linux 5.8). Older ones only tell the device, and the longest mount
/// point above the path decides.
///
/// # Errors
/// When the path does not exist or the list of mounts cannot be read; the text names the file.
pub fn mount_of(roots: &Roots, path: &Path, target: &str) -> io::Result<Mount> {
    let path = std::fs::canonicalize(path).map_err(|error| at(path, error))?;
    let metadata = std::fs::metadata(&path).map_err(|error| at(&path, error))?;
    let device = (rustix::fs::major(metadata.dev()), rustix::fs::minor(metadata.dev()));
    let entries = read(roots)?;
    let entry = by_number(&entries, mount_number(&path))
        .or_else(|| by_prefix(&entries, device, &path))
        .ok_or_else(|| {
            let message = format!(
                "{}: no mount above it is listed in {}: mount procfs of this mount namespace",
                path.display(),
                roots.proc.join("self/mountinfo").display()
            );
            io::Error::new(io::ErrorKind::NotFound, message)
        })?;
    Ok(Mount {
        target: target.to_owned(),
        fs_type: entry.fs_type.clone(),
        source: entry.source.clone(),
        mount_point: entry.mount_point.to_string_lossy().into_owned(),
        mount_options: entry.mount_options.clone(),
        super_options: entry.super_options.clone(),
    })
}

/// One line of mountinfo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Number of the mount.
    number: u64,
    /// major, minor.
    device: (u32, u32),
    /// The directory of the file system that is mounted; for a cgroup file system, the cgroup.
    pub(crate) root: PathBuf,
    pub(crate) mount_point: PathBuf,
    mount_options: Vec<String>,
    pub(crate) fs_type: String,
    source: String,
    pub(crate) super_options: Vec<String>,
}

/// The mounts of this process, in the order in which they were made.
pub(crate) fn read(roots: &Roots) -> io::Result<Vec<Entry>> {
    let file = roots.proc.join("self/mountinfo");
    let bytes = std::fs::read(&file).map_err(|error| at(&file, error))?;
    let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines
        .map(|line| parse(line).ok_or_else(|| malformed(&file, &String::from_utf8_lossy(line))))
        .collect()
}

/// `36 35 98:0 /root /mount/point rw,noatime master:1 - ext3 /dev/root rw,errors=continue`; between the options of the mount
/// and the dash there can be any number of fields.
fn parse(line: &[u8]) -> Option<Entry> {
    let fields: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
    let dash = fields.iter().skip(6).position(|&field| field == b"-")? + 6;
    let text = |index: usize| -> Option<String> {
        Some(String::from_utf8_lossy(&unescape(fields.get(index)?)).into_owned())
    };
    let path = |index: usize| Some(PathBuf::from(OsString::from_vec(unescape(fields.get(index)?))));
    let options = |index: usize| Some(text(index)?.split(',').map(str::to_owned).collect());
    let device = text(2)?;
    let (major, minor) = device.split_once(':')?;
    Some(Entry {
        number: text(0)?.parse().ok()?,
        device: (major.parse().ok()?, minor.parse().ok()?),
        root: path(3)?,
        mount_point: path(4)?,
        mount_options: options(5)?,
        fs_type: text(dash + 1)?,
        source: text(dash + 2)?,
        super_options: options(dash + 3)?,
    })
}

/// The kernel writes blank, tab, newline and backslash as `\` and three octal digits.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        match tail {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', tail @ ..] if first == b'\\' => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = tail;
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    bytes
}

/// The number of the mount a path is on, if this kernel tells.
pub(crate) fn mount_number(path: &Path) -> Option<u64> {
    // Any error, such as EPERM of an old container runtime, means that the kernel does not tell.
    let statx = rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
    (statx.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(statx.stx_mnt_id)
}

fn by_number(entries: &[Entry], number: Option<u64>) -> Option<&Entry> {
    entries.iter().find(|entry| Some(entry.number) == number)
}

/// The longest mount point above the path, among the mounts of its device if there are any: btrfs and overlay give files
/// device numbers that no mount has. Of mounts on the same point the last one covers the others.
fn by_prefix<'a>(entries: &'a [Entry], device: (u32, u32), path: &Path) -> Option<&'a Entry> {
    let above = entries.iter().filter(|entry| path.starts_with(&entry.mount_point));
    above.max_by_key(|entry| {
        (entry.device == device, entry.mount_point.as_os_str().as_bytes().len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::fixture::Tree;

    const MOUNTS: &str = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
30 22 0:26 / /mnt rw,nosuid shared:5 master:2 - tmpfs tmpfs rw,size=1024k
31 30 8:17 /sub\\040vol /mnt/with\\040blank ro,sync - ext4 /dev/sdb1 ro
32 22 0:30 / /mnt rw - tmpfs  rw
33 22 0:31 /@home /srv rw - btrfs /dev/sdc rw,subvol=/@home
";

    fn entries() -> Vec<Entry> {
        let tree = Tree::new();
        tree.proc("self/mountinfo", MOUNTS);
        read(&tree.roots()).expect("mountinfo")
    }

    #[test]
    fn fields_are_found_whatever_is_between_them() {
        let entries = entries();
        assert_eq!(entries.len(), 5);
        assert_eq!(entries[1].super_options, ["rw", "size=1024k"]);
        assert_eq!(entries[1].mount_options, ["rw", "nosuid"]);
        assert_eq!(entries[2].root, Path::new("/sub vol"));
        assert_eq!(entries[2].mount_point, Path::new("/mnt/with blank"));
        assert_eq!(entries[2].device, (8, 17));
        assert_eq!((entries[3].source.as_str(), entries[3].fs_type.as_str()), ("", "tmpfs"));
    }

    #[test]
    fn the_mount_is_found_by_number_or_by_device_and_prefix() {
        let entries = entries();
        let number = |entry: Option<&Entry>| entry.map(|entry| entry.number);
        assert_eq!(number(by_number(&entries, Some(31))), Some(31));
        assert_eq!(number(by_number(&entries, Some(99))), None);
        assert_eq!(number(by_number(&entries, None)), None);
        let cases = [
            ((8, 1), "/etc", 22),
            ((8, 17), "/mnt/with blank/x", 31),
            ((8, 1), "/mntx", 22),
            // Covered by the later mount on the same point; the earlier one has another device.
            ((0, 30), "/mnt/x", 32),
            ((0, 26), "/mnt/x", 30),
            // btrfs: no mount has the device of the file.
            ((0, 77), "/srv/me", 33),
        ];
        for (device, path, expected) in cases {
            assert_eq!(
                number(by_prefix(&entries, device, Path::new(path))),
                Some(expected),
                "{path}"
            );
        }
    }

    #[test]
    fn octal_escapes() {
        let cases: [(&[u8], &[u8]); 5] = [
            (b"a\\040b", b"a b"),
            (b"\\134040", b"\\040"),
            (b"\\04", b"\\04"),
            (b"\\", b"\\"),
            (b"\\777", b"\\777"),
        ];
        for (escaped, plain) in cases {
            assert_eq!(unescape(escaped), plain);
        }
    }

    #[test]
    fn this_process_has_a_mount_for_its_temporary_directory() {
        let tree = Tree::new();
        let dir = tree.roots().sys;
        std::fs::create_dir_all(&dir).expect("directory");
        let mount = mount_of(&Roots::default(), &dir, "dir:x").expect("mount");
        assert_eq!(mount.target, "dir:x");
        assert!(dir.canonicalize().expect("path").starts_with(&mount.mount_point), "{mount:?}");
    }

    #[test]
    fn errors_name_the_file() {
        let tree = Tree::new();
        let error = mount_of(&tree.roots(), Path::new("/nonexistent/x"), "t").expect_err("no path");
        assert!(error.to_string().contains("/nonexistent/x"), "{error}");
        let error = mount_of(&tree.roots(), Path::new("/"), "t").expect_err("no mountinfo");
        assert!(error.to_string().contains("self/mountinfo"), "{error}");
        tree.proc("self/mountinfo", "22 1 8:1 / /\n");
        let error = mount_of(&tree.roots(), Path::new("/"), "t").expect_err("short line");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
