//! Before and after: two targets side by side, one target in two states, stored runs; the store and what goes in and out of it.

use crate::support::{
    Mount, Ran, Running, dir_is_empty, is_root_or_skip, leftovers, on, run, temp_dir, vfscale,
    wait_until,
};
use results::{Comparison, Pairing, Run, Verdict};
use rustix::process::Signal;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// What makes a measurement take a few milliseconds.
const SHORT: [&str; 6] = ["--rounds", "8", "--slice", "1ms", "--tasks", "1,2"];

/// A place for a store and files.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        Place(temp_dir())
    }

    fn file(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    /// vfscale with this place's store, in a directory where nothing is.
    fn ask(&self, args: &[&str]) -> Ran {
        let store = self.file("runs.sqlite");
        let all: Vec<&str> = args.iter().copied().chain(["--store", &store]).collect();
        run(&mut vfscale(&all))
    }
}

fn comparison(ran: &Ran) -> Comparison {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error} in {ran:?}"))
}

/// `run` at a steady million operations a second and task, times `times`, with 1 % of noise, as a file: what the machine did in
/// those milliseconds decides nothing.
fn scaled(run: &Run, times: f64, file: &str) {
    let mut run = run.clone();
    for curve in &mut run.curves {
        let mut one = None;
        for point in &mut curve.points {
            for sample in &mut point.samples {
                let noise = [1.0, 1.01, 0.99, 0.995, 1.005][sample.round as usize * 3 % 5];
                sample.ops = (1e6 * times * noise) as u64;
                sample.elapsed_ns = 1_000_000_000;
            }
            let samples = point.samples.clone();
            *point = results::Point::from_samples(
                point.tasks,
                point.cpus.clone(),
                samples.clone(),
                one.as_deref(),
            );
            if point.tasks == 1 {
                one = Some(samples);
            }
        }
    }
    fs::write(file, serde_json::to_string(&run).expect("a run is JSON")).expect("write the file");
}

/// A run to be changed and compared: enough rounds for intervals.
fn recorded(place: &Place) -> Run {
    let dir = temp_dir();
    let target = on(dir.path());
    let args = [&["run", "open_close", "--on", &target, "--format", "json"], &SHORT[..]].concat();
    place.ask(&args).exits(0).record()
}

#[test]
fn two_directories_are_measured_in_the_same_rounds() {
    let (a, b) = (temp_dir(), temp_dir());
    let sides = [on(a.path()), on(b.path())];
    let args =
        [&["compare", &sides[0], &sides[1], "open_close", "fstat", "--format", "json"], &SHORT[..]];
    let ran = run(&mut vfscale(&args.concat())).exits(0);
    let comparison = comparison(&ran);
    assert_eq!(comparison.schema, Comparison::SCHEMA);
    assert_eq!((comparison.pairing, &comparison.labels), (Pairing::Interleaved, &sides));
    assert_eq!(comparison.curves.len(), 2);
    for curve in &comparison.curves {
        assert_eq!(curve.targets, sides);
        let counts: Vec<(u32, u32)> = curve.points.iter().map(|p| (p.tasks, p.rounds)).collect();
        assert_eq!(counts, [(1, 8), (2, 8)]);
        for point in &curve.points {
            assert!(point.before > 0.0 && point.after > 0.0, "{point:?}");
            assert!(point.change.is_some(), "{point:?}");
        }
    }
    for (side, run) in [&comparison.before, &comparison.after].into_iter().enumerate() {
        assert_eq!(run.curves.len(), 2);
        assert_eq!(run.host.fs.len(), 1);
        assert_eq!(run.host.fs[0].target, sides[side]);
        let rounds: Vec<u32> = run.curves[0].points[0].samples.iter().map(|s| s.round).collect();
        assert_eq!(rounds, [0, 1, 2, 3, 4, 5, 6, 7]);
    }
    assert!(dir_is_empty(a.path()) && dir_is_empty(b.path()));
}

#[test]
fn the_verdict_comes_first() {
    let dir = temp_dir();
    let target = on(dir.path());
    for format in ["text", "mail", "markdown"] {
        let args =
            [&["compare", &target, &target, "fstat", "--format", format], &SHORT[..]].concat();
        let ran = run(&mut vfscale(&args)).exits(0);
        let first = ran.stdout.lines().next().unwrap_or_default().trim_start_matches('*');
        assert!(first.starts_with("fstat "), "{format}: {first}");
    }
}

