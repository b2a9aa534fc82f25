//! Switching the machine between the two states of a comparison, by the user's own commands.

use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::plan::{Sides, Switch};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal};
use rustix::time::Timespec;
use std::io::{self, PipeReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// So many bytes of what a failing command printed last are passed on.
const OUTPUT: usize = 2000;
/// Bytes that are read at once, ...
const READ: usize = 4096;
/// ... and that a pipe holds (pipe(7)).
const PIPE: usize = 64 << 10;
/// Between two looks at a command that says nothing; its death wakes earlier.
const LOOK: Duration = Duration::from_millis(20);
/// Likewise at one that has closed its output, mostly because it ends.
const LOOK_AT_CLOSED: Duration = Duration::from_millis(1);

/// Which state the machine is in, and how to get it into the other one.
pub(crate) struct StateSwitch {
    commands: Switch,
    /// None before the first switch, and where a command has failed.
    state: Option<usize>,
}

impl StateSwitch {
    /// None if no state is switched.
    pub(crate) fn of(sides: &Sides) -> Option<StateSwitch> {
        match sides {
            Sides::Two { switch: Some(commands) } => {
                Some(StateSwitch { commands: commands.clone(), state: None })
            }
            Sides::Two { switch: None } | Sides::One => None,
        }
    }

    /// Brings about the state of `side` (0 or 1), unless it is there. From then on `interrupt` ends the program only when
    /// [`StateSwitch::put_back`] has been called.
    ///
    /// # Errors
    /// The command cannot be started, it ended with another status than 0, or the user did not want to wait for it any longer.
    pub(crate) fn to(&mut self, side: usize, interrupt: &Interrupt) -> Result<(), Error> {
        interrupt.set_has_to_put_back(true);
        if self.state == Some(side) {
            return Ok(());
        }
        self.state = None;
        let (option, command) = match side {
            0 => ("--before-cmd", &self.commands.before),
            _ => ("--after-cmd", &self.commands.after),
        };
        carry_out(option, command, interrupt)?;
        self.state = Some(side);
        Ok(())
    }

    /// Brings the first side's state back, if anything was switched.
    ///
    /// # Errors
    /// As for [`StateSwitch::to`].
    pub(crate) fn put_back(&mut self, interrupt: &Interrupt) -> Result<(), Error> {
        let put_back = match self.state {
            Some(0) => Ok(()),
            // After a command that failed nobody knows the state; the first side's is what the user began with.
            Some(_) | None => self.to(0, interrupt),
        };
        interrupt.set_has_to_put_back(false);
        put_back
    }
}

fn carry_out(option: &'static str, command: &str, interrupt: &Interrupt) -> Result<(), Error> {
    let failed = |why: String| Error::Switch { option, command: command.to_owned(), why };
    let no_shell = |error: io::Error| failed(format!("/bin/sh cannot be started: {error}"));
    let (said, write) = io::pipe().map_err(no_shell)?;
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).stdin(Stdio::null());
    shell.stdout(write.try_clone().map_err(no_shell)?).stderr(write);
    // A session of its own: Ctrl-C ends the run in order and does not kill a half-done command, and a command that wants to ask
    // (sudo for a password) has no terminal and fails at once; as a background job of this one it would be stopped for ever.
    // SAFETY: setsid(2) is async-signal-safe, and nothing else happens between fork and exec.
    unsafe { shell.pre_exec(|| Ok(rustix::process::setsid().map(drop)?)) };
    let child = shell.spawn().map_err(no_shell)?;
    // It has the writing ends; the pipe would never end otherwise.
    drop(shell);
    let (status, said) =
        ended(child, said, interrupt).map_err(|error| failed(error.to_string()))?;
    let Some(status) = status else {
        return Err(failed("it was still running at another Ctrl-C, and was killed".into()));
    };
    if status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&said);
    Err(failed(format!("{status}: {}", said.trim())))
}

/// Waits until the command has ended, and answers its status with the last it said. What it leaves running may keep the pipe, and
/// is not waited for. No status if the user asked to end more than once, the last time while the command ran: then it and all it
/// has started in its session's first group are killed.
fn ended(
    mut child: Child,
    mut said: PipeReader,
    interrupt: &Interrupt,
) -> io::Result<(Option<ExitStatus>, Vec<u8>)> {
    let mut last = Vec::new();
    // The first Ctrl-C ends the run in order, which waits for a command.
    let patience = interrupt.times_asked().max(1);
    let mut is_open = true;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if interrupt.times_asked() > patience {
            kill(&mut child)?;
            return Ok((None, last));
        }
        if !is_open {
            std::thread::sleep(LOOK_AT_CLOSED);
        } else if is_readable(&said, LOOK)? && !read_some(&mut said, &mut last)? {
            is_open = false;
        }
    };
    // What is in the pipe still; what goes on running may go on talking.
    for _ in 0..PIPE / READ {
        if !is_readable(&said, Duration::ZERO)? || !read_some(&mut said, &mut last)? {
            break;
        }
    }
    Ok((Some(status), last))
}

