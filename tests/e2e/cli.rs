//! The command line: what each option does to the record, what is refused and with which words, how a run is ended early.

use crate::support::{
    Mount, Ran, Running, dir_is_empty, leftovers, on, recorded, run, small, temp_dir, vfscale,
};
use results::{Curve, Run};
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// What makes a run take a few milliseconds, where it is not given.
const SHORT: [[&str; 2]; 4] =
    [["--rounds", "2"], ["--slice", "2ms"], ["--time", "200ms"], ["--format", "json"]];

/// The record of a short run in a directory of its own.
fn record(args: &[&str]) -> Run {
    let dir = temp_dir();
    let missing = SHORT.iter().filter(|[option, _]| !args.contains(option)).flatten();
    let all: Vec<&str> = ["run"].iter().chain(missing).chain(args).copied().collect();
    let ran = run(vfscale(&all).current_dir(dir.path())).exits(0);
    assert_eq!(leftovers(dir.path()), [""; 0]);
    ran.record()
}

fn task_counts(curve: &Curve) -> Vec<usize> {
    curve.points.iter().map(|point| point.tasks as usize).collect()
}

#[test]
fn help_and_version_are_on_stdout() {
    let version = run(&mut vfscale(&["--version"])).exits(0);
    assert_eq!(version.stdout, format!("vfscale {}\n", env!("CARGO_PKG_VERSION")));
    let help = run(&mut vfscale(&["--help"])).exits(0).stdout;
    for part in [
        "run ",
        "list ",
        "doctor ",
        "clean ",
        "Exit codes: 0 done, 1 a regression",
        "130 interrupted",
    ] {
        assert!(help.contains(part), "{part:?} is missing in {help}");
    }
    let help = run(&mut vfscale(&["run", "--help"])).exits(0).stdout;
    for option in [
        "--on",
        "--tasks",
        "--mode",
        "--pin",
        "--time",
        "--precision",
        "--slice",
        "--rounds",
        "--seed",
        "--format",
        "--output",
        "--verbose",
    ] {
        assert!(
            help.contains(&format!("{option} ")) || help.contains(&format!("{option}\n")),
            "{option}: {help}"
        );
    }
    assert_eq!(run(&mut vfscale(&["help", "run"])).exits(0).stdout, help);
}

#[test]
fn the_lists_as_text_name_everything() {
    let all = run(&mut vfscale(&["list"])).exits(0).stdout;
    let workloads = run(&mut vfscale(&["list", "workloads"])).exits(0).stdout;
    let targets = run(&mut vfscale(&["list", "targets"])).exits(0).stdout;
    let designs = run(&mut vfscale(&["list", "designs"])).exits(0).stdout;
    let machines = run(&mut vfscale(&["list", "machines"])).exits(0).stdout;
    assert_eq!(all, [&*workloads, &targets, &designs, &machines].concat());
    for machine in ["dual-core-2007", "8-socket-2007", "numa-4096"] {
        assert!(machines.contains(machine), "{machines}");
    }
    for info in workloads::ALL {
        let line = workloads
            .lines()
            .find(|line| line.trim_start().starts_with(&format!("{} ", info.name)));
        assert!(
            line.is_some_and(|line| line.ends_with(info.summary)),
            "{}: {workloads}",
            info.name
        );
        assert!(workloads.contains(&format!("from {}", info.origin)), "{}", info.name);
        assert!(info.aliases.iter().all(|alias| workloads.contains(alias)), "{}", info.name);
    }
    assert!(targets.contains("dir:PATH  "), "{targets}");
    for info in lab::eras::designs() {
        let parts = [info.part, info.name, info.kernel, info.source, info.shared];
        assert!(parts.iter().all(|part| designs.contains(part)), "{info:?}: {designs}");
    }
    assert!(lab::eras::ERAS.iter().all(|era| designs.contains(era.name)), "{designs}");
}

