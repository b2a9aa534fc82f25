//! Switching the machine between the two states of a comparison, by the user's own commands.

use crate::error::Error;
use crate::plan::{Sides, Switch};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// So much of what a failing command printed is passed on.
const OUTPUT: usize = 2000;

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

    /// Brings about the state of `side` (0 or 1), unless it is there.
    ///
    /// # Errors
    /// The command cannot be started, or it ended with another status than 0.
    pub(crate) fn to(&mut self, side: usize) -> Result<(), Error> {
        if self.state == Some(side) {
            return Ok(());
        }
        self.state = None;
        let (option, command) = match side {
            0 => ("--before-cmd", &self.commands.before),
            _ => ("--after-cmd", &self.commands.after),
        };
        carry_out(option, command)?;
        self.state = Some(side);
        Ok(())
    }

    /// Brings the first side's state back, if anything was switched.
    ///
    /// # Errors
    /// As for [`StateSwitch::to`].
    pub(crate) fn put_back(&mut self) -> Result<(), Error> {
        match self.state {
            Some(0) => Ok(()),
            // After a command that failed nobody knows the state; the first side's is what the user began with.
            Some(_) | None => self.to(0),
        }
    }
}

fn carry_out(option: &'static str, command: &str) -> Result<(), Error> {
    let failed = |why: String| Error::Switch { option, command: command.to_owned(), why };
    // A process group of its own: Ctrl-C ends the run in order and does not kill a half-done command.
    let output = Command::new("/bin/sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .process_group(0)
        .output()
        .map_err(|error| failed(format!("/bin/sh cannot be started: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim();
    let from = said.char_indices().rev().take(OUTPUT).last().map_or(0, |(at, _)| at);
    Err(failed(format!("{}: {}", output.status, &said[from..])))
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
            switch.to(side).unwrap();
        }
        switch.put_back().unwrap();
        switch.put_back().unwrap();
        let said = std::fs::read_to_string(log).unwrap();
        assert_eq!(said, "before\nafter\nbefore\nafter\nbefore\n");
    }

    #[test]
    fn a_command_that_fails_is_named_with_what_it_said() {
        let mut switch = switch("true", "echo no such mount >&2; exit 3");
        switch.to(0).unwrap();
        let error = switch.to(1).unwrap_err().to_string();
        for part in ["--after-cmd", "exit 3", "no such mount", "exit status: 3"] {
            assert!(error.contains(part), "{error} lacks {part}");
        }
    }
}
