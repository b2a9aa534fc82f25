//! Each workload makes exactly the calls its operation names, and counts only those.

use crate::{ALL, Visitor, find, visit_all};
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ffi::CStr;
use vfs_api::{
    Call, Errno, Failure, Fd, FileSystem, Mode, OFlags, Place, Stat, Workload, expect_len,
};

/// Writes down every call with its object, and can fail the n-th one.
#[derive(Default)]
struct Recorder {
    calls: RefCell<Vec<String>>,
    fail_at: Cell<Option<usize>>,
}

impl Recorder {
    fn call(&self, call: Call, what: String) -> Result<(), Failure> {
        let mut calls = self.calls.borrow_mut();
        if self.fail_at.get() == Some(calls.len()) {
            return Err(Failure::new(call, Errno::IO));
        }
        calls.push(format!("{} {what}", call.name()));
        Ok(())
    }

    fn take(&self) -> Vec<String> {
        self.calls.take()
    }
}

fn flags(flags: OFlags) -> String {
    let names = [
        (OFlags::WRONLY, "WRONLY"),
        (OFlags::RDWR, "RDWR"),
        (OFlags::CREATE, "CREAT"),
        (OFlags::TRUNC, "TRUNC"),
    ];
    names.iter().filter(|(f, _)| flags.contains(*f)).map(|(_, n)| *n).collect::<Vec<_>>().join("|")
}

impl FileSystem for Recorder {
    fn open(&self, path: &CStr, f: OFlags, _: Mode) -> Result<Fd, Failure> {
        self.call(Call::Open, format!("{} {}", path.to_str().unwrap(), flags(f)))?;
        Ok(Fd(3))
    }
    fn close(&self, _: Fd) -> Result<(), Failure> {
        self.call(Call::Close, String::new())
    }
    fn read(&self, _: Fd, buf: &mut [u8]) -> Result<usize, Failure> {
        self.call(Call::Read, buf.len().to_string())?;
        Ok(buf.len())
    }
    fn write(&self, _: Fd, buf: &[u8]) -> Result<usize, Failure> {
        self.call(Call::Write, buf.len().to_string())?;
        Ok(buf.len())
    }
    fn seek(&self, _: Fd, offset: u64) -> Result<u64, Failure> {
        self.call(Call::Seek, offset.to_string())?;
        Ok(offset)
    }
    fn ftruncate(&self, _: Fd, len: u64) -> Result<(), Failure> {
        self.call(Call::Ftruncate, len.to_string())
    }
    fn fstat(&self, _: Fd) -> Result<Stat, Failure> {
        self.call(Call::Fstat, String::new())?;
        Ok(Stat { ino: 1, size: 0, nlink: 1 })
    }
    fn stat(&self, path: &CStr) -> Result<Stat, Failure> {
        self.call(Call::Stat, path.to_str().unwrap().into())?;
        Ok(Stat { ino: 1, size: 0, nlink: 1 })
    }
    fn unlink(&self, path: &CStr) -> Result<(), Failure> {
        self.call(Call::Unlink, path.to_str().unwrap().into())
    }
    fn dup(&self, fd: Fd) -> Result<Fd, Failure> {
        self.call(Call::Dup, String::new())?;
        Ok(Fd(fd.0 + 1))
    }
    fn link(&self, old: &CStr, _: &CStr) -> Result<(), Failure> {
        self.call(Call::Link, old.to_str().unwrap().into())
    }
    fn rename(&self, old: &CStr, _: &CStr) -> Result<(), Failure> {
        self.call(Call::Rename, old.to_str().unwrap().into())
    }
    fn mkdir(&self, path: &CStr, _: Mode) -> Result<(), Failure> {
        self.call(Call::Mkdir, path.to_str().unwrap().into())
    }
    fn rmdir(&self, path: &CStr) -> Result<(), Failure> {
        self.call(Call::Rmdir, path.to_str().unwrap().into())
    }
    fn chdir(&self, path: &CStr) -> Result<(), Failure> {
        self.call(Call::Chdir, path.to_str().unwrap().into())
    }
}

