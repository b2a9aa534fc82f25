//! What a user should know about this machine and a directory before measuring there.
//!
//! One line per subject. A subject that could not be read is said so, never called fine.

mod directory;
mod kernel;
mod machine;
mod watchers;

use super::Roots;
use std::fmt::Display;
use std::path::Path;

/// How a subject looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It does not disturb a measurement.
    Ok,
    /// A reader of the numbers should know it, or it could not be read.
    Note,
    /// A run would fail, or its numbers would say something else than they seem to.
    Problem,
}

/// One subject and how it looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The subject, short and stable.
    pub name: &'static str,
    /// How it looks.
    pub state: State,
    /// What was seen, one line.
    pub what: String,
    /// What to do about it; all that is not fine has one.
    pub remedy: Option<String>,
}

/// Examines this machine for measuring in `dir`. Nothing is changed and nothing is written; tracers are loaded to know whether
/// they can be, and are gone when it returns.
pub fn examine(roots: &Roots, dir: &Path) -> Vec<Finding> {
    let mut findings = machine::examine(roots);
    findings.extend(kernel::examine(roots));
    findings.extend(directory::examine(roots, dir));
    findings.push(watchers::examine(roots, dir));
    findings
}

impl Finding {
    fn ok(name: &'static str, what: impl Into<String>) -> Finding {
        Finding { name, state: State::Ok, what: what.into(), remedy: None }
    }

    fn note(name: &'static str, what: impl Into<String>) -> Finding {
        Finding { name, state: State::Note, what: what.into(), remedy: None }
    }

    fn problem(name: &'static str, what: impl Into<String>) -> Finding {
        Finding { name, state: State::Problem, what: what.into(), remedy: None }
    }

    /// With the remedy that most subjects have; those that know a better one give it.
    fn unreadable(name: &'static str, why: impl Display) -> Finding {
        Finding::note(name, format!("not readable: {why}")).remedy(
            "see that /proc and /sys are mounted and readable; what this machine does not tell is not in a record either",
        )
    }

    fn remedy(self, remedy: impl Into<String>) -> Finding {
        Finding { remedy: Some(remedy.into()), ..self }
    }
}

/// Bytes in the largest binary unit that leaves a number of at least 1.
fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = (number.max(1).ilog2() / 10).min(UNITS.len() as u32 - 1);
    let value = number as f64 / f64::from(10 * unit).exp2();
    let decimals = usize::from(unit > 0);
    format!("{value:.decimals$} {}", UNITS[unit as usize])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::fixture::Tree;

    #[test]
    fn every_subject_has_one_line() {
        let tree = Tree::new();
        for roots in [Roots::default(), tree.roots()] {
            let findings = examine(&roots, Path::new("/tmp"));
            assert_eq!(findings.len(), 23);
            for finding in &findings {
                assert!(!finding.what.is_empty() && !finding.what.contains('\n'), "{finding:?}");
            }
            let mut names: Vec<&str> = findings.iter().map(|finding| finding.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), findings.len());
        }
    }

    #[test]
    fn whatever_is_not_fine_has_a_remedy() {
        let tree = Tree::new();
        tree.sys("devices/system/cpu/online", "1000000\n");
        let empty = Tree::new();
        for roots in [Roots::default(), empty.roots(), tree.roots()] {
            for dir in ["/tmp", "/nonexistent", "/proc/self/stat", "/sys"] {
                for finding in examine(&roots, Path::new(dir)) {
                    let fine = finding.state == State::Ok;
                    assert_eq!(finding.remedy.is_none(), fine, "{dir}: {finding:?}");
                }
            }
        }
    }

    #[test]
    fn nothing_is_fine_that_could_not_be_read() {
        let findings = examine(&Tree::new().roots(), Path::new("/nonexistent"));
        // Asked of the kernel by system calls.
        let known = ["cpus", "open files", "bpf", "tracepoints", "cycles"];
        for finding in findings.iter().filter(|finding| !known.contains(&finding.name)) {
            assert_ne!(finding.state, State::Ok, "{finding:?}");
        }
    }

    #[test]
    fn without_a_cpu_the_directory_is_still_examined() {
        let tree = Tree::new();
        tree.sys("devices/system/cpu/online", "1000000\n");
        let findings = examine(&tree.roots(), Path::new("/tmp"));
        assert_eq!((findings[0].name, findings[0].state), ("cpus", State::Problem));
        assert!(findings.iter().any(|finding| finding.name == "space"));
    }

    #[test]
    fn byte_counts_are_short() {
        let cases = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1536, "1.5 KiB"),
            (3 << 30, "3.0 GiB"),
            (1 << 60, "1048576.0 TiB"),
        ];
        for (number, expected) in cases {
            assert_eq!(bytes(number), expected);
        }
    }
}
