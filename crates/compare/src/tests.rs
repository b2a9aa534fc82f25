//! What comes out of comparisons whose answer is known.

use crate::fixture::{curve, noisy, run};
use crate::{BOUND, Question, compare};
use results::{Comparison, Kind, Metric, Pairing, Run, Verdict};

fn question(pairing: Pairing) -> Question {
    let labels = ["a".into(), "b".into()];
    Question { pairing, labels, bound: BOUND, command: vec!["vfscale".into()] }
}

fn ask(pairing: Pairing, before: Run, after: Run) -> Comparison {
    compare(question(pairing), before, after)
}

/// Both sides of every round scaled by the same disturbance, far larger than the difference.
fn disturbed(mean: f64, factor: f64) -> [Vec<f64>; 2] {
    let machine = noisy(1.0, 5, 60);
    let wild = machine.iter().enumerate().map(|(at, x)| x * (1.0 + 0.5 * (at as f64 / 7.0).sin()));
    let wild: Vec<f64> = wild.collect();
    let side = |mean: f64, seed| -> Vec<f64> {
        noisy(mean, seed, 60).iter().zip(&wild).map(|(rate, x)| rate * x).collect()
    };
    [side(mean, 11), side(mean * factor, 13)]
}

#[test]
fn pairs_see_what_two_runs_cannot() {
    let [before, after] = disturbed(1e6, 1.03);
    let of = |rates: Vec<f64>| run(vec![curve("open_close", "dir:/a", &[(2, rates)])]);
    let paired = ask(Pairing::Interleaved, of(before.clone()), of(after.clone()));
    let point = &paired.curves[0].points[0];
    assert_eq!(point.verdict, Verdict::Faster);
    let [low, high] = point.interval.unwrap();
    assert!(low < 0.03 && 0.03 < high && high - low < 0.02, "{low} {high}");
    assert_eq!(point.rounds, 60);
    let stored = ask(Pairing::Stored, of(before), of(after));
    let point = &stored.curves[0].points[0];
    assert!(matches!(point.verdict, Verdict::Undecided { .. }), "{point:?}");
}

#[test]
fn equal_sides_are_shown_to_be_equal() {
    let of = |seed| run(vec![curve("fstat", "dir:/a", &[(1, noisy(1e6, seed, 200))])]);
    let comparison = ask(Pairing::Interleaved, of(1), of(2));
    assert_eq!(comparison.curves[0].points[0].verdict, Verdict::NoDifference { bound: BOUND });
    assert!(comparison.differences.is_empty() && comparison.unmatched.is_empty());
}

#[test]
fn of_times_less_is_better() {
    let of = |mean, seed| {
        let mut curve = curve("hyperfine", "sleep", &[(1, noisy(mean, seed, 40))]);
        curve.metric = Metric { unit: "s".into(), lower_is_better: true };
        run(vec![curve])
    };
    let comparison = ask(Pairing::Stored, of(10_000.0, 3), of(9_000.0, 4));
    let point = &comparison.curves[0].points[0];
    assert_eq!(point.verdict, Verdict::Faster);
    let change = point.change.unwrap();
    assert!((-0.11..-0.09).contains(&change), "{change}");
    let [low, high] = point.interval.unwrap();
    assert!(low < change && change < high, "{low} {change} {high}");
}

#[test]
fn what_has_no_rounds_or_no_rate_gets_no_verdict() {
    let summary = |rate: f64| {
        let mut curve = curve("open_close", "file", &[(1, vec![rate])]);
        curve.points[0].samples.clear();
        curve.points[0].ops_per_s = rate;
        run(vec![curve])
    };
    let comparison = ask(Pairing::Stored, summary(100.0), summary(110.0));
    let point = &comparison.curves[0].points[0];
    assert_eq!(point.verdict, Verdict::Undecided { more_rounds: None });
    assert!(point.notes[0].contains("summary only"), "{:?}", point.notes);
    assert!((point.change.unwrap() - 0.1).abs() < 1e-9);
    assert_eq!((point.interval, point.p), (None, None));
    let idle = |rate| run(vec![curve("open_close", "dir:/a", &[(1, vec![rate; 20])])]);
    let comparison = ask(Pairing::Interleaved, idle(0.0), idle(5.0));
    let point = &comparison.curves[0].points[0];
    assert!(matches!(point.verdict, Verdict::Undecided { .. }));
    assert_eq!(point.change, None);
    assert!(point.notes[0].contains("no operation was done"), "{:?}", point.notes);
}

