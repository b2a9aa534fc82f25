//! How long a source has been on.

use rustix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC in nanoseconds, the clock of both tracers.
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// A stopwatch over several starts and stops.
#[derive(Debug, Default)]
pub(crate) struct Traced {
    since: Option<u64>,
    before: u64,
}

impl Traced {
    /// The source is on from now.
    pub(crate) fn start(&mut self) {
        self.since = Some(now_ns());
    }

    /// It is off from now; nothing if it was.
    pub(crate) fn stop(&mut self) {
        if let Some(since) = self.since.take() {
            self.before += now_ns().saturating_sub(since);
        }
    }

    /// Is it on?
    pub(crate) fn is_on(&self) -> bool {
        self.since.is_some()
    }

    /// How long it was, up to the last stop.
    pub(crate) fn ns(&self) -> u64 {
        self.before
    }
}
