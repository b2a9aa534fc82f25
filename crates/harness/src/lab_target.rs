//! The `lab:` target: the project's own VFS with the locking designs of an era, on this machine's atomics.
//!
//! Its tasks are threads of one process, whatever the mode: the VFS is in that process's memory. In process mode each task is a
//! process of the lab, with an fd table of its own; in thread mode they are threads of one. A CPU of the lab is a task: per-CPU
//! data belongs to one task each, so with more tasks than CPUs it stays contention-free where a kernel's would be shared.

use crate::bench::{Bench, Extra, FailedOn, System, at_work, bind_to, bind_type};
use lab::eras::Era;
use lab::vfs::{Kernel, Task};
use machine::{Counted, Cpu, Platform, Real};
use std::ffi::{CStr, CString};
use std::sync::{Arc, OnceLock};
use vfs_api::{
    Call, Demand, Errno, Failure, Fd, FileSystem, Info, Mode, Mounts, OFlags, OsCalls, Selected,
    Stat, TaskMode, Workload,
};

/// Where the workloads' files are: as deep as /tmp/file.
pub(crate) const DIR: &CStr = c"/tmp";
/// RLIMIT_NOFILE of a lab process: enough for thousands of threads.
const FDS: usize = 1 << 16;

/// So many more than a workload says: directories on the way, inodes that are gone but whose grace period is not over.
const SPARE_INODES: u32 = 64;

/// A task of the lab as a file system.
pub struct LabFs<P: Platform>(Task<P>);

impl<P: Platform> LabFs<P> {
    /// The calls of `task`.
    pub fn new(task: Task<P>) -> Self {
        LabFs(task)
    }
}

fn failed(call: Call) -> impl FnOnce(Errno) -> Failure {
    move |errno| Failure::new(call, errno)
}

impl<P: Platform> FileSystem for LabFs<P> {
    fn open(&self, path: &CStr, flags: OFlags, _mode: Mode) -> Result<Fd, Failure> {
        self.0.open(path.to_bytes(), flags).map(Fd).map_err(failed(Call::Open))
    }
    fn close(&self, fd: Fd) -> Result<(), Failure> {
        self.0.close(fd.0).map_err(failed(Call::Close))
    }
    fn read(&self, fd: Fd, buf: &mut [u8]) -> Result<usize, Failure> {
        self.0.read(fd.0, buf).map_err(failed(Call::Read))
    }
    fn write(&self, fd: Fd, buf: &[u8]) -> Result<usize, Failure> {
        self.0.write(fd.0, buf).map_err(failed(Call::Write))
    }
    fn pread(&self, fd: Fd, buf: &mut [u8], offset: u64) -> Result<usize, Failure> {
        self.0.pread(fd.0, buf, offset).map_err(failed(Call::Pread))
    }
    fn pwrite(&self, fd: Fd, buf: &[u8], offset: u64) -> Result<usize, Failure> {
        self.0.pwrite(fd.0, buf, offset).map_err(failed(Call::Pwrite))
    }
    fn seek(&self, fd: Fd, offset: u64) -> Result<u64, Failure> {
        self.0.seek(fd.0, offset).map_err(failed(Call::Seek))
    }
    fn ftruncate(&self, fd: Fd, len: u64) -> Result<(), Failure> {
        self.0.ftruncate(fd.0, len).map_err(failed(Call::Ftruncate))
    }
    fn fallocate(&self, fd: Fd, offset: u64, len: u64) -> Result<(), Failure> {
        self.0.fallocate(fd.0, offset, len).map_err(failed(Call::Fallocate))
    }
    fn fstat(&self, fd: Fd) -> Result<Stat, Failure> {
        self.0.fstat(fd.0).map_err(failed(Call::Fstat))
    }
    fn stat(&self, path: &CStr) -> Result<Stat, Failure> {
        self.0.stat(path.to_bytes()).map_err(failed(Call::Stat))
    }
    fn statx(&self, path: &CStr) -> Result<Stat, Failure> {
        // The same in the kernel too (vfs_statx), but for what is copied out.
        self.0.stat(path.to_bytes()).map_err(failed(Call::Statx))
    }
    fn unlink(&self, path: &CStr) -> Result<(), Failure> {
        self.0.unlink(path.to_bytes()).map_err(failed(Call::Unlink))
    }
    fn dup(&self, fd: Fd) -> Result<Fd, Failure> {
        self.0.dup(fd.0).map(Fd).map_err(failed(Call::Dup))
    }
    fn dup_from(&self, fd: Fd, least: i32) -> Result<Fd, Failure> {
        self.0.dup_from(fd.0, least).map(Fd).map_err(failed(Call::Fcntl))
    }
    fn link(&self, old: &CStr, new: &CStr) -> Result<(), Failure> {
        self.0.link(old.to_bytes(), new.to_bytes()).map_err(failed(Call::Link))
    }
    fn rename(&self, old: &CStr, new: &CStr) -> Result<(), Failure> {
        self.0.rename(old.to_bytes(), new.to_bytes()).map_err(failed(Call::Rename))
    }
    fn mkdir(&self, path: &CStr, _mode: Mode) -> Result<(), Failure> {
        self.0.mkdir(path.to_bytes()).map_err(failed(Call::Mkdir))
    }
    fn rmdir(&self, path: &CStr) -> Result<(), Failure> {
        self.0.rmdir(path.to_bytes()).map_err(failed(Call::Rmdir))
    }
    fn chdir(&self, path: &CStr) -> Result<(), Failure> {
        self.0.chdir(path.to_bytes()).map_err(failed(Call::Chdir))
    }
    fn chmod(&self, path: &CStr, _mode: Mode) -> Result<(), Failure> {
        self.0.chmod(path.to_bytes()).map_err(failed(Call::Chmod))
    }
    fn touch(&self, path: &CStr) -> Result<(), Failure> {
        self.0.touch(path.to_bytes()).map_err(failed(Call::Utimensat))
    }
    fn is_model(&self) -> bool {
        true
    }
    fn work(&self, ns: u32) {
        // In virtual time the first call is enough; in real time it does nothing.
        let since = P::now_ns();
        P::work(ns);
        while P::now_ns() - since < u64::from(ns) {
            P::relax();
        }
    }
    fn enter(&self) {
        self.0.enter();
    }
    fn leave(&self) {
        self.0.leave();
    }
}

