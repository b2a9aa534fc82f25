//! What disturbed a run: the counters that only grow are read before and after it, and the difference tells.

use super::cgroup::{Cgroups, Throttling};
use super::{Roots, malformed, read_text};
use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

/// The counters at one moment. What this machine does not count is `None`.
#[derive(Clone, Debug)]
pub struct Snapshot {
    taken: Instant,
    cpu_time: Option<CpuTime>,
    throttling: Option<Throttling>,
    pressure: Option<Duration>,
}

/// Time of some CPUs added up, in ticks of USER_HZ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// Another guest ran while this one had work.
    pub steal: u64,
    /// Nothing to do, or only waiting for a device.
    pub idle: u64,
    /// All of it: busy, idle and stolen.
    pub total: u64,
}

/// What happened between two snapshots. What was not counted in both of them is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Conditions {
    /// Wall time between them.
    pub elapsed: Duration,
    /// Ticks of the given CPUs.
    pub cpu_time: Option<CpuTime>,
    /// Share of the time in which the CPUs had work that the hypervisor gave to others, 0 to 1. Idle time does not count, or
    /// a machine with many unused CPUs would never show it. None also if there was no work.
    pub steal_share: Option<f64>,
    /// Throttling by CPU bandwidth control.
    pub throttling: Option<Throttling>,
    /// Time in which some task of the machine waited for a CPU (PSI).
    pub pressure: Option<Duration>,
}

impl Snapshot {
    /// Reads the counters, for time those of `cpus`.
    pub fn take(roots: &Roots, cpus: &[u32]) -> Snapshot {
        Snapshot {
            taken: Instant::now(),
            cpu_time: CpuTime::read(roots, cpus).ok(),
            throttling: Cgroups::read(roots)
                .and_then(|cgroups| cgroups.throttling())
                .ok()
                .flatten(),
            pressure: pressure(roots).ok(),
        }
    }
}

/// What happened from `before` to `after`.
pub fn diff(before: &Snapshot, after: &Snapshot) -> Conditions {
    let cpu_time = before.cpu_time.zip(after.cpu_time).map(|(before, after)| after.since(before));
    Conditions {
        elapsed: after.taken.saturating_duration_since(before.taken),
        cpu_time,
        steal_share: cpu_time.and_then(CpuTime::steal_share),
        throttling: before.throttling.zip(after.throttling).map(|(before, after)| Throttling {
            periods: after.periods.saturating_sub(before.periods),
            ns: after.ns.saturating_sub(before.ns),
        }),
        pressure: before
            .pressure
            .zip(after.pressure)
            .map(|(before, after)| after.saturating_sub(before)),
    }
}

impl CpuTime {
    /// Time of `cpus` since boot.
    ///
    /// # Errors
    /// When /proc/stat cannot be read, is not understood or has none of the CPUs.
    pub fn read(roots: &Roots, cpus: &[u32]) -> io::Result<CpuTime> {
        let file = roots.proc.join("stat");
        let cpus: BTreeSet<u32> = cpus.iter().copied().collect();
        let mut sum = CpuTime::default();
        let mut found = false;
        for line in read_text(&file)?.lines() {
            let mut fields = line.split_ascii_whitespace();
            let id = fields.next().and_then(|name| name.strip_prefix("cpu")?.parse().ok());
            if id.is_some_and(|id| cpus.contains(&id)) {
                sum = sum.plus(parse(fields).ok_or_else(|| malformed(&file, line))?);
                found = true;
            }
        }
        if found { Ok(sum) } else { Err(malformed(&file, "no line for any CPU asked for")) }
    }

    /// steal / (total - idle); none if there was no work.
    pub fn steal_share(self) -> Option<f64> {
        let wanted = self.total.saturating_sub(self.idle);
        (wanted > 0).then(|| self.steal as f64 / wanted as f64)
    }

    fn plus(self, other: CpuTime) -> CpuTime {
        CpuTime {
            steal: self.steal + other.steal,
            idle: self.idle + other.idle,
            total: self.total + other.total,
        }
    }