#[test]
fn the_lab_before_and_after() {
    let args = ["compare", "lab:linux-3.15", "lab:linux-3.15+hashed-orphan", "truncate_by_byte"];
    let ran = run(&mut vfscale(&[&args, &SHORT[..], &["--format", "csv"]].concat())).exits(0);
    assert_eq!(ran.stdout.lines().count(), 3, "{ran:?}");
    assert!(ran.stdout.contains("lab:linux-3.15+hashed-orphan"));
}

#[test]
fn simulated_sides_have_the_same_seeds() {
    let machine = "sim:dual-core-2007/linux-2.6.20";
    let args = ["compare", machine, machine, "open_close", "--tasks", "1,2", "--format", "json"];
    let comparison = comparison(&run(&mut vfscale(&args)).exits(0));
    for point in &comparison.curves[0].points {
        assert_eq!(point.change, Some(0.0), "the same machine with the same seeds: {point:?}");
    }
}

#[test]
fn a_state_is_switched_and_put_back() {
    let Some(mount) = Mount::tmpfs("size=16m,relatime") else { return };
    let point = mount.path().display().to_string();
    let log = temp_dir();
    let log = log.path().join("log").display().to_string();
    let command =
        |option: &str| format!("echo {option} >> {log} && mount -o remount,{option} {point}");
    let (before, after) = (command("relatime"), command("noatime"));
    let target = on(mount.path());
    let states = ["--before-cmd", &before, "--after-cmd", &after];
    let args = [&["compare", &target, "open_close", "--format", "json"], &states[..], &SHORT[..]];
    let comparison = comparison(&run(&mut vfscale(&args.concat())).exits(0));
    assert_eq!(comparison.labels, [before, after]);
    assert_eq!(comparison.curves[0].points[0].rounds, 8);
    let log = fs::read_to_string(&log).expect("the commands wrote it");
    assert!(log.lines().filter(|line| *line == "noatime").count() >= 4, "{log}");
    assert_eq!(log.lines().last(), Some("relatime"), "the first state is put back: {log}");
    assert!(dir_is_empty(mount.path()));
}

#[test]
fn a_command_that_fails_ends_the_comparison() {
    let dir = temp_dir();
    let target = on(dir.path());
    let states = ["--before-cmd", "true", "--after-cmd", "echo no such switch >&2; exit 7"];
    let ran =
        run(&mut vfscale(&[&["compare", &target, "fstat"], &states[..], &SHORT[..]].concat()));
    let ran = ran.exits(3);
    for part in ["--after-cmd", "exit status: 7", "no such switch"] {
        assert!(ran.stderr.contains(part), "{part}: {ran:?}");
    }
    assert_eq!(ran.stdout, "");
    assert!(dir_is_empty(dir.path()));
}

#[test]
fn ctrl_c_shows_what_there_is_and_puts_the_state_back() {
    let dir = temp_dir();
    let log = temp_dir();
    let log = log.path().join("log").display().to_string();
    let target = on(dir.path());
    let (before, after) = (format!("echo a >> {log}"), format!("echo b >> {log}"));
    let args = ["compare", &target, "fstat", "--time", "20s", "--slice", "5ms", "--tasks", "1"];
    let states = ["--before-cmd", &before, "--after-cmd", &after];
    let running = Running::start(&mut vfscale(&[&args[..], &states].concat()));
    let several = || fs::read_to_string(&log).is_ok_and(|log| log.lines().count() > 12);
    assert!(wait_until(Duration::from_secs(20), several), "{}", running.stderr());
    running.signal(Signal::INT);
    let ran = running.wait(Duration::from_secs(10)).exits(130);
    assert!(ran.stdout.contains("PARTIAL: interrupted"), "{ran:?}");
    assert_eq!(fs::read_to_string(&log).expect("it is there").lines().last(), Some("a"));
    assert!(dir_is_empty(dir.path()));
}

