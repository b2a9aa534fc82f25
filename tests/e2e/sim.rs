//! The `sim:` target: other machines in virtual time, the same bit for bit with the same seed.

use crate::support::{run, small, temp_dir, vfscale};
use results::{Kind, Run};
use vfs_api::{Selected, Suite};

fn simulate(arguments: &[&str]) -> Run {
    let arguments = [&["run", "--format", "json", "--rounds", "2"], arguments].concat();
    run(&mut vfscale(&arguments)).exits(0).record()
}

const BEFORE: &str = "sim:8-socket-2007/linux-2.6.20";
const AFTER: &str = "sim:8-socket-2007/linux-2.6.20+s_files";

#[test]
fn the_global_list_s_lock_moves_and_the_filevec_s_does_not() {
    let record =
        simulate(&["open_close", "--on", BEFORE, "--on", AFTER, "--tasks", "1,8", "--locks"]);
    let [before, after] = &record.curves[..] else { panic!("two curves") };
    for curve in [before, after] {
        assert_eq!((curve.kind, curve.cpus), (Kind::Simulated, 8));
        for point in &curve.points {
            assert!(point.ops_per_s > 0.0);
            let shares = point.shares.expect("a simulated point has shares");
            let sum = shares.work + shares.lines + shares.spin + shares.sleep + shares.ready;
            assert!((sum - 1.0).abs() < 1e-9, "{shares:?}");
        }
    }
    let taken = |curve: &results::Curve, lock: &str| {
        curve.points[1].locks.iter().find(|l| l.name == lock).map_or(0, |l| l.acquisitions)
    };
    assert!(taken(before, "files_lock") > 0);
    assert_eq!(taken(after, "files_lock"), 0, "the list has a lock per node there");
    // The simulator has no noise: the shape may be asserted.
    let gain = after.points[1].ops_per_s / before.points[1].ops_per_s;
    assert!(gain > 1.1, "s_files gains at 8 CPUs: {gain}");
    assert!(before.points[1].lines.iter().any(|line| line.name.contains("files_lock")));
}

#[test]
fn one_seed_gives_one_result() {
    let arguments = ["fstat", "--on", BEFORE, "--tasks", "4", "--mode", "thread"];
    let seeded = |seed: &str| simulate(&[&arguments[..], &["--seed", seed]].concat()).curves;
    let first = seeded("1");
    assert_eq!(first, seeded("1"), "bit for bit");
    assert_ne!(first, seeded("2"), "a seed that changes nothing is none");
}

fn every_point_did_something(record: &Run, curves: usize) {
    assert_eq!(record.curves.len(), curves);
    for curve in &record.curves {
        for point in &curve.points {
            assert!(point.ops_per_s > 0.0, "{} {} {}", curve.workload, curve.mode, point.tasks);
        }
    }
}

const XEON: &str = "sim:xeon-16-2014/linux-3.15";

#[test]
fn every_workload_of_the_mails_is_simulated_in_both_modes() {
    let workloads = workloads::suite(Suite::Mails).count();
    let on = ["--on", XEON, "--tasks", "1,20", "--mode", "process,thread"];
    let record = simulate(&[&["--suite", "mails"], &on[..]].concat());
    every_point_did_something(&record, 2 * workloads);
}

#[test]
fn every_other_workload_is_simulated() {
    let parsed = XEON.parse().expect("a target");
    let runs = |info: &&'static vfs_api::Info| {
        harness::can_run(&Selected::from(*info), &parsed).is_ok()
            && !info.suites.contains(&Suite::Mails)
    };
    let workloads: Vec<String> = workloads::ALL.iter().filter(runs).map(small).collect();
    assert!(workloads.len() > 40, "only {}", workloads.len());
    for some in workloads.chunks(12) {
        let some: Vec<&str> = some.iter().map(String::as_str).collect();
        let arguments = [&some[..], &["--on", XEON, "--tasks", "2"]].concat();
        every_point_did_something(&simulate(&arguments), some.len());
    }
}

#[test]
fn a_machine_can_be_a_file() {
    let dir = temp_dir();
    let file = dir.path().join("mine.toml");
    let machine = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines/dual-core-2007.toml");
    std::fs::copy(machine, &file).expect("a copy");
    let on = format!("sim:{}/linux-2.6.20,work=300", file.display());
    let record = simulate(&["file_ops", "--on", &on]);
    let tasks: Vec<u32> = record.curves[0].points.iter().map(|point| point.tasks).collect();
    assert_eq!(tasks, [1, 2], "as many as the machine has CPUs");

    std::fs::write(&file, "name = 1").expect("written");
    let stderr = run(&mut vfscale(&["run", "--on", &on])).exits(2).stderr;
    assert!(stderr.contains("name"), "{stderr}");
    let stderr = run(&mut vfscale(&["run", "--on", "sim:pdp-11/linux-2.6.20"])).exits(2).stderr;
    assert!(stderr.contains("8-socket-2007"), "it lists what there is: {stderr}");
}
