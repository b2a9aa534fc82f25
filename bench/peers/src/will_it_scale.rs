//! will-it-scale's programs, built by the user or from the sources that the user points to.

use crate::{At, output_of};
use anyhow::{Context, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The tests that are compared: each that a workload here is named after, if the sources or the program are there.
pub(crate) fn tests(dir: &Path) -> Vec<Test> {
    let aliases = workloads::ALL.iter().flat_map(|info| info.aliases);
    let names = aliases.filter_map(|alias| alias.strip_prefix("wis:"));
    names
        .filter(|name| source(dir, name).exists() || program(dir, name).exists())
        .map(Test::new)
        .collect()
}

fn source(dir: &Path, test: &str) -> PathBuf {
    dir.join("tests").join(format!("{test}.c"))
}

fn program(dir: &Path, test: &str) -> PathBuf {
    dir.join(format!("{test}_processes"))
}

/// A test, and the workload that does the same.
pub(crate) struct Test {
    /// As it is called there.
    pub(crate) name: &'static str,
    /// Of the same size.
    pub(crate) workload: String,
    /// Operations that it counts for one of ours.
    per_op: f64,
}

impl Test {
    fn new(name: &'static str) -> Test {
        let workload = match name {
            // Mappings of 128 MB.
            "mmap2" | "page_fault2" | "page_fault3" => format!("wis:{name}:kib=131072"),
            _ => format!("wis:{name}"),
        };
        // It counts locking and unlocking; here a pair is an operation.
        let per_op = if matches!(name, "lock1" | "lock2") { 2.0 } else { 1.0 };
        Test { name, workload, per_op }
    }

    /// Builds the program, if there are only its sources.
    ///
    /// # Errors
    /// make failed; with what it said.
    pub(crate) fn build(&self, dir: &Path) -> anyhow::Result<()> {
        let program = program(dir, self.name);
        if program.exists() {
            return Ok(());
        }
        let goal = format!("{}_processes", self.name);
        output_of(Command::new("make").arg("-C").arg(dir).args(["-s", &goal])).context(
            "will-it-scale is not built there; it takes make, a C compiler and libhwloc-dev",
        )?;
        ensure!(program.exists(), "make has not made {}", program.display());
        Ok(())
    }

    /// Operations a second of all tasks, as ours are counted: the mean that it prints after its warm-up.
    ///
    /// # Errors
    /// It failed, or prints no average.
    pub(crate) fn run(&self, at: &At<'_>, dir: &Path) -> anyhow::Result<f64> {
        let (tasks, seconds) = (at.tasks.to_string(), at.seconds.to_string());
        let text =
            output_of(Command::new(program(dir, self.name)).args(["-t", &tasks, "-s", &seconds]))?;
        let average = average(&text).with_context(|| format!("{} prints no average", self.name))?;
        Ok(average / self.per_op)
    }
}

fn average(text: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix("average:")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_is_read() {
        let text = "testcase:Separate file open/close\nwarmup\nmin:1 max:2 total:3\nmeasurement\n\
                    min:10 max:20 total:30\naverage:30\n";
        assert_eq!(average(text), Some(30.0));
        assert_eq!(average("warmup\n"), None);
    }

    /// A tree as will-it-scale's is laid out, with a driver of our own that is told and prints the same: `tests/NAME.c` has the
    /// loop (`testcase`), the Makefile links each with the driver.
    fn stand_in(dir: &Path) {
        std::fs::create_dir(dir.join("tests")).unwrap();
        let write = |name: &str, text: &str| std::fs::write(dir.join(name), text).unwrap();
        write("Makefile", "%_processes: tests/%.c main.c\n\tcc -O2 -o $@ $^\n");
        write("main.c", include_str!("stand_in/main.c"));
        write("tests/open1.c", include_str!("stand_in/open1.c"));
        write("tests/lock1.c", include_str!("stand_in/lock1.c"));
        write("tests/unknown9.c", "");
    }

    #[test]
    fn tests_are_found_built_and_run() {
        let is_there = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
        if !is_there("make") || !is_there("cc") {
            println!("SKIPPED: needs make and a C compiler");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        assert!(tests(dir.path()).is_empty());
        stand_in(dir.path());
        let tests = tests(dir.path());
        let names: Vec<_> = tests.iter().map(|test| (test.name, &*test.workload)).collect();
        assert_eq!(names, [("open1", "wis:open1"), ("lock1", "wis:lock1")]);
        let at = At { vfscale: Path::new(""), dir: dir.path(), seconds: 1, tasks: 2 };
        for test in &tests {
            test.build(dir.path()).unwrap();
            let rate = test.run(&at, dir.path()).unwrap();
            assert!(rate > 1000.0, "{}: {rate}", test.name);
            assert!(workloads::find(&test.workload).is_ok());
        }
        std::fs::remove_file(dir.path().join("main.c")).unwrap();
        std::fs::remove_file(program(dir.path(), "open1")).unwrap();
        let error = format!("{:#}", tests[0].build(dir.path()).unwrap_err());
        assert!(error.contains("libhwloc-dev") && error.contains("make failed"), "{error}");
    }

    #[test]
    fn what_is_compared_is_of_the_same_size() {
        for name in ["mmap2", "page_fault2", "page_fault3", "pread1"] {
            assert!(workloads::find(&Test::new(name).workload).is_ok(), "{name}");
        }
        assert_eq!(Test::new("lock2").per_op, 2.0);
    }
}