#[test]
fn a_command_that_hangs_is_killed_at_the_second_ctrl_c() {
    let dir = temp_dir();
    let log = temp_dir();
    let log = log.path().join("log").display().to_string();
    let target = on(dir.path());
    // Hangs once the warm-up is over for certain, so that there is something to show.
    const GOOD: usize = 40;
    let hang = format!("echo b >> {log}; [ $(grep -c b {log}) -lt {GOOD} ] || sleep 1000");
    let before = format!("echo a >> {log}");
    let args = ["compare", &target, "fstat", "--time", "20s", "--slice", "5ms", "--tasks", "1"];
    let states = ["--before-cmd", &before, "--after-cmd", &hang];
    let running = Running::start(&mut vfscale(&[&args[..], &states].concat()));
    let hangs = || fs::read_to_string(&log).is_ok_and(|log| log.matches('b').count() == GOOD);
    assert!(wait_until(Duration::from_secs(20), hangs), "{}", running.stderr());
    running.signal(Signal::INT);
    // Two signals at once would be one.
    std::thread::sleep(Duration::from_millis(200));
    running.signal(Signal::INT);
    let ran = running.wait(Duration::from_secs(10)).exits(130);
    assert!(ran.stdout.contains("PARTIAL: interrupted"), "{ran:?}");
    let log = fs::read_to_string(&log).expect("it is there");
    assert_eq!(log.lines().last(), Some("a"), "the first state is put back: {log}");
    assert!(dir_is_empty(dir.path()));
}

#[test]
fn fail_on_decides_the_exit_code() {
    let place = Place::new();
    let run = recorded(&place);
    let (same, half) = (place.file("same.json"), place.file("half.json"));
    scaled(&run, 1.0, &same);
    scaled(&run, 0.3, &half);
    for (before, after, fail_on, code) in [
        (&same, &half, "slower", 1),
        (&same, &half, "faster", 0),
        (&same, &half, "different", 1),
        (&half, &same, "slower", 0),
        (&half, &same, "faster", 1),
        (&same, &same, "different", 0),
    ] {
        let ran = place.ask(&["compare", before, after, "--fail-on", fail_on]).exits(code);
        assert!(ran.stdout.contains("NOT INTERLEAVED"), "{ran:?}");
    }
    let ran = place.ask(&["compare", &same, &half, "--format", "json"]).exits(0);
    let comparison = comparison(&ran);
    for point in &comparison.curves[0].points {
        assert_eq!(point.verdict, Verdict::Slower);
        let [low, high] = point.interval.expect("eight rounds have an interval");
        assert!(low < -0.7 && -0.7 < high + 0.05 && high < 0.0, "{point:?}");
    }
}

#[test]
fn stored_runs_come_back_as_they_were_measured() {
    let place = Place::new();
    let dir = temp_dir();
    let target = on(dir.path());
    let save = ["run", "open_close", "--on", &target, "--format", "json", "--save", "base"];
    let first = place.ask(&[&save[..], &SHORT].concat()).exits(0);
    assert!(first.stderr.contains("stored as base@1"), "{first:?}");
    let second = place.ask(&[&save[..], &SHORT].concat()).exits(0);
    assert!(second.stderr.contains("stored as base@2"), "{second:?}");
    for (name, measured) in [("base@1", &first), ("base@2", &second), ("base", &second)] {
        let json = place.ask(&["export", name]).exits(0);
        assert_eq!(json.stdout, measured.stdout, "{name}");
    }
    let lines = place.file("base.jsonl");
    place.ask(&["export", "base@1", "--format", "jsonl", "-o", &lines]).exits(0);
    place.ask(&["import", &lines, "--save", "again"]).exits(0);
    assert_eq!(place.ask(&["export", "again"]).exits(0).stdout, first.stdout);
    let csv = place.ask(&["export", "base", "--format", "csv"]).exits(0).stdout;
    assert!(csv.starts_with("workload,target,mode,tasks,ops_per_s"), "{csv}");
    let compared = place.ask(&["compare", "base@1", "base@2"]).exits(0);
    assert!(compared.stdout.contains("base@1 (before) and base@2 (after)"), "{compared:?}");
    let none = place.ask(&["compare", "base", "nothing"]).exits(3);
    assert!(none.stderr.contains("nothing"), "{none:?}");
}

#[test]
fn a_comparison_keeps_both_sides() {
    let place = Place::new();
    let dir = temp_dir();
    let target = on(dir.path());
    let save = ["compare", &target, &target, "fstat", "--format", "json", "--save", "pair"];
    let measured = comparison(&place.ask(&[&save[..], &SHORT].concat()).exits(0));
    for (name, side) in [("pair-before", &measured.before), ("pair-after", &measured.after)] {
        assert_eq!(place.ask(&["export", name]).exits(0).record(), *side, "{name}");
    }
}

