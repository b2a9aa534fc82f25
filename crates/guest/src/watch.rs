//! Tells a boot that gets nowhere from one that a busy machine keeps waiting: by the CPU time that QEMU has had.

use std::time::{Duration, Instant};

/// So long a guest that boots never stands still.
const WINDOW: Duration = Duration::from_secs(20);
/// CPU time in a window below which it stood still: halted CPUs take none, and a guest that boots gets more even where a hundred
/// processes want the host's.
const STILL: Duration = Duration::from_millis(150);
/// CPU time after which it turns in circles: ten boots under emulation.
const ENOUGH: Duration = Duration::from_secs(40);
/// As much again for every CPU beyond the first: they spin for each other, and on fewer CPUs of the host for long.
const ENOUGH_PER_CPU: Duration = Duration::from_secs(20);

/// How a boot gets nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stuck {
    /// Its CPUs stand still.
    Still,
    /// It has had so much CPU time.
    Spins(Duration),
}

impl std::fmt::Display for Stuck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stuck::Still => {
                write!(
                    f,
                    "its CPUs have stood still for {} s without being ready",
                    WINDOW.as_secs()
                )
            }
            Stuck::Spins(time) => {
                write!(f, "it has used {} s of CPU time without being ready", time.as_secs())
            }
        }
    }
}

/// Looks at a boot.
pub(crate) struct Watch {
    enough: Duration,
    window: Option<(Instant, Duration)>,
}

impl Watch {
    /// Of a guest with `cpus`.
    pub(crate) fn new(cpus: u32) -> Watch {
        Watch { enough: ENOUGH + ENOUGH_PER_CPU * cpus.saturating_sub(1), window: None }
    }

    /// What is to be thought of a guest that by `now` has had `used` CPU time.
    pub(crate) fn look(&mut self, now: Instant, used: Duration) -> Option<Stuck> {
        if used > self.enough {
            return Some(Stuck::Spins(used));
        }
        let (since, used_then) = *self.window.get_or_insert((now, used));
        if now.saturating_duration_since(since) < WINDOW {
            return None;
        }
        self.window = Some((now, used));
        (used.saturating_sub(used_then) < STILL).then_some(Stuck::Still)
    }
}

/// CPU time of a process with all its threads, as long as there is one of this number.
pub(crate) fn cpu_time(pid: u32) -> Option<Duration> {
    let mut clock = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both calls write one object of theirs, which lives here; they fail for a process that there is not.
    let good = unsafe {
        libc::clock_getcpuclockid(pid.try_into().ok()?, &raw mut clock) == 0
            && libc::clock_gettime(clock, &raw mut time) == 0
    };
    good.then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_that_gets_nowhere_is_told_from_one_that_waits_for_the_host() {
        let start = Instant::now();
        let second = Duration::from_secs(1);
        // CPU time per second of the clock, in ms; when it is given up, in seconds.
        for (name, cpus, pace, given_up) in [
            ("halted", 1, 5, Some((20, Stuck::Still))),
            ("boots on a very busy machine", 1, 10, None),
            ("spins", 1, 1000, Some((41, Stuck::Spins(41 * second)))),
            ("two CPUs spin", 2, 2000, Some((31, Stuck::Spins(62 * second)))),
        ] {
            let mut watch = Watch::new(cpus);
            let seen = (0..100).find_map(|s| {
                let used = Duration::from_millis(pace) * s;
                Some((s, watch.look(start + second * s, used)?))
            });
            assert_eq!(seen, given_up, "{name}");
        }
    }

    #[test]
    fn cpu_time_of_processes() {
        let this = cpu_time(std::process::id()).unwrap();
        assert!(this > Duration::ZERO && this < Duration::from_secs(10_000));
        assert_eq!(cpu_time(u32::MAX), None);
    }
}
