//! The numbers and fields of the two lock tracepoints, which only tracefs tells.

use crate::error::Refusal;
use crate::privilege::{Capability, has};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A tracepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tracepoint {
    /// Its number, which is also the first word of its records.
    pub(crate) id: u16,
    /// Where in a record the lock's address is, and how many bytes it has.
    lock: Field,
    /// The same of the flags; none at the end of a wait.
    flags: Option<Field>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Field {
    offset: usize,
    size: usize,
}

/// Both ends of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tracepoints {
    /// `lock:contention_begin`.
    pub(crate) begin: Tracepoint,
    /// `lock:contention_end`.
    pub(crate) end: Tracepoint,
}

/// Which tracefs may be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tracefs {
    /// One that is mounted already.
    #[default]
    Mounted,
    /// Where none is mounted, one that is attached to no directory: nobody else sees it, and it is gone when the numbers have been
    /// read. It takes CAP_SYS_ADMIN.
    Detached,
}

impl Tracepoints {
    /// Asks tracefs.
    pub(crate) fn find(which: Tracefs) -> Result<Tracepoints, Refusal> {
        let mounts = fs::read_to_string("/proc/thread-self/mountinfo").unwrap_or_default();
        if let Some(path) = mount_point(&mounts) {
            return Tracepoints::read(|file| read_below(&path, file));
        }
        match which {
            Tracefs::Mounted => Err(Refusal::new("tracefs is not mounted", REMEDY)),
            Tracefs::Detached => {
                let tracefs = detached()?;
                Tracepoints::read(|file| read_at(&tracefs, file))
            }
        }
    }

    fn read(read: impl Fn(&str) -> Result<String, Refusal>) -> Result<Tracepoints, Refusal> {
        let one = |name: &str| {
            let text = read(&format!("events/lock/{name}/format"))?;
            parse_format(&text).ok_or_else(|| {
                let why = format!("tracefs describes lock:{name} in a way that is not understood");
                Refusal::new(why, "report this with the output of uname -r")
            })
        };
        Ok(Tracepoints { begin: one("contention_begin")?, end: one("contention_end")? })
    }
}

const REMEDY: &str = "mount it: sudo mount -t tracefs tracefs /sys/kernel/tracing";

fn read_below(tracefs: &Path, file: &str) -> Result<String, Refusal> {
    let path = tracefs.join(file);
    fs::read_to_string(&path).map_err(|error| unreadable(&path.display().to_string(), &error))
}

fn read_at(tracefs: &OwnedFd, file: &str) -> Result<String, Refusal> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let mut text = String::new();
    let read = openat(tracefs, file, flags, Mode::empty())
        .map_err(std::io::Error::from)
        .and_then(|fd| fs::File::from(fd).read_to_string(&mut text));
    read.map(|_| text).map_err(|error| unreadable(file, &error))
}

fn unreadable(path: &str, error: &std::io::Error) -> Refusal {
    let why = format!("cannot read {path}: {error}");
    match error.kind() {
        std::io::ErrorKind::NotFound => Refusal::new(
            "this kernel has no tracepoint lock:contention_begin",
            "use a kernel of version 5.19 or later",
        ),
        std::io::ErrorKind::PermissionDenied => Refusal::new(
            why,
            "run as root, or remount tracefs with a group of yours (gid=, mode=750)",
        ),
        _ => Refusal::new(why, REMEDY),
    }
}

/// A tracefs of one's own.
fn detached() -> Result<OwnedFd, Refusal> {
    let make = || {
        let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&context)?;
        fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::MOUNT_ATTR_RDONLY)
    };
    make().map_err(|error: rustix::io::Errno| {
        let needs = if has(Capability::SysAdmin) { "" } else { " (it needs CAP_SYS_ADMIN)" };
        let error = std::io::Error::from(error);
        Refusal::new(
            format!("tracefs is not mounted, and cannot be opened otherwise: {error}{needs}"),
            REMEDY,
        )
    })
}

