//! Pictures and pages: `vfscale report`, and html and svg where other commands have them.

use crate::support::{Ran, on, run, skip, temp_dir, vfscale};
use results::Run;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// What makes a measurement take a few milliseconds.
const SHORT: [&str; 6] = ["--rounds", "8", "--slice", "1ms", "--tasks", "1,2"];

/// A directory with a run in `run.json`.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(temp_dir());
        let target = on(&place.measured());
        let asked = ["run", "--on", &target, "--format", "json", "-o", &place.file("run.json")];
        run(&mut vfscale(&[&asked[..], &SHORT].concat())).exits(0);
        place
    }

    fn measured(&self) -> PathBuf {
        let dir = self.0.path().join("measured");
        fs::create_dir_all(&dir).expect("make a directory");
        dir
    }

    fn file(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// `vfscale report` with these files, by their names here.
    fn report(&self, files: &[&str], others: &[&str]) -> Ran {
        let files: Vec<String> = files.iter().map(|file| self.file(file)).collect();
        let files = files.iter().map(String::as_str);
        let words: Vec<&str> =
            ["report"].into_iter().chain(files).chain(others.iter().copied()).collect();
        run(&mut vfscale(&words))
    }
}

#[test]
fn a_record_becomes_what_the_name_of_the_file_says() {
    let place = Place::new();
    let starts = [
        ("r.html", "<!DOCTYPE html>"),
        ("r.svg", "<svg "),
        ("r.csv", "workload,"),
        ("r.md", "## "),
        ("r.json", "{"),
    ];
    for (name, start) in starts {
        let before = fs::read(place.file("run.json")).expect("the record");
        place.report(&["run.json"], &["-o", &place.file(name)]).exits(0);
        assert!(place.read(name).starts_with(start), "{name}");
        assert_eq!(fs::read(place.file("run.json")).expect("the record"), before);
    }
    let back: Run = serde_json::from_str(&place.read("r.json")).expect("a record");
    let svg = place.read("r.svg");
    let html = place.read("r.html");
    for point in &back.curves[0].points {
        assert!(html.contains(&format!("[{},{}", point.tasks, point.ops_per_s)), "{point:?}");
    }
    assert!(svg.contains("</svg>") && svg.contains(">tasks<"));
    let text = place.report(&["run.json"], &[]).exits(0);
    assert!(text.stdout.contains("usecs/op"), "{text:?}");
    let mail = place.report(&["run.json"], &["--format", "mail"]).exits(0);
    assert!(mail.stdout.lines().all(|line| line.len() <= 72), "{mail:?}");
}

#[test]
fn several_runs_are_in_one_plot_and_in_nothing_else() {
    let place = Place::new();
    fs::copy(place.file("run.json"), place.file("other.json")).expect("copy");
    place.report(&["run.json", "other.json"], &["-o", &place.file("two.svg")]).exits(0);
    let svg = place.read("two.svg");
    let mut names = ["run.json: open_close", "other.json: open_close"].into_iter();
    assert!(names.all(|name| svg.contains(name)), "{svg}");
    place.report(&["run.json", "other.json"], &["-o", &place.file("two.html")]).exits(0);
    assert!(place.read("two.html").contains("Conditions of"));
    let refused = place.report(&["run.json", "other.json"], &[]).exits(2);
    assert!(refused.stderr.contains("vfscale compare"), "{refused:?}");
}

