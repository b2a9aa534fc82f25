//! Pages: everything in them, nothing obeyed, and small.

use super::*;
use crate::figures::Named;
use crate::{comparison as compared, fixture};
use results::{ComparedCurve, Curve, KernelWait, Point, Sample, Traced, WaitStack};

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
            point.traced = Some(Box::new(traced(number, point.tasks)));
        }
        curve
    };
    fixture::run_of((0..10).map(curve).collect())
}

/// Twenty locks with three whole stacks each, as `--locks=stacks` finds them.
fn traced(curve: u64, tasks: u32) -> Traced {
    let mut traced = fixture::traced(1);
    let names = |lock: u64, stack: u64| -> Vec<String> {
        let caller = |depth: u64| format!("vfs_function_{}", (depth * 31 + lock * 7 + stack) % 97);
        (0..12).map(caller).collect()
    };
    let wait = |lock: u64| {
        let one = |stack| WaitStack {
            frames: names(lock, stack),
            count: 5,
            wait_ns: 1_000_000 + lock * 7 + curve,
        };
        KernelWait {
            lock: format!("lock_{lock}"),
            path: names(lock, 0).split_off(10),
            stacks: (0..3).map(one).collect(),
            ..traced.waits[0].clone()
        }
    };
    traced.waits = (0..20).map(wait).collect();
    traced.task_ns *= u64::from(tasks);
    traced
}

#[test]
fn a_page_of_ten_workloads_is_below_500_kilobytes_with_all_stacks() {
    let page = run_page(&big());
    assert!(page.contains("<figure class=\"flame\""));
    assert!(page.len() < 500_000, "{} bytes", page.len());
}

#[test]
fn a_comparison_of_ten_workloads_is_below_a_megabyte() {
    let mut comparison = compared::tests::comparison();
    let workloads = (0..10).map(|number| format!("workload_with_a_name_{number}"));
    let curve = comparison.curves[0].clone();
    comparison.curves =
        workloads.map(|workload| ComparedCurve { workload, ..curve.clone() }).collect();
    (comparison.before, comparison.after) = (big(), big());
    let page = super::comparison(&comparison);
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
}

/// What a reader may ask for, and what it is called in a page.
const PARTS: [&str; 12] = [
    "rounds in the order they were taken",
    "what the time of a task goes to",
    "does every task get its share?",
    ": figures<",
    ": locks<",
    ": CPU time<",
    ": scheduling<",
    "waits for locks, by stack",
    "Numbers of this picture",
    "raise cpu.max, or ask for one task only",
    "under the tracer: 0.93 of the rate",
    "mitigations",
];

#[test]
fn runs_and_comparisons_have_all_that_was_seen() {
    let run = run_page(&fixture::traced_run());
    let comparison = super::comparison(&compared::tests::with_locks());
    for part in PARTS {
        assert!(run.contains(part), "run: {part}");
        assert!(comparison.contains(part), "comparison: {part}");
    }
    for (page, part) in [
        (&run, "vfscale run open_close --on dir:/mnt/x"),
        (&comparison, "vfscale compare dir:/mnt/a dir:/mnt/b"),
        (&comparison, "before: waits for locks, by stack"),
        (&comparison, "after: waits for locks, by stack"),
        (&comparison, "/1000 ops: waits"),
        (&comparison, "differs: mount options: rw,relatime -&gt; rw,noatime"),
    ] {
        assert!(page.contains(part), "{part}");
    }
    let stack = "open_close → 2 tasks → do_syscall_64 → sys_unlink → do_unlinkat → down_write → [rwsem write]";
    assert!(
        run.contains(&format!("of 82.47 ms waited 99 % are in one stack: {stack}")),
        "the sentence"
    );
    assert!(run.contains(&format!("{stack}<td>81.23<td>98.50")), "the table");
    assert!(!run_page(&fixture::run()).contains("<figure class=\"flame\""), "nobody looked");
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
    run.curves[0].points[1].traced = Some(Box::new(fixture::traced(1)));
    let traced = run.curves[0].points[1].traced.as_mut().expect("traced");
    traced.waits[0].stacks[0].frames.push(evil.into());
    traced.notes.push(evil.into());
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
    let words = |words: &[&str]| {
        crate::conditions::shell(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>())
    };
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
        ("compare-locks.html", super::comparison(&compared::tests::with_locks())),
        ("locks-stacks.html", run_page(&fixture::traced_run())),
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
