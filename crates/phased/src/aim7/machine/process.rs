//! Jobs that make processes, run programs and shells, and send signals; and small system calls.

use super::{failed, io_failed};
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpid};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use vfs_api::{Call, Failure, expect};

/// Children of a job.
const FORKS: u32 = 100;
/// Programs that a job runs.
const PROGRAMS: u32 = 5;
/// Signals of a job.
const SIGNALS: u32 = 1000;

/// Children that end at once.
pub(super) fn fork() -> Result<(), Failure> {
    for _ in 0..FORKS {
        // SAFETY: the child does nothing but end, without exit handlers, whatever state its copy of the memory is in.
        let child = match unsafe { libc::fork() } {
            // SAFETY: as above.
            0 => unsafe { libc::_exit(0) },
            pid => pid,
        };
        let Some(child) = Pid::from_raw(child.max(0)) else {
            return Err(io_failed(Call::Clone)(std::io::Error::last_os_error()));
        };
        let ended = waitpid(Some(child), WaitOptions::empty()).map_err(failed(Call::Wait))?;
        expect(Call::Wait, ended.is_some_and(|(_, status)| status.exit_status() == Some(0)))?;
    }
    Ok(())
}

fn run(command: &mut Command) -> Result<(), Failure> {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = quiet.status().map_err(io_failed(Call::Execve))?;
    expect(Call::Execve, status.success())
}

/// Programs that end at once.
pub(super) fn exec() -> Result<(), Failure> {
    (0..PROGRAMS).try_for_each(|_| run(&mut Command::new("true")))
}

/// Scripts: a loop with tests, a pipe, subshells and substitution.
const SCRIPTS: [&str; 3] = [
    "i=0; while [ $i -lt 100 ]; do case $i in *7) : ;; *) : ;; esac; i=$((i + 1)); done",
    "for word in one two three four; do echo $word; done | while read word; do [ -n \"$word\" ] || exit 1; done",
    "f() { echo $(( $1 * 2 )); }; x=$(f 21); [ \"$x\" = 42 ] && (cd / && [ \"$PWD\" = / ])",
];

/// A shell that runs one of three scripts.
pub(super) fn shell(script: usize) -> Result<(), Failure> {
    run(Command::new("/bin/sh").args(["-c", SCRIPTS[script]]))
}

/// Signals to oneself.
pub(super) fn signal() -> Result<(), Failure> {
    let came = Arc::new(AtomicBool::new(false));
    let handler = signal_hook::flag::register(signal_hook::consts::SIGUSR1, Arc::clone(&came))
        .map_err(io_failed(Call::Kill))?;
    let sent = (0..SIGNALS).try_for_each(|_| {
        kill_process(getpid(), Signal::USR1).map_err(failed(Call::Kill))?;
        // It is delivered before the call returns, for nobody else could take it.
        expect(Call::Kill, came.swap(false, SeqCst))
    });
    signal_hook::low_level::unregister(handler);
    sent
}

/// Calls that do next to nothing.
pub(super) fn small_calls() -> Result<(), Failure> {
    for _ in 0..1000 {
        let ids =
            (rustix::process::getuid(), rustix::process::getgid(), rustix::process::getppid());
        std::hint::black_box((
            getpid(),
            ids,
            rustix::time::clock_gettime(rustix::time::ClockId::Realtime),
        ));
    }
    Ok(())
}

/// Lists /bin, which every system has.
pub(super) fn list_bin() -> Result<(), Failure> {
    let entries = std::fs::read_dir("/bin").map_err(io_failed(Call::Open))?;
    let names = entries.filter(|entry| entry.is_ok()).count();
    expect(Call::Getdents, names > 0)
}
