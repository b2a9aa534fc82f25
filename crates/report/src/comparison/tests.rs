//! Comparisons to write: a clear one, an undecided one, stored runs of two kernels, and what is easy to forget.

use super::*;
use crate::fixture;
use results::{
    ComparedCurve, ComparedPoint, Difference, Kind, Metric, Moved, Pairing, Run, ShapeChange,
    UslFit, Verdict, Warning,
};
use std::path::Path;

fn point(tasks: u32, rates: [f64; 2], verdict: Verdict) -> ComparedPoint {
    let change = rates[1] / rates[0] - 1.0;
    ComparedPoint {
        tasks,
        before: rates[0],
        after: rates[1],
        change: Some(change),
        interval: Some([change - 0.008, change + 0.007]),
        p: Some(0.004),
        verdict,
        rounds: 8,
        method: Some("BCa bootstrap".to_owned()),
        notes: Vec::new(),
    }
}

fn side(target: &str, rates: &[(u32, f64)]) -> Run {
    let mut curve = fixture::curve("open_close", rates);
    curve.target = target.to_owned();
    let mut run = fixture::run_of(vec![curve]);
    run.host.fs[0].target = target.to_owned();
    run
}

/// Faster at two of three counts.
pub(crate) fn comparison() -> Comparison {
    let before = [(1, 812_345.6), (2, 1_234_210.0), (4, 1_298_733.0)];
    let after = [(1, 814_111.1), (2, 1_387_252.0), (4, 1_201_002.0)];
    let verdicts = [Verdict::NoDifference { bound: 0.01 }, Verdict::Faster, Verdict::Slower];
    let points = before.iter().zip(&after).zip(verdicts);
    Comparison {
        schema: Comparison::SCHEMA.to_owned(),
        vfscale: "0.1.0".to_owned(),
        command: ["vfscale", "compare", "dir:/mnt/a", "dir:/mnt/b"].map(str::to_owned).to_vec(),
        pairing: Pairing::Interleaved,
        labels: ["dir:/mnt/a".to_owned(), "dir:/mnt/b".to_owned()],
        differences: vec![Difference {
            what: "mount options".to_owned(),
            before: "rw,relatime".to_owned(),
            after: "rw,noatime".to_owned(),
        }],
        bound: 0.01,
        curves: vec![ComparedCurve {
            workload: "open_close".to_owned(),
            mode: "process".to_owned(),
            targets: ["dir:/mnt/a".to_owned(), "dir:/mnt/b".to_owned()],
            metric: Metric::default(),
            points: points.map(|((b, a), verdict)| point(b.0, [b.1, a.1], verdict)).collect(),
            shape: Some(ShapeChange {
                peak: Moved { before: 4, after: 2, sure: true },
                knee: Moved { before: Some(3.4), after: Some(2.6), sure: true },
                retrograde: Moved { before: None, after: Some(4), sure: true },
                usl: [UslFit {
                    lambda: 8e5,
                    sigma: 0.1,
                    sigma_ci95: [0.08, 0.12],
                    kappa: 0.01,
                    kappa_ci95: [0.005, 0.02],
                }; 2]
                    .map(Some),
                no_fit: None,
            }),
        }],
        unmatched: vec!["fstat, process mode: only before".to_owned()],
        before: side("dir:/mnt/a", &before),
        after: side("dir:/mnt/b", &after),
    }
}

fn stored() -> Comparison {
    let mut stored = comparison();
    stored.pairing = Pairing::Stored;
    stored.labels = ["v6.12".to_owned(), "v6.12 with the patch \u{1b}[2J".to_owned()];
    for point in &mut stored.curves[0].points {
        point.verdict = Verdict::Undecided { more_rounds: Some(210) };
        point.method = Some("Yuen-Welch t".to_owned());
    }
    stored.curves[0].points[0].interval = None;
    stored.curves[0].points[0].notes = vec!["rounds drift by 4 %: interval widened".to_owned()];
    stored.after.plan.partial = true;
    stored
}

