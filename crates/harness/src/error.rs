//! What can go wrong, in words that say what to do about it.

use crate::bench::FailedOn;
use std::fmt;
use std::path::PathBuf;
use vfs_api::{Cause, Errno, Failure, TaskMode};

/// A task, for an error message.
#[derive(Clone, Copy, Debug)]
pub struct Who {
    /// How it was made.
    pub mode: TaskMode,
    /// 0-based number.
    pub task: usize,
    /// Process or thread id.
    pub pid: u32,
    /// Where it was pinned.
    pub cpu: Option<u32>,
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {} ({} {}", self.task, self.mode, self.pid)?;
        match self.cpu {
            Some(cpu) => write!(f, ", CPU {cpu})"),
            None => write!(f, ", not pinned)"),
        }
    }
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Found before anything was started; nothing was changed.
    #[error("{what}\n  {advice}")]
    Refused {
        /// What stands in the way.
        what: String,
        /// How to get it out of the way.
        advice: String,
    },
    /// A call of a task failed. Nothing is shown of the others: a sum without it would be a wrong number.
    #[error("{who} of {curve}: {failure}: {path}\n  {}", advice(failure))]
    Call {
        /// The task.
        who: Who,
        /// "workload on target".
        curve: String,
        /// Call and errno.
        failure: Failure,
        /// The path of the call.
        path: String,
    },
    /// What all tasks share could not be made.
    #[error(
        "cannot prepare {curve}: {}: {}\n  {}",
        failed.failure, failed.path.to_string_lossy(), advice(&failed.failure)
    )]
    Setup {
        /// "workload on target".
        curve: String,
        /// Call, errno, path.
        failed: FailedOn,
    },
    /// A task ended by itself.
    #[error("{who} died: {how}\n  its share of the result is lost, so there is none; run again")]
    Died {
        /// The task.
        who: Who,
        /// Signal or exit status.
        how: String,
    },
    /// A task was stopped and not continued.
    #[error(
        "{who} was stopped (SIGSTOP) and not continued\n  do not stop single tasks; to pause a run, stop vfscale itself (Ctrl-Z)"
    )]
    Stopped {
        /// The task.
        who: Who,
    },
    /// A task does not answer.
    #[error("{who} has not answered for {seconds} s\n  it is probably inside a call that does not return: see /proc/{}/stack and dmesg", who.pid)]
    Silent {
        /// The task.
        who: Who,
        /// How long it was waited for.
        seconds: u64,
    },
    /// No process for a task.
    #[error(
        "cannot make a process: {0}\n  use fewer --tasks, or raise the limit (ulimit -u, pids.max of the cgroup, kernel.pid_max)"
    )]
    Fork(std::io::Error),
    /// Another call of the harness's own.
    #[error("{call}: {error}")]
    Os {
        /// Which.
        call: &'static str,
        /// How it failed.
        error: std::io::Error,
    },
    /// Something is left of the run's own directory.
    #[error("could not remove {}\n  remove it with: vfscale clean {}", left.display(), parent.display())]
    Left {
        /// The directory that is still there.
        left: PathBuf,
        /// Where `vfscale clean` looks for it.
        parent: PathBuf,
    },
    /// The run failed, and something of it is left as well.
    #[error("{error}\n{left}")]
    AndLeft {
        /// Why it failed.
        error: Box<Error>,
        /// An [`Error::Left`].
        left: Box<Error>,
    },
    /// A simulated kernel came to no end.
    #[error("{curve}, {tasks} tasks: {what}")]
    Simulation {
        /// "workload on target".
        curve: String,
        /// Tasks of the point.
        tasks: usize,
        /// A call that failed, or a dead-lock with the locks and lines waited for.
        what: String,
    },
    /// A command that is to switch the state did not.
    #[error(
        "{option} '{command}' failed: {why}\n  run it by hand first; it must end with status 0, and leave the target mounted where it is"
    )]
    Switch {
        /// --before-cmd or --after-cmd.
        option: &'static str,
        /// As it was given.
        command: String,
        /// Its status and what it said.
        why: String,
    },
    /// A guest is not to be had, or is lost.
    #[error(transparent)]
    Guest(#[from] guest::Error),
    /// No round was ever complete.
    #[error(
        "tasks were stopped and continued again and again: no round could be measured\n  do not stop the tasks of a run"
    )]
    Disturbed,
}

impl Error {
    pub(crate) fn os(call: &'static str, errno: Errno) -> Error {
        Error::Os { call, error: errno.into() }
    }

    /// True if it was found before anything was started.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Error::Refused { .. } | Error::Guest(guest::Error::Refused { .. }))
    }
}

fn advice(failure: &Failure) -> &'static str {
    let Cause::Errno(errno) = failure.cause else {
        return "the file system is probably full: free space or choose another directory (dir:PATH)";
    };
    match errno {
        Errno::NOSPC => {
            "the file system is full: free space or inodes, or choose another directory (dir:PATH)"
        }
        Errno::DQUOT => {
            "the quota is used up: free some of it, or choose another directory (dir:PATH)"
        }
        Errno::MFILE => {
            "too many open files: raise the limit (ulimit -n), use fewer --tasks, or --mode process"
        }
        Errno::NFILE => {
            "the system's table of open files is full: raise fs.file-max or use fewer --tasks"
        }
        Errno::ROFS => {
            "the file system is read-only: remount it read-write, or choose another directory (dir:PATH)"
        }
        Errno::ACCESS | Errno::PERM => {
            "not permitted: choose a directory that you may write to (dir:PATH)"
        }
        Errno::IO => "an I/O error of the file system or its device: see dmesg",
        Errno::AGAIN | Errno::NOMEM => {
            "a limit on processes, threads or memory is reached: use fewer --tasks or raise it (ulimit -u)"
        }
        Errno::NOENT => {
            "the run's own directory or a file in it is gone: something else removed it while the run went on"
        }
        _ => "nothing of this run is counted; see the errno's meaning in the call's man page",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vfs_api::Call;

    #[test]
    fn a_failed_call_says_errno_call_path_task_cpu_and_what_to_do() {
        let error = Error::Call {
            who: Who { mode: TaskMode::Process, task: 3, pid: 77, cpu: Some(5) },
            curve: "openbench on dir:/mnt/x".into(),
            failure: Failure::new(Call::Write, Errno::NOSPC),
            path: "/mnt/x/vfscale-run.1/c0/f3".into(),
        };
        let text = error.to_string();
        for part in [
            "task 3",
            "77",
            "CPU 5",
            "openbench on dir:/mnt/x",
            "write",
            "ENOSPC",
            "/c0/f3",
            "free space",
        ] {
            assert!(text.contains(part), "{part} is missing in: {text}");
        }
        assert!(!error.is_refusal());
    }
}
