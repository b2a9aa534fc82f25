//! The layout of the comparisons that Intel's kernel test robot mails, for people who read them daily: parameters, the two
//! sides, and a line per figure with relative standard deviations. The verdicts stand below, for that layout has none.

use super::{ComparisonFormat, sentence, table, text};
use crate::{Medium, Style, mail};
use results::{ComparedCurve, Comparison, Point};

pub(super) const FORMAT: ComparisonFormat = ComparisonFormat {
    name: "lkp",
    summary: "the layout of the kernel test robot's mails",
    medium: Medium::Terminal,
    render,
};

/// The rule above the parameters.
const RULE: usize = 89;
/// Below this a standard deviation is not shown, in per cent.
const QUIET: f64 = 2.0;

fn render(comparison: &Comparison, _: &Style) -> String {
    let mut out = String::new();
    for line in text::partial(comparison).into_iter().chain(text::differences(comparison)) {
        out += &format!("{}\n", mail::wrap(&line));
    }
    if !out.is_empty() {
        out.push('\n');
    }
    let (before, after) = (&comparison.before, &comparison.after);
    let parameters: Vec<(&str, String)> = vec![
        ("arch", before.host.arch.clone()),
        ("cpufreq_governor", before.host.governor.join("+")),
        ("fs", before.host.fs.iter().map(|fs| fs.fs_type.as_str()).collect::<Vec<_>>().join("+")),
        ("testtime", format!("{:.0}s", before.plan.time_s)),
        ("test", names(comparison)),
    ];
    let known = || parameters.iter().filter(|(_, value)| !value.is_empty());
    let keys: Vec<&str> = known().map(|(key, _)| *key).collect();
    let values: Vec<String> = known().map(|(_, value)| mail::name(value)).collect();
    out += &format!("{}\n{}:\n  {}\n\n", "=".repeat(RULE), keys.join("/"), values.join("/"));
    out += "commit: \n";
    for (label, run) in comparison.labels.iter().zip([before, after]) {
        out += &format!("  {} (\"{}\")\n", mail::name(label), mail::name(&run.host.kernel));
    }
    let column = |label: &str, width: usize| {
        let short: String = mail::name(label).chars().take(width).collect();
        format!("{short:<width$}")
    };
    out +=
        &format!("\n{} {}\n", column(&comparison.labels[0], 16), column(&comparison.labels[1], 27));
    out += "---------------- --------------------------- \n";
    out += "         %stddev     %change         %stddev\n";
    out += "             \\          |                \\  \n";
    for curve in &comparison.curves {
        for point in &curve.points {
            let side = |run, side| table::find(run, curve, side, point.tasks);
            let (b, a) = (side(before, 0), side(after, 1));
            let key = key(curve, point.tasks);
            out += &line(point.before, b, point.after, a, &key);
            if curve.metric == results::Metric::default() {
                let per_task = |value: f64| value / f64::from(point.tasks.max(1));
                let key = format!("vfscale.{}.per_{}_ops", mail::name(&curve.workload), curve.mode);
                out += &line(per_task(point.before), b, per_task(point.after), a, &key);
            }
        }
    }
    out.push('\n');
    for verdict in sentence::verdict(comparison, mail::name) {
        out += &format!("{}\n", mail::wrap(&verdict));
    }
    out.extend(sentence::pairing(comparison).map(|line| format!("{}\n", mail::wrap(&line))));
    out
}

fn names(comparison: &Comparison) -> String {
    let mut names: Vec<&str> = comparison.curves.iter().map(|c| c.workload.as_str()).collect();
    names.dedup();
    names.join("+")
}

/// As will-it-scale's in such mails: program, tasks, how they are made.
fn key(curve: &ComparedCurve, tasks: u32) -> String {
    let made = match curve.mode.as_str() {
        "thread" => "threads",
        _ => "processes",
    };
    format!("vfscale.{}.{tasks}.{made}", mail::name(&curve.workload))
}

fn line(before: f64, b: Option<&Point>, after: f64, a: Option<&Point>, key: &str) -> String {
    let change = match (after / before - 1.0) * 100.0 {
        _ if before == after => format!("{:+10.1}%", 0.0),
        change if change.is_infinite() => format!("{:>10}%", "+Inf"),
        change if change.abs() >= 1e5 => format!("{:>10}%", format!("+{}", exponent(change, 1))),
        change => format!("{change:+10.1}%"),
    };
    format!("{}{}{change} {}{}  {key}\n", cell(before), deviation(b), cell(after), deviation(a))
}

fn cell(value: f64) -> String {
    match value.abs() {
        size if size < 1000.0 => format!("{value:10.2}"),
        size if size > 1e8 => format!("{:>10}", exponent(value, 3)),
        _ => format!("{value:10.0}"),
    }
}

/// As printf(3) writes it: two digits of exponent at least, and a sign.
fn exponent(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$e}");
    match text.split_once('e').map(|(digits, power)| (digits, power.parse::<i32>())) {
        Some((digits, Ok(power))) => format!("{digits}e{power:+03}"),
        _ => text,
    }
}

/// Relative standard deviation of the rounds' rates, or blanks.
fn deviation(point: Option<&Point>) -> String {
    match point.and_then(relative_deviation) {
        Some(percent) if percent > QUIET => format!(" ± {percent:2.0}%"),
        _ => " ".repeat(6),
    }
}

fn relative_deviation(point: &Point) -> Option<f64> {
    let rounds = point.round_rates();
    let n = rounds.len() as f64;
    let mean = rounds.iter().sum::<f64>() / n;
    let variance = rounds.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / n;
    (rounds.len() > 1 && mean > 0.0).then(|| variance.sqrt() / mean * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_written_as_printf_does() {
        let of = |before, after| line(before, None, after, None, "k");
        let words = |text: String| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(of(2e8, 1.23456e9)), ["2.000e+08", "+517.3%", "1.235e+09", "k"]);
        assert_eq!(words(of(0.5, 12_000.0)), ["0.50", "+2.4e+06%", "12000", "k"]);
        assert_eq!(words(of(0.0, 5.0)), ["0.00", "+Inf%", "5.00", "k"]);
        assert_eq!(words(of(0.0, 0.0)), ["0.00", "+0.0%", "0.00", "k"]);
    }
}