/// [`comparison`] with what was seen of locks on both sides.
pub(crate) fn with_locks() -> Comparison {
    let mut with_locks = comparison();
    with_locks.before.curves[0].points[1].traced = Some(Box::new(fixture::traced(1)));
    with_locks.after.curves[0].points[1].traced = Some(Box::new(fixture::traced(3)));
    with_locks.after.curves[0].points[0].traced = Some(Box::new(fixture::watched()));
    with_locks
}

pub(crate) fn odd() -> Vec<Comparison> {
    let mut nothing = comparison();
    nothing.curves.clear();
    let mut idle = comparison();
    for point in &mut idle.curves[0].points {
        (point.before, point.after, point.change, point.interval) = (0.0, 0.0, None, None);
        point.verdict = Verdict::Undecided { more_rounds: None };
    }
    let mut many = comparison();
    let curve = &mut many.curves[0];
    curve.points = (0..13)
        .map(|n| point(1 << n, [1e9, 1e9 * (1.05 + f64::from(n) / 100.0)], Verdict::Faster))
        .collect();
    let mut seconds = comparison();
    seconds.curves[0].metric = Metric { unit: "s".to_owned(), lower_is_better: true };
    // More than a mail has room for.
    let mut wide = comparison();
    wide.curves[0].metric.unit = "bogo operations a second".to_owned();
    for point in &mut wide.curves[0].points {
        (point.before, point.after) = (1e18, 2e18);
    }
    vec![comparison(), stored(), nothing, idle, many, seconds, wide, with_locks()]
}

#[test]
fn the_verdict_says_size_and_place() {
    let said = verdict(&comparison(), str::to_owned);
    assert_eq!(
        said,
        [
            "open_close is 12.4 % faster at 2 tasks [11.6, 13.1]; 7.5 % slower at 4 tasks [6.8, 8.3]; no difference larger \
             than 1 % at 1 task"
        ]
    );
    let said = verdict(&stored(), str::to_owned);
    assert_eq!(
        said,
        [
            "open_close is undecided at 1, 2 and 4 tasks (about 210 more rounds would probably decide it)"
        ]
    );
    let [_, _, nothing, idle, many, seconds, ..] = &odd()[..] else { panic!("seven") };
    assert!(verdict(nothing, str::to_owned)[0].contains("nothing can be compared"));
    assert_eq!(verdict(idle, str::to_owned), ["open_close is undecided at 1, 2 and 4 tasks"]);
    let many = &verdict(many, str::to_owned)[0];
    assert!(many.starts_with("open_close is 5 to 17 % faster at 1, 2, 4, 8,"), "{many}");
    let seconds = &verdict(seconds, str::to_owned)[0];
    assert!(seconds.starts_with("open_close takes 12.4 % less at 2 tasks"), "{seconds}");
}

#[test]
fn an_interval_is_not_rounded_to_no_change() {
    let mut comparison = comparison();
    let point = &mut comparison.curves[0].points[1];
    (point.change, point.interval) = (Some(0.17), Some([0.003, 0.33]));
    let said = &verdict(&comparison, str::to_owned)[0];
    assert!(said.contains("17 % faster at 2 tasks [0.3, 33]"), "{said}");
    let cells = &table::of(&comparison, 0).rows[1];
    assert!(cells.iter().any(|cell| cell.trim() == "+0.3 to +33"), "{cells:?}");
}

#[test]
fn many_task_counts_in_a_row_are_a_range() {
    let mut comparison = comparison();
    let counts = (1..=64).chain([128, 130, 131]);
    let same = |tasks| point(tasks, [1e6, 1e6], Verdict::NoDifference { bound: 0.01 });
    comparison.curves[0].points = counts.map(same).collect();
    let said = &verdict(&comparison, str::to_owned)[0];
    assert!(said.ends_with("at 1..64, 128, 130 and 131 tasks"), "{said}");
}

