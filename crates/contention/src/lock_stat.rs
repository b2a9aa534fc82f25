//! /proc/lock_stat before and after: names of locks by class, of the whole system.
//!
//! Only kernels built with CONFIG_LOCK_STAT have it, and only where it is switched on; it is never switched on here.

use crate::clock::Traced;
use crate::error::{Error, Refusal};
use crate::report::{KernelWait, LockKind, Report};
use crate::{Kind, Source};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const PATH: &str = "/proc/lock_stat";
const SWITCH: &str = "/proc/sys/kernel/lock_stat";

/// Figures of a class since they were last cleared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Class {
    contentions: u64,
    wait_ns: u64,
}

type Classes = BTreeMap<String, Class>;

/// The difference between starts and stops.
#[derive(Debug)]
pub(crate) struct LockStat {
    path: PathBuf,
    before: Option<Classes>,
    sum: Classes,
    traced: Traced,
}

impl LockStat {
    /// Looks whether there is something to read.
    pub(crate) fn new() -> Result<LockStat, Refusal> {
        LockStat::at(PATH.into(), Path::new(SWITCH))
    }

    fn at(path: PathBuf, switch: &Path) -> Result<LockStat, Refusal> {
        fs::read_to_string(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Refusal::new(
                "this kernel has no /proc/lock_stat",
                "build the kernel with CONFIG_LOCK_STAT (it slows all locks down)",
            ),
            _ => Refusal::new(format!("{}: {error}", path.display()), "run as root"),
        })?;
        if fs::read_to_string(switch).is_ok_and(|text| text.trim() == "0") {
            return Err(Refusal::new(
                "lock statistics are switched off",
                "switch them on: sudo sysctl kernel.lock_stat=1",
            ));
        }
        Ok(LockStat { path, before: None, sum: Classes::new(), traced: Traced::default() })
    }

    fn classes(&self) -> Result<Classes, Error> {
        fs::read_to_string(&self.path)
            .map(|text| parse(&text))
            .map_err(|error| Error::file(PATH, error))
    }
}

impl Source for LockStat {
    fn kind(&self) -> Kind {
        Kind::LockStat
    }

    fn start(&mut self) -> Result<(), Error> {
        if self.before.is_none() {
            self.before = Some(self.classes()?);
            self.traced.start();
        }
        Ok(())
    }

    fn stop(&mut self) -> Result<(), Error> {
        if let Some(before) = self.before.take() {
            self.traced.stop();
            let after = self.classes()?;
            add_difference(&mut self.sum, &before, after);
        }
        Ok(())
    }

    fn read(mut self: Box<Self>) -> Result<Report, Error> {
        self.stop()?;
        let mut report = Report::new(Kind::LockStat, self.traced.ns());
        report.waits = self.sum.into_iter().map(wait).collect();
        report.waits.sort_by_key(|wait| Reverse(wait.wait_ns));
        report.contentions = Some(report.waits.iter().map(|wait| wait.count).sum());
        report
            .notes
            .push("counted over the whole system, not over the tasks of this run".to_owned());
        Ok(report)
    }
}

fn wait((name, class): (String, Class)) -> KernelWait {
    let (lock, kind) = match (name.strip_suffix("-W"), name.strip_suffix("-R")) {
        // rwlock or rwsem: the file does not tell.
        (Some(lock), _) => (lock, LockKind::RwsemWrite),
        (_, Some(lock)) => (lock, LockKind::RwsemRead),
        _ => (name.as_str(), LockKind::Unknown),
    };
    KernelWait {
        lock: lock.to_owned(),
        kind,
        path: Vec::new(),
        stacks: Vec::new(),
        count: class.contentions,
        wait_ns: class.wait_ns,
        wait_max_ns: None,
    }
}

/// Adds `after` - `before`. A class that shrank was cleared meanwhile and counts from 0.
fn add_difference(sum: &mut Classes, before: &Classes, after: Classes) {
    for (name, after) in after {
        let before = before.get(&name).copied().unwrap_or_default();
        let before = if before.contentions > after.contentions { Class::default() } else { before };
        let contentions = after.contentions - before.contentions;
        if contentions > 0 {
            let class = sum.entry(name).or_default();
            class.contentions += contentions;
            class.wait_ns += after.wait_ns.saturating_sub(before.wait_ns);
        }
    }
}

/// From lines `name: con-bounces contentions waittime-min waittime-max waittime-total ...`; times are microseconds.
fn parse(text: &str) -> Classes {
    let mut classes = Classes::new();
    for line in text.lines() {
        // A name may have colons, figures have none.
        let Some((name, figures)) = line.rsplit_once(": ") else { continue };
        let figures: Vec<&str> = figures.split_whitespace().collect();
        let &[_, contentions, _, _, total, ..] = figures.as_slice() else { continue };
        let (Ok(contentions), Some(wait_ns)) = (contentions.parse::<u64>(), nanoseconds(total))
        else {
            continue;
        };
        // Several locks may have classes of one name.
        let class = classes.entry(name.trim().to_owned()).or_default();
        class.contentions = class.contentions.saturating_add(contentions);
        class.wait_ns = class.wait_ns.saturating_add(wait_ns);
    }
    classes
}