/// Scripts depend on these names; a new field is an addition to both this test and the documentation.
#[test]
fn the_lists_as_json_have_a_fixed_shape() {
    let json = |args: &[&str]| {
        let args = [&["list"], args, &["--format", "json"]].concat();
        run(&mut vfscale(&args)).exits(0).json()
    };
    let keys = |value: &Value| -> Vec<String> {
        let mut keys: Vec<String> = value.as_object().expect("an object").keys().cloned().collect();
        keys.sort();
        keys
    };
    let (all, workloads, targets) = (json(&[]), json(&["workloads"]), json(&["targets"]));
    let designs = json(&["designs"]);
    assert_eq!(keys(&all), ["designs", "eras", "fixed_work", "machines", "targets", "workloads"]);
    assert_eq!(keys(&workloads), ["fixed_work", "workloads"]);
    assert_eq!(keys(&targets), ["targets"]);
    assert_eq!(keys(&designs), ["designs", "eras"]);
    for (list, of) in [(&workloads, "workloads"), (&targets, "targets"), (&designs, "eras")] {
        assert_eq!(all[of], list[of]);
    }
    for design in designs["designs"].as_array().expect("an array") {
        let fields = ["kernel", "name", "part", "reconstruction", "shared", "source"];
        assert_eq!(keys(design), fields);
        assert!(design["reconstruction"].is_boolean());
    }
    let eras = designs["eras"].as_array().expect("an array");
    assert_eq!(eras.len(), lab::eras::ERAS.len());
    for era in eras {
        assert_eq!(keys(era), ["name", "parts"]);
        assert_eq!(keys(&era["parts"]).len(), 7);
    }

    let workloads = workloads["workloads"].as_array().expect("an array");
    assert_eq!(workloads.len(), workloads::ALL.len());
    for workload in workloads {
        let fields = [
            "aliases",
            "background",
            "calls",
            "modes",
            "name",
            "needs",
            "operation",
            "origin",
            "params",
            "shared",
            "suites",
            "summary",
        ];
        assert_eq!(keys(workload), fields);
        for param in workload["params"].as_array().expect("an array") {
            let number = ["default", "max", "min", "name", "what"];
            let word = ["default", "name", "what", "words"];
            assert!(keys(param) == number || keys(param) == word, "{param}");
        }
        for text in ["name", "operation", "origin", "summary", "calls", "shared"] {
            assert!(
                workload[text].as_str().is_some_and(|text| !text.is_empty()),
                "{text}: {workload}"
            );
        }
        for list in ["aliases", "modes", "needs", "suites"] {
            let items = workload[list].as_array().expect("an array");
            assert!(items.iter().all(Value::is_string), "{list}: {workload}");
        }
        let modes = workload["modes"].as_array().expect("an array").iter();
        assert!(modes.clone().all(|mode| mode == "process" || mode == "thread") && modes.len() > 0);
    }
    assert_eq!(workloads[0]["name"], "open_close", "the default is the first");

    let targets = targets["targets"].as_array().expect("an array");
    assert!(targets.iter().all(|target| keys(target) == ["name", "summary", "syntax"]));
    assert_eq!((&targets[0]["name"], &targets[0]["syntax"]), (&"dir".into(), &"dir:PATH".into()));
}

