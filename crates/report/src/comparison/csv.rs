//! For a spreadsheet or a script: one row per task count, every digit there is.

use super::{ComparisonFormat, sentence};
use crate::escape::{csv as field, csv_number as number};
use crate::{Medium, Style};
use results::{Comparison, Pairing, Verdict};

pub(super) const FORMAT: ComparisonFormat = ComparisonFormat {
    name: "csv",
    summary: "one row per task count, not rounded, for a spreadsheet or a script",
    medium: Medium::Terminal,
    render,
};

/// New columns are only ever added at the end.
const HEADER: &str = "workload,mode,before_target,after_target,unit,tasks,before,after,change,low,high,p,verdict,bound,\
                      more_rounds,rounds,method,pairing";

fn render(comparison: &Comparison, _: &Style) -> String {
    let mut out = format!("{HEADER}\n");
    let pairing = match comparison.pairing {
        Pairing::Interleaved => "interleaved",
        Pairing::Stored => "stored",
    };
    for curve in &comparison.curves {
        for point in &curve.points {
            let more_rounds = match point.verdict {
                Verdict::Undecided { more_rounds } => more_rounds,
                Verdict::Faster | Verdict::Slower | Verdict::NoDifference { .. } => None,
            };
            let row = [
                field(&curve.workload),
                field(&curve.mode),
                field(&curve.targets[0]),
                field(&curve.targets[1]),
                field(&curve.metric.unit),
                point.tasks.to_string().into(),
                number(Some(point.before)),
                number(Some(point.after)),
                number(point.change),
                number(point.interval.map(|[low, _]| low)),
                number(point.interval.map(|[_, high]| high)),
                number(point.p),
                sentence::word(&point.verdict).into(),
                number(Some(comparison.bound)),
                more_rounds.map_or("".into(), |rounds| rounds.to_string().into()),
                point.rounds.to_string().into(),
                field(point.method.as_deref().unwrap_or("")),
                pairing.into(),
            ];
            out.push_str(&row.join(","));
            out.push('\n');
        }
    }
    out
}