fn nanoseconds(microseconds: &str) -> Option<u64> {
    let (whole, part) = microseconds.split_once('.').unwrap_or((microseconds, "0"));
    let digits: String = part.chars().chain("000".chars()).take(3).collect();
    whole.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(digits.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(mutex: (u64, &str), dir: (u64, &str)) -> String {
        format!(
            "lock_stat version 0.4\n\
             -----\n  class name    con-bounces    contentions   waittime-min   waittime-max waittime-total\n-----\n\n\
             \x20  &sbi->s_orphan_lock:  5  {}  0.10  9.00  {}  1.50  7  90  0.10  2.00  33.00  0.40\n\
             \x20  -------------------\n\
             \x20  &sbi->s_orphan_lock  3  [<ffffffff81234567>] ext4_orphan_add+0x5a/0x1b0\n\
             \x20  &type->i_mutex_dir_key#3-W:  1  {}  0.20  7.00  {}  3.00  2  40  0.1  0.2  0.3  0.1\n\
             \x20  &type->i_mutex_dir_key#3-R:  0  0  0.00  0.00  0.00  0.00  2  40  0.1  0.2  0.3  0.1\n",
            mutex.0, mutex.1, dir.0, dir.1
        )
    }

    #[test]
    fn the_difference_of_two_readings_is_reported() {
        let mut sum = Classes::new();
        let before = parse(&text((10, "15.00"), (4, "12.5")));
        assert_eq!(before.len(), 3, "{before:?}");
        add_difference(&mut sum, &before, parse(&text((13, "20.25"), (4, "12.5"))));
        assert_eq!(sum.len(), 1, "a class that did not change is not shown");
        let wait = wait(sum.pop_first().unwrap());
        assert_eq!(
            (wait.lock.as_str(), wait.count, wait.wait_ns),
            ("&sbi->s_orphan_lock", 3, 5250)
        );
        assert_eq!((wait.kind, wait.wait_max_ns), (LockKind::Unknown, None));
    }

    #[test]
    fn readers_and_writers_are_told_apart() {
        let before = parse(&text((0, "0.00"), (4, "12.50")));
        let mut sum = Classes::new();
        add_difference(&mut sum, &before, parse(&text((0, "0.00"), (6, "13.00"))));
        let wait = wait(sum.pop_first().unwrap());
        assert_eq!(
            (wait.lock.as_str(), wait.kind),
            ("&type->i_mutex_dir_key#3", LockKind::RwsemWrite)
        );
    }

    #[test]
    fn figures_that_were_cleared_count_from_nothing() {
        let mut sum = Classes::new();
        let before = parse(&text((100, "900.00"), (4, "12.50")));
        add_difference(&mut sum, &before, parse(&text((2, "3.00"), (4, "12.50"))));
        assert_eq!(sum["&sbi->s_orphan_lock"], Class { contentions: 2, wait_ns: 3000 });
    }

    #[test]
    fn starts_and_stops_of_the_whole_source_add_up() {
        let dir = tempfile::tempdir().unwrap();
        let (path, switch) = (dir.path().join("lock_stat"), dir.path().join("switch"));
        let set = |mutex, dir| fs::write(&path, text(mutex, dir)).unwrap();
        set((10, "15.00"), (4, "12.50"));
        fs::write(&switch, "1\n").unwrap();
        let mut source = Box::new(LockStat::at(path.clone(), &switch).unwrap());
        for (mutex, wait) in [(12, "16.00"), (20, "36.50")] {
            source.start().unwrap();
            set((mutex, wait), (5, "12.75"));
            source.stop().unwrap();
            // Nobody looks at what happens now.
            set((mutex + 1, wait), (5, "12.75"));
        }
        let report = source.read().unwrap();
        assert_eq!((report.source, report.contentions), (Kind::LockStat, Some(10)));
        let rows: Vec<_> = report
            .waits
            .iter()
            .map(|wait| (wait.lock.as_str(), wait.count, wait.wait_ns))
            .collect();
        assert_eq!(
            rows,
            [("&sbi->s_orphan_lock", 9, 21_500), ("&type->i_mutex_dir_key#3", 1, 250)]
        );
        assert!(report.notes.iter().any(|note| note.contains("whole system")), "{report:?}");
    }

    #[test]
    fn what_is_missing_or_off_is_refused_with_a_remedy() {
        let dir = tempfile::tempdir().unwrap();
        let (path, switch) = (dir.path().join("lock_stat"), dir.path().join("switch"));
        let refused = || LockStat::at(path.clone(), &switch).unwrap_err();
        assert!(refused().remedy.contains("CONFIG_LOCK_STAT"), "{:?}", refused());
        fs::write(&path, text((0, "0.00"), (0, "0.00"))).unwrap();
        fs::write(&switch, "0\n").unwrap();
        assert!(refused().remedy.contains("kernel.lock_stat=1"), "{:?}", refused());
        fs::write(&switch, "1\n").unwrap();
        assert!(LockStat::at(path.clone(), &switch).is_ok());
        // A kernel without the switch has them on.
        fs::remove_file(&switch).unwrap();
        assert!(LockStat::at(path.clone(), &switch).is_ok());
        // What cannot be read is no kernel without it.
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert_eq!(refused().remedy, "run as root");
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(.{0,20}: [0-9. ]{0,60}\n|.{0,40}\n){0,20}") {
            let _ = parse(&text);
        }
    }
}
