//! Pages: everything in them, nothing obeyed, and small.

use super::*;
use crate::figures::Named;
use crate::{comparison as compared, fixture};
use results::{Curve, Point, Sample};

fn run_page(run: &Run) -> String {
    runs(&[Named { name: "", run }])
}

/// Ten workloads at ten task counts in fifty rounds, no two samples alike.
fn big() -> Run {
    let rates: Vec<(u32, f64)> =
        (0..10).map(|n| (1 << n.min(6), 812_345.6 * f64::from(n + 1))).collect();
    let sample = |round: u32, task: u32, scale: u64| Sample {
        ops: 8_000 * scale + u64::from(round * 37 + task * 13) % 97,
        user_ns: 1_000_000 + u64::from(round * 991),
        ..fixture::sample(round, task, 0)
    };
    let curve = |number: u64| -> Curve {
        let mut curve = fixture::curve(&format!("workload_with_a_name_{number}"), &rates);
        for (at, point) in curve.points.iter_mut().enumerate() {
            point.tasks = at as u32 + 1;
            let samples = (0..50).flat_map(|round| {
                (0..point.tasks).map(move |task| sample(round, task, number + 1))
            });
            *point = Point::from_samples(point.tasks, vec![], samples.collect(), None);
            point.locks = fixture::locks();
        }
        curve
    };
    fixture::run_of((0..10).map(curve).collect())
}

#[test]
fn a_page_of_ten_workloads_is_below_500_kilobytes() {
    let page = run_page(&big());
    assert!(page.len() < 500_000, "{} bytes", page.len());
}

#[test]
fn nothing_is_fetched_and_no_name_becomes_a_tag() {
    let evil = "</script><img src=http://x/ onerror='alert(1)'>&\"\u{1b}";
    let mut run = fixture::run();
    run.curves[0].workload = evil.into();
    run.curves[0].target = evil.into();
    run.host.fs[0].mount_point = evil.into();
    run.warnings[0].message = evil.into();
    run.command.push(evil.into());
    run.curves[0].points[0].locks = fixture::locks();
    run.curves[0].points[0].locks[0].name = evil.into();
    let mut comparison = compared::tests::comparison();
    comparison.labels[0] = evil.into();
    comparison.differences[0].before = evil.into();
    comparison.unmatched.push(evil.into());
    let harmless = run_page(&fixture::run());
    for page in [
        run_page(&run),
        runs(&[Named { name: evil, run: &run }; 2]),
        super::comparison(&comparison),
    ] {
        assert!(!page.contains("<img") && !page.contains('\u{1b}'));
        assert_eq!(page.matches("</script>").count(), harmless.matches("</script>").count());
    }
    let own = harmless.replace(PLOT_SCRIPT, "").replace(SCRIPT, "");
    for reference in ["src=", "href=", "@import", "url("] {
        let mut found = own.match_indices(reference).map(|(at, _)| &own[at..]);
        // Clip paths are in the page.
        assert!(found.all(|text| text.starts_with("url(#")), "{reference}");
    }
}

#[test]
fn every_number_that_is_plotted_is_in_a_table() {
    let run = fixture::several();
    let page = run_page(&run);
    for point in run.curves.iter().flat_map(|curve| &curve.points) {
        let cell = crate::number::significant(point.ops_per_s, 6).to_string();
        let cell = cell.trim_end_matches(".0");
        assert!(page.contains(&format!("<td>{cell}<")), "{cell}");
    }
    for part in
        ["performance", "limits this run to 1.5 CPUs", "vfscale run open_close --on dir:/mnt/x"]
    {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn the_script_reads_the_numbers_of_the_record() {
    let run = fixture::run();
    let page = run_page(&run);
    let (_, rest) = page.split_once("id=\"charts\">").expect("the data");
    let (json, _) = rest.split_once("</script>").expect("the data ends");
    let charts: serde_json::Value = serde_json::from_str(json).expect("it is JSON");
    let dots = &charts[0]["panels"][0]["series"][0]["dots"];
    for (dot, point) in dots.as_array().expect("dots").iter().zip(&run.curves[0].points) {
        let [low, high] = point.ci95.expect("an interval");
        let numbers: Vec<f64> =
            dot.as_array().expect("a row").iter().filter_map(serde_json::Value::as_f64).collect();
        assert_eq!(numbers, [f64::from(point.tasks), point.ops_per_s, low, high]);
    }
}

#[test]
fn a_command_can_be_copied_to_a_shell() {
    let words =
        |words: &[&str]| shell(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
    assert_eq!(words(&["vfscale", "run", "--on", "dir:/mnt/x"]), "vfscale run --on dir:/mnt/x");
    assert_eq!(words(&["a b", "", "it's", "$x"]), "'a b' '' 'it'\\''s' '$x'");
}

#[test]
fn every_record_has_a_page() {
    for run in fixture::odd_runs() {
        assert!(run_page(&run).ends_with("</html>\n"));
    }
    for comparison in compared::tests::odd() {
        assert!(super::comparison(&comparison).ends_with("</html>\n"));
    }
    let page = power_html(&crate::power::tests::report());
    assert!(page.contains("3 rounds are too few") && page.contains("<svg"), "{page}");
}

/// For the browser test, where `VFSCALE_PAGES` names a directory.
#[test]
fn pages_can_be_looked_at() {
    let pages = [
        ("several.html", run_page(&fixture::several())),
        ("big.html", run_page(&big())),
        ("compare.html", super::comparison(&compared::tests::comparison())),
        ("power.html", power_html(&crate::power::tests::report())),
    ];
    for (name, page) in pages {
        assert!(page.contains("figure"), "{name}");
        if let Some(dir) = std::env::var_os("VFSCALE_PAGES") {
            std::fs::write(std::path::Path::new(&dir).join(name), page)
                .expect("the page can be written");
        }
    }
}
