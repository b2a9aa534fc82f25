//! Operations: how they are made up, and what one answers on any file system, as text.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::HashMap;
use std::ffi::CString;
use std::fmt::Write as _;
use vfs_api::{Errno, Failure, Fd, FileSystem, Mode, Mounts, OFlags, Stat, errno_name};

/// Processes that operate.
pub(crate) const PROCESSES: usize = 3;
/// RLIMIT_NOFILE of each: soon exhausted.
pub(crate) const FDS: usize = 5;
/// Names of which paths are made up; `walk` looks for all of them.
const NAMES: [&str; 3] = ["a", "b", "c"];
/// NAME_MAX.
const LONGEST_NAME: usize = 255;
/// PATH_MAX without its NUL.
const LONGEST_PATH: usize = 4095;

/// A system call of a process.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) process: usize,
    pub(crate) op: Op,
}

/// A system call.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Open(Name, OFlags),
    Close(i32),
    Read(i32, usize),
    Write(i32, usize, u8),
    Pread(i32, usize, u64),
    Pwrite(i32, usize, u8, u64),
    Seek(i32, u64),
    Ftruncate(i32, u64),
    Fallocate(i32, u64, u64),
    Fstat(i32),
    Stat(Name),
    Statx(Name),
    Unlink(Name),
    Dup(i32),
    DupFrom(i32, i32),
    Link(Name, Name),
    Rename(Name, Name),
    Mkdir(Name),
    Rmdir(Name),
    Chdir(Name),
    Chmod(Name),
    Touch(Name),
    Bind(Name, Name),
    RemountMount(Name, bool),
    RemountSuper(Name, bool),
    Unmount(Name),
    /// No call: says of each descriptor what is behind it.
    Descriptors,
    /// No call: walks the tree and says all that is in it.
    Walk,
}

/// A path; long ones are printed short.
#[derive(Clone)]
pub(crate) struct Name(pub(crate) String);

impl std::fmt::Debug for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.len() {
            0..=60 => write!(f, "{:?}", self.0),
            len => write!(f, "{:?}... ({len} bytes)", &self.0[..20]),
        }
    }
}

impl Name {
    fn c(&self) -> CString {
        CString::new(self.0.as_str()).expect("paths are made up without NUL")
    }
}

fn name() -> impl Strategy<Value = Name> {
    let component = prop_oneof![
        40 => select(NAMES.to_vec()).prop_map(String::from),
        3 => Just(".".into()),
        6 => Just("..".into()),
        1 => Just("x".repeat(LONGEST_NAME)),
        1 => Just("y".repeat(LONGEST_NAME + 1)),
    ];
    let start = prop_oneof![5 => Just(""), 6 => Just("/"), 1 => Just("//")];
    let between = prop_oneof![15 => Just("/"), 1 => Just("//")];
    let end = prop_oneof![20 => Just(""), 2 => Just("/"), 1 => Just("//"), 1 => Just("/.")];
    let parts = prop_oneof![
        10 => vec(component.clone(), 1),
        8 => vec(component.clone(), 2),
        3 => vec(component.clone(), 3),
        1 => vec(component, 0..5),
    ];
    let ordinary = (start, parts, between, end)
        .prop_map(|(start, parts, between, end)| format!("{start}{}{end}", parts.join(between)));
    let long = (LONGEST_PATH - 1..LONGEST_PATH + 2).prop_map(|len| "/".repeat(len - 1) + "a");
    prop_oneof![100 => ordinary, 1 => long].prop_map(Name)
}

fn flags() -> impl Strategy<Value = OFlags> {
    let access = select(vec![OFlags::RDONLY, OFlags::WRONLY, OFlags::RDWR, OFlags::RDWR]);
    let flag = |weight, flag| {
        proptest::bool::weighted(weight).prop_map(move |on| if on { flag } else { OFlags::empty() })
    };
    let others = (
        flag(0.5, OFlags::CREATE),
        flag(0.2, OFlags::EXCL),
        flag(0.3, OFlags::TRUNC),
        flag(0.2, OFlags::APPEND),
        flag(0.1, OFlags::DIRECTORY),
    );
    (access, others).prop_map(|(access, (a, b, c, d, e))| access | a | b | c | d | e)
}