#[test]
fn curves_of_stored_runs_find_each_other() {
    let of = |curves: &[(&str, &str, &[u32])]| {
        let curve = |(workload, target, counts): &(&str, &str, &[u32])| {
            let points: Vec<_> =
                counts.iter().map(|tasks| (*tasks, noisy(1e6, u64::from(*tasks), 30))).collect();
            curve(workload, target, &points)
        };
        run(curves.iter().map(curve).collect())
    };
    let before = of(&[
        ("open_close", "dir:/a", &[1, 2]),
        ("open_close", "dir:/b", &[1]),
        ("fstat", "dir:/a", &[1]),
    ]);
    let after = of(&[
        ("open_close", "dir:/c", &[1, 4]),
        ("open_close", "dir:/b", &[1]),
        ("unlink_open", "dir:/a", &[1]),
    ]);
    let comparison = ask(Pairing::Stored, before, after);
    let targets: Vec<_> = comparison.curves.iter().map(|curve| curve.targets.clone()).collect();
    assert_eq!(targets, [["dir:/a", "dir:/c"], ["dir:/b", "dir:/b"]]);
    assert_eq!(
        comparison.unmatched,
        [
            "fstat on dir:/a, process mode: only before",
            "unlink_open on dir:/a, process mode: only after",
            "open_close on dir:/a, process mode, task counts 2: only before",
            "open_close on dir:/a, process mode, task counts 4: only after"
        ]
    );
}

#[test]
fn conditions_that_differ_are_listed_and_unknown_ones_are_not() {
    let of = |kernel: &str, governor: &str| {
        let mut run = run(vec![]);
        run.host.kernel = kernel.into();
        run.host.governor = vec![governor.into()];
        run
    };
    let comparison = ask(Pairing::Stored, of("6.1", "powersave"), of("6.12", "performance"));
    let what: Vec<&str> = comparison.differences.iter().map(|d| d.what.as_str()).collect();
    assert_eq!(what, ["kernel", "governor"]);
    let comparison = ask(Pairing::Stored, of("", "powersave"), of("6.12", "performance"));
    assert!(comparison.differences.is_empty(), "{:?}", comparison.differences);
}

#[test]
fn what_was_measured_and_how_is_a_condition() {
    let of = |target: &str| {
        let points = [(1, noisy(1e6, 1, 30))];
        run(vec![curve("open_close", target, &points), curve("fstat", target, &points)])
    };
    let (mut before, mut after) = (of("dir:/a"), of("sim:x"));
    before.curves[1].points[0].locks = vec![results::LockUse::default()];
    after.curves.iter_mut().for_each(|curve| curve.kind = Kind::Simulated);
    (before.host.cpus, after.host.cpus) = (vec![0, 1], vec![2, 3]);
    after.host.mitigations.insert("spectre_v2".into(), "Vulnerable".into());
    let comparison = ask(Pairing::Stored, before, after);
    let said: Vec<String> = comparison
        .differences
        .iter()
        .map(|d| format!("{}: {} -> {}", d.what, d.before, d.after))
        .collect();
    assert_eq!(
        said,
        [
            "target: dir:/a -> sim:x",
            "figures: measured -> simulated",
            "locks: counted -> not counted",
            "usable CPUs: 2 (0,1) -> 2 (2,3)",
            "mitigation spectre_v2: unknown -> Vulnerable",
        ]
    );
}

#[test]
fn a_peak_that_moves_is_seen() {
    let of = |rates: [f64; 4]| {
        let counts = [1, 2, 4, 8];
        let points: Vec<_> = counts
            .iter()
            .zip(rates)
            .map(|(n, rate)| (*n, noisy(rate, u64::from(*n), 30)))
            .collect();
        run(vec![curve("open_close", "lab", &points)])
    };
    let comparison =
        ask(Pairing::Interleaved, of([1e6, 1.8e6, 1.2e6, 0.6e6]), of([1e6, 2e6, 4e6, 7.8e6]));
    let shape = comparison.curves[0].shape.clone().unwrap();
    assert_eq!((shape.peak.before, shape.peak.after, shape.peak.sure), (2, 8, true));
    assert_eq!((shape.retrograde.before, shape.retrograde.after), (Some(4), None));
    assert!(shape.retrograde.sure);
    let fit = shape.usl[1].expect("nearly linear is a case of the law");
    assert!(fit.sigma < 0.02 && fit.kappa < 0.01, "{fit:?}");
}