#[test]
fn what_is_not_understood_is_explained() {
    let cases: &[(&[&str], &str)] = &[
        (&[], "Usage: vfscale"),
        (&["measure"], "unrecognized subcommand 'measure'"),
        (&["list", "colours"], "possible values: workloads, targets"),
        (&["list", "--format", "csv"], "possible values: text, json"),
        (&["clean"], "<DIR>"),
        (&["run", "nosuch"], "there is no workload 'nosuch' (see: vfscale list workloads)"),
        (&["run", "open_clos"], "do you mean open_close"),
        (&["run", "open_close", "dir:."], "there is no workload 'dir:.'"),
        (&["run", "open_close:depth=3"], "open_close: it takes no parameters"),
        (&["run", "path_depth:depth=33"], "depth is a whole number from 1 to 32"),
        (&["run", "path_depth:width=3"], "no parameter 'width'; there are: depth=1..32 (8)"),
        (&["run", "rename_across:dirs=mine"], "dirs is one of own, shared"),
        (&["run", "fstat_own_table"], "fstat_own_table has no process mode"),
        (&["run", "--suite", "nosuch"], "possible values: mails, will-it-scale, fxmark"),
        (&["list", "--by", "colour"], "possible values: call, sharing, origin"),
        (&["run", "--on", "nosuch"], "'nosuch' is not a target; write dir:PATH"),
        (&["run", "--on", "fuse:."], "write dir:PATH"),
        (&["run", "--on", "dir:"], "is not a target"),
        (&["run", "--on", "dir:.", "--on", ""], "is not a target"),
        (&["run", "--tasks", "0"], "at least 1 task"),
        (&["run", "--tasks", "2,0"], "at least 1 task"),
        (&["run", "--tasks", "many"], "write 1,2,4 or 1..8 or max or 50%"),
        (&["run", "--tasks=-1"], "'-1' is no task count"),
        (&["run", "--tasks", "0%"], "'0%' is no task count"),
        (&["run", "--tasks", "3..1"], "3..1 runs backwards"),
        (&["run", "--tasks", "4097"], "at most 4096 tasks"),
        (&["run", "--tasks", "1..99999999999"], "at most 4096 tasks"),
        (&["run", "--mode", "fibre"], "possible values: process, thread"),
        (&["run", "--pin", "best"], "possible values: cores, smt, sockets, none"),
        (&["run", "--time", "10"], "write 10s, 500ms or 2m"),
        (&["run", "--time", "0s"], "at least 1ms"),
        (&["run", "--time", "1year"], "at most 7days"),
        (&["run", "--slice", "soon"], "write 10s, 500ms or 2m"),
        (&["run", "--slice", "2s", "--time", "1s"], "--slice is longer than --time"),
        (&["run", "--precision", "0%"], "write a share between 0 and 100, like 1%"),
        (&["run", "--precision", "exact"], "write a share between 0 and 100, like 1%"),
        (&["run", "--rounds", "0"], "1..=1000000"),
        (&["run", "--seed=-1"], "--seed"),
        (&["run", "--seed", "18446744073709551616"], "--seed"),
        (&["run", "--format", "xml"], "there are: text, markdown, csv, json"),
        (&["run", "--frobnicate"], "unexpected argument '--frobnicate'"),
    ];
    let dir = temp_dir();
    for (args, said) in cases {
        let ran = run(vfscale(args).current_dir(dir.path())).exits(2);
        assert!(ran.stderr.contains(said), "{args:?}: {said:?} is missing: {ran}");
        assert_eq!(ran.stdout, "", "{args:?}");
        assert!(!ran.stderr.contains("plan:"), "{args:?}: {ran}");
    }
    assert_eq!(leftovers(dir.path()), [""; 0]);
}

#[test]
fn every_name_and_alias_leads_to_its_workload() {
    let with_alias = || workloads::ALL.iter().filter(|info| !info.aliases.is_empty());
    let named: Vec<String> = with_alias().map(small).collect();
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    assert!(named.len() > 50, "only {} have an alias", named.len());
    let record = record(&[&named[..], &["--tasks", "1"]].concat());
    let names: Vec<&str> = record.curves.iter().map(|curve| &*curve.workload).collect();
    assert_eq!(names, with_alias().map(recorded).collect::<Vec<_>>());
}

#[test]
fn parameters_are_part_of_the_name_in_the_record() {
    let arguments = ["path_depth:depth=2", "path_depth", "path_depth:depth=8", "--tasks", "1"];
    let record = record(&arguments);
    let names: Vec<&str> = record.curves.iter().map(|curve| &*curve.workload).collect();
    assert_eq!(names, ["path_depth:depth=2", "path_depth"], "the default is one curve, not two");
}