fn op() -> impl Strategy<Value = Op> {
    let fd = || prop_oneof![3 => 0..2, 1 => 0..FDS as i32 + 1];
    let len = || select(vec![0, 1, 3, 100, 4096, 5000]);
    let at =
        || select(vec![0, 1, 2, 50, 4096, 6000, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX]);
    // The end is within the largest file of either, or beyond that of both.
    let from = || select(vec![0, 1, 50, 4096, 6000, i64::MAX as u64, i64::MAX as u64 + 1]);
    let room = || select(vec![0, 1, 50, 4096, 6000, i64::MAX as u64 + 1, u64::MAX]);
    let small = || select(vec![0, 0, 1, 2, 50, 4096, 6000, i64::MAX as u64 + 1]);
    prop_oneof![
        20 => (name(), flags()).prop_map(|(name, flags)| Op::Open(name, flags)),
        12 => fd().prop_map(Op::Close),
        4 => (fd(), len()).prop_map(|(fd, len)| Op::Read(fd, len)),
        7 => (fd(), len(), b'a'..=b'z').prop_map(|(fd, len, byte)| Op::Write(fd, len, byte)),
        4 => (fd(), at()).prop_map(|(fd, at)| Op::Seek(fd, at)),
        4 => (fd(), len(), at()).prop_map(|(fd, len, at)| Op::Pread(fd, len, at)),
        5 => (fd(), len(), b'a'..=b'z', at())
            .prop_map(|(fd, len, byte, at)| Op::Pwrite(fd, len, byte, at)),
        4 => (fd(), from(), room()).prop_map(|(fd, at, len)| Op::Fallocate(fd, at, len)),
        4 => (fd(), prop_oneof![4 => 0..FDS as i32 + 1, 1 => Just(i32::MAX)])
            .prop_map(|(fd, least)| Op::DupFrom(fd, least)),
        2 => name().prop_map(Op::Statx),
        4 => name().prop_map(Op::Chmod),
        4 => name().prop_map(Op::Touch),
        4 => (fd(), small()).prop_map(|(fd, len)| Op::Ftruncate(fd, len)),
        2 => fd().prop_map(Op::Fstat),
        5 => name().prop_map(Op::Stat),
        7 => name().prop_map(Op::Unlink),
        4 => fd().prop_map(Op::Dup),
        5 => (name(), name()).prop_map(|(old, new)| Op::Link(old, new)),
        12 => (name(), name()).prop_map(|(old, new)| Op::Rename(old, new)),
        10 => name().prop_map(Op::Mkdir),
        6 => name().prop_map(Op::Rmdir),
        4 => name().prop_map(Op::Chdir),
        5 => (name(), name()).prop_map(|(from, to)| Op::Bind(from, to)),
        4 => (name(), any::<bool>()).prop_map(|(name, ro)| Op::RemountMount(name, ro)),
        4 => (name(), any::<bool>()).prop_map(|(name, ro)| Op::RemountSuper(name, ro)),
        4 => name().prop_map(Op::Unmount),
    ]
}

/// Something to begin with: directories, a file that is open, a bind mount.
fn prelude() -> Vec<Step> {
    let name = |name: &str| Name(name.into());
    [
        Op::Mkdir(name("/a")),
        Op::Mkdir(name("/b")),
        Op::Mkdir(name("/a/b")),
        Op::Open(name("/c"), OFlags::RDWR | OFlags::CREATE),
        Op::Write(0, 5000, b'p'),
        Op::Bind(name("/a"), name("/b")),
    ]
    .map(|op| Step { process: 0, op })
    .into()
}

/// Sequences of system calls, and whether the lab makes its processes such that threads may come.
pub(crate) fn sequences() -> impl Strategy<Value = (Vec<Step>, bool)> {
    let step = (0..PROCESSES, op()).prop_map(|(process, op)| Step { process, op });
    (proptest::bool::weighted(0.8), vec(step, 1..80), any::<bool>()).prop_map(
        |(begun, steps, shared)| {
            let mut all = if begun { prelude() } else { Vec::new() };
            all.extend(steps);
            for process in 0..PROCESSES {
                all.push(Step { process, op: Op::Descriptors });
            }
            all.push(Step { process: PROCESSES, op: Op::Walk });
            (all, shared)
        },
    )
}

fn said<T>(result: Result<T, Failure>, say: impl FnOnce(T) -> String) -> String {
    match result {
        Ok(value) => say(value),
        Err(failure) => match failure.cause {
            vfs_api::Cause::Errno(errno) => errno_name(errno).into(),
            other => format!("{other:?}"),
        },
    }
}

fn ok(_: ()) -> String {
    "ok".into()
}

fn is(result: &Result<impl Sized, Failure>, errno: Errno) -> bool {
    matches!(result, Err(Failure { cause: vfs_api::Cause::Errno(e), .. }) if *e == errno)
}

/// Runs of equal bytes.
fn bytes(bytes: &[u8]) -> String {
    let mut text = format!("{}:", bytes.len());
    for run in bytes.chunk_by(|a, b| a == b) {
        let _ = write!(text, " {}x{}", run.len(), run[0].escape_ascii());
    }
    text
}

/// The kind is not in [`Stat`]. The size of a directory is the file system's affair (tmpfs says 20 bytes per entry, ext4 whole
/// blocks), and st_ino differs in any case.
fn stat(stat: Stat, directory: bool) -> String {
    if directory {
        format!("directory, {} links", stat.nlink)
    } else {
        format!("{} bytes, {} links", stat.size, stat.nlink)
    }
}

fn stat_at<F: FileSystem>(fs: &F, name: &Name) -> String {
    said(fs.stat(&name.c()), |got| {
        let inside = fs.stat(&Name(format!("{}/.", name.0)).c());
        // A path of full length cannot be asked with more behind it.
        if is(&inside, Errno::NAMETOOLONG) { "there".into() } else { stat(got, inside.is_ok()) }
    })
}

