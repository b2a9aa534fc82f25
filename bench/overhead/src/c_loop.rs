//! The loops of `loops.c` as benches of the harness: same tasks, same barrier, same clock; only the loop differs.

use harness::{Bench, FailedOn, Outcome, Runner};
use std::ffi::{CStr, CString, c_char, c_int};
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::AtomicU32;
use vfs_api::{Call, Errno, Failure, Selected};

type Loop = unsafe extern "C" fn(*const c_char, c_int, *const u32, *mut c_int) -> u64;

unsafe extern "C" {
    fn loop_open_close(path: *const c_char, fd: c_int, stop: *const u32, error: *mut c_int) -> u64;
    fn loop_fstat(path: *const c_char, fd: c_int, stop: *const u32, error: *mut c_int) -> u64;
    fn loop_lseek(path: *const c_char, fd: c_int, stop: *const u32, error: *mut c_int) -> u64;
}

/// The C loop that does what the workload does.
pub(crate) fn bind(workload: &Selected, dir: CString) -> Box<dyn Bench> {
    let (body, call): (Loop, Call) = match workload.info().name {
        "open_close" => (loop_open_close, Call::Open),
        "fstat" => (loop_fstat, Call::Fstat),
        "lseek" => (loop_lseek, Call::Seek),
        other => panic!("no C loop is written for {other}"),
    };
    Box::new(Handwritten { dir, body, call })
}

struct Handwritten {
    dir: CString,
    body: Loop,
    call: Call,
}

struct Task {
    path: CString,
    file: File,
    body: Loop,
    call: Call,
}

impl Bench for Handwritten {
    fn prepare(&self) -> Result<(), FailedOn> {
        Ok(())
    }

    fn task(&self, task: usize) -> Result<Box<dyn Runner>, FailedOn> {
        let path = format!("{}/f{task}", self.dir.to_string_lossy());
        let c_path = CString::new(path.clone()).expect("a directory's path holds no NUL");
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(true).clone();
        match options.open(Path::new(&path)) {
            Ok(file) => Ok(Box::new(Task { path: c_path, file, body: self.body, call: self.call })),
            Err(error) => {
                let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
                Err(FailedOn { failure: Failure::new(Call::Open, errno), path: c_path })
            }
        }
    }

    fn enter(&self) -> Result<(), FailedOn> {
        // The loops use absolute paths and descriptors.
        Ok(())
    }
}

impl Runner for Task {
    fn run(&mut self, stop: &AtomicU32, _batch: u32, _until: Option<u64>) -> Outcome {
        let mut error = 0;
        let fd = self.file.as_raw_fd();
        // SAFETY: the path is NUL-terminated, the descriptor is open, `stop` and `error` are valid for the call; the C code
        // reads `stop` as volatile while others write it atomically, which is what such loops do.
        let ops = unsafe { (self.body)(self.path.as_ptr(), fd, stop.as_ptr(), &raw mut error) };
        let failure =
            (error != 0).then(|| Failure::new(self.call, Errno::from_raw_os_error(error)));
        Outcome { ops, passes: ops, failure }
    }

    fn path(&self) -> &CStr {
        &self.path
    }
}