#[test]
fn a_suite_is_run_as_far_as_the_target_has_it() {
    let arguments =
        ["run", "--suite", "quick", "--on", "lab:linux-6.18", "--tasks", "1", "--rounds", "1"];
    let ran =
        run(&mut vfscale(&[&arguments[..], &["--slice", "1ms", "--format", "json"]].concat()));
    let ran = ran.exits(0);
    let record = ran.record();
    let of_suite = workloads::suite(vfs_api::Suite::Quick);
    let names: Vec<&str> = of_suite.map(|info| info.name).collect();
    let run_names: Vec<&str> = record.curves.iter().map(|curve| &*curve.workload).collect();
    let left_out: Vec<&str> =
        names.iter().copied().filter(|name| !run_names.contains(name)).collect();
    assert!(!run_names.is_empty() && run_names.len() + left_out.len() == names.len());
    for name in left_out {
        assert!(ran.stderr.contains(name), "{name} is left out without a word: {ran}");
    }
}

#[test]
fn a_pair_that_cannot_work_is_refused_with_the_reason() {
    let ran = run(&mut vfscale(&["run", "fxmark:MRDL", "--on", "lab:linux-6.18"])).exits(4);
    assert!(
        ran.stderr.contains("readdir_own needs 'readdir', which lab:linux-6.18 has not"),
        "{ran}"
    );
    assert_eq!(ran.stdout, "");
}

#[test]
fn workloads_are_listed_under_the_heads_asked_for() {
    for (by, heads) in [
        ("call", &["create and unlink:", "rename:", "record locks:"][..]),
        ("sharing", &["one file:", "one directory:", "nothing but the file system:"]),
        ("origin", &["mails:", "will-it-scale:", "fxmark:", "mdtest:", "fio:", "own:"]),
    ] {
        let text = run(&mut vfscale(&["list", "workloads", "--by", by])).exits(0).stdout;
        for head in heads {
            assert!(text.lines().any(|line| line == *head), "{by}: {head} is missing: {text}");
        }
        let listed = |name: &str| text.contains(&format!("  {name} "));
        assert!(workloads::ALL.iter().all(|info| listed(info.name)), "{by}: {text}");
    }
}

#[test]
fn task_counts_are_what_was_asked_for() {
    let usable = record(&["--tasks", "1"]).host.cpus.len();
    let powers = (0..).map(|n| 1 << n).take_while(|tasks| *tasks < usable);
    let default: Vec<usize> = powers.chain([usable]).collect();
    let half = ((usable as f64 / 2.0).round() as usize).max(1);
    let cases: [(&[&str], Vec<usize>); 8] = [
        (&[], default),
        (&["--tasks", "1,2,4"], vec![1, 2, 4]),
        (&["--tasks", "4,2,1,2"], vec![1, 2, 4]),
        (&["--tasks", "1..3"], vec![1, 2, 3]),
        (&["--tasks", "1..max"], (1..=usable).collect()),
        (&["--tasks", "max"], vec![usable]),
        (&["--tasks", "50%"], vec![half]),
        (&["--tasks", "3"], vec![3]),
    ];
    for (args, counts) in cases {
        let record = record(args);
        assert_eq!(task_counts(&record.curves[0]), counts, "{args:?}");
        // Speed-up relates to one task, and is not made up where that was not measured.
        let related = record.curves[0].points.iter().all(|point| point.speedup.is_some());
        assert_eq!(related, counts[0] == 1, "{args:?}: {:?}", record.curves[0].points);
    }
}

#[test]
fn modes_make_a_curve_each() {
    for (asked, modes) in [
        ("process", &["process"][..]),
        ("thread", &["thread"]),
        ("process,thread", &["process", "thread"]),
        ("thread,process", &["thread", "process"]),
        ("thread,thread", &["thread"]),
    ] {
        let record = record(&["--mode", asked, "--tasks", "2"]);
        let got: Vec<&str> = record.curves.iter().map(|curve| &*curve.mode).collect();
        assert_eq!(got, modes, "{asked}");
    }
    assert_eq!(record(&["--tasks", "1"]).curves[0].mode, "process", "the default");
}

