//! How far a run is, on stderr, and only if that is a terminal.

use harness::{Phase, Progress};
use indicatif::{ProgressBar, ProgressStyle};

/// The progress line of `reproduce`. Simulated points end on several threads, each of which draws; nothing draws by itself, for
/// what is measured forks.
pub(crate) struct PointBar(ProgressBar);

impl PointBar {
    pub(crate) fn new(thread: &str) -> PointBar {
        let bar = ProgressBar::new(1);
        let style = ProgressStyle::with_template("{prefix}: {msg} {wide_bar} {pos}/{len}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_prefix(thread.to_owned());
        PointBar(bar)
    }

    /// `done` of `all`; of how many is not known yet if `all` is 0.
    pub(crate) fn show(&self, what: &'static str, done: usize, all: usize) {
        self.0.set_message(what);
        self.0.set_length(all.max(1) as u64);
        self.0.set_position(done as u64);
    }

    pub(crate) fn clear(&self) {
        self.0.finish_and_clear();
    }
}

/// The progress line. Drawn between slices by the conductor itself: a drawing thread would disturb the measurement, and the
/// harness could not fork.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    pub(crate) fn new() -> Bar {
        let bar = ProgressBar::new(1);
        let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Bar(bar)
    }

    /// Takes note; indicatif limits how often it draws.
    pub(crate) fn show(&mut self, progress: Progress) {
        self.0.set_message(match progress.phase {
            Phase::WarmingUp => "warming up, rounds:",
            Phase::Measuring => "measuring, rounds:",
            Phase::Tracing => "looking for locks, task counts:",
        });
        self.0.set_length(u64::from(progress.of));
        self.0.set_position(u64::from(progress.done));
    }

    pub(crate) fn clear(&mut self) {
        self.0.finish_and_clear();
    }
}
