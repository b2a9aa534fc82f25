//! For a spreadsheet or a script: one row a point, every digit there is.

use crate::escape::{csv as field, csv_number as number};
use crate::{Format, Medium, Style, scheduling};
use results::{Curve, Point, Run};
use std::borrow::Cow;

pub(super) const FORMAT: Format = Format {
    name: "csv",
    summary: "one row per point, not rounded, for a spreadsheet or a script",
    medium: Medium::Terminal,
    render,
};

/// New columns are only ever added at the end.
const HEADER: &str = "workload,target,mode,tasks,ops_per_s,ci95_low,ci95_high,usecs_per_op,usecs_per_op_task,\
                      real_s,user_s,sys_s,speedup,efficiency,fairness,rounds";

fn render(run: &Run, _: &Style) -> String {
    let mut out = format!("{HEADER}\n");
    for curve in &run.curves {
        for point in &curve.points {
            out.push_str(&row(curve, point).join(","));
            out.push('\n');
        }
    }
    out
}

fn row<'a>(curve: &'a Curve, point: &Point) -> [Cow<'a, str>; 16] {
    // The record has a 0 where the time of no operation would stand.
    let done = point.ops_per_s != 0.0;
    [
        field(&curve.workload),
        field(&curve.target),
        field(&curve.mode),
        point.tasks.to_string().into(),
        number(Some(point.ops_per_s)),
        number(point.ci95.map(|[low, _]| low)),
        number(point.ci95.map(|[_, high]| high)),
        number(done.then_some(point.usecs_per_op)),
        number(done.then_some(point.usecs_per_op_task)),
        number(Some(point.real_s)),
        number(Some(point.user_s)),
        number(Some(point.sys_s)),
        number(point.speedup),
        number(point.efficiency),
        number(Some(point.fairness)),
        scheduling::rounds(point).to_string().into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use proptest::prelude::*;

    /// A reader after RFC 4180, written apart from the writer.
    fn parse(text: &str) -> Vec<Vec<String>> {
        let (mut rows, mut row, mut field, mut quoted) = (vec![], vec![], String::new(), false);
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '"' if quoted && chars.peek() == Some(&'"') => field.push(chars.next().unwrap()),
                '"' => quoted = !quoted,
                ',' if !quoted => row.push(std::mem::take(&mut field)),
                '\n' if !quoted => {
                    row.push(std::mem::take(&mut field));
                    rows.push(std::mem::take(&mut row));
                }
                c => field.push(c),
            }
        }
        assert!(!quoted && row.is_empty() && field.is_empty(), "the text ends inside a row");
        rows
    }

    #[test]
    fn the_fixture_reads_back() {
        let run = fixture::run();
        let rows = parse(&render(&run, &Style::default()));
        assert_eq!(rows[0].join(","), HEADER);
        assert_eq!(
            rows.len(),
            1 + run.curves.iter().map(|curve| curve.points.len()).sum::<usize>()
        );
        let point = &run.curves[0].points[1];
        let number = |column: &str| -> f64 {
            let index = rows[0].iter().position(|name| name == column).unwrap();
            rows[2][index].parse().unwrap()
        };
        assert_eq!(number("ops_per_s"), point.ops_per_s);
        assert_eq!(number("ci95_low"), point.ci95.unwrap()[0]);
        assert_eq!(number("speedup"), point.speedup.unwrap());
        assert_eq!(number("fairness"), point.fairness);
    }

    #[test]
    fn what_is_missing_is_empty() {
        let mut run = fixture::run();
        run.curves.truncate(1);
        let point =
            Point { ci95: None, speedup: None, efficiency: None, ..fixture::summary(3, 1000.0) };
        let idle =
            Point { ops_per_s: 0.0, usecs_per_op: 0.0, usecs_per_op_task: 0.0, ..point.clone() };
        run.curves[0].points = vec![point, idle];
        let rows = parse(&render(&run, &Style::default()));
        assert_eq!(rows[1][3..8], ["3", "1000", "", "", "1000"]);
        assert_eq!(rows[1][12..14], ["", ""]);
        assert_eq!(rows[2][4..9], ["0", "", "", "", ""]);
    }

    proptest! {
        #[test]
        fn odd_names_and_numbers_read_back(name in "[ -~\n\r\"',\u{e4}\u{1b}]{0,12}", rate in any::<f64>()) {
            let mut run = fixture::run();
            run.curves.truncate(1);
            run.curves[0].target = name.clone();
            run.curves[0].points = vec![Point { ops_per_s: rate, ..fixture::summary(1, 1.0) }];
            let rows = parse(&render(&run, &Style::default()));
            prop_assert_eq!(rows.len(), 2);
            prop_assert_eq!(rows[1].len(), rows[0].len());
            prop_assert_eq!(&rows[1][1], &name);
            prop_assert_eq!(rows[1][4].parse::<f64>().ok(), Some(rate).filter(|rate| rate.is_finite()));
        }
    }
}
