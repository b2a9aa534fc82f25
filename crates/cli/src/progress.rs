//! How far a run is, on stderr, and only if that is a terminal.

use harness::Progress;
use indicatif::{ProgressBar, ProgressStyle};

/// The progress line. Drawn between slices by the conductor itself: a drawing thread would disturb the measurement, and the
/// harness could not fork.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    pub(crate) fn new() -> Bar {
        let bar = ProgressBar::new(1);
        let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} rounds");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Bar(bar)
    }

    /// Takes note; indicatif limits how often it draws.
    pub(crate) fn show(&mut self, progress: Progress) {
        self.0.set_message(if progress.warming_up { "warming up" } else { "measuring" });
        self.0.set_length(u64::from(progress.rounds));
        self.0.set_position(u64::from(progress.round));
    }

    pub(crate) fn clear(&mut self) {
        self.0.finish_and_clear();
    }
}
