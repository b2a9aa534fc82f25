//! The verdict of a comparison in words: the first line of it, and often the only one that is read.

use super::has_twin;
use results::{ComparedCurve, ComparedPoint, Comparison, Pairing, ShapeChange, Verdict};

/// So many points with a change are named one by one; more are put together.
const ONE_BY_ONE: usize = 3;

/// One sentence a curve, like "open_close is 12.4 % faster at 2 tasks [11.6, 13.1]; no difference larger than 1 % at 1 task".
/// Names are passed through `name`.
pub fn verdict(comparison: &Comparison, name: impl Fn(&str) -> String) -> Vec<String> {
    let modes = comparison.curves.windows(2).any(|pair| pair[0].mode != pair[1].mode);
    let of = |curve: &ComparedCurve| {
        let mode = if modes { format!(" ({} mode)", name(&curve.mode)) } else { String::new() };
        let on = match has_twin(comparison, curve) {
            true => format!(" (after: {})", name(&curve.targets[1])),
            false => String::new(),
        };
        format!("{}{mode}{on} {}", name(&curve.workload), of_curve(curve))
    };
    match comparison.curves.is_empty() {
        true => vec!["the two sides have no curve in common: nothing can be compared".to_owned()],
        false => comparison.curves.iter().map(of).collect(),
    }
}

fn of_curve(curve: &ComparedCurve) -> String {
    let with = |wanted: fn(&Verdict) -> bool| -> Vec<&ComparedPoint> {
        curve.points.iter().filter(|point| wanted(&point.verdict)).collect()
    };
    let less = curve.metric.lower_is_better;
    let (better, worse) = if less { ("less", "more") } else { ("faster", "slower") };
    let mut parts = Vec::new();
    for (word, points) in [
        (better, with(|verdict| matches!(verdict, Verdict::Faster))),
        (worse, with(|verdict| matches!(verdict, Verdict::Slower))),
    ] {
        parts.extend(changed(word, &points));
    }
    if let (true, Some(first)) = (!parts.is_empty(), parts.first_mut()) {
        first.insert_str(0, if less { "takes " } else { "is " });
    }
    let same = with(|verdict| matches!(verdict, Verdict::NoDifference { .. }));
    if let Some(Verdict::NoDifference { bound }) = same.first().map(|point| point.verdict) {
        let has = if parts.is_empty() { "shows " } else { "" };
        let bound = percent(bound, 0.0);
        parts.push(format!("{has}no difference larger than {bound} % at {}", tasks(&same)));
    }
    let undecided = with(|verdict| matches!(verdict, Verdict::Undecided { .. }));
    if !undecided.is_empty() {
        let is = if parts.is_empty() { "is " } else { "" };
        parts.push(format!("{is}undecided at {}{}", tasks(&undecided), more(&undecided)));
    }
    match parts.is_empty() {
        true => "has no task count in common".to_owned(),
        false => parts.join("; "),
    }
}

/// "12.4 % faster at 2 tasks [11.6, 13.1]", or one range over many points.
fn changed(word: &str, points: &[&ComparedPoint]) -> Vec<String> {
    if points.len() <= ONE_BY_ONE {
        let one = |point: &&ComparedPoint| {
            let (change, interval) = size(point);
            format!("{change} % {word} at {}{interval}", tasks(&[point]))
        };
        return points.iter().map(one).collect();
    }
    let sizes = points.iter().filter_map(|point| point.change).map(f64::abs);
    let (least, most) = sizes.fold((f64::MAX, 0.0f64), |(l, m), size| (l.min(size), m.max(size)));
    let range = format!("{} to {} % {word}", percent(least, 0.0), percent(most, 0.0));
    vec![format!("{range} at {}", tasks(points))]
}

/// The change without its sign, and its interval likewise: "12.4" and " [11.6, 13.1]".
fn size(point: &ComparedPoint) -> (String, String) {
    let change = point.change.unwrap_or(0.0);
    let Some([low, high]) = point.interval else {
        return (percent(change.abs(), 0.0), String::new());
    };
    let half = (high - low) / 2.0;
    let [near, far] = if change < 0.0 { [-high, -low] } else { [low, high] };
    (percent(change.abs(), half), format!(" [{}, {}]", end(near, half), end(far, half)))
}

/// "1 task", "2, 4 and 8 tasks"; many in a row as `--tasks` takes them: "1..64 tasks".
fn tasks(points: &[&ComparedPoint]) -> String {
    let in_a_row = |a: &ComparedPoint, b: &ComparedPoint| a.tasks.checked_add(1) == Some(b.tasks);
    let mut counts: Vec<String> = Vec::new();
    for row in points.chunk_by(|a, b| in_a_row(a, b)) {
        match row {
            [first, .., last] if row.len() > ONE_BY_ONE => {
                counts.push(format!("{}..{}", first.tasks, last.tasks));
            }
            _ => counts.extend(row.iter().map(|point| point.tasks.to_string())),
        }
    }
    match &counts[..] {
        [one] if one == "1" => "1 task".to_owned(),
        [one] => format!("{one} tasks"),
        [first @ .., last] => format!("{} and {last} tasks", first.join(", ")),
        [] => "no task count".to_owned(),
    }
}