#[test]
fn check_measures_what_was_stored_and_fails_on_a_regression() {
    let place = Place::new();
    let dir = temp_dir();
    let target = on(dir.path());
    let args =
        ["run", "fstat", "open_close", "--on", &target, "--mode", "thread", "--format", "json"];
    let stored = place.ask(&[&args[..], &SHORT].concat()).exits(0).record();
    let (slow, fast) = (place.file("slow.json"), place.file("fast.json"));
    // Whatever machine this is: it does more than ten and less than a billion operations a second.
    scaled(&stored, 1e-5, &slow);
    scaled(&stored, 1e3, &fast);
    let ran = place.ask(&["check", "--against", &slow, "--rounds", "20"]).exits(0);
    assert!(ran.stdout.contains("faster"), "{ran:?}");
    let ran =
        place.ask(&["check", "--against", &fast, "--rounds", "20", "--format", "json"]).exits(1);
    let comparison = comparison(&ran);
    assert_eq!(comparison.curves.len(), 2);
    assert_eq!(comparison.after.curves[0].mode, "thread");
    assert_eq!(comparison.after.plan.slice_s, stored.plan.slice_s);
    let counts: Vec<u32> = comparison.after.curves[1].points.iter().map(|p| p.tasks).collect();
    assert_eq!(counts, [1, 2]);
    place.ask(&["check", "--against", &fast, "--rounds", "20", "--fail-on", "faster"]).exits(0);
    let one =
        place.ask(&["check", "--against", &slow, "fstat", "--rounds", "20", "--format", "csv"]);
    assert_eq!(one.exits(0).stdout.lines().count(), 3);
    let none = place.ask(&["check", "--against", &slow, "unlink_open"]).exits(2);
    assert!(none.stderr.contains("has no curve of these workloads"), "{none:?}");
    assert!(dir_is_empty(dir.path()));
}

#[test]
fn a_directory_is_measured_again_wherever_the_check_is_made() {
    let place = Place::new();
    let (dir, elsewhere) = (temp_dir(), temp_dir());
    let store = place.file("runs.sqlite");
    let args = ["run", "fstat", "--store", &store, "--save", "base", "--format", "json"];
    let mut here = vfscale(&[&args[..], &SHORT].concat());
    let measured = run(here.current_dir(dir.path())).exits(0).record();
    assert_eq!(measured.curves[0].target, "dir:.");
    let args = ["check", "--store", &store, "--against", "base", "--format", "json"];
    let mut there = vfscale(&[&args[..], &["--rounds", "8"]].concat());
    let comparison = comparison(&run(there.current_dir(elsewhere.path())));
    assert_eq!(comparison.curves[0].targets, [on(dir.path()), on(dir.path())]);

    // A record in a file may be from anywhere.
    let file = place.file("base.json");
    fs::write(&file, serde_json::to_string(&measured).expect("a run is JSON")).expect("write it");
    let args = ["check", "--against", &file, "--rounds", "8"];
    let ran = run(vfscale(&args).current_dir(elsewhere.path())).exits(2);
    assert!(ran.stderr.contains("say where with --on"), "{ran:?}");
    let mut told = vfscale(&[&args[..], &["--on", "dir:."]].concat());
    assert!([0, 1].contains(&run(told.current_dir(elsewhere.path())).code().unwrap_or(-1)));
}

#[test]
fn power_says_what_can_be_seen() {
    let dir = temp_dir();
    let target = on(dir.path());
    let args =
        ["power", "fstat", "--on", &target, "--rounds", "40", "--slice", "1ms", "--tasks", "1,2"];
    let ran = run(&mut vfscale(&[&args[..], &["--format", "json"]].concat())).exits(0).json();
    assert_eq!(ran["schema"], "vfscale.power/1");
    let points = ran["points"].as_array().expect("points");
    assert_eq!(points.len(), 2);
    for point in points {
        assert_eq!(point["rounds"], 40);
        let sees = point["sees"].as_array().expect("a list");
        // On a machine that is busy with other things forty rounds may be worth less than six.
        assert_eq!(sees.is_empty(), point["why_not"].is_string(), "{point}");
        let found = sees.iter().map(|s| s["found_90"].as_f64().expect("a share"));
        let found: Vec<f64> = found.collect();
        assert!(found.windows(2).all(|pair| pair[0] > pair[1]), "{found:?}");
    }
    let text = run(&mut vfscale(&args)).exits(0).stdout;
    assert!(text.contains("found by"), "{text}");
    assert!(dir_is_empty(dir.path()));
}