/// Where a tracefs is mounted, by the lines of mountinfo.
fn mount_point(mountinfo: &str) -> Option<PathBuf> {
    mountinfo.lines().find_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        let is_tracefs = file_system.split(' ').next() == Some("tracefs");
        let mut words = mount.split(' ').skip(3);
        let (root, point) = (words.next()?, words.next()?);
        // A mount of a directory within has no events.
        (is_tracefs && root == "/").then(|| PathBuf::from(unescape(point)))
    })
}

/// Blanks and the like are written in octal.
fn unescape(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
}

/// From a tracepoint's `format` file.
fn parse_format(text: &str) -> Option<Tracepoint> {
    let id = text.lines().find_map(|line| line.strip_prefix("ID:"))?.trim().parse().ok()?;
    let field = |name: &str| {
        let of = |line: &str| {
            let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
            let declared = parts.next()?.rsplit([' ', '*']).next()?;
            let mut number = |key: &str| parts.next()?.strip_prefix(key)?.parse().ok();
            let (offset, size) = (number("offset:")?, number("size:")?);
            (declared == name && (size == 4 || size == 8)).then_some(Field { offset, size })
        };
        text.lines().find_map(of)
    };
    Some(Tracepoint { id, lock: field("lock_addr")?, flags: field("flags") })
}

/// The number of the tracepoint that made a record's fields.
pub(crate) fn id_of(raw: &[u8]) -> Option<u16> {
    raw.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes))
}

impl Tracepoint {
    /// The lock's address.
    pub(crate) fn lock(&self, raw: &[u8]) -> Option<u64> {
        self.lock.read(raw)
    }

    /// The flags; none if it has no such field.
    pub(crate) fn flags(&self, raw: &[u8]) -> Option<u32> {
        self.flags?.read(raw).map(|flags| flags as u32)
    }
}

impl Field {
    fn read(self, raw: &[u8]) -> Option<u64> {
        let bytes = raw.get(self.offset..)?;
        match self.size {
            4 => bytes.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes).into()),
            _ => bytes.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FORMAT: &str = "name: contention_begin
ID: 1234
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:void * lock_addr;\toffset:8;\tsize:8;\tsigned:0;
\tfield:unsigned int flags;\toffset:16;\tsize:4;\tsigned:0;

print fmt: \"%p\", REC->lock_addr
";

    #[test]
    fn fields_are_where_the_format_says() {
        let tracepoint = parse_format(FORMAT).unwrap();
        let raw: Vec<u8> =
            [0x1234u64, 0xffff_8880_0000_1000, 5].iter().flat_map(|w| w.to_ne_bytes()).collect();
        assert_eq!(tracepoint.id, 1234);
        assert_eq!(id_of(&raw), Some(0x1234));
        assert_eq!(tracepoint.lock(&raw), Some(0xffff_8880_0000_1000));
        assert_eq!(tracepoint.flags(&raw), Some(5));
        assert_eq!(tracepoint.lock(&raw[..12]), None, "a cut record");
        let end = parse_format(&FORMAT.replace("unsigned int flags", "int ret")).unwrap();
        assert_eq!(end.flags(&raw), None);
        assert_eq!(parse_format(&FORMAT.replace("lock_addr", "lock")), None);
    }

    #[test]
    fn only_a_whole_tracefs_is_one() {
        let line = |root: &str, point: &str, kind: &str| {
            format!("28 23 0:12 {root} {point} rw,nosuid shared:9 - {kind} {kind} rw\n")
        };
        let text = line("/", "/sys/kernel/debug", "debugfs")
            + &line("/events", "/mnt/events", "tracefs")
            + &line("/", "/mnt/my\\040trace", "tracefs");
        assert_eq!(mount_point(&text), Some(PathBuf::from("/mnt/my trace")));
        assert_eq!(mount_point(&line("/", "/x", "tmpfs")), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(ID: [0-9]{0,6}\n)?(\tfield:[a-z *;:]{0,20};\toffset:[0-9]{0,22};\tsize:[48];\n){0,4}", raw: Vec<u8>) {
            if let Some(tracepoint) = parse_format(&text) {
                let _ = (tracepoint.lock(&raw), tracepoint.flags(&raw));
            }
            let _ = mount_point(&text);
        }
    }
}