/// How many more rounds it would take to decide, if that can be said.
fn more(points: &[&ComparedPoint]) -> String {
    let rounds = points.iter().filter_map(|point| match point.verdict {
        Verdict::Undecided { more_rounds } => more_rounds,
        _ => None,
    });
    match rounds.max() {
        Some(1) => " (1 more round would probably decide it)".to_owned(),
        Some(rounds) => format!(" (about {rounds} more rounds would probably decide it)"),
        None => String::new(),
    }
}

/// A share in per cent with as many decimals as an interval of this half-width (a share too) supports; one of no known width
/// gets two significant digits.
pub(super) fn percent(share: f64, half: f64) -> String {
    let (value, half) = (share * 100.0, half * 100.0);
    let decimals = match half {
        half if half <= 0.0 => match value.abs() {
            value if value >= 10.0 => 0,
            value if value >= 1.0 || value == 0.0 => 1,
            _ => 2,
        },
        half if half < 0.1 => 2,
        half if half < 10.0 => 1,
        _ => 0,
    };
    let text = format!("{value:.decimals$}");
    // A bound of 1 % is written so, not as 1.0 %.
    let text = if half <= 0.0 && text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    };
    if text.trim_start_matches('-').chars().all(|c| matches!(c, '0' | '.')) {
        text.trim_start_matches('-').to_owned()
    } else {
        text
    }
}

/// As [`word`], for people: what counts something else than work is not faster, but less.
pub(super) fn word_in(curve: &ComparedCurve, verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Faster if curve.metric.lower_is_better => "less",
        Verdict::Slower if curve.metric.lower_is_better => "more",
        _ => word(verdict),
    }
}

/// An end of an interval, likewise; but one that is not zero is not rounded to it, for that would deny the verdict.
pub(super) fn end(share: f64, half: f64) -> String {
    let text = percent(share, half);
    let is_zero = text.chars().all(|c| matches!(c, '0' | '.'));
    if is_zero { percent(share, 0.0) } else { text }
}

/// One word for a point's verdict.
pub(super) fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::NoDifference { .. } => "no difference",
        Verdict::Undecided { .. } => "undecided",
    }
}

/// By which method the intervals were made: "95 % intervals, all task counts together: BCa bootstrap".
pub(super) fn method(curve: &ComparedCurve) -> Option<String> {
    let mut by_method: Vec<(&str, Vec<&ComparedPoint>)> = Vec::new();
    for point in curve.points.iter().filter(|point| point.interval.is_some()) {
        let Some(method) = point.method.as_deref() else { continue };
        match by_method.iter_mut().find(|(known, _)| *known == method) {
            Some((_, points)) => points.push(point),
            None => by_method.push((method, vec![point])),
        }
    }
    let methods: Vec<String> = match &by_method[..] {
        [] => return None,
        [(method, _)] => vec![(*method).to_owned()],
        several => several
            .iter()
            .map(|(method, points)| format!("{method} at {}", tasks(points)))
            .collect(),
    };
    Some(format!("95 % intervals, all task counts together: {}", methods.join("; ")))
}

/// What became of the shape of the curve, in words. What moved by chance is not said.
pub(super) fn shape(curve: &ComparedCurve) -> Vec<String> {
    let Some(ShapeChange { peak, knee, retrograde, usl, no_fit }) = &curve.shape else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    let tasks = |count: String| match count.as_str() {
        "1" => "1 task".to_owned(),
        count => format!("{count} tasks"),
    };
    if peak.sure && peak.before != peak.after {
        let (from, to) = (tasks(peak.before.to_string()), tasks(peak.after.to_string()));
        lines.push(format!("the peak moved from {from} to {to}"));
    }
    if knee.sure {
        let place = |at: Option<f64>| match at {
            Some(at) => tasks(format!("{at:.1}")),
            None => "beyond the last task count".to_owned(),
        };
        lines.push(format!(
            "the knee (half of the efficiency) moved from {} to {}",
            place(knee.before),
            place(knee.after)
        ));
    }
    match (retrograde.sure, retrograde.before, retrograde.after) {
        (true, None, Some(at)) => {
            lines.push(format!("the second side falls from {} on", tasks(at.to_string())));
        }
        (true, Some(at), None) => {
            let at = tasks(at.to_string());
            lines.push(format!("the first side falls from {at} on, the second does not"));
        }
        _ => (),
    }
    if let [Some(before), Some(after)] = usl {
        let term =
            |value: f64, [low, high]: [f64; 2]| format!("{value:.2e} [{low:.1e}, {high:.1e}]");
        lines.push(format!(
            "universal scalability law: contention sigma {} -> {}; coherence kappa {} -> {}",
            term(before.sigma, before.sigma_ci95),
            term(after.sigma, after.sigma_ci95),
            term(before.kappa, before.kappa_ci95),
            term(after.kappa, after.kappa_ci95),
        ));
    }
    let says = |why: &String| format!("universal scalability law: {why}");
    lines.extend(no_fit.as_ref().filter(|_| curve.points.len() > 3).map(says));
    lines
}

/// What a comparison of stored runs costs, said before the numbers.
pub(crate) fn pairing(comparison: &Comparison) -> Option<String> {
    (comparison.pairing == Pairing::Stored).then(|| {
        "NOT INTERLEAVED: the two runs were taken one after the other, so whatever changed on the machine between them is part \
         of the difference; measure both in one vfscale compare to be sure"
            .to_owned()
    })
}