#[test]
fn every_format_writes_every_comparison_and_obeys_no_name() {
    for comparison in odd() {
        for format in COMPARISON_FORMATS {
            for style in fixture::styles() {
                let text = (format.render)(&comparison, &style);
                assert!(text.ends_with('\n'), "{}", format.name);
                assert!(!text.contains("NaN") && !text.contains("inf%"), "{text}");
                let data = ["csv", "json"].contains(&format.name);
                if !data && !style.colour {
                    assert!(!text.contains('\u{1b}'), "{}: {text}", format.name);
                }
            }
        }
    }
}

#[test]
fn nothing_that_a_terminal_would_obey_gets_out_of_a_name() {
    let evil = "x\u{1b}[2J\u{202e}\u{61c}\u{9b}\n";
    let mut comparison = with_locks();
    comparison.labels = [evil.to_owned(), evil.to_owned()];
    comparison.curves[0].targets = comparison.labels.clone();
    comparison.curves[0].points[0].notes.push(evil.to_owned());
    comparison.differences[0].what = evil.to_owned();
    comparison.differences[0].after = evil.to_owned();
    comparison.unmatched.push(evil.to_owned());
    comparison.command.push(evil.to_owned());
    for run in [&mut comparison.before, &mut comparison.after] {
        run.curves[0].target = evil.to_owned();
        run.host.fs[0].target = evil.to_owned();
        run.host.fs[0].mount_point = evil.to_owned();
        run.warnings[0].message = evil.to_owned();
        let traced = run.curves[0].points[1].traced.as_mut().expect("traced");
        traced.waits[0].path.push(evil.to_owned());
        traced.waits[0].stacks[0].frames.push(evil.to_owned());
    }
    // In JSON and CSV a name is data.
    for format in COMPARISON_FORMATS.iter().filter(|format| !["json", "csv"].contains(&format.name))
    {
        for style in fixture::styles().into_iter().filter(|style| !style.colour) {
            let text = (format.render)(&comparison, &style);
            let bad = text.find(|c| c != '\n' && crate::escape::is_unprintable(c));
            let around = bad.map(|at| text[..at].chars().rev().take(60).collect::<String>());
            assert_eq!(around, None, "{}", format.name);
        }
    }
}

#[test]
fn a_mail_has_72_columns_of_ascii() {
    let format = ComparisonFormat::by_name("mail").expect("it is registered");
    for comparison in odd() {
        let text = (format.render)(&comparison, &Style::default());
        assert!(text.is_ascii(), "{text}");
        let wide: Vec<&str> = text.lines().filter(|line| line.len() > 72).collect();
        assert!(wide.is_empty(), "{wide:?}\n{text}");
    }
}

#[test]
fn what_makes_numbers_less_true_is_in_all_that_people_read() {
    let mut comparison = comparison();
    let advice = "measure again".to_owned();
    comparison.after.warnings =
        vec![Warning { code: "steal".to_owned(), message: "steal of 7 %".to_owned(), advice }];
    for side in [&mut comparison.before, &mut comparison.after] {
        side.curves[0].kind = Kind::Simulated;
    }
    for format in ["text", "markdown", "mail"] {
        let format = ComparisonFormat::by_name(format).expect("it is registered");
        let text = (format.render)(&comparison, &Style::default());
        for part in ["steal of 7 %", "not compared: fstat", "simulated in virtual time"] {
            assert!(text.contains(part), "{} lacks {part}: {text}", format.name);
        }
    }
    let format = ComparisonFormat::by_name("lkp").expect("it is registered");
    let text = (format.render)(&stored(), &Style::default());
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} is missing: {text}"));
    assert!(at("differs: mount options") < at("%stddev") && at("PARTIAL") < at("%stddev"));
}

