//! /proc/PID/stat: is it alive, is it stopped, is it the one that was meant.

use std::fs;

/// State letter (R, S, D, T, Z, ...) and start time in clock ticks since boot of a process or thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcStat {
    pub(crate) state: char,
    pub(crate) start: u64,
}

impl ProcStat {
    /// None if there is no such process (or /proc is not there to say).
    pub(crate) fn read(pid: u32) -> Option<ProcStat> {
        parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }
}

fn parse(stat: &str) -> Option<ProcStat> {
    // The name is in parentheses and may hold anything, parentheses and blanks too.
    let rest = &stat[stat.rfind(')')? + 1..];
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    // State is field 3, starttime is field 22.
    let start = fields.nth(18)?.parse().ok()?;
    Some(ProcStat { state, start })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_blanks_and_parentheses_confuses_nothing() {
        let line =
            "42 (a) R (b c) T 1 42 42 0 -1 4194304 87 0 0 0 0 0 0 0 20 0 1 0 987654 2527232 208 1";
        assert_eq!(parse(line), Some(ProcStat { state: 'T', start: 987_654 }));
        assert_eq!(parse("42 (x"), None);
        assert_eq!(parse("42 (x) R 1"), None);
    }

    #[test]
    fn this_process_is_there_and_pid_0_is_not() {
        assert!(ProcStat::read(std::process::id()).unwrap().start > 0);
        assert_eq!(ProcStat::read(0), None);
    }
}
