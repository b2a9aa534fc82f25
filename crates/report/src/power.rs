//! How small a change can be seen, as a table.

use crate::layout::text as lay_out;
use crate::table::{NONE, Table};
use crate::{Style, escape, json};
use results::{PowerPoint, PowerReport};

/// As text: what equal sides came to, and what can be seen in how much time.
pub fn power(report: &PowerReport, style: &Style) -> String {
    let mut blocks = vec![format!(
        "measured for {:.1} s: the target against itself, so every difference here is noise",
        report.seconds
    )];
    let mut curves: Vec<&[PowerPoint]> = Vec::new();
    for group in report
        .points
        .chunk_by(|a, b| (&a.workload, &a.target, &a.mode) == (&b.workload, &b.target, &b.mode))
    {
        curves.push(group);
    }
    for points in curves {
        let first = &points[0];
        blocks.push(format!(
            "{} on {}, {} mode\n{}",
            escape::plain(&first.workload),
            escape::plain(&first.target),
            escape::plain(&first.mode),
            lay_out(&table(points), style)
        ));
        let why = points.iter().filter_map(|point| {
            let why = point.why_not.as_ref()?;
            Some(format!("{} tasks: {}", point.tasks, escape::plain(why)))
        });
        blocks.push(why.collect::<Vec<_>>().join("\n"));
    }
    blocks.push(
        "found: the smallest change that so many comparisons of that length find; equal: the smallest bound within which\n\
         four of five show equal sides to be (all task counts judged together, 95 %)"
            .to_owned(),
    );
    blocks.retain(|block| !block.is_empty());
    blocks.join("\n\n") + "\n"
}

/// As JSON, with every sample of one side.
pub fn power_json(report: &PowerReport) -> String {
    json::rows(report)
}

/// A table per workload, target and mode, with its caption.
pub(crate) fn tables(report: &PowerReport) -> Vec<(String, Table)> {
    let curve = |a: &PowerPoint, b: &PowerPoint| {
        (&a.workload, &a.target, &a.mode) == (&b.workload, &b.target, &b.mode)
    };
    let of = |points: &[PowerPoint]| {
        let first = &points[0];
        let caption = format!("{} on {}, {} mode", first.workload, first.target, first.mode);
        (caption, table(points))
    };
    report.points.chunk_by(curve).map(of).collect()
}

fn table(points: &[PowerPoint]) -> Table {
    let header = vec![
        ["", "tasks"],
        ["A/A", "change %"],
        ["", "interval %"],
        ["in", "s"],
        ["", "rounds"],
        ["found by", "4 of 5, %"],
        ["found by", "9 of 10, %"],
        ["equal", "within %"],
    ];
    let percent = |share: f64| format!("{:.2}", share * 100.0);
    let mut rows = Vec::new();
    for point in points {
        let mut begin = vec![
            point.tasks.to_string(),
            point.change.map_or(NONE.to_owned(), |change| format!("{:+.2}", change * 100.0)),
            point.ci95.map_or(NONE.to_owned(), |[low, high]| {
                format!("{:+.2} to {:+.2}", low * 100.0, high * 100.0)
            }),
        ];
        if point.sees.is_empty() {
            let rest = [NONE.to_owned(), point.rounds.to_string()];
            begin.extend(rest);
            begin.extend(std::iter::repeat_n(NONE.to_owned(), 3));
            rows.push(begin);
            continue;
        }
        for sees in &point.sees {
            let mut row = std::mem::replace(&mut begin, vec![String::new(); 3]);
            row.extend([
                format!("{:.0}", sees.seconds),
                sees.rounds.to_string(),
                percent(sees.found_80),
                percent(sees.found_90),
                percent(sees.equal_80),
            ]);
            rows.push(row);
        }
    }
    Table::new(header, rows)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::fixture;
    use results::Sees;

    pub(crate) fn report() -> PowerReport {
        let point = |tasks, sees: Vec<Sees>| PowerPoint {
            workload: "open_close".into(),
            target: "dir:/mnt/\u{1b}x".into(),
            mode: "process".into(),
            tasks,
            rounds: 230,
            change: Some(0.0012),
            ci95: Some([-0.003, 0.004]),
            why_not: sees.is_empty().then(|| "3 rounds are too few".into()),
            sees,
        };
        let sees = |seconds: f64, found: f64| Sees {
            seconds,
            rounds: (seconds * 23.0) as u32,
            found_80: found,
            found_90: found * 1.2,
            equal_80: found * 1.3,
        };
        PowerReport {
            schema: PowerReport::SCHEMA.into(),
            seconds: 10.0,
            points: vec![
                point(1, vec![sees(10.0, 0.0123), sees(40.0, 0.0061)]),
                point(2, Vec::new()),
            ],
            run: fixture::run(),
        }
    }

    #[test]
    fn every_length_has_a_row_and_what_is_not_known_is_said() {
        let text = power(&report(), &Style::default());
        for part in [
            "1.23",
            "1.48",
            "1.60",
            "0.61",
            "+0.12",
            "-0.30 to +0.40",
            "2 tasks: 3 rounds are too few",
        ] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
        assert!(!text.contains('\u{1b}'));
        assert!(text.lines().all(|line| line.chars().count() <= 120));
    }

    #[test]
    fn json_reads_back() {
        let back: PowerReport = serde_json::from_str(&power_json(&report())).expect("JSON");
        assert_eq!(back, report());
    }
}
