//! The `lab:` target: every workload on every era, the same table and record as for a directory, and its locks by name.

use crate::support::{run, small, vfscale};
use results::Run;
use vfs_api::{Selected, Suite};

/// Runs with three short rounds of one and three tasks.
fn short(arguments: &[&str]) -> Run {
    lasting("2ms", arguments)
}

fn lasting(slice: &str, arguments: &[&str]) -> Run {
    let short = ["--tasks", "1,3", "--rounds", "3", "--slice", slice, "--format", "json"];
    run(&mut vfscale(&[&["run"], arguments, &short].concat())).exits(0).record()
}

/// Those of the mails on every era; the others on the oldest and the newest. What each does on each is for the harness's test
/// of effects.
#[test]
fn every_workload_runs_on_the_eras_in_both_modes() {
    let ends = [lab::eras::ERAS.first(), lab::eras::ERAS.last()].map(|era| era.map(|era| era.name));
    for era in lab::eras::ERAS {
        let target = format!("lab:{}", era.name);
        let parsed = target.parse().expect("an era");
        let all = ends.contains(&Some(era.name));
        let runs = |info: &&'static vfs_api::Info| {
            harness::can_run(&Selected::from(*info), &parsed).is_ok()
                && (all || info.suites.contains(&Suite::Mails))
        };
        let workloads: Vec<String> = workloads::ALL.iter().filter(runs).map(small).collect();
        let workloads: Vec<&str> = workloads.iter().map(String::as_str).collect();
        assert!(workloads.len() > if all { 50 } else { 9 }, "only {}", workloads.len());
        let record =
            short(&[&workloads[..], &["--on", &target, "--mode", "process,thread"]].concat());
        assert_eq!(record.curves.len(), 2 * workloads.len());
        assert!(record.host.fs.is_empty(), "no directory, no file system");
        let starved = record.warnings.iter().any(|warning| warning.code == "starved");
        for curve in &record.curves {
            assert_eq!(curve.target, target);
            assert_eq!(curve.points.len(), 2);
            for point in &curve.points {
                let name = format!(
                    "{} on {target}, {} mode, {} tasks",
                    curve.workload, curve.mode, point.tasks
                );
                // On a busy machine a pinned task may not run at all in two milliseconds; then the run must say so.
                let ops: u64 = point.samples.iter().map(|sample| sample.ops).sum();
                assert!(ops > 0 || starved, "{name}");
                assert_eq!(point.samples.len(), 3 * point.tasks as usize, "{name}");
                assert!(point.locks.is_empty(), "{name}: nobody asked for locks");
                assert!(point.rcu.is_some(), "{name}");
            }
        }
    }
}

#[test]
fn a_part_can_be_replaced() {
    let target = "lab:linux-2.6.7,fd_table=rcu";
    let record = short(&["fd_read", "--on", target, "--mode", "thread"]);
    assert_eq!(record.curves[0].target, target);
}

#[test]
fn locks_are_counted_by_name() {
    let locks_of = |workload: &str, era: &str| {
        // Long enough that even on a busy machine the task runs.
        let record = lasting("60ms", &[workload, "--on", era, "--mode", "thread", "--locks"]);
        let point = &record.curves[0].points[0];
        let ops: u64 = point.samples.iter().map(|sample| sample.ops).sum();
        (point.locks.clone(), ops)
    };
    let (locks, ops) = locks_of("open_close", "lab:linux-2.6.20");
    let taken = |name: &str| {
        locks.iter().find(|lock| lock.name == name).map_or(0, |lock| lock.acquisitions)
    };
    assert_eq!(taken("files_lock"), 2 * ops, "once by open, once by close");
    assert!(locks.iter().all(|lock| lock.contended <= lock.acquisitions));
    assert!(locks.iter().all(|lock| lock.wait_max_ns <= lock.wait_ns));

    let (locks, ops) = locks_of("fstat", "lab:linux-2.6.7");
    let file_lock = locks.iter().find(|lock| lock.name == "file_lock").expect("taken");
    assert_eq!(file_lock.acquisitions, ops, "one look-up each");
    let (locks, _) = locks_of("fstat", "lab:linux-2.6.14");
    assert!(locks.iter().all(|lock| lock.name != "file_lock"), "RCU: {locks:?}");
}

#[test]
fn the_text_shows_the_locks() {
    let arguments = [
        "run",
        "open_close",
        "--on",
        "lab:linux-2.6.20",
        "--tasks",
        "1",
        "--rounds",
        "3",
        "--slice",
        "60ms",
        "--locks",
        "-v",
    ];
    let text = run(&mut vfscale(&arguments)).exits(0).stdout;
    assert!(text.contains("files_lock"), "{text}");
    assert!(text.contains("RCU callbacks waited"), "2.6.14 and later free files by RCU: {text}");
}

#[test]
fn what_is_no_kernel_is_refused_with_what_there_is() {
    for (target, told) in [
        ("lab:linux-9.9", "linux-2.6.20+s_files"),
        ("lab:linux-2.6.7,fd_table=x", "typesafe"),
        ("lab:linux-2.6.7,file_list=none", "no kernel had both"),
    ] {
        let stderr = run(&mut vfscale(&["run", "--on", target])).exits(2).stderr;
        assert!(stderr.contains(told), "{stderr}");
    }
}

#[test]
fn a_directory_and_the_lab_go_into_one_run() {
    let dir = crate::support::temp_dir();
    let on = format!("dir:{}", dir.path().display());
    let record = short(&["open_close", "--on", &on, "--on", "lab:linux-6.18"]);
    assert_eq!(record.curves.len(), 2);
    assert!(crate::support::dir_is_empty(dir.path()));
}