/// Of these it has none; see [`vfs_api::OsCalls`].
impl<P: Platform> OsCalls for LabFs<P> {}

impl<P: Platform> Mounts for LabFs<P> {
    fn bind(&self, from: &CStr, to: &CStr) -> Result<(), Failure> {
        self.0.bind(from.to_bytes(), to.to_bytes()).map_err(failed(Call::Mount))
    }
    fn remount_mount(&self, path: &CStr, readonly: bool) -> Result<(), Failure> {
        self.0.remount_mount(path.to_bytes(), readonly).map_err(failed(Call::Mount))
    }
    fn remount_super(&self, path: &CStr, readonly: bool) -> Result<(), Failure> {
        self.0.remount_super(path.to_bytes(), readonly).map_err(failed(Call::Mount))
    }
    fn unmount(&self, path: &CStr) -> Result<(), Failure> {
        self.0.unmount(path.to_bytes()).map_err(failed(Call::Umount))
    }
}

/// What happens in a kernel of the lab before a workload comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Before {
    /// Nothing.
    #[default]
    Nothing,
    /// The root file system is remounted, as distributions do while they boot.
    Remount,
    /// The workloads' directory is bound to [`SECOND_MOUNT`] as well.
    SecondMount,
}

/// Where a second mount shows the workloads' directory.
pub const SECOND_MOUNT: &CStr = c"/mnt";

impl Before {
    fn done_by<P: Platform>(self, fs: &LabFs<P>) -> Result<(), Failure> {
        match self {
            Before::Nothing => Ok(()),
            Before::Remount => fs.remount_mount(c"/", false),
            Before::SecondMount => {
                fs.mkdir(SECOND_MOUNT, Mode::RWXU)?;
                fs.bind(DIR, SECOND_MOUNT)
            }
        }
    }
}

/// The kernel of a curve, made in the process that hosts its tasks.
pub(crate) struct Lab<P: Platform> {
    era: Era,
    mode: TaskMode,
    /// The tasks' CPUs.
    cpus: usize,
    call_work_ns: u32,
    before: Before,
    made: OnceLock<Made<P>>,
}

struct Made<P: Platform> {
    kernel: Arc<Kernel<P>>,
    /// In thread mode the process that all tasks are threads of. Its first thread makes no calls but those of `prepare`.
    process: Task<P>,
}

impl<P: Platform> Lab<P> {
    /// A kernel of `era` to be, with a CPU for each of `tasks` tasks. `call_work_ns`: see [`Kernel::set_call_work`].
    pub(crate) fn new(era: Era, mode: TaskMode, tasks: usize, call_work_ns: u32) -> Self {
        Lab { era, mode, cpus: tasks, call_work_ns, before: Before::Nothing, made: OnceLock::new() }
    }

    /// The same; `before` happens in it first.
    pub(crate) fn after(self, before: Before) -> Self {
        Lab { before, ..self }
    }

    /// Where the workloads' files are.
    pub(crate) fn dir(&self) -> &'static CStr {
        DIR
    }

    /// Makes the kernel and prepares a workload in it.
    ///
    /// # Errors
    /// The call that failed, in words.
    pub(crate) fn prepare_with(
        &self,
        demand: &Demand,
        prepare: impl FnOnce(&LabFs<P>) -> Result<(), Failure>,
    ) -> Result<(), String> {
        let fs = self.prepare(demand).map_err(|failed| failed.failure.to_string())?;
        at_work(&fs, prepare).map_err(|failure| failure.to_string())
    }

    /// Makes a task and what a workload keeps in it.
    ///
    /// # Errors
    /// The call that failed, in words.
    pub(crate) fn task_with<T>(
        &self,
        task: usize,
        make: impl FnOnce(&LabFs<P>) -> Result<T, Failure>,
    ) -> Result<(LabFs<P>, T), String> {
        let fs = self.task(task).map_err(|failed| failed.failure.to_string())?;
        let state = at_work(&fs, make).map_err(|failure| failure.to_string())?;
        Ok((fs, state))
    }

    /// The CPU of whatever is no task: one beyond theirs.
    fn spare(&self) -> Cpu {
        Cpu(self.cpus)
    }

    fn made(&self) -> &Made<P> {
        self.made.get().expect("`prepare` comes before `task`")
    }
}

