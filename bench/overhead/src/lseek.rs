//! lseek alone: the cheapest call with an fd look-up, on which any overhead of the loop would show most.

use harness::Bench;
use std::ffi::{CStr, CString};
use vfs_api::{
    Calls, Capability, Demand, Failure, Fd, FileSystem, Info, Mode, OFlags, Place, Selected,
    Shared, TaskMode, Workload,
};

/// lseek(fd, 0, SEEK_SET) of one's own file.
pub(crate) struct Lseek;

pub(crate) struct Task {
    path: CString,
    fd: Fd,
}

impl Workload for Lseek {
    const INFO: Info = Info {
        name: "lseek",
        aliases: &[],
        summary: "lseek of own file to its start",
        origin: "will-it-scale lseek1",
        calls: Calls::Descriptors,
        shared: Shared::Descriptors,
        suites: &[],
        params: &[],
        modes: &[TaskMode::Process, TaskMode::Thread],
        operation: "one lseek",
        needs: &[Capability::Create],
        background: false,
        demand: |_| Demand::one_file(0),
    };
    type Task = Task;

    fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
        let path = place.own_path();
        let fd = fs.open(&path, OFlags::RDWR | OFlags::CREATE, Mode::RUSR | Mode::WUSR)?;
        Ok(Task { path, fd })
    }

    #[inline]
    fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<u64, Failure> {
        fs.seek(task.fd, 0)?;
        Ok(1)
    }

    fn path(task: &Task) -> &CStr {
        &task.path
    }
}

/// On a directory of this kernel.
pub(crate) fn bind(_: &Selected, dir: CString) -> Box<dyn Bench> {
    harness::bind::<Lseek>(dir)
}
