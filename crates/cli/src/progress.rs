//! How far a run is, on stderr, and only if that is a terminal.

use crate::output;
use harness::{Estimate, Phase, Progress};
use indicatif::{ProgressBar, ProgressStyle};
use std::time::{Duration, Instant};

/// The progress line of `reproduce`. Simulated points end on several threads, each of which draws; nothing draws by itself, for
/// what is measured forks.
pub(crate) struct PointBar(ProgressBar);

impl PointBar {
    pub(crate) fn new(thread: &str) -> PointBar {
        let bar = ProgressBar::new(1);
        let unicode = output::is_unicode(&std::io::stderr());
        bar.set_style(style("{prefix}: {msg} {wide_bar} {pos}/{len}", unicode));
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
pub(crate) struct Bar {
    bar: ProgressBar,
    /// What each curve is called.
    labels: Vec<String>,
    began: Instant,
    unicode: bool,
    /// The last estimate, which stands until there is another.
    estimate: Option<Estimate>,
}

impl Bar {
    /// `labels` are the curves', in the order of the request.
    pub(crate) fn new(labels: Vec<String>) -> Bar {
        let bar = ProgressBar::new(1);
        let unicode = output::is_unicode(&std::io::stderr());
        bar.set_style(style("{msg} {wide_bar} {pos}/{len}{prefix}", unicode));
        let labels = labels.iter().map(|label| shortened(label)).collect();
        Bar { bar, labels, began: Instant::now(), unicode, estimate: None }
    }

    /// Takes note; indicatif limits how often it draws.
    pub(crate) fn show(&mut self, progress: Progress) {
        if self.bar.is_hidden() {
            return;
        }
        self.estimate = progress.estimate.or(self.estimate);
        self.bar.set_message(self.said(progress.phase));
        self.bar.set_prefix(left(&progress, self.began.elapsed()));
        self.bar.set_length(u64::from(progress.of));
        self.bar.set_position(u64::from(progress.done));
    }

    fn said(&self, phase: Phase) -> String {
        match (phase, self.estimate) {
            (Phase::WarmingUp, _) => "warming up, rounds:".to_owned(),
            (Phase::Tracing, _) => "looking for locks, task counts:".to_owned(),
            (Phase::Measuring, None) => "measuring, rounds:".to_owned(),
            (Phase::Measuring, Some(estimate)) => {
                let label = self.labels.get(estimate.curve).map_or("", String::as_str);
                estimated(label, estimate, self.unicode)
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// As much of a name as leaves room beside it, the end, which tells most; nothing in it steers the terminal.
fn shortened(label: &str) -> String {
    const ROOM: usize = 40;
    let shown: Vec<char> = output::one_line(label).chars().collect();
    match shown.len().checked_sub(ROOM) {
        Some(over) if over > 0 => format!("..{}", shown[over + 2..].iter().collect::<String>()),
        _ => shown.into_iter().collect(),
    }
}

/// "open_close on dir:/mnt/a, 2 tasks: 1,064,000/s ± 0.6 %; rounds:".
fn estimated(label: &str, estimate: Estimate, unicode: bool) -> String {
    let Estimate { tasks, ops_per_s, half, .. } = estimate;
    let task = if tasks == 1 { "task" } else { "tasks" };
    let rate = match half {
        Some(half) => report::round_to_interval(ops_per_s, half * ops_per_s),
        None => report::significant(ops_per_s, 2),
    };
    let sign = if unicode { "±" } else { "+-" };
    let half = half.map(|half| format!(" {sign} {} %", report::significant(half * 100.0, 2)));
    format!("{label}, {tasks} {task}: {rate}/s{}; rounds:", half.unwrap_or_default())
}

/// ", 12 s left"; of rounds whose time nobody plans as long as those took that are over.
fn left(progress: &Progress, since: Duration) -> String {
    let by_rounds = || {
        let each = since.checked_div(progress.done)?;
        Some(each * progress.of.saturating_sub(progress.done))
    };
    let left = progress.left.or_else(by_rounds);
    // Rounded up: while it measures something is left.
    left.map_or_else(String::new, |left| {
        let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
        format!(", {} left", humantime::format_duration(Duration::from_secs(seconds)))
    })
}

/// The bar itself is of signs that the terminal has.
fn style(template: &str, unicode: bool) -> ProgressStyle {
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    if unicode { style } else { style.progress_chars("#>-") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(done: u32, left: Option<u64>) -> Progress {
        let left = left.map(Duration::from_millis);
        Progress { phase: Phase::Measuring, done, of: 40, left, estimate: None }
    }

    #[test]
    fn what_is_left_is_the_budget_s_or_follows_from_the_rounds() {
        let since = Duration::from_secs(10);
        assert_eq!(left(&progress(3, Some(61_500)), since), ", 1m 2s left");
        assert_eq!(left(&progress(10, None), since), ", 30s left");
        assert_eq!(left(&progress(0, None), since), "", "nobody knows yet");
        assert_eq!(left(&progress(40, None), since), ", 0s left");
    }

    #[test]
    fn names_are_short_and_harmless() {
        assert_eq!(shortened("open_close on dir:/mnt/a"), "open_close on dir:/mnt/a");
        assert_eq!(shortened("a\u{1b}[2J\u{202e}"), "a\\u{1b}[2J\\u{202e}");
        let long = shortened(&format!("open_close on dir:/{}/end", "x".repeat(60)));
        assert!(long.starts_with("..xx") && long.ends_with("/end"), "{long}");
        assert_eq!(long.chars().count(), 40);
    }

    #[test]
    fn an_estimate_has_as_many_digits_as_its_interval_supports() {
        let estimate = |half| Estimate { curve: 0, tasks: 2, ops_per_s: 1_064_321.0, half };
        let said = |half, unicode| estimated("open_close", estimate(half), unicode);
        assert_eq!(said(Some(0.0058), true), "open_close, 2 tasks: 1,064,000/s ± 0.58 %; rounds:");
        assert_eq!(
            said(Some(0.0058), false),
            "open_close, 2 tasks: 1,064,000/s +- 0.58 %; rounds:"
        );
        assert_eq!(said(None, false), "open_close, 2 tasks: 1,100,000/s; rounds:");
    }
}