/// Ends the command, which leads a session and so a group of its own.
fn kill(child: &mut Child) -> io::Result<()> {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It may have ended by itself just now.
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
    child.wait().map(drop)
}

/// Reads what there is and keeps the last [`OUTPUT`] bytes; false at the end.
fn read_some(from: &mut PipeReader, last: &mut Vec<u8>) -> io::Result<bool> {
    let mut buffer = [0; READ];
    let got = from.read(&mut buffer)?;
    last.extend_from_slice(&buffer[..got]);
    last.drain(..last.len().saturating_sub(OUTPUT));
    Ok(got > 0)
}

/// Whether there is something to read, or the end. A signal ends the waiting early: the command's death sends one.
fn is_readable(pipe: &PipeReader, patience: Duration) -> io::Result<bool> {
    let patience = Timespec { tv_sec: 0, tv_nsec: patience.subsec_nanos().into() };
    match poll(&mut [PollFd::new(pipe, PollFlags::IN)], Some(&patience)) {
        Err(Errno::INTR) => Ok(false),
        ready => Ok(ready? > 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switch(before: &str, after: &str) -> StateSwitch {
        let commands = Switch { before: before.into(), after: after.into() };
        StateSwitch::of(&Sides::Two { switch: Some(commands) }).expect("there are commands")
    }

    #[test]
    fn a_state_that_is_there_is_not_brought_about_again() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let say = |word: &str| format!("echo {word} >> {}", log.display());
        let mut switch = switch(&say("before"), &say("after"));
        for side in [0, 0, 1, 1, 0, 1] {
            switch.to(side, &Interrupt::default()).unwrap();
        }
        switch.put_back(&Interrupt::default()).unwrap();
        switch.put_back(&Interrupt::default()).unwrap();
        let said = std::fs::read_to_string(log).unwrap();
        assert_eq!(said, "before\nafter\nbefore\nafter\nbefore\n");
    }

    #[test]
    fn a_command_that_fails_is_named_with_what_it_said() {
        let mut switch = switch("true", "echo no such mount >&2; exit 3");
        switch.to(0, &Interrupt::default()).unwrap();
        let error = switch.to(1, &Interrupt::default()).unwrap_err().to_string();
        for part in ["--after-cmd", "exit 3", "no such mount", "exit status: 3"] {
            assert!(error.contains(part), "{error} lacks {part}");
        }
    }

    #[test]
    fn what_a_command_leaves_running_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let stop = dir.path().join("stop");
        std::fs::write(&stop, "").unwrap();
        // It holds the command's output for ten seconds, or until the folder is gone.
        let daemon = format!(
            "(for i in $(seq 100); do [ -e {0} ] && sleep 0.1; done; rm -f {0}) & exit 3",
            stop.display()
        );
        let error = switch("true", &daemon).to(1, &Interrupt::default()).unwrap_err().to_string();
        assert!(error.contains("exit status: 3"), "{error}");
        assert!(stop.exists(), "the end of what goes on running was waited for");
    }

    #[test]
    fn a_command_has_no_terminal_to_ask() {
        let error = switch("true", "read password < /dev/tty")
            .to(1, &Interrupt::default())
            .unwrap_err()
            .to_string();
        assert!(error.contains("/dev/tty"), "{error}");
    }

    #[test]
    fn of_much_output_the_end_is_kept() {
        let loud = "head -c 1000000 /dev/zero | tr '\\0' x; echo the reason; exit 1";
        let error = switch("true", loud).to(1, &Interrupt::default()).unwrap_err().to_string();
        assert!(error.contains("the reason"), "{error}");
        assert!(error.len() < 2 * OUTPUT, "{}", error.len());
        switch("exec > /dev/null 2>&1; sleep 0.1", "true").to(0, &Interrupt::default()).unwrap();
    }

    #[test]
    fn what_hangs_is_killed_at_the_second_ctrl_c_with_all_it_started() {
        let dir = tempfile::tempdir().unwrap();
        let begun = dir.path().join("begun");
        let hang = format!("sleep 1000 & echo $! > {0}.pid; mv {0}.pid {0}; wait", begun.display());
        let interrupt = Interrupt::default();
        let asking = interrupt.clone();
        let path = begun.clone();
        let user = std::thread::spawn(move || {
            while !path.exists() {
                std::thread::sleep(LOOK);
            }
            asking.ask();
            std::thread::sleep(3 * LOOK);
            asking.ask();
        });
        let mut switch = switch("true", &hang);
        let error = switch.to(1, &interrupt).unwrap_err().to_string();
        user.join().unwrap();
        assert!(error.contains("--after-cmd") && error.contains("killed"), "{error}");
        let child: i32 = std::fs::read_to_string(begun).unwrap().trim().parse().unwrap();
        // It may be a zombie of whoever adopts it.
        let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
        // The state is put back all the same: this command does not hang.
        switch.put_back(&interrupt).unwrap();
    }
}
