//! What came of many comparisons, as one row of the table in the guide.

use crate::TASKS;
use results::{Comparison, Verdict};

/// One comparison at one task count, by whatever method.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// Relative change of the rate.
    pub(crate) change: f64,
    /// Half of the interval's width, if there is one.
    pub(crate) half_width: Option<f64>,
    /// Whether the method calls the sides different.
    pub(crate) different: bool,
}

/// Comparisons of one kind: all task counts of each.
#[derive(Default)]
pub(crate) struct Tally(Vec<[Seen; TASKS.len()]>);

impl Tally {
    pub(crate) fn add(&mut self, seen: [Seen; TASKS.len()]) {
        self.0.push(seen);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The head of the table.
    pub(crate) fn head() -> String {
        let counts = |what: &str| TASKS.map(|tasks| format!("{what}, tasks {tasks}")).join(" | ");
        let columns = format!(
            "| sides | way | comparisons | different | by more than 1 % | {} | {} | {} |",
            counts("slower"),
            counts("change"),
            counts("half interval"),
        );
        let rule: String = columns.matches('|').skip(1).map(|_| "---|").collect();
        format!("{columns}\n|{rule}")
    }

    /// The row of this kind; `sides` and `way` say which.
    pub(crate) fn row(&self, sides: &str, way: &str) -> String {
        let by_more = |seen: &Seen| seen.different && seen.change.abs() > 0.01;
        let at = |count: usize| self.0.iter().map(move |seen| seen[count]);
        let each = |cell: &dyn Fn(usize) -> String| {
            (0..TASKS.len()).map(cell).collect::<Vec<_>>().join(" | ")
        };
        format!(
            "| {sides} | {way} | {} | {} | {} | {} | {} | {} |",
            self.len(),
            self.share(|seen| seen.iter().any(|seen| seen.different)),
            self.share(|seen| seen.iter().any(by_more)),
            each(&|count| self.share(|seen| seen[count].different && seen[count].change < 0.0)),
            each(&|count| percent(at(count).map(|seen| seen.change), "+")),
            each(&|count| percent(at(count).filter_map(|seen| seen.half_width), "±")),
        )
    }

    /// The share of comparisons that are so, with the 95 % interval of Wilson, for a hundred tries leave much open.
    fn share(&self, is_so: impl Fn(&[Seen; TASKS.len()]) -> bool) -> String {
        let n = self.len() as f64;
        if self.is_empty() {
            return "-".into();
        }
        let p = self.0.iter().filter(|seen| is_so(seen)).count() as f64 / n;
        let z2 = 1.96_f64.powi(2);
        let centre = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
        let half = (z2 * (p * (1.0 - p) / n + z2 / (4.0 * n * n))).sqrt() / (1.0 + z2 / n);
        let [low, high] = [centre - half, centre + half].map(|end| 100.0 * end.clamp(0.0, 1.0));
        format!("{:.1} % ({low:.1} to {high:.1})", 100.0 * p)
    }
}

/// The median of shares in per cent; `sign` is `+` or what stands before it.
fn percent(values: impl Iterator<Item = f64>, sign: &str) -> String {
    let values: Vec<f64> = values.collect();
    match (stats::median(&values).map(|median| 100.0 * median), sign) {
        (None, _) => "-".into(),
        (Some(median), "+") => format!("{median:+.2} %"),
        (Some(median), sign) => format!("{sign} {median:.2} %"),
    }
}

/// What `vfscale compare` says; none if a task count has no figure.
pub(crate) fn judged(comparison: &Comparison) -> Option<[Seen; TASKS.len()]> {
    let points = &comparison.curves.first()?.points;
    let seen = |tasks: usize| {
        let point = points.iter().find(|point| point.tasks as usize == tasks)?;
        Some(Seen {
            change: point.change?,
            half_width: point.interval.map(|[low, high]| (high - low) / 2.0),
            different: matches!(point.verdict, Verdict::Faster | Verdict::Slower),
        })
    };
    let all: Vec<Seen> = TASKS.iter().map(|tasks| seen(*tasks)).collect::<Option<_>>()?;
    all.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(change: f64, different: bool) -> Seen {
        Seen { change, half_width: different.then_some(0.004), different }
    }

    #[test]
    fn a_row_has_a_cell_for_every_column() {
        let mut tally = Tally::default();
        let head = Tally::head();
        let columns = |line: &str| line.matches('|').count();
        for row in [tally.row("equal", "so"), {
            tally.add([seen(-0.02, true), seen(0.0, false)]);
            tally.row("equal", "so")
        }] {
            assert!(head.lines().all(|line| columns(line) == columns(&row)), "{head}\n{row}");
        }
    }

    #[test]
    fn what_is_counted_is_what_the_columns_say() {
        let mut tally = Tally::default();
        tally.add([seen(-0.02, true), seen(0.001, false)]);
        tally.add([seen(0.005, true), seen(-0.03, false)]);
        tally.add([seen(0.0, false), seen(0.0, false)]);
        tally.add([seen(0.0, false), seen(0.02, true)]);
        assert_eq!(
            tally.row("a", "b"),
            "| a | b | 4 | 75.0 % (30.1 to 95.4) | 50.0 % (15.0 to 85.0) | 25.0 % (4.6 to 69.9) | 0.0 % (0.0 to 49.0) \
             | +0.00 % | +0.05 % | ± 0.40 % | ± 0.40 % |"
        );
    }
}
