//! The last resort, which everybody may read: switches of the tasks, stalls of the system (PSI), stolen time.
//!
//! It names no lock. A task that sleeps for one gives its CPU up, so voluntary switches at least tell that there is something.

use crate::clock::Traced;
use crate::error::Error;
use crate::report::{Report, Scheduling};
use crate::tasks::{Tasks, field};
use crate::{Kind, Source};
use std::fs;

const RESOURCES: &[&str] = &["cpu", "memory", "io"];

/// The difference between starts and stops.
#[derive(Debug)]
pub(crate) struct Watch {
    threads: Vec<u32>,
    before: Option<Scheduling>,
    sum: Scheduling,
    traced: Traced,
}

impl Watch {
    /// Nothing can stand in its way.
    pub(crate) fn new(tasks: &Tasks) -> Watch {
        Watch {
            threads: tasks.threads().to_vec(),
            before: None,
            sum: Scheduling::default(),
            traced: Traced::default(),
        }
    }
}

impl Source for Watch {
    fn kind(&self) -> Kind {
        Kind::Scheduling
    }

    fn start(&mut self) -> Result<(), Error> {
        if self.before.is_none() {
            self.before = Some(read(&self.threads)?);
            self.traced.start();
        }
        Ok(())
    }

    fn stop(&mut self) -> Result<(), Error> {
        if let Some(before) = self.before.take() {
            self.traced.stop();
            add_difference(&mut self.sum, &before, read(&self.threads)?);
        }
        Ok(())
    }

    fn read(mut self: Box<Self>) -> Result<Report, Error> {
        self.stop()?;
        let mut report = Report::new(Kind::Scheduling, self.traced.ns());
        if self.sum.stalled_ns.is_empty() {
            report.notes.push(
                "this kernel does not tell how long tasks stall: boot with psi=1 (CONFIG_PSI)"
                    .to_owned(),
            );
        }
        report.scheduling = Some(self.sum);
        report.notes.push(
            "no lock is named: voluntary switches only tell that tasks slept, and spinning for a lock \
             looks like work"
                .to_owned(),
        );
        Ok(report)
    }
}

fn read(threads: &[u32]) -> Result<Scheduling, Error> {
    let mut now = Scheduling::default();
    for thread in threads {
        let path = format!("/proc/{thread}/status");
        let status = fs::read_to_string(&path).map_err(|error| Error::file(path, error))?;
        now.voluntary += field(&status, "voluntary_ctxt_switches:").unwrap_or(0);
        now.involuntary += field(&status, "nonvoluntary_ctxt_switches:").unwrap_or(0);
    }
    for &resource in RESOURCES {
        let text = fs::read_to_string(format!("/proc/pressure/{resource}")).unwrap_or_default();
        now.stalled_ns.extend(stalled_ns(&text).map(|ns| (resource, ns)));
    }
    let stat =
        fs::read_to_string("/proc/stat").map_err(|error| Error::file("/proc/stat", error))?;
    now.steal_ns = steal_ns(&stat, rustix::param::clock_ticks_per_second());
    Ok(now)
}

fn add_difference(sum: &mut Scheduling, before: &Scheduling, after: Scheduling) {
    sum.voluntary += after.voluntary.saturating_sub(before.voluntary);
    sum.involuntary += after.involuntary.saturating_sub(before.involuntary);
    sum.steal_ns += after.steal_ns.saturating_sub(before.steal_ns);
    for (resource, ns) in after.stalled_ns {
        let of =
            |all: &[(&str, u64)]| all.iter().find(|(name, _)| *name == resource).map(|&(_, ns)| ns);
        let more = ns.saturating_sub(of(&before.stalled_ns).unwrap_or(ns));
        match sum.stalled_ns.iter_mut().find(|(name, _)| *name == resource) {
            Some((_, total)) => *total += more,
            None => sum.stalled_ns.push((resource, more)),
        }
    }
}

/// `total` of the line `some` of a pressure file, which is in microseconds.
fn stalled_ns(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let total = line.split_whitespace().find_map(|word| word.strip_prefix("total="))?;
    total.parse::<u64>().ok()?.checked_mul(1000)
}

/// The eighth figure of the first line of /proc/stat, in ticks.
fn steal_ns(stat: &str, ticks_per_second: u64) -> u64 {
    let ticks = stat
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("cpu "))
        .and_then(|line| line.split_whitespace().nth(7)?.parse::<u64>().ok());
    ticks.unwrap_or(0).saturating_mul(1_000_000_000 / ticks_per_second.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_kernel_are_read_in_their_units() {
        let pressure =
            "some avg10=0.00 avg60=0.01 avg300=0.00 total=1234\nfull avg10=0.00 total=9\n";
        assert_eq!(stalled_ns(pressure), Some(1_234_000));
        assert_eq!(stalled_ns(""), None);
        assert_eq!(steal_ns("cpu  1 2 3 4 5 6 7 50 0 0\ncpu0 1\n", 100), 500_000_000);
        assert_eq!(steal_ns("", 100), 0);
    }

    #[test]
    fn differences_add_up_and_never_go_below_nothing() {
        let at = |voluntary, cpu| Scheduling {
            voluntary,
            stalled_ns: vec![("cpu", cpu)],
            ..Scheduling::default()
        };
        let mut sum = Scheduling::default();
        add_difference(&mut sum, &at(5, 100), at(9, 150));
        add_difference(&mut sum, &at(20, 200), at(21, 190));
        assert_eq!((sum.voluntary, sum.stalled_ns.as_slice()), (5, &[("cpu", 50)][..]));
    }

    #[test]
    fn a_sleep_of_a_task_is_a_voluntary_switch() {
        let tasks = Tasks::find(&[std::process::id()]).unwrap();
        let mut watch = Box::new(Watch::new(&tasks));
        // Threads of other tests end meanwhile; this one does not.
        watch.threads = vec![rustix::thread::gettid().as_raw_nonzero().get() as u32];
        watch.start().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(2));
        watch.stop().unwrap();
        let report = Source::read(watch).unwrap();
        assert!(report.scheduling.unwrap().voluntary >= 1);
        assert!(report.traced_ns >= 2_000_000);
    }
}