#[test]
fn history_shows_runs_in_order_and_the_level_that_changed() {
    let place = Place::new();
    let mut run = recorded(&place);
    for day in 1..=16 {
        run.started = format!("2026-11-{day:02}T02:00:00Z");
        run.host.kernel = if day < 9 { "6.18.1 #1".into() } else { "6.18.2 #1".into() };
        let file = place.file("nightly.json");
        // A steady level with 1 % of noise, and 20 % less from the ninth night on.
        let noise = [1.0, 1.01, 0.995, 1.005][day % 4];
        scaled(&run, if day < 9 { noise } else { 0.8 * noise }, &file);
        place.ask(&["import", &file, "--save", "nightly"]).exits(0);
    }
    let json = place.ask(&["history", "open_close", "--format", "json"]).exits(0).json();
    let series = json["series"].as_array().expect("series");
    assert_eq!(series.len(), 2, "two task counts on one machine: {json}");
    for series in series {
        let runs = series["runs"].as_array().expect("runs");
        let started: Vec<&str> =
            runs.iter().map(|run| run["started"].as_str().expect("a date")).collect();
        assert!(started.is_sorted() && started.len() == 16, "{started:?}");
        let changes = series["changes"].as_array().expect("changes");
        assert_eq!(changes.len(), 1, "{series}");
        assert_eq!(changes[0]["at"], 8);
        let change = changes[0]["change"].as_f64().expect("a share");
        assert!((-0.22..-0.18).contains(&change), "{change}");
    }
    let text = place.ask(&["history"]).exits(0).stdout;
    assert!(text.contains("nightly@9"), "{text}");
    assert!(place.ask(&["history", "fstat"]).exits(0).stdout.contains("no stored run"));
    assert!(
        place.ask(&["history", "nope"]).exits(2).stderr.contains("no workload and no stored run")
    );
}

#[test]
fn another_tools_file_is_imported_and_compared() {
    let place = Place::new();
    let csv = |folder: &str, one: u32, two: u32| {
        fs::create_dir(place.file(folder)).expect("make a folder");
        let file = place.file(&format!("{folder}/open1.csv"));
        let text = format!(
            "tasks,processes,processes_idle,threads,threads_idle,linear\n0,0,100,0,100,0\n\
             1,{one},50.00,{one},50.00,{one}\n2,{two},0.10,{two},0.20,{}\n",
            one * 2
        );
        fs::write(&file, text).expect("write the file");
        file
    };
    let files = [csv("base", 1_000_000, 1_500_000), csv("patched", 1_000_000, 1_900_000)];
    let ran = place.ask(&["import", &files[0], &files[1]]).exits(0);
    assert!(ran.stdout.contains("will-it-scale") && ran.stdout.contains("summary only"), "{ran:?}");
    let ran = place.ask(&["compare", "open1@1", "open1@2", "--format", "json"]).exits(0);
    let comparison = comparison(&ran);
    let two = comparison.curves[0].points.iter().find(|p| p.tasks == 2).expect("two tasks");
    assert!((two.change.expect("two figures have a quotient") - 0.2667).abs() < 0.001);
    assert_eq!(two.interval, None, "a summary has no interval");
    let dry = Place::new();
    dry.ask(&["import", &files[0], "--dry-run"]).exits(0);
    assert!(!Path::new(&dry.file("runs.sqlite")).exists());
    let odd = place.file("odd.txt");
    fs::write(&odd, "hello\n").expect("write the file");
    let ran = place.ask(&["import", &odd]).exits(3);
    assert!(ran.stderr.contains("odd.txt"), "{ran:?}");
}

#[test]
fn nothing_is_stored_unless_asked() {
    let home = temp_dir();
    let dir = temp_dir();
    let target = on(dir.path());
    let args = [&["run", "fstat", "--on", &target], &SHORT[..]].concat();
    let at_home = |args: &[&str]| {
        run(vfscale(args)
            .env("HOME", home.path())
            .env_remove("XDG_DATA_HOME")
            .env_remove("XDG_CONFIG_HOME"))
    };
    at_home(&args).exits(0);
    assert_eq!(leftovers(home.path()), [""; 0]);
    let config = home.path().join(".config/vfscale");
    fs::create_dir_all(&config).expect("make the folder");
    fs::write(config.join("config.toml"), "store = \"always\"\n").expect("write the file");
    let ran = at_home(&args).exits(0);
    assert!(ran.stderr.contains("stored as @1"), "{ran:?}");
    assert!(home.path().join(".local/share/vfscale/runs.sqlite").exists());
    assert!(at_home(&["export", "@1"]).exits(0).stdout.contains("vfscale.run/1"));
    fs::write(config.join("config.toml"), "store = \"perhaps\"\n").expect("write the file");
    let ran = at_home(&args).exits(3);
    assert!(ran.stderr.contains("config.toml"), "{ran:?}");
}

