//! Time as the harness reads it: before and after a loop, never in it.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// CLOCK_MONOTONIC in nanoseconds; the same for all processes of the machine.
pub(crate) fn now_ns() -> u64 {
    ns(ClockId::Monotonic)
}

fn ns(clock: ClockId) -> u64 {
    let t = clock_gettime(clock);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

fn rusage(who: libc::c_int) -> libc::rusage {
    // SAFETY: an all-zero rusage is a valid value of the plain C struct, and the kernel fills the one passed in.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(who, &raw mut usage);
        usage
    }
}

fn timeval_ns(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000
}

/// CPU time of this process and of its children that have ended and been waited for.
pub(crate) fn cpu_time_of_program() -> Duration {
    let of = |who| {
        let usage = rusage(who);
        timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime)
    };
    Duration::from_nanos(of(libc::RUSAGE_SELF) + of(libc::RUSAGE_CHILDREN))
}

/// CPU time and context switches of the calling thread so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) user_ns: u64,
    pub(crate) sys_ns: u64,
    pub(crate) vcsw: u64,
    pub(crate) ivcsw: u64,
}

impl Usage {
    /// Reads it.
    ///
    /// getrusage alone would answer as of the last timer tick, up to 10 ms ago: too coarse for a slice of 10 ms. Reading
    /// CLOCK_THREAD_CPUTIME_ID first makes the scheduler bring the thread's run time up to date (task_sched_runtime), and
    /// getrusage then divides exactly that sum into user and system time.
    pub(crate) fn of_this_thread() -> Usage {
        ns(ClockId::ThreadCPUTime);
        let usage = rusage(libc::RUSAGE_THREAD);
        Usage {
            user_ns: timeval_ns(usage.ru_utime),
            sys_ns: timeval_ns(usage.ru_stime),
            vcsw: usage.ru_nvcsw as u64,
            ivcsw: usage.ru_nivcsw as u64,
        }
    }

    /// The same, with what the process's children used that have ended and been waited for.
    pub(crate) fn with_children() -> Usage {
        let (own, children) = (Usage::of_this_thread(), rusage(libc::RUSAGE_CHILDREN));
        Usage {
            user_ns: own.user_ns + timeval_ns(children.ru_utime),
            sys_ns: own.sys_ns + timeval_ns(children.ru_stime),
            ..own
        }
    }

    /// What was used between `earlier` and `self`.
    pub(crate) fn since(self, earlier: Usage) -> Usage {
        Usage {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            sys_ns: self.sys_ns.saturating_sub(earlier.sys_ns),
            vcsw: self.vcsw.saturating_sub(earlier.vcsw),
            ivcsw: self.ivcsw.saturating_sub(earlier.ivcsw),
        }
    }
}
