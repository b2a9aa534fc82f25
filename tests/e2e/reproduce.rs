//! `vfscale reproduce`: the cheapest pages in each format, simulated and measured, and what becomes of an interrupted one.

use crate::support::{Running, leftovers, on, run, temp_dir, vfscale, wait_until};
use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;

const THREAD: &str = "fd-lookup";

/// The cheapest simulated page, which a debug build on a busy machine takes a while for.
fn simulated(format: &str) -> String {
    let args = ["reproduce", THREAD, "--seeds", "1", "--format", format];
    Running::start(&mut vfscale(&args)).wait(Duration::from_secs(180)).exits(0).stdout
}

#[test]
fn a_page_has_every_published_figure_and_marks_its_own() {
    let text = simulated("text");
    for part in [
        "The table as published",
        "Slips and gaps",
        "Not simulated",
        "Calibration",
        "230.10 MB/s",
        "calibrated",
        "simulated",
        "latency +10 %",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let args = ["reproduce", THREAD, "--on", "lab", "--time", "500ms", "--format", "markdown"];
    let markdown = run(&mut vfscale(&args)).exits(0).stdout;
    assert!(markdown.starts_with("# Lock-free fd look-up"), "{markdown}");
    let lines =
        markdown.lines().filter(|line| line.starts_with("| --- |") || line.starts_with("| --- "));
    assert_eq!(lines.count(), 3, "two tables as published and one of ours:\n{markdown}");
}

#[test]
fn json_has_the_figures_and_two_runs_agree() {
    let json = || simulated("json");
    let text = json();
    let pages: Value = serde_json::from_str(&text).expect("it is JSON");
    let page = &pages[0];
    assert_eq!(page["name"], THREAD);
    assert_eq!(page["published"].as_array().map(Vec::len), Some(14));
    assert_eq!(
        (&page["partial"], &page["is_simulated"]),
        (&Value::Bool(false), &Value::Bool(true))
    );
    let rows = page["compared"].as_array().expect("rows");
    let is_calibrated = |row: &&Value| row["simulated"]["mark"] == "calibrated";
    let calibrated: Vec<&Value> = rows.iter().filter(is_calibrated).collect();
    assert_eq!(calibrated.len(), 1, "one parameter, one row");
    assert_eq!(calibrated[0]["published"], "455.72");
    for row in rows {
        let ours = &row["simulated"];
        let (ours, off) = (ours["value"].as_f64(), ours["error"].as_f64());
        assert!(ours.is_some_and(|ours| ours > 0.0) && off.is_some(), "{row}");
    }
    assert_eq!(text, json(), "virtual time does not depend on this machine");
}

/// Pages of what is measured only.
fn measured(thread: &str, on: &[&str]) -> Value {
    let mut args = vec!["reproduce", thread, "--time", "600ms", "--format", "json"];
    on.iter().for_each(|on| args.extend(["--on", on]));
    let ran = run(&mut vfscale(&args)).exits(0);
    assert_eq!(ran.stderr.lines().count(), 1, "progress is for terminals: {ran}");
    ran.json()
}

#[test]
fn the_lab_and_this_kernel_stand_beside_every_published_figure() {
    let dir = temp_dir();
    let pages = measured("file-list", &["lab", &on(dir.path()), "lab"]);
    assert!(leftovers(dir.path()).is_empty());
    let page = &pages[0];
    assert_eq!(page["measured_on"].as_array().map(Vec::len), Some(2), "each place once");
    assert_eq!(page["is_simulated"], false);
    let rows = page["compared"].as_array().expect("rows");
    for row in rows {
        assert!(row["simulated"].is_null(), "{row}");
        let [lab, kernel] = &row["measured"].as_array().expect("a value per place")[..] else {
            panic!("{row}")
        };
        assert!(lab["value"].as_f64().is_some_and(|value| value > 0.0), "{row}");
        assert_eq!(lab["mark"], "measured");
        let compares_designs = row["unit"] == "";
        assert_eq!(kernel.is_null(), compares_designs, "this kernel has one design: {row}");
    }
    let cpus = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let most = rows.iter().filter_map(|row| row["measured"][0]["tasks"].as_u64()).max();
    assert!(most.is_some_and(|most| most <= cpus), "no more tasks than CPUs: {most:?} of {cpus}");
    for curve in page["curves"].as_array().expect("curves") {
        assert_eq!(curve["mark"], "measured");
        assert!(curve["shape"].is_null(), "no claim of how it scales: {curve}");
    }
    if cpus < 64 {
        let notes = page["notes"].to_string();
        assert!(
            notes.contains(&format!("{cpus} usable CPUs")) && notes.contains("nothing"),
            "{notes}"
        );
    }
}

#[test]
fn the_lab_measures_what_only_pages_have() {
    // Loops that are no workloads, a remount before, and a second mount, which this kernel has not.
    let dir = temp_dir();
    let value = |row: &Value, at: usize| row["measured"][at]["value"].as_f64().is_some();
    for thread in ["vfs-scale", "others", "fd-lookup"] {
        let pages = measured(thread, &["lab", &on(dir.path())]);
        let rows = pages[0]["compared"].as_array().expect("rows").clone();
        assert!(!rows.is_empty());
        for row in rows {
            // "the list by itself": two numbers of processes that are one on a machine with few CPUs.
            let what = row["what"].as_str().expect("text");
            let same = what.contains("processes by 1");
            assert!(value(&row, 0) || same, "{thread}: {row}");
            assert!(!what.contains("two mounts") || !value(&row, 1), "{thread}: {row}");
        }
        assert!(leftovers(dir.path()).is_empty());
    }
}

#[test]
fn text_says_that_it_was_measured_here() {
    let args = ["reproduce", "openbench", "--on", "lab", "--time", "300ms"];
    let text = run(&mut vfscale(&args)).exits(0).stdout;
    assert!(text.contains("measured on this machine"), "{text}");
    assert!(!text.contains("Calibration"), "{text}");
    let row = text.lines().rfind(|line| line.contains("r/o bind mount patch, sys"));
    assert!(row.is_some_and(|row| row.trim_end().ends_with("measured")), "{text}");
}

#[test]
fn an_interrupted_simulation_ends_with_130_and_shows_the_page() {
    // This thread takes minutes.
    let running = Running::start(&mut vfscale(&["reproduce", "orphan", "--seeds", "9"]));
    assert!(wait_until(Duration::from_secs(10), || listens(running.pid())), "it listens");
    running.signal(Signal::INT);
    let ran = running.wait(Duration::from_secs(60)).exits(130);
    assert!(ran.stdout.contains("PARTIAL") && ran.stdout.contains("118.593"), "{ran}");
    assert!(ran.stderr.contains("partial"), "{ran}");
}

#[test]
fn after_an_interrupted_measurement_finished_pages_are_there_and_nothing_else_is() {
    let dir = temp_dir();
    let args = ["reproduce", "--on", "lab", "--on", &on(dir.path()), "--time", "3s"];
    let running = Running::start(&mut vfscale(&args));
    let first = || running.stderr().contains("openbench: made in");
    assert!(wait_until(Duration::from_secs(20), first), "the first page is made");
    running.signal(Signal::INT);
    let ran = running.wait(Duration::from_secs(20)).exits(130);
    assert!(ran.stdout.starts_with("Read-only bind mounts"), "{ran}");
    assert!(!ran.stdout.contains("vfs-scale") && !ran.stdout.contains("VFS scalability"), "{ran}");
    assert!(leftovers(dir.path()).is_empty());
}

/// Whether the process has a handler for SIGINT.
fn listens(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    caught.is_some_and(|mask| mask & 2 != 0)
}

#[test]
fn where_to_ask_and_for_how_long_is_checked() {
    for (args, why) in [
        (["--on", "lab:linux-6.18"], "dir:PATH"),
        (["--on", "dir:"], "dir:PATH"),
        (["--time", "0s"], "at least"),
    ] {
        let told = run(vfscale(&["reproduce", "openbench"]).args(args)).exits(2).stderr;
        assert!(told.contains(why), "{args:?}: {told}");
    }
    let args = ["reproduce", "openbench", "--on", "dir:/no/such/directory"];
    let told = run(&mut vfscale(&args)).exits(4).stderr;
    assert!(told.contains("/no/such/directory"), "{told}");
}

#[test]
fn a_thread_that_there_is_not_is_refused() {
    let told = run(&mut vfscale(&["reproduce", "mail-005"])).exits(2).stderr;
    assert!(told.contains("fd-lookup") && told.contains("file-list"), "{told}");
}