    /// Idle and I/O wait may step back in /proc/stat.
    fn since(self, before: CpuTime) -> CpuTime {
        CpuTime {
            steal: self.steal.saturating_sub(before.steal),
            idle: self.idle.saturating_sub(before.idle),
            total: self.total.saturating_sub(before.total),
        }
    }
}

/// user, nice, system, idle, iowait, irq, softirq, steal. What follows, time of guests, is already in user and nice.
fn parse<'a>(fields: impl Iterator<Item = &'a str>) -> Option<CpuTime> {
    let ticks: Vec<u64> = fields.take(8).map(|field| field.parse().ok()).collect::<Option<_>>()?;
    let [_, _, _, idle, iowait, _, _, steal] = ticks[..] else { return None };
    Some(CpuTime { steal, idle: idle + iowait, total: ticks.iter().sum() })
}

/// Total of the line `some avg10=0.00 avg60=0.00 avg300=0.00 total=12345`, which counts microseconds.
fn pressure(roots: &Roots) -> io::Result<Duration> {
    let file = roots.proc.join("pressure/cpu");
    let text = read_text(&file)?;
    total_of_some(&text).ok_or_else(|| malformed(&file, &text))
}

fn total_of_some(text: &str) -> Option<Duration> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    let total = line.split(' ').find_map(|field| field.strip_prefix("total="))?;
    Some(Duration::from_micros(total.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::fixture::Tree;

    fn tree(stat: &str) -> Tree {
        let tree = Tree::new();
        tree.proc("stat", stat);
        tree
    }

    #[test]
    fn time_of_the_given_cpus_without_guests() {
        let stat = "\
cpu  1 1 1 1 1 1 1 1 1 1
cpu0 10 0 20 60 5 1 2 2 9 9
cpu1 1 1 1 1 1 1 1 1 1 1
cpu12 0 0 0 100 0 0 0 0
intr 5
";
        let tree = tree(stat);
        let read = |cpus: &[u32]| CpuTime::read(&tree.roots(), cpus);
        assert_eq!(read(&[0]).expect("0"), CpuTime { steal: 2, idle: 65, total: 100 });
        assert_eq!(read(&[0, 12, 12]).expect("both"), CpuTime { steal: 2, idle: 165, total: 200 });
        assert!(read(&[7]).is_err(), "a CPU that is not there");
        assert!(read(&[]).is_err());
        assert!(CpuTime::read(&Tree::new().roots(), &[0]).is_err());
    }

    #[test]
    fn differences() {
        let tree = tree("cpu0 0 0 100 900 0 0 0 10\n");
        tree.proc(
            "pressure/cpu",
            "some avg10=0.00 avg60=0.00 avg300=0.00 total=100\nfull avg10=0 total=9\n",
        );
        tree.proc("self/cgroup", "0::/\n");
        tree.proc("self/mountinfo", "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        tree.sys("fs/cgroup/cpu.stat", "nr_throttled 1\nthrottled_usec 7\n");
        let before = Snapshot::take(&tree.roots(), &[0]);

        tree.proc("stat", "cpu0 0 0 190 1800 0 0 0 20\n");
        tree.proc("pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=350\n");
        tree.sys("fs/cgroup/cpu.stat", "nr_throttled 3\nthrottled_usec 9\n");
        let after = Snapshot::take(&tree.roots(), &[0]);

        let conditions = diff(&before, &after);
        assert_eq!(conditions.cpu_time, Some(CpuTime { steal: 10, idle: 900, total: 1000 }));
        assert_eq!(conditions.steal_share, Some(0.1));
        assert_eq!(conditions.throttling, Some(Throttling { periods: 2, ns: 2000 }));
        assert_eq!(conditions.pressure, Some(Duration::from_micros(250)));

        let backwards = diff(&after, &before);
        assert_eq!(backwards.steal_share, None, "no work, no share");
        assert_eq!(backwards.elapsed, Duration::ZERO);
    }

    #[test]
    fn what_is_not_counted_is_not_zero() {
        // Before Linux 2.6.11 there was no steal time.
        let tree = tree("cpu0 0 0 100 900 0 0 0\n");
        let snapshot = Snapshot::take(&tree.roots(), &[0]);
        let expected = Conditions::default();
        assert_eq!(diff(&snapshot, &snapshot), expected);
    }
}
