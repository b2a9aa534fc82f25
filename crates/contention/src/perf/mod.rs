//! Sources on perf_event_open(2): the lock tracepoints with call chains, and samples of where tasks run.

mod record;
mod sampler;
mod sys;
mod tracefs;
mod waits;

pub(crate) use sampler::{By, Sampler};
pub use tracefs::Tracefs;
pub(crate) use waits::PerfWaits;

use crate::error::Refusal;
use crate::privilege::{Capability, not_permitted};
use std::io;
use sys::{Counter, Ring};

/// Frames of a whole stack, and those that are enough for a folded path with an interrupt's on top.
const WHOLE: u16 = 64;
/// See [`WHOLE`].
const SHORT: u16 = 16;

/// Frames to record. Never more than the kernel allows, or it refuses.
fn depth(stacks: bool) -> u16 {
    let text = std::fs::read_to_string("/proc/sys/kernel/perf_event_max_stack").unwrap_or_default();
    let most = text.trim().parse().unwrap_or(127);
    if stacks { WHOLE.min(most) } else { SHORT.min(most) }
}

/// A ring for `counter` of at most `pages` pages, which is set to what an ordinary user's share of locked memory allows.
fn ring(counter: &Counter, pages: &mut usize) -> Result<Ring, Refusal> {
    loop {
        match Ring::new(counter, *pages) {
            Ok(ring) => return Ok(ring),
            Err(error) if locked_out(&error) && *pages > 1 => *pages /= 2,
            Err(error) => {
                return Err(Refusal::new(
                    format!("no room for the events of one more task: mmap(2): {error}"),
                    "watch fewer tasks, run as root, or raise kernel.perf_event_mlock_kb",
                ));
            }
        }
    }
}

fn locked_out(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOMEM | libc::EAGAIN))
}

/// What a failed perf_event_open(2) means for the user; `paranoid`: the setting that allows it to everybody.
fn refused(error: &io::Error, event: &str, paranoid: i32) -> Refusal {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            let call = format!("perf_event_open(2) of {event}");
            let mut refusal = not_permitted(&call, &[Capability::Perfmon]);
            refusal.remedy += &format!(", or: sudo sysctl kernel.perf_event_paranoid={paranoid}");
            refusal
        }
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => Refusal::new(
            format!("this machine does not count {event}"),
            "in a virtual machine: give it a virtual PMU (QEMU: -cpu host,pmu=on)",
        ),
        Some(libc::ENOSYS) => Refusal::new(
            "this kernel has no perf events, or a container hides them",
            "run on the host, on a kernel with CONFIG_PERF_EVENTS",
        ),
        Some(libc::EMFILE) => Refusal::new(
            "one descriptor and more per task are too many for this process",
            "raise the limit (ulimit -n) or watch fewer tasks",
        ),
        Some(libc::ESRCH) => Refusal::new("a task to be watched has ended", "keep the tasks alive"),
        _ => Refusal::new(
            format!("perf_event_open(2) of {event}: {error}"),
            "report this with the output of uname -r",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_tell_their_reasons_apart() {
        let of = |errno| refused(&io::Error::from_raw_os_error(errno), "cycles", 1);
        assert!(of(libc::EACCES).remedy.contains("perf_event_paranoid=1"));
        assert!(of(libc::ENOENT).why.contains("does not count cycles"));
        assert!(of(libc::EMFILE).remedy.contains("ulimit -n"));
        assert!(of(libc::EINVAL).why.contains("os error 22"));
    }
}