#[test]
fn what_cannot_be_compared_is_refused_with_a_way_out() {
    let place = Place::new();
    let simulated = "sim:dual-core-2007/linux-2.6.20";
    for (args, said) in [
        (&["compare", "dir:."][..], "compare needs two sides"),
        (&["compare", "dir:.", "base"], "vfscale check --against"),
        (&["compare", "dir:.", "sim:dual-core-2007/linux-2.6.20"], "its time is virtual"),
        (&["compare", "dir:.", "dir:.", "no_such"], "there is no workload"),
        (&["compare", "dir:.", "--before-cmd", "true"], "--after-cmd"),
        (
            &["compare", "dir:.", "dir:.", "--before-cmd", "true", "--after-cmd", "true"],
            "one target",
        ),
        (&["compare", "a b", "c"], "is not the name of a run"),
        (&["compare", "a", "b", "--tasks", "1"], "--tasks: these runs were measured already"),
        (&["compare", "a", "b", "--save", "c"], "--save: these runs were measured already"),
        (
            &["compare", simulated, "--before-cmd", "true", "--after-cmd", "true"],
            "a simulated one does not see",
        ),
        (&["compare", "dir:.", "dir:.", "--save", &"n".repeat(95)], "longer than 100"),
        (&["run", "--save", "dir:x"], "is not the name of a run"),
    ] {
        let ran = place.ask(args).exits(2);
        assert!(ran.stderr.contains(said), "{args:?}: {ran:?}");
    }
    let ran = place.ask(&["compare", "a", "b"]).exits(3);
    assert!(ran.stderr.contains("there is no store of runs"), "{ran:?}");
}

#[test]
fn a_full_disk_loses_neither_the_result_nor_the_store() {
    if !is_root_or_skip() {
        return;
    }
    let Some(small) = Mount::tmpfs("size=400k") else { return };
    let store = small.path().join("runs.sqlite").display().to_string();
    let dir = temp_dir();
    let target = on(dir.path());
    let args = ["run", "fstat", "--on", &target, "--save", "base", "--store", &store];
    let first = run(&mut vfscale(&[&args[..], &SHORT, &["--format", "json"]].concat())).exits(0);
    // Some thousand samples do not fit into what is left.
    let long = ["--rounds", "40", "--slice", "1ms", "--tasks", "300", "--format", "json"];
    let ran = run(&mut vfscale(&[&args[..], &long].concat())).exits(3);
    assert_eq!(ran.record().curves[0].points[0].samples.len(), 12_000);
    assert!(ran.stderr.contains("could not be stored"), "{}", ran.stderr);
    let back = run(&mut vfscale(&["export", "base", "--store", &store])).exits(0);
    assert_eq!(back.stdout, first.stdout);
}

#[test]
fn what_cannot_be_shown_is_stored_all_the_same() {
    let place = Place::new();
    let dir = temp_dir();
    let target = on(dir.path());
    let store = place.file("runs.sqlite");
    let save = |args: &[&str]| {
        let full = fs::File::options().write(true).open("/dev/full").expect("a device of Linux");
        let args = [args, &SHORT, &["--store", &store]].concat();
        let status = vfscale(&args).stdout(full).status().expect("start vfscale");
        assert_eq!(status.code(), Some(3), "{args:?}");
    };
    save(&["run", "fstat", "--on", &target, "--save", "run"]);
    save(&["compare", &target, &target, "fstat", "--save", "pair"]);
    save(&["check", "--against", "run", "--save", "now"]);
    for name in ["run", "pair-before", "pair-after", "now"] {
        assert_eq!(place.ask(&["export", name]).exits(0).record().plan.rounds, 8, "{name}");
    }
}

