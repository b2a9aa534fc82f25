//! `vfscale reproduce`: the cheapest page in each format, and what may be asked for.

use crate::support::{run, vfscale};
use serde_json::Value;

const THREAD: &str = "fd-lookup";

#[test]
fn a_page_has_every_published_figure_and_marks_its_own() {
    let text = run(&mut vfscale(&["reproduce", THREAD, "--seeds", "1"])).exits(0).stdout;
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
    let markdown =
        run(&mut vfscale(&["reproduce", THREAD, "--seeds", "1", "--format", "markdown"]))
            .exits(0)
            .stdout;
    assert!(markdown.starts_with("# Lock-free fd look-up"), "{markdown}");
    let lines =
        markdown.lines().filter(|line| line.starts_with("| --- |") || line.starts_with("| --- "));
    assert_eq!(lines.count(), 2, "a table as published and one of ours:\n{markdown}");
}

#[test]
fn json_has_the_figures_and_two_runs_agree() {
    let json = || {
        run(&mut vfscale(&["reproduce", THREAD, "--seeds", "1", "--format", "json"]))
            .exits(0)
            .stdout
    };
    let text = json();
    let pages: Value = serde_json::from_str(&text).expect("it is JSON");
    let page = &pages[0];
    assert_eq!(page["name"], THREAD);
    assert_eq!(page["published"].as_array().map(Vec::len), Some(12));
    let rows = page["compared"].as_array().expect("rows");
    let calibrated: Vec<&Value> = rows.iter().filter(|row| row["mark"] == "calibrated").collect();
    assert_eq!(calibrated.len(), 1, "one parameter, one row");
    assert_eq!(calibrated[0]["published"], "455.72");
    for row in rows {
        let (ours, off) = (row["simulated"].as_f64(), row["error"].as_f64());
        assert!(ours.is_some_and(|ours| ours > 0.0) && off.is_some(), "{row}");
    }
    assert_eq!(text, json(), "virtual time does not depend on this machine");
}

#[test]
fn a_thread_that_there_is_not_is_refused() {
    let told = run(&mut vfscale(&["reproduce", "mail-005"])).exits(2).stderr;
    assert!(told.contains("fd-lookup") && told.contains("file-list"), "{told}");
}