#[test]
fn tasks_sit_where_pin_puts_them() {
    for pin in ["cores", "smt", "sockets", "none"] {
        for mode in ["process", "thread"] {
            let record = record(&["--pin", pin, "--mode", mode, "--tasks", "1,max"]);
            assert_eq!(record.plan.pin, pin);
            let cpus = &record.host.cpus;
            for point in &record.curves[0].points {
                if pin == "none" {
                    assert!(point.cpus.is_empty(), "{point:?}");
                    assert!(
                        point.samples.iter().all(|s| s.cpu.iter().all(|cpu| cpus.contains(cpu)))
                    );
                } else {
                    let mut different = point.cpus.clone();
                    different.sort_unstable();
                    different.dedup();
                    assert_eq!(different.len(), point.tasks as usize, "{pin}: a CPU for each task");
                    assert!(different.iter().all(|cpu| cpus.contains(cpu)), "{pin}: {different:?}");
                    on_their_cpus(&record, pin);
                }
            }
        }
    }
    assert_eq!(record(&["--tasks", "1"]).plan.pin, "cores", "the default");
}

/// Checks that each sample was taken from start to end on the CPU that the point names for its task.
fn on_their_cpus(record: &Run, what: &str) {
    for point in record.curves.iter().flat_map(|curve| &curve.points) {
        for sample in &point.samples {
            let cpu = point.cpus[sample.task as usize];
            assert_eq!(sample.cpu, [cpu, cpu], "{what}: task {}", sample.task);
        }
    }
}

#[test]
fn more_tasks_than_cpus_go_round() {
    for mode in ["process", "thread"] {
        let record = record(&["--tasks", "64", "--mode", mode, "--slice", "20ms"]);
        let point = &record.curves[0].points[0];
        let usable = record.host.cpus.len();
        assert_eq!((point.tasks, point.cpus.len(), point.samples.len()), (64, 64, 128));
        for (task, cpu) in point.cpus.iter().enumerate() {
            assert_eq!(*cpu, point.cpus[task % usable], "task {task}");
        }
        on_their_cpus(&record, mode);
    }
}

#[test]
fn a_number_of_rounds_is_kept_to() {
    for rounds in [1, 7] {
        let record = record(&["--rounds", &rounds.to_string(), "--tasks", "1,2"]);
        assert_eq!((record.plan.rounds, record.plan.planned_rounds), (rounds, rounds));
        assert!(!record.plan.partial);
        assert!(record.plan.warmup_rounds > 0, "{:?}", record.plan);
        for point in &record.curves[0].points {
            assert_eq!(point.samples.len() as u32, rounds * point.tasks);
        }
        let few = record.warnings.iter().any(|warning| warning.code == "few-rounds");
        assert_eq!(few, rounds < 6, "{:?}", record.warnings);
        if rounds < 6 {
            assert!(record.curves[0].points.iter().all(|point| point.ci95.is_none()));
        }
    }
}

#[test]
fn the_time_is_kept_to_without_rounds() {
    let dir = temp_dir();
    let ran =
        run(vfscale(&["run", "--time", "1s", "--format", "json"]).current_dir(dir.path())).exits(0);
    let record = ran.record();
    assert_eq!(record.plan.time_s, 1.0);
    assert!(record.plan.rounds > 1, "{:?}", record.plan);
    assert!(ran.took < Duration::from_secs(2), "{:?}", ran.took);
}

#[test]
fn a_precision_that_is_reached_ends_the_run() {
    let dir = temp_dir();
    let args = [
        "--time",
        "60s",
        "--precision",
        "50%",
        "--slice",
        "5ms",
        "--tasks",
        "1",
        "--format",
        "json",
    ];
    let ran = run(vfscale(&[&["run"], &args[..]].concat()).current_dir(dir.path())).exits(0);
    assert!(ran.took < Duration::from_secs(20), "{:?}", ran.took);
    let record = ran.record();
    let plan = &record.plan;
    assert!(plan.rounds >= 6 && plan.rounds < plan.planned_rounds / 10, "{plan:?}");
    assert!(!plan.partial, "to be done early is not to be interrupted: {plan:?}");
    let point = &record.curves[0].points[0];
    let [low, high] = point.ci95.expect("an interval");
    assert!((high - low) / 2.0 <= 0.5 * point.ops_per_s, "{low} {high} {}", point.ops_per_s);
}