#[test]
fn a_warning_of_one_stored_run_says_of_which() {
    let warning = |message: &str| Warning {
        code: "load".to_owned(),
        message: message.to_owned(),
        advice: "stop other work".to_owned(),
    };
    let mut comparison = stored();
    comparison.before.warnings = vec![warning("no CPU quota seen"), warning("load of 82 %")];
    comparison.after.warnings = vec![warning("load of 84 %"), warning("no CPU quota seen")];
    let said = |comparison: &Comparison| -> Vec<String> {
        super::warned(comparison).into_iter().map(|warning| warning.message).collect()
    };
    let expected = ["no CPU quota seen", "before: load of 82 %", "after: load of 84 %"];
    assert_eq!(said(&comparison), expected);
    comparison.pairing = Pairing::Interleaved;
    assert_eq!(said(&comparison), ["no CPU quota seen", "load of 82 %", "load of 84 %"]);
}

#[test]
fn of_several_metrics_each_has_its_own_curve() {
    let mut comparison = comparison();
    let seconds = Metric { unit: "s".to_owned(), lower_is_better: true };
    for side in [&mut comparison.before, &mut comparison.after] {
        let mut other = side.curves[0].clone();
        other.metric = seconds.clone();
        for point in &mut other.points {
            point.ci95 = Some([1.0, 9.0]);
        }
        // Before the one that is compared.
        side.curves.insert(0, other);
    }
    let drawn = text::both(&comparison, &comparison.curves[0]);
    assert!(drawn.iter().all(|(_, curve)| curve.metric == Metric::default()), "{drawn:?}");
    let mut other = comparison.curves[0].clone();
    other.metric = seconds;
    let drawn = text::both(&comparison, &other);
    assert!(drawn.iter().all(|(_, curve)| curve.points[0].ci95 == Some([1.0, 9.0])), "{drawn:?}");
}

#[test]
fn json_reads_back_as_the_same_comparison() {
    let format = ComparisonFormat::by_name("json").expect("it is registered");
    for comparison in odd() {
        let text = (format.render)(&comparison, &Style::default());
        let back: Comparison = serde_json::from_str(&text).expect("it is JSON of the schema");
        assert_eq!(back, comparison);
    }
}

#[test]
fn csv_rows_have_a_field_per_column() {
    let format = ComparisonFormat::by_name("csv").expect("it is registered");
    let text = (format.render)(&comparison(), &Style::default());
    let columns = |line: &str| line.matches(',').count();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4);
    assert!(lines.iter().all(|line| columns(line) == columns(lines[0])), "{text}");
}

#[test]
fn what_they_look_like() {
    for (file, comparison, name) in [
        ("compare.txt", comparison(), "text"),
        ("compare.md", comparison(), "markdown"),
        ("compare.mail", comparison(), "mail"),
        ("compare.lkp", comparison(), "lkp"),
        ("compare.csv", comparison(), "csv"),
        ("compare-stored.txt", stored(), "text"),
        ("compare-locks.txt", with_locks(), "text"),
        ("compare-locks.mail", with_locks(), "mail"),
    ] {
        let format = ComparisonFormat::by_name(name).expect("it is registered");
        let text = (format.render)(&comparison, &Style::default());
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &text).expect("the golden file can be written");
        }
        let expected = std::fs::read_to_string(&path).expect("the golden file can be read");
        assert!(text == expected, "{file} is no longer what comes out:\n{text}");
    }
}

#[test]
fn curves_of_one_workload_are_told_apart_by_their_targets_and_counts_are_less_not_faster() {
    let mut comparison = comparison();
    comparison.curves[0].metric = Metric { unit: "instructions/op".into(), lower_is_better: true };
    let mut twin = comparison.curves[0].clone();
    twin.targets = ["guest:a,cpu=max".to_owned(), "guest:b,cpu=max".to_owned()];
    comparison.curves.push(twin);
    for format in [&super::text::FORMAT, &super::markdown::FORMAT, &super::mail::FORMAT] {
        let style = Style { colour: false, unicode: true, width: 200, verbose: false };
        let shown = (format.render)(&comparison, &style);
        for part in ["cpu=max", "/mnt/b", "less"] {
            assert!(shown.contains(part), "{}: {part} is missing in:\n{shown}", format.name);
        }
        assert!(!shown.contains("faster"), "{}:\n{shown}", format.name);
    }
}
