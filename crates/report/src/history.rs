//! Figures over time, as a table per curve and task count.

use crate::layout::{emphasis, text as lay_out};
use crate::number::round_to_interval;
use crate::table::{NONE, Table, finite};
use crate::{Style, escape, json};
use results::{History, HistoryRun, Series};

/// As text: a table for each series, its noise, and where its level changed.
pub fn history(history: &History, style: &Style) -> String {
    if history.series.is_empty() {
        return "no stored run has such a curve\n".to_owned();
    }
    let blocks: Vec<String> = history.series.iter().map(|series| of(series, style)).collect();
    blocks.join("\n\n") + "\n"
}

/// As JSON.
pub fn history_json(history: &History) -> String {
    json::rows(history)
}

fn of(series: &Series, style: &Style) -> String {
    let tasks = if series.tasks == 1 { "task" } else { "tasks" };
    let mut lines = vec![
        emphasis(
            &format!(
                "{} on {}, {} mode, {} {tasks}",
                escape::plain(&series.workload),
                escape::plain(&series.target),
                escape::plain(&series.mode),
                series.tasks
            ),
            style,
        ),
        format!("on {}", escape::plain(&series.machine)),
        lay_out(&table(series), style),
    ];
    if let Some(noise) = series.noise {
        lines.push(format!("noise: two runs of a level differ by {:.1} % (median)", noise * 100.0));
    }
    for change in &series.changes {
        let run = series.runs.get(change.at);
        lines.push(format!(
            "change: {:+.1} % from {} on (p = {:.3})",
            change.change * 100.0,
            run.map_or("?".into(), |run| escape::plain(&run.run)),
            change.p
        ));
    }
    lines.join("\n")
}

fn table(series: &Series) -> Table {
    let unit = series.metric.unit.as_str();
    let header = vec![
        ["", "run"],
        ["", "started"],
        ["", "kernel"],
        ["", unit],
        ["", "± 95 %"],
        ["against the", "one before, %"],
        ["", "level"],
    ];
    let mut before: Option<f64> = None;
    let mut rows = Vec::new();
    for (at, run) in series.runs.iter().enumerate() {
        let changed = series.changes.iter().find(|change| change.at == at);
        let against = before.filter(|before| *before > 0.0).map(|b| run.value / b - 1.0);
        before = Some(run.value);
        rows.push(row(run, against, changed.map(|change| change.change)));
    }
    Table::new(header, rows)
}

fn row(run: &HistoryRun, against: Option<f64>, changed: Option<f64>) -> Vec<String> {
    let half = run.ci95.map(|[low, high]| (high - low) / 2.0);
    let release = run.kernel.split(' ').next().unwrap_or_default();
    let partial = if run.partial { " (partial)" } else { "" };
    vec![
        format!("{}{partial}", escape::plain(&run.run)),
        run.started.trim_end_matches('Z').replace('T', " "),
        escape::plain(release).into_owned(),
        match half.filter(|_| run.value.is_finite()) {
            Some(half) => round_to_interval(run.value, half).to_string(),
            None => finite(run.value, 3),
        },
        half.map_or(NONE.to_owned(), |half| finite(half / run.value * 100.0, 2)),
        against.map_or(NONE.to_owned(), |share| format!("{:+.1}", share * 100.0)),
        changed.map_or(String::new(), |change| if change > 0.0 { "up" } else { "down" }.to_owned()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::{Kind, LevelChange, Metric};

    #[test]
    fn a_change_is_named_by_its_run() {
        let run = |at: u32, value: f64| HistoryRun {
            run: format!("nightly@{at}"),
            started: format!("2026-11-{at:02}T02:00:00Z"),
            kernel: "6.18.44 #1 SMP".into(),
            value,
            ci95: Some([value * 0.99, value * 1.01]),
            rounds: 90,
            partial: at == 2,
        };
        let series = Series {
            workload: "open_close".into(),
            target: "dir:/mnt/\u{1b}x".into(),
            mode: "process".into(),
            kind: Kind::Measured,
            metric: Metric::default(),
            tasks: 2,
            machine: "Xeon, 2 CPUs".into(),
            runs: vec![run(1, 1e6), run(2, 1.01e6), run(3, 0.9e6)],
            noise: Some(0.01),
            changes: vec![LevelChange { at: 2, change: -0.104, p: 0.012 }],
        };
        let of = |series| History { schema: History::SCHEMA.into(), series };
        let text = history(&of(vec![series]), &Style::default());
        for part in [
            "change: -10.4 % from nightly@3 on (p = 0.012)",
            "noise: two runs of a level differ by 1.0 % (median)",
            "nightly@2 (partial)",
            "-10.9",
            "down",
        ] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
        assert!(!text.contains('\u{1b}'));
        assert!(history(&of(Vec::new()), &Style::default()).contains("no stored run"));
    }
}