#[test]
fn the_seed_is_in_the_record() {
    for seed in [0, 7, u64::MAX] {
        assert_eq!(record(&["--seed", &seed.to_string(), "--tasks", "1"]).seed, seed);
    }
    let [one, other] = [record(&["--tasks", "1"]).seed, record(&["--tasks", "1"]).seed];
    assert_ne!(one, other, "a seed nobody chose is random");
}

#[test]
fn the_record_tells_how_it_came_about() {
    let more = ["--tasks", "1", "openbench"];
    let record = record(&more);
    assert_eq!(record.schema, "vfscale.run/1");
    assert_eq!(record.vfscale, env!("CARGO_PKG_VERSION"));
    assert!(record.command[0].ends_with("vfscale"), "{:?}", record.command);
    assert_eq!(record.command[1], "run");
    assert!(record.command.ends_with(&more.map(String::from)), "{:?}", record.command);
    assert_eq!((record.plan.time_s, record.plan.slice_s), (0.2, 0.002));
    assert!(record.started.ends_with('Z') && record.started.len() == "2026-01-01T00:00:00Z".len());
    let kernel = rustix::system::uname();
    let release = kernel.release().to_str().expect("UTF-8");
    assert!(record.host.kernel.starts_with(release), "{}", record.host.kernel);
    assert_eq!(record.host.arch, std::env::consts::ARCH);
    let usable = std::thread::available_parallelism().expect("the number of CPUs").get();
    assert_eq!(record.host.topology.cpus.len(), record.host.cpus.len());
    // available_parallelism looks at the cgroup's quota as well.
    assert!(record.host.cpus.len() >= usable, "{:?}", record.host.cpus);
}

#[test]
fn a_second_target_that_does_not_exist_is_refused_before_the_first_is_touched() {
    let dir = temp_dir();
    let missing = on(&dir.path().join("missing"));
    let place = temp_dir();
    let ran = run(&mut vfscale(&["run", "--on", &on(place.path()), "--on", &missing])).exits(4);
    assert!(ran.stderr.contains("missing: No such file or directory"), "{ran}");
    assert!(ran.stderr.contains("choose a directory that exists"), "{ran}");
    assert!(!ran.stderr.contains("plan:"), "{ran}");
    assert_eq!(ran.stdout, "");
    assert_eq!(leftovers(place.path()), [""; 0]);
}

/// Starts a run that would take long, waits until it is in the middle of measuring, and gives it a signal.
fn interrupted(args: &[&str], wait: Duration, signal: impl FnOnce(&Running)) -> (Ran, TempDir) {
    let dir = temp_dir();
    let long = ["run", "--time", "60s", "--tasks", "1,2"];
    let running = Running::start(vfscale(&[&long, args].concat()).current_dir(dir.path()));
    running.wait_until_it_measures(dir.path(), 2);
    std::thread::sleep(wait);
    signal(&running);
    let ran = running.wait(Duration::from_secs(15)).exits(130);
    assert_eq!(leftovers(dir.path()), [""; 0]);
    (ran, dir)
}

/// Enough for the warm-up and some rounds of 5 ms even on a busy machine.
const SOME_ROUNDS: Duration = Duration::from_millis(1200);

#[test]
fn an_interrupted_run_shows_what_it_has_as_json() {
    let args = ["--slice", "5ms", "--format", "json"];
    let (ran, _dir) = interrupted(&args, SOME_ROUNDS, |running| running.signal(Signal::INT));
    let record = ran.record();
    let plan = &record.plan;
    assert!(plan.partial, "{plan:?}");
    assert!(plan.rounds > 0 && plan.rounds < plan.planned_rounds, "{plan:?}");
    for point in &record.curves[0].points {
        assert_eq!(
            point.samples.len() as u32,
            plan.rounds * point.tasks,
            "only whole rounds count"
        );
    }
}