#[test]
fn comparisons_and_outcomes_of_power_are_shown_too() {
    let place = Place::new();
    let target = on(&place.measured());
    let [compared, power] = ["compared.json", "power.json"].map(|name| place.file(name));
    let asked = ["compare", &target, &target, "--format", "json", "-o", &compared];
    run(&mut vfscale(&[&asked[..], &SHORT].concat())).exits(0);
    let asked = ["power", "--on", &target, "--format", "json", "-o", &power];
    run(&mut vfscale(&[&asked[..], &SHORT].concat())).exits(0);
    for name in ["compared", "power"] {
        for end in ["html", "svg"] {
            let out = place.file(&format!("{name}.{end}"));
            place.report(&[&format!("{name}.json")], &["-o", &out]).exits(0);
        }
    }
    assert!(place.read("compared.svg").contains("after / before"));
    assert!(place.read("power.html").contains("every difference here is noise"));
    let mixed = place.report(&["run.json", "power.json"], &["-o", &place.file("x.svg")]).exits(2);
    assert!(mixed.stderr.contains("shown by itself"), "{mixed:?}");
}

#[test]
fn pages_have_flame_graphs_where_locks_were_looked_for_and_only_there() {
    let place = Place::new();
    let sim = ["unlink_open", "--tasks", "1,4", "--rounds", "2", "--seed", "1", "--locks"];
    let (before, after) = ("sim:8-socket-2007/linux-3.15", "sim:8-socket-2007/linux-3.16");
    let page = |name: &str, command: &[&str]| {
        let to = ["--format", "html", "--output", &place.file(name)].map(str::to_owned);
        let to: Vec<&str> = to.iter().map(String::as_str).collect();
        run(&mut vfscale(&[command, &sim, &to].concat())).exits(0);
        place.read(name)
    };
    let graphs = |page: &str| page.matches("<figure class=\"flame\"").count();
    let of_run = page("run.html", &["run", "--on", before]);
    let of_comparison = page("compared.html", &["compare", before, after]);
    assert_eq!([graphs(&of_run), graphs(&of_comparison)], [1, 2]);
    for page in [&of_run, &of_comparison] {
        for part in ["unlink_open → 4 tasks → i_mutex (directory)", ": locks<", ": cache lines<"]
        {
            assert!(page.contains(part), "{part}");
        }
    }
    place.report(&["run.json"], &["--output", &place.file("r.html")]).exits(0);
    assert_eq!(graphs(&place.read("r.html")), 0, "nobody looked");
}

#[test]
fn what_cannot_be_shown_is_refused_with_what_to_do() {
    let place = Place::new();
    fs::write(place.file("other.json"), r#"{"schema":"vfscale.run/99"}"#).expect("write");
    fs::write(place.file("broken.json"), r#"{"schema":"vfscale.comparison/1","#).expect("write");
    let cases = [
        (vec!["run.json"], vec!["-o", "r.png"], 2, "does not say what to write"),
        (vec!["run.json"], vec!["--format", "pdf"], 2, "there are:"),
        (vec!["run.json"], vec!["--format", "lkp"], 2, "a run cannot be written as lkp"),
        (vec!["none.json"], vec![], 3, "cannot read"),
        (vec!["other.json"], vec![], 3, "vfscale.run/99"),
        (vec!["broken.json"], vec![], 3, "damaged"),
    ];
    for (files, others, code, says) in cases {
        let ran = place.report(&files, &others).exits(code);
        assert!(
            ran.stderr.contains(says) && ran.stdout.is_empty(),
            "{files:?} {others:?}: {ran:?}"
        );
    }
}

/// Refused before anything is measured: a run of an hour would be lost on a terminal.
#[test]
fn a_terminal_gets_no_page() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_vfscale");
    let record = place.file("run.json");
    for asked in [
        format!("{program} report {record} --format html"),
        format!("{program} run --time 1h --format svg"),
        format!("{program} compare {0} {0} --time 1h --format html", on(&place.measured())),
        format!("{program} power --time 1h --format svg"),
        format!("{program} reproduce --format html"),
    ] {
        // script(1) runs a command on a terminal of its own.
        let mut script = Command::new("script");
        script.args(["-qec", &asked, "/dev/null"]).current_dir(place.measured());
        let Ok(ran) = script.output() else { return skip("there is no script(1)") };
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(said.contains("a terminal cannot show"), "{asked}: {said}");
        assert_eq!(ran.status.code(), Some(2), "{asked}: {said}");
    }
}