#[test]
fn a_store_that_cannot_be_written_is_refused_before_the_measurement() {
    let Some(mount) = Mount::tmpfs("size=4m") else { return };
    let store = mount.path().join("runs.sqlite").display().to_string();
    let dir = temp_dir();
    let target = on(dir.path());
    let args = ["run", "fstat", "--on", &target, "--save", "base", "--store", &store];
    let args = [&args[..], &SHORT].concat();
    run(&mut vfscale(&args)).exits(0);
    let mut remount = std::process::Command::new("mount");
    let remounted = remount.args(["-o", "remount,ro"]).arg(mount.path()).status();
    assert!(remounted.expect("start mount").success());
    let ran = run(&mut vfscale(&args)).exits(3);
    assert!(ran.stderr.contains("cannot be written"), "{ran:?}");
    assert_eq!(ran.stdout, "");
    run(&mut vfscale(&["export", "base", "--store", &store])).exits(0).record();
}

#[test]
fn a_home_that_is_no_folder_keeps_nobody_from_measuring() {
    let dir = temp_dir();
    let target = on(dir.path());
    let args = [&["run", "fstat", "--on", &target], &SHORT[..]].concat();
    run(vfscale(&args).env("HOME", "/dev/null").env_remove("XDG_CONFIG_HOME")).exits(0);
}

#[test]
fn nothing_compared_is_no_success() {
    let place = Place::new();
    let run = recorded(&place);
    let (same, other) = (place.file("same.json"), place.file("other.json"));
    scaled(&run, 1.0, &same);
    let mut renamed = run.clone();
    renamed.curves[0].workload = "fstat".into();
    scaled(&renamed, 1.0, &other);
    let ran = place.ask(&["compare", &same, &other, "--fail-on", "slower"]).exits(3);
    assert!(ran.stdout.contains("nothing can be compared"), "{ran:?}");
    assert!(ran.stderr.contains("nothing was compared"), "{ran:?}");
}

#[test]
fn check_asks_where_the_stored_run_says_nothing_that_can_be_done() {
    let place = Place::new();
    let mut run = recorded(&place);
    run.curves[0].points[0].tasks = 0;
    run.plan.slice_s = 1e9;
    let file = place.file("odd.json");
    fs::write(&file, serde_json::to_string(&run).expect("a run is JSON")).expect("write the file");
    let dir = temp_dir();
    let target = on(dir.path());
    let check = ["check", "--against", &file, "--rounds", "8", "--on", &target];
    let ran = place.ask(&check).exits(2);
    assert!(ran.stderr.contains("--slice"), "{ran:?}");
    let ran = place.ask(&[&check[..], &["--slice", "1ms", "--format", "json"]].concat());
    let comparison = comparison(&ran);
    let counts: Vec<u32> = comparison.after.curves[0].points.iter().map(|p| p.tasks).collect();
    assert_eq!(counts, [2], "of no task nothing can be measured");
    let ran = place.ask(&[&check[..], &["--slice", "1ms", "--mode", "thread"]].concat()).exits(2);
    assert!(ran.stderr.contains("has no curve of these workloads and modes"), "{ran:?}");
}

#[test]
fn files_without_end_pipes_and_broken_records_are_read_or_refused() {
    let place = Place::new();
    let record = serde_json::to_string_pretty(&recorded(&place)).expect("a run is JSON");
    let (whole, broken) = (place.file("whole.json"), place.file("broken.json"));
    fs::write(&whole, &record).expect("write the file");
    fs::write(&broken, record.replacen("\"tasks\": 2", "\"tasks\": NaN", 1)).expect("write it");
    for (args, said) in [
        (["compare", "/dev/zero", &whole], "is not a run of vfscale"),
        (["import", "/dev/zero", "--dry-run"], "64 MiB"),
        (["compare", &whole, &broken], "expected value at line"),
    ] {
        let ran = place.ask(&args).exits(3);
        assert!(ran.stderr.contains(said), "{ran:?}");
    }
    for (text, said) in [
        (record.as_str(), "vfscale, 1 curve"),
        (
            "tasks,processes,processes_idle,threads,threads_idle,linear\n1,10,50.00,20,50.00,20\n",
            "will-it-scale",
        ),
    ] {
        let (read, write) = std::io::pipe().expect("make a pipe");
        let text = text.to_owned();
        let writer = std::thread::spawn(move || (&write).write_all(text.as_bytes()));
        let import = vfscale(&["import", "/dev/stdin", "--dry-run"]).stdin(read).output();
        let import = import.expect("start vfscale");
        assert!(String::from_utf8_lossy(&import.stdout).contains(said), "{import:?}");
        writer.join().expect("it does not panic").expect("all was read");
    }
}