fn stat_of<F: FileSystem>(fs: &F, fd: i32) -> String {
    let directory = is(&fs.read(Fd(fd), &mut []), Errno::ISDIR);
    said(fs.fstat(Fd(fd)), |got| stat(got, directory))
}

fn read<F: FileSystem>(fs: &F, fd: i32, len: usize) -> String {
    let mut buf = vec![0; len];
    let result = fs.read(Fd(fd), &mut buf);
    said(result, |got| bytes(&buf[..got]))
}

/// What is behind each descriptor: the rest from its offset, then all of it.
fn descriptors<F: FileSystem>(fs: &F) -> String {
    let each = (0..FDS as i32).map(|fd| {
        let rest = read(fs, fd, 20_000);
        let sought = said(fs.seek(Fd(fd), 0), |at| at.to_string());
        let all = read(fs, fd, 20_000);
        format!("{fd}: {}; {rest}; {sought}; {all}", stat_of(fs, fd))
    });
    each.collect::<Vec<_>>().join("\n")
}

/// Every path there is, with its inode by the order of discovery.
fn walk<F: FileSystem>(fs: &F) -> String {
    let mut inodes = HashMap::new();
    let mut text = String::new();
    let mut todo = vec![String::new()];
    while let Some(path) = todo.pop() {
        let name = Name(if path.is_empty() { "/".into() } else { path.clone() });
        let Ok(got) = fs.stat(&name.c()) else { continue };
        let next = inodes.len();
        let inode = *inodes.entry(got.ino).or_insert(next);
        let _ = write!(text, "\n{name:?} is {inode}: {}", stat_at(fs, &name));
        if let Ok(fd) = fs.open(&name.c(), OFlags::RDONLY, Mode::empty()) {
            let _ = write!(text, "; {}", read(fs, fd.0, 20_000));
            let _ = fs.close(fd);
        }
        if name.0.len() < 2000 {
            todo.extend(NAMES.map(|name| format!("{path}/{name}")));
            todo.push(format!("{path}/{}", "x".repeat(LONGEST_NAME)));
        }
    }
    text
}

impl Op {
    /// Runs it and says what it answered.
    pub(crate) fn run<F: FileSystem + Mounts>(&self, fs: &F) -> String {
        match self {
            Op::Open(name, flags) => {
                said(fs.open(&name.c(), *flags, Mode::from(0o600)), |fd| format!("fd {}", fd.0))
            }
            Op::Close(fd) => said(fs.close(Fd(*fd)), ok),
            Op::Read(fd, len) => read(fs, *fd, *len),
            Op::Write(fd, len, byte) => {
                said(fs.write(Fd(*fd), &vec![*byte; *len]), |done| done.to_string())
            }
            Op::Pread(fd, len, at) => {
                let mut buf = vec![0; *len];
                let result = fs.pread(Fd(*fd), &mut buf, *at);
                said(result, |got| bytes(&buf[..got]))
            }
            Op::Pwrite(fd, len, byte, at) => {
                said(fs.pwrite(Fd(*fd), &vec![*byte; *len], *at), |done| done.to_string())
            }
            Op::Fallocate(fd, at, len) => said(fs.fallocate(Fd(*fd), *at, *len), ok),
            Op::Statx(name) => said(fs.statx(&name.c()), |_| "there".into()),
            Op::DupFrom(fd, least) => {
                said(fs.dup_from(Fd(*fd), *least), |fd| format!("fd {}", fd.0))
            }
            Op::Chmod(name) => said(fs.chmod(&name.c(), Mode::from(0o755)), ok),
            Op::Touch(name) => said(fs.touch(&name.c()), ok),
            Op::Seek(fd, at) => said(fs.seek(Fd(*fd), *at), |at| at.to_string()),
            Op::Ftruncate(fd, len) => said(fs.ftruncate(Fd(*fd), *len), ok),
            Op::Fstat(fd) => stat_of(fs, *fd),
            Op::Stat(name) => stat_at(fs, name),
            Op::Unlink(name) => said(fs.unlink(&name.c()), ok),
            Op::Dup(fd) => said(fs.dup(Fd(*fd)), |fd| format!("fd {}", fd.0)),
            Op::Link(old, new) => said(fs.link(&old.c(), &new.c()), ok),
            Op::Rename(old, new) => said(fs.rename(&old.c(), &new.c()), ok),
            Op::Mkdir(name) => said(fs.mkdir(&name.c(), Mode::from(0o700)), ok),
            Op::Rmdir(name) => said(fs.rmdir(&name.c()), ok),
            Op::Chdir(name) => said(fs.chdir(&name.c()), ok),
            Op::Bind(from, to) => said(fs.bind(&from.c(), &to.c()), ok),
            Op::RemountMount(name, ro) => said(fs.remount_mount(&name.c(), *ro), ok),
            Op::RemountSuper(name, ro) => said(fs.remount_super(&name.c(), *ro), ok),
            Op::Unmount(name) => said(fs.unmount(&name.c()), ok),
            Op::Descriptors => descriptors(fs),
            Op::Walk => walk(fs),
        }
    }
}