/// In the lab's directory.
fn settle<P: Platform>(task: Task<P>) -> Result<LabFs<P>, FailedOn> {
    let fs = LabFs(task);
    fs.enter();
    let moved = fs.chdir(DIR);
    fs.leave();
    moved.map_err(|failure| FailedOn { failure, path: DIR.to_owned() })?;
    Ok(fs)
}

impl<P: Platform> System for Lab<P> {
    type Fs = LabFs<P>;

    fn prepare(&self, demand: &Demand) -> Result<LabFs<P>, FailedOn> {
        let inodes = |cpu| {
            let wanted = if cpu == self.spare() { demand.shared_inodes } else { demand.inodes };
            let wanted = u32::try_from(wanted).unwrap_or(u32::MAX / 2) + SPARE_INODES;
            wanted.max(Kernel::<P>::default_inodes(self.cpus + 1))
        };
        let mut kernel = Kernel::with_inodes(&self.era, self.cpus + 1, inodes);
        kernel.set_call_work(self.call_work_ns);
        let kernel = Arc::new(kernel);
        kernel.name_lines();
        let process = Task::new_process(&kernel, self.spare(), FDS, true);
        process.enter();
        let made = process.mkdir(DIR.to_bytes()).and_then(|()| process.chdir(DIR.to_bytes()));
        process.leave();
        if let Err(errno) = made {
            let failure = Failure::new(Call::Mkdir, errno);
            return Err(FailedOn { failure, path: DIR.to_owned() });
        }
        let thread = process.new_thread(self.spare());
        if self.made.set(Made { kernel, process }).is_err() {
            unreachable!("a curve is prepared once");
        }
        let fs = settle(thread)?;
        at_work(&fs, |fs| self.before.done_by(fs))
            .map_err(|failure| FailedOn { failure, path: DIR.to_owned() })?;
        Ok(fs)
    }

    fn task(&self, task: usize) -> Result<LabFs<P>, FailedOn> {
        let Made { kernel, process } = self.made();
        match self.mode {
            TaskMode::Process => settle(Task::new_process(kernel, Cpu(task), FDS, false)),
            TaskMode::Thread => Ok(LabFs(process.new_thread(Cpu(task)))),
        }
    }

    fn enter(&self, _dir: &CStr) -> Result<(), Errno> {
        Ok(())
    }

    fn extra(&self, fs: &LabFs<P>) -> Extra {
        Extra { locks: machine::take_totals(), rcu: Some(fs.0.backlog()) }
    }
}

/// A kernel of the lab and the tasks that will work in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LabSpec {
    /// Its designs.
    pub(crate) era: Era,
    /// Whether tasks share an fd table.
    pub(crate) mode: TaskMode,
    /// How many there will be: a CPU for each.
    pub(crate) tasks: usize,
    /// Count and time every lock.
    pub(crate) locks: bool,
    /// What happens first.
    pub(crate) before: Before,
}

impl LabSpec {
    /// With a CPU for the task in the background, if the workload has one.
    pub(crate) fn for_workload(self, info: &Info) -> LabSpec {
        LabSpec { tasks: self.tasks + usize::from(info.background), ..self }
    }
}

impl<P: Platform> From<LabSpec> for Lab<P> {
    fn from(spec: LabSpec) -> Lab<P> {
        Lab::new(spec.era, spec.mode, spec.tasks, 0).after(spec.before)
    }
}

/// The registered `workload` on the lab.
pub(crate) fn on_lab(workload: &Selected, spec: LabSpec) -> Box<dyn Bench> {
    let (dir, spec): (CString, _) = (DIR.to_owned(), spec.for_workload(workload.info()));
    if spec.locks {
        bind_to(workload, Arc::new(Lab::<Counted>::from(spec)), dir)
    } else {
        bind_to(workload, Arc::new(Lab::<Real>::from(spec)), dir)
    }
}

/// Workload `W` on the lab.
pub(crate) fn on_lab_of<W: Workload>(spec: LabSpec) -> Box<dyn Bench> {
    let (dir, spec): (CString, _) = (DIR.to_owned(), spec.for_workload(&W::INFO));
    if spec.locks {
        bind_type::<W, _>(Arc::new(Lab::<Counted>::from(spec)), dir)
    } else {
        bind_type::<W, _>(Arc::new(Lab::<Real>::from(spec)), dir)
    }
}