fn place() -> Place {
    Place { dir: c"/d".into(), task: 7 }
}

/// Calls of the second step (the first may still prepare) of the workload named `want`.
struct SecondStep {
    want: &'static str,
    calls: Vec<String>,
}

impl Visitor for SecondStep {
    fn visit<W: Workload>(&mut self) {
        if W::INFO.name != self.want {
            return;
        }
        let fs = Recorder::default();
        W::prepare(&fs, &place()).unwrap();
        let mut task = W::task(&fs, &place()).unwrap();
        assert_eq!(W::step(&fs, &mut task), Ok(1));
        fs.take();
        assert_eq!(W::step(&fs, &mut task), Ok(1));
        self.calls = fs.take();
    }
}

#[test]
fn an_operation_is_the_calls_it_says() {
    let table: &[(&str, &[&str])] = &[
        ("open_close", &["open /d/f7 RDWR", "close "]),
        ("openbench", &["open /d/f7 WRONLY|CREAT", "write 4", "close "]),
        ("file_ops", &["open f7 RDWR", "close "]),
        ("truncate_by_byte", &["ftruncate 4094"]),
        ("creat_close", &["open /d/f7 WRONLY|CREAT|TRUNC", "close "]),
        ("fd_read", &["lseek 0", "read 4096"]),
        ("fstat", &["fstat "]),
        ("stat_shared", &["stat /d/shared"]),
        ("open_shared", &["open /d/shared RDWR", "close "]),
        ("unlink_open", &["open /d/f7 RDWR|CREAT", "unlink /d/f7", "close "]),
    ];
    for (want, calls) in table {
        let mut visitor = SecondStep { want, calls: Vec::new() };
        visit_all(&mut visitor);
        assert_eq!(visitor.calls, *calls, "{want}");
    }
    assert_eq!(table.len(), ALL.len(), "a workload without a line in this table");
}

#[test]
fn the_extension_of_an_empty_file_is_not_counted() {
    let fs = Recorder::default();
    let mut task = crate::TruncateByByte::task(&fs, &place()).unwrap();
    let counted: u64 =
        (0..4097).map(|_| crate::TruncateByByte::step(&fs, &mut task).unwrap()).sum();
    assert_eq!(counted, 4097);
    let calls = fs.take();
    assert_eq!(calls.iter().filter(|c| c.starts_with("ftruncate")).count(), 4097);
    assert_eq!(calls.iter().filter(|c| *c == "write 4096").count(), 2);
    assert_eq!(calls.last().unwrap(), "ftruncate 4095");
}

/// Fails each call of a step in turn: the step must fail with that call.
struct EveryFailure;

impl Visitor for EveryFailure {
    fn visit<W: Workload>(&mut self) {
        let fs = Recorder::default();
        W::prepare(&fs, &place()).unwrap();
        let mut task = W::task(&fs, &place()).unwrap();
        W::step(&fs, &mut task).unwrap();
        fs.take();
        W::step(&fs, &mut task).unwrap();
        let step = fs.take();
        for (n, call) in step.iter().enumerate() {
            fs.fail_at.set(Some(n));
            let failure = W::step(&fs, &mut task).expect_err("a failed call was counted");
            assert_eq!(failure.call.name(), call.split(' ').next().unwrap(), "{}", W::INFO.name);
            fs.fail_at.set(None);
            fs.take();
        }
    }
}

#[test]
fn nothing_that_failed_is_counted() {
    visit_all(&mut EveryFailure);
    assert!(expect_len(Call::Write, 0, 1).is_err());
}

#[test]
fn names_and_aliases_are_unique_and_found() {
    let mut seen = HashSet::new();
    for info in ALL {
        for name in std::iter::once(&info.name).chain(info.aliases) {
            assert!(seen.insert(*name), "{name} twice");
            assert_eq!(find(name).unwrap().name, info.name);
        }
        assert!(!info.modes.is_empty());
    }
    assert_eq!(ALL[0].name, "open_close", "the first is the default");
    assert!(find("opn_close").is_none());
}
