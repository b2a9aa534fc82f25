//! What can be known before anything is started: whether the machine and the target have room for the run.

use crate::error::Error;
use crate::machine::Roots;
use crate::machine::cgroup::Cgroups;
use crate::plan::CurveRequest;
use rustix::fs::StatVfsMountFlags;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::path::{Path, PathBuf};
use vfs_api::TaskMode;

/// Descriptors of the conductor beyond those open now: the janitor's pipe, and one in use for a moment. The tasks inherit them.
const OWN_FDS: u64 = 3;
/// What a task process costs: page tables, stacks, kernel structures. Measured at 190 KiB with 4096 of them.
const PROCESS_BYTES: u64 = 256 * 1024;
/// What a thread costs: kernel stack, thread structures, touched pages of its stack.
const THREAD_BYTES: u64 = 48 * 1024;

fn refused(what: impl Into<String>, advice: impl Into<String>) -> Error {
    Error::Refused { what: what.into(), advice: advice.into() }
}

/// Checks limits and targets for `curves` with up to `tasks` tasks each. Raises the soft limit of open files if it must.
///
/// # Errors
/// [`Error::Refused`] with what is too small and by how much.
pub(crate) fn check(roots: &Roots, curves: &[CurveRequest], tasks: usize) -> Result<(), Error> {
    let tasks = tasks as u64;
    // Those in the background come on top.
    let tasks = tasks + u64::from(curves.iter().any(|curve| curve.workload.info().background));
    let processes = curves.iter().any(|c| c.hosting() == TaskMode::Process);
    let threads = curves.iter().any(|c| c.hosting() == TaskMode::Thread);
    descriptors(curves, tasks)?;
    // Janitor and thread host come on top.
    pids(roots, tasks * (u64::from(processes) + u64::from(threads)) + 2)?;
    let bytes = tasks * (u64::from(processes) * PROCESS_BYTES + u64::from(threads) * THREAD_BYTES);
    // Files of the lab are in this program's memory.
    let in_the_lab = curves.iter().filter(|curve| curve.dir.is_none()).map(|curve| {
        let demand = curve.workload.demand();
        demand.shared_bytes.saturating_add(tasks.saturating_mul(demand.bytes))
    });
    memory(roots, in_the_lab.fold(bytes, u64::saturating_add))?;
    let mut targets: Vec<&PathBuf> = curves.iter().filter_map(|c| c.dir.as_ref()).collect();
    targets.sort();
    targets.dedup();
    for target in targets {
        let here = curves.iter().filter(|c| c.dir.as_ref() == Some(target));
        let (inodes, data) = here.fold((2, 0), |(inodes, data), curve| {
            let demand = curve.workload.demand();
            let bytes = demand.shared_bytes.saturating_add(tasks.saturating_mul(demand.bytes));
            (inodes + self::inodes(curve, tasks), bytes.saturating_add(data))
        });
        room(target, inodes, data)?;
    }
    Ok(())
}

/// Inodes that a curve makes at most: its directory, its shared file, and what its workload says.
pub(crate) fn inodes(curve: &CurveRequest, tasks: u64) -> u64 {
    let demand = curve.workload.demand();
    2 + demand.shared_inodes + tasks * demand.inodes
}

fn descriptors(curves: &[CurveRequest], tasks: u64) -> Result<(), Error> {
    let open = std::fs::read_dir("/proc/self/fd").map_or(8, |fds| fds.count() as u64);
    let of = |mode| {
        let here = curves.iter().filter(|c| c.mode == mode && c.dir.is_some());
        here.map(|c| c.workload.demand().fds).sum::<u64>()
    };
    let numbers = curves.iter().filter(|c| c.dir.is_some()).map(|c| c.workload.demand().fd_limit);
    let highest = numbers.max().unwrap_or(0);
    // Own fd tables in process mode; one for all in thread mode.
    let (process, thread) = (of(TaskMode::Process), of(TaskMode::Thread) * tasks);
    let need = open + OWN_FDS + process.max(thread) + highest;
    let limit = getrlimit(Resource::Nofile);
    let soft = limit.current.unwrap_or(u64::MAX);
    if need <= soft {
        return Ok(());
    }
    let hard = limit.maximum.unwrap_or(u64::MAX);
    let raised = Rlimit { current: Some(need.min(hard)), maximum: limit.maximum };
    if need > hard || setrlimit(Resource::Nofile, raised).is_err() {
        let advice = if thread > process {
            "use fewer --tasks or --mode process (a descriptor table per task), or raise it: ulimit -Hn"
        } else {
            "ask for fewer workloads at a time, or raise it: ulimit -Hn"
        };
        return Err(refused(
            format!(
                "the run needs {need} open files in one process; the limit is {hard} (RLIMIT_NOFILE)"
            ),
            advice,
        ));
    }
    Ok(())
}

/// A limit on the number of tasks.
pub(crate) struct TaskLimit {
    /// None if there is none, or it cannot be read.
    pub(crate) most: Option<u64>,
    /// Whose limit.
    pub(crate) name: &'static str,
    /// How to have more.
    pub(crate) advice: &'static str,
}