#[test]
fn an_interrupted_run_shows_what_it_has_as_text() {
    // As the keyboard does it: to the whole process group.
    let ctrl_c = |running: &Running| running.signal_group(Signal::INT);
    let (ran, _dir) = interrupted(&["--slice", "5ms"], SOME_ROUNDS, ctrl_c);
    let first = ran.stdout.lines().next().unwrap_or_default();
    let numbers = first
        .strip_prefix("PARTIAL: interrupted after ")
        .and_then(|rest| rest.strip_suffix(" rounds"));
    let (done, planned) =
        numbers.and_then(|numbers| numbers.split_once(" of ")).unwrap_or_else(|| panic!("{ran}"));
    let [done, planned] = [done, planned].map(|number| number.parse::<u32>().expect(first));
    assert!(0 < done && done < planned, "{first}");
    assert!(ran.stdout.contains("open_close on dir:."), "{ran}");
}

#[test]
fn a_run_interrupted_in_its_first_round_has_nothing_to_show() {
    let wait = Duration::from_millis(200);
    let args = ["--slice", "20s", "--format", "json"];
    let (ran, _dir) = interrupted(&args, wait, |running| running.signal(Signal::INT));
    assert!(ran.stderr.contains("interrupted before the first round was complete"), "{ran}");
    assert_eq!(ran.stdout, "");
}

#[test]
fn the_doctor_says_a_line_for_each_finding() {
    let dir = temp_dir();
    let ran = run(&mut vfscale(&["doctor", dir.path().to_str().expect("UTF-8")])).exits(0);
    let findings: Vec<(&str, &str)> = ran
        .stdout
        .lines()
        .filter_map(|line| {
            let state = ["ok", "note", "PROBLEM"]
                .into_iter()
                .find(|state| line.starts_with(&format!("{state} ")))?;
            Some((state, line[state.len()..].trim_start()))
        })
        .collect();
    let names = [
        "cpus",
        "topology",
        "cpu quota",
        "open files",
        "pids",
        "memory",
        "perf events",
        "bpf",
        "tracepoints",
        "cycles",
        "kernel symbols",
        "security modules",
        "watchers",
        "mount",
        "directory",
        "space",
        "inodes",
    ];
    for name in names {
        let of_name = findings.iter().filter(|(_, rest)| rest.starts_with(&format!("{name}  ")));
        assert_eq!(of_name.count(), 1, "{name}: {ran}");
    }
    // Every other line is advice to the finding before.
    let advice = ran.stdout.lines().filter(|line| line.starts_with("         ")).count();
    assert_eq!(findings.len() + advice, ran.stdout.lines().count(), "{ran}");
    assert_eq!(ran.stderr, "");
    assert!(dir_is_empty(dir.path()));
}

#[test]
fn the_doctor_sees_what_would_be_refused() {
    let missing = run(&mut vfscale(&["doctor", "/nonexistent/place"])).exits(0);
    let problem = |ran: &Ran, name: &str| {
        ran.stdout.lines().any(|line| line.starts_with(&format!("PROBLEM  {name} ")))
    };
    assert!(problem(&missing, "directory"), "{missing}");
    let Some(writable) = Mount::tmpfs("size=1m") else { return };
    let Some(mount) = Mount::bind_read_only(writable.path()) else { return };
    let doctor = |dir: &Path| run(&mut vfscale(&["doctor", dir.to_str().expect("UTF-8")])).exits(0);
    let (good, bad) = (doctor(writable.path()), doctor(mount.path()));
    assert!(!problem(&good, "mount") && !problem(&good, "directory"), "{good}");
    assert!(problem(&bad, "mount") || problem(&bad, "directory"), "{bad}");
    assert!(bad.stdout.contains("read-only"), "{bad}");
}