/// Everything that limits how many tasks a run may have.
pub(crate) fn task_limits(roots: &Roots) -> [TaskLimit; 4] {
    let number = |name: &str| {
        let text = std::fs::read_to_string(roots.proc.join("sys/kernel").join(name)).ok()?;
        text.trim().parse::<u64>().ok()
    };
    let cgroup = Cgroups::read(roots).and_then(|c| c.pids_left()).ok().flatten();
    // For root the kernel does not enforce RLIMIT_NPROC.
    let user = if rustix::process::geteuid().is_root() {
        None
    } else {
        getrlimit(Resource::Nproc).current
    };
    let limit = |most, name, advice| TaskLimit { most, name, advice };
    [
        limit(number("pid_max"), "kernel.pid_max", "raise it: sysctl kernel.pid_max=..."),
        limit(
            number("threads-max"),
            "kernel.threads-max",
            "raise it: sysctl kernel.threads-max=...",
        ),
        limit(
            cgroup,
            "what pids.max of the cgroup leaves",
            "run in another cgroup or raise pids.max",
        ),
        limit(user, "RLIMIT_NPROC", "raise it: ulimit -u"),
    ]
}

fn pids(roots: &Roots, need: u64) -> Result<(), Error> {
    for TaskLimit { most, name, advice } in task_limits(roots) {
        if let Some(most) = most.filter(|most| *most < need) {
            return Err(refused(
                format!("the run needs {need} tasks; {name} is {most}"),
                format!("use fewer --tasks, or {advice}"),
            ));
        }
    }
    Ok(())
}

fn memory(roots: &Roots, need: u64) -> Result<(), Error> {
    let meminfo = std::fs::read_to_string(roots.proc.join("meminfo")).unwrap_or_default();
    let available = meminfo.lines().find_map(|line| {
        let kib = line.strip_prefix("MemAvailable:")?.trim().strip_suffix("kB")?;
        Some(kib.trim().parse::<u64>().ok()? * 1024)
    });
    let cgroup = Cgroups::read(roots).and_then(|c| c.memory_left()).ok().flatten();
    let Some(free) = [available, cgroup].into_iter().flatten().min() else { return Ok(()) };
    if free < need {
        return Err(refused(
            format!(
                "the tasks and what the lab keeps in memory need about {} MiB; {} MiB are free",
                need >> 20,
                free >> 20
            ),
            "use fewer --tasks, smaller files or --mode thread",
        ));
    }
    Ok(())
}

/// The target is there, may be written and has room.
fn room(target: &Path, inodes: u64, bytes: u64) -> Result<(), Error> {
    let shown = target.display();
    let fs = rustix::fs::statvfs(target).map_err(|e| {
        refused(format!("{shown}: {e}"), "choose a directory that exists: dir:PATH")
    })?;
    if fs.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Err(refused(
            format!("{shown} is on a read-only mount"),
            "remount it read-write, or choose another directory: dir:PATH",
        ));
    }
    if let Err(e) =
        rustix::fs::access(target, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)
    {
        return Err(refused(
            format!("no directory can be made in {shown}: {}", std::io::Error::from(e)),
            "choose a directory that you may write to: dir:PATH",
        ));
    }
    // Blocks are taken whole; root may use the reserve that f_bavail leaves out.
    let root = rustix::process::geteuid().is_root();
    let free = if root { fs.f_bfree } else { fs.f_bavail };
    let block = fs.f_frsize.max(1);
    // A file system without a size (ramfs answers 0 blocks) has no limit to check.
    let need = bytes.div_ceil(block) + inodes;
    if fs.f_blocks > 0 && free < need {
        return Err(refused(
            format!(
                "{shown} has {} KiB free; the run needs about {} KiB",
                (free * block) >> 10,
                (need * block) >> 10
            ),
            "free space, use fewer --tasks, or choose another directory: dir:PATH",
        ));
    }
    // Some file systems make inodes as they go and answer 0 (btrfs).
    let free = if root { fs.f_ffree } else { fs.f_favail };
    if fs.f_files > 0 && free < inodes {
        return Err(refused(
            format!("{shown} has {free} free inodes; the run needs {inodes}"),
            "remove files, use fewer --tasks, or choose another directory: dir:PATH",
        ));
    }
    Ok(())
}

/// The directory to make the run's own directory in: absolute, without symbolic links.
///
/// # Errors
/// [`Error::Refused`] if it is not there or not a directory.
pub(crate) fn resolve(path: &Path) -> Result<PathBuf, Error> {
    let shown = path.display();
    let advice = "choose a directory that exists and that you may search: dir:PATH";
    let unusable = |e: std::io::Error| refused(format!("{shown}: {e}"), advice);
    let absolute = path.canonicalize().map_err(unusable)?;
    if absolute.metadata().map_err(unusable)?.is_dir() {
        Ok(absolute)
    } else {
        Err(refused(format!("{shown} is not a directory"), advice))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_refused_with_numbers_and_advice() {
        let target = tempfile::tempdir().unwrap();
        room(target.path(), 4, 4096).unwrap();
        let error = room(target.path(), 4, u64::MAX / 4).unwrap_err();
        assert!(error.is_refusal());
        assert!(error.to_string().contains("free space"), "{error}");
    }

    #[test]
    fn a_target_that_is_no_directory_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(resolve(file.path()).unwrap_err().to_string().contains("not a directory"));
        assert!(resolve(Path::new("/nonexistent/x")).unwrap_err().is_refusal());
    }
}
