//! Fixed work: tiobench and AIM7 do all of it, on every kind of target, or fail as runs fail; what they leave is nothing.

use crate::procs::{assert_gone, end, start};
use crate::support::{Mount, dir_is_empty, killed_by, on, run, temp_dir, vfscale, wait_until};
use results::{Curve, Kind};
use rustix::process::Signal;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

const PHASES: [&str; 4] = ["seq_write", "rand_write", "seq_read", "rand_read"];

/// Runs `what` on `target` and answers its curves.
#[track_caller]
fn curves(what: &[&str], target: &str) -> Vec<Curve> {
    let args = [&["run"], what, &["--on", target, "--format", "json"]].concat();
    run(&mut vfscale(&args)).exits(0).record().curves
}

/// Each task of each run did `ops` operations in each phase, and timed every one of them.
#[track_caller]
fn assert_all_was_done(curves: &[Curve], tasks: &[u32], runs: u32, ops: [u64; 4]) {
    assert_eq!(curves.len(), 4);
    for ((curve, phase), ops) in curves.iter().zip(PHASES).zip(ops) {
        assert!(curve.workload.starts_with(&format!("tiobench_{phase}")), "{}", curve.workload);
        assert_eq!(curve.metric.unit, "MB/s");
        assert_eq!(curve.points.iter().map(|point| point.tasks).collect::<Vec<_>>(), tasks);
        for point in &curve.points {
            assert_eq!(point.samples.len() as u32, runs * point.tasks);
            assert!(point.samples.iter().all(|sample| sample.ops == ops), "{phase}: {point:?}");
            let latency =
                point.fixed.as_deref().and_then(|work| work.latency).expect("they are timed");
            assert_eq!(latency.count, ops * u64::from(runs * point.tasks));
            assert!(latency.p50_ns <= latency.p99_ns && latency.p99_ns <= latency.max_ns);
            assert!(point.ops_per_s > 0.0);
        }
    }
}

const SMALL: [&str; 9] =
    ["tiobench", "--threads", "1,3", "--size", "64k", "--random-ops", "5", "--runs", "2"];

#[test]
fn tiobench_does_its_work_in_both_modes_and_ways() {
    let target = temp_dir();
    for mode in ["thread", "process"] {
        for access in ["lseek", "pread"] {
            let args = [&SMALL[..], &["--mode", mode, "--access", access]].concat();
            let curves = curves(&args, &on(target.path()));
            assert_all_was_done(&curves, &[1, 3], 2, [16, 5, 16, 5]);
            assert!(curves.iter().all(|curve| curve.mode == mode));
            assert!(dir_is_empty(target.path()));
        }
    }
}

#[test]
fn tiobench_works_on_ext4() {
    let Some(mount) = Mount::ext4() else { return };
    let curves = curves(&SMALL, &on(mount.path()));
    assert_all_was_done(&curves, &[1, 3], 2, [16, 5, 16, 5]);
    assert!(dir_is_empty(mount.path()));
}

#[test]
fn tiobench_runs_in_the_lab_and_on_simulated_machines() {
    for mode in ["thread", "process"] {
        let args = [&SMALL[..], &["--mode", mode]].concat();
        let curves = curves(&args, "lab:linux-2.6.7");
        assert_all_was_done(&curves, &[1, 3], 2, [16, 5, 16, 5]);
    }
    let simulated = || {
        let args = ["tiobench", "--threads", "1,6", "--runs", "2", "--seed", "7"];
        curves(&args, "sim:piii-4-2004/linux-2.6.7,work=4000")
    };
    let curves = simulated();
    assert_eq!(curves, simulated(), "one seed, one result");
    for curve in &curves {
        assert_eq!((curve.kind, curve.cpus), (Kind::Simulated, 4));
        for point in &curve.points {
            // A task that waits for its CPU does not use it.
            let wall: f64 = point.walls_s().iter().sum();
            let used: u64 = point.samples.iter().map(|sample| sample.sys_ns).sum();
            assert!(used as f64 / 1e9 <= 4.0 * wall * 1.001, "{used} ns in {wall} s");
        }
    }
    // One 4 KiB call takes 4 us and a little more, a random operation two calls.
    let rate = |phase: usize| curves[phase].points[0].ops_per_s;
    assert!((800.0..976.6).contains(&rate(2)), "{}", rate(2));
    assert!((rate(2) / rate(3) - 2.0).abs() < 0.2, "{} and {}", rate(2), rate(3));
}

/// The rates of a table are its operations by its time; a file of the right size is there while it runs.
#[test]
fn tiobench_writes_all_its_bytes_and_its_table_can_be_imported() {
    let target = temp_dir();
    let args = ["tiobench:size=8M", "--threads", "2", "--random-ops", "2000000", "--runs", "1"];
    let running = start(target.path(), &args);
    let full = |path: &Path| fs::metadata(path).is_ok_and(|meta| meta.len() == 8 << 20);
    let files = || {
        let run = fs::read_dir(target.path()).ok()?.next()?.ok()?.path().join("c0");
        Some((0..2).filter(|task| full(&run.join(format!("f{task}")))).count())
    };
    assert!(wait_until(Duration::from_secs(20), || files() == Some(2)), "{:?}", files());
    running.signal(Signal::INT);
    end(running).exits(130);

    let on = on(target.path());
    let args = [&["run"], &SMALL[..], &["--on", &on]].concat();
    let table = run(&mut vfscale(&args)).exits(0).stdout;
    let at = table.find("Unit information").expect("tiobench's own output");
    let file = target.path().join("tiobench.txt");
    fs::write(&file, &table[at..]).unwrap();
    let file = file.to_str().unwrap();
    let args = ["import", "--dry-run", "--from", "tiobench", file];
    let said = run(&mut vfscale(&args)).exits(0).stdout;
    assert!(said.contains("4 curves, 8 points"), "{said}");
}

#[test]
fn users_of_aim7_do_all_their_jobs() {
    let Some(mount) = Mount::tmpfs("size=64m") else { return };
    users_do_all_their_jobs(mount.path(), "custom", "1,3");
    users_do_all_their_jobs(mount.path(), "shared", "2");
}

/// Where each block of O_SYNC is a write of the journal, so that there are few jobs of that kind.
#[test]
fn users_of_aim7_do_all_their_jobs_on_ext4() {
    let Some(mount) = Mount::ext4() else { return };
    users_do_all_their_jobs(mount.path(), "new_fserver", "4");
}

/// With jobs that open files with O_DIRECT and O_SYNC.
#[test]
fn users_of_aim7_do_their_jobs_on_a_disk() {
    let Some(mount) = Mount::tmpfs("size=64m") else { return };
    users_do_all_their_jobs(mount.path(), "disk", "4");
}

#[track_caller]
fn users_do_all_their_jobs(place: &Path, mix: &str, users: &str) {
    let args = ["aim7", "--mix", mix, "--users", users, "--runs", "2"];
    let curves = curves(&args, &on(place));
    let [curve] = &curves[..] else { panic!("one curve") };
    assert_eq!((curve.metric.unit.as_str(), curve.mode.as_str()), ("jobs/min", "process"));
    for point in &curve.points {
        assert_eq!(point.samples.len() as u32, 2 * point.tasks, "no user is lost");
        assert!(point.samples.iter().all(|sample| (90..=115).contains(&sample.ops)), "{mix}");
        assert!(point.jti().is_some_and(|jti| (0.0..=100.0).contains(&jti)));
        let user = &point.samples[0];
        let rate = 60e9 * user.ops as f64 * f64::from(point.tasks);
        let wall = point.walls_s();
        let expected = rate / 1e9 / wall[0];
        assert!((point.round_rates()[0] / expected - 1.0).abs() < 1e-9);
    }
    assert!(dir_is_empty(place), "{mix}");
}

#[test]
fn every_mix_of_aim7_runs() {
    let Some(mount) = Mount::tmpfs("size=64m") else { return };
    let target = mount.path();
    for mix in ["all_tests", "dbase", "fserver", "new_dbase", "new_fserver"] {
        let args = ["aim7", "--mix", mix, "--users", "2", "--runs", "1"];
        let curves = curves(&args, &on(target));
        assert_eq!(curves[0].workload, format!("aim7:mix={mix}"));
        assert_eq!(curves[0].points[0].samples.len(), 2);
        assert!(dir_is_empty(target), "{mix}");
    }
}

#[test]
fn aim7_runs_in_the_lab_and_on_simulated_machines() {
    for target in ["lab:linux-3.15", "sim:dual-core-2007/linux-3.15"] {
        let args = ["aim7", "--mix", "dbase", "--users", "2", "--runs", "1", "--seed", "1"];
        let curves = curves(&args, target);
        let point = &curves[0].points[0];
        assert_eq!(point.samples.len(), 2);
        assert!(point.samples.iter().all(|user| user.ops == point.samples[0].ops && user.ops > 90));
    }
}

#[test]
fn users_grow_until_the_last_or_the_crossover() {
    let target = temp_dir();
    let args = ["aim7:mix=new_dbase", "--users", "1..3", "--runs", "1"];
    let curves = curves(&args, &on(target.path()));
    let users: Vec<u32> = curves[0].points.iter().map(|point| point.tasks).collect();
    assert_eq!(users, [1, 2, 3]);
}

#[test]
fn what_is_no_fixed_work_is_a_mistake_in_words() {
    let table: [(&[&str], &str); 11] = [
        (&["open_close", "--threads", "4"], "--threads is an option of tiobench"),
        (&["--mix", "disk"], "--mix is an option of aim7"),
        (&["open_close", "--runs", "3"], "see --rounds"),
        (&["tiobench", "--mix", "disk"], "--mix is an option of aim7, not of tiobench"),
        (&["tiobench", "open_close"], "is run alone"),
        (&["aim7", "--mode", "thread"], "aim7 has no thread mode"),
        (&["aim7", "--mix", "discs"], "one of custom, all_tests"),
        (&["tiobench", "--size", "1K", "--block", "4K"], "less than one block"),
        (&["tiobench", "--slice", "5ms"], "its work is fixed"),
        (&["tiobench", "--time", "5s"], "less work, make it shorter"),
        (&["tiobench", "--threads", "2", "--tasks", "2"], "give one of them"),
    ];
    for (args, says) in table {
        let ran = run(&mut vfscale(&[&["run"], args].concat())).exits(2);
        assert!(ran.stderr.contains(says), "{says}: {ran}");
        assert_eq!(ran.stdout, "");
    }
}

/// A run of the one side and of the other is a round, and each phase is compared.
#[test]
fn two_targets_are_compared_by_runs_in_turn() {
    let (before, after) = (temp_dir(), temp_dir());
    let sides = [on(before.path()), on(after.path())];
    let ask =
        |more: &[&str]| run(&mut vfscale(&[&["compare", &sides[0], &sides[1]], more].concat()));
    let small = ["tiobench:size=64K", "--tasks", "1,2", "--rounds", "6", "--format", "json"];
    let ran = ask(&small).exits(0);
    let comparison: results::Comparison = serde_json::from_str(&ran.stdout).expect("a record");
    assert_eq!(comparison.pairing, results::Pairing::Interleaved);
    let compared: Vec<&str> = comparison.curves.iter().map(|c| c.workload.as_str()).collect();
    let phase = |name: &str| format!("tiobench_{name}:size=64K");
    assert_eq!(compared, ["seq_write", "rand_write", "seq_read", "rand_read"].map(phase));
    for curve in &comparison.curves {
        assert_eq!(curve.targets, sides);
        assert_eq!(curve.metric.unit, "MB/s");
        let points: Vec<(u32, u32)> = curve.points.iter().map(|p| (p.tasks, p.rounds)).collect();
        assert_eq!(points, [(1, 6), (2, 6)], "{}", curve.workload);
        assert!(curve.points.iter().all(|p| p.before > 0.0 && p.after > 0.0));
    }
    for (more, says) in [
        (&["tiobench", "open_close"][..], "is compared alone"),
        (&["tiobench", "--slice", "5ms"], "its work is fixed"),
        (&["aim7", "--time", "5s"], "its work is fixed"),
        (&["aim7", "--mode", "process,thread"], "in one --mode at a time"),
        (&["tiobench:size=1K,block=4K"], "less than one block"),
    ] {
        let ran = ask(more).exits(2);
        assert!(ran.stderr.contains(says), "{says}: {ran}");
    }
    let states = ["compare", &sides[0], "tiobench", "--before-cmd", "true", "--after-cmd", "true"];
    let ran = run(&mut vfscale(&states)).exits(2);
    assert!(ran.stderr.contains("run it in each state with --save NAME"), "{ran}");
    assert!(dir_is_empty(before.path()) && dir_is_empty(after.path()));
}

/// The stored runs of it can be compared by its name, and check says what to do instead.
#[test]
fn stored_runs_of_fixed_work_are_compared_and_not_checked() {
    let target = temp_dir();
    let place = temp_dir();
    let file = |name: &str| place.path().join(name).display().to_string();
    let (one, two) = (file("one.json"), file("two.json"));
    for name in [&one, &two] {
        let small = ["run", "tiobench", "--size", "64k", "--threads", "2", "--runs", "2"];
        let to = ["--on", &on(target.path()), "--format", "json", "--output", name];
        run(&mut vfscale(&[&small[..], &to].concat())).exits(0);
    }
    let ran = run(&mut vfscale(&["compare", &one, &two, "tiobench:size=64K"])).exits(0);
    assert!(ran.stdout.contains("tiobench_rand_read:size=64K"), "{ran}");
    for workload in [&[][..], &["tiobench:size=64K"]] {
        let ran = run(&mut vfscale(&[&["check", "--against", &one], workload].concat())).exits(2);
        assert!(ran.stderr.contains("tiobench is fixed work"), "{ran}");
        assert!(ran.stderr.contains("vfscale compare"), "{ran}");
    }
}

#[test]
fn files_that_have_no_room_are_refused_before_the_start() {
    let Some(mount) = Mount::tmpfs("size=1m") else { return };
    let target = on(mount.path());
    let args = ["run", "tiobench", "--threads", "2", "--size", "1M", "--on", &target];
    let ran = run(&mut vfscale(&args)).exits(4);
    assert!(ran.stderr.contains("KiB free") && !ran.stderr.contains("plan:"), "{ran}");
    assert!(dir_is_empty(mount.path()));
    let args = ["run", "tiobench", "--threads", "2", "--size", "512G", "--on", "lab:linux-2.6.7"];
    let ran = run(&mut vfscale(&args)).exits(4);
    assert!(ran.stderr.contains("what the lab keeps in memory"), "{ran}");
}

/// The room goes while it runs: no figure, and nothing left.
#[test]
fn a_disk_that_fills_up_ends_the_run() {
    let Some(mount) = Mount::tmpfs("size=16m") else { return };
    let args = ["tiobench:size=4M", "--threads", "2", "--runs", "10000"];
    let running = start(mount.path(), &args);
    let begun = || !dir_is_empty(mount.path());
    assert!(wait_until(Duration::from_secs(20), begun));
    let filler = mount.path().join("filler");
    let mut ended = false;
    let since = Instant::now();
    while !ended && since.elapsed() < Duration::from_secs(20) {
        if let Ok(mut file) = fs::File::options().append(true).create(true).open(&filler) {
            while std::io::Write::write(&mut file, &[0; 4096]).is_ok() {}
        }
        ended = !crate::support::is_alive(running.pid());
    }
    let ran = end(running).exits(3);
    assert!(ran.stderr.contains("ENOSPC") || ran.stderr.contains("fewer bytes"), "{ran}");
    assert_eq!(ran.stdout, "");
    assert_gone(mount.path(), &["filler"], Instant::now());
}

#[test]
fn who_interrupts_gets_the_runs_that_are_complete() {
    let target = temp_dir();
    let args = ["tiobench:size=64K", "--threads", "2", "--runs", "10000"];
    let running = start(target.path(), &[&args[..], &["--format", "json"]].concat());
    assert!(wait_until(Duration::from_secs(20), || !dir_is_empty(target.path())));
    std::thread::sleep(Duration::from_millis(300));
    running.signal(Signal::INT);
    let ran = end(running).exits(130);
    if !ran.stdout.is_empty() {
        let record = ran.record();
        assert!(record.plan.partial);
        let runs = record.plan.rounds;
        for curve in &record.curves {
            assert_eq!(curve.points[0].samples.len() as u32, 2 * runs, "{}", curve.workload);
        }
    }
    assert_gone(target.path(), &[], Instant::now());
}

#[test]
fn nothing_is_left_of_fixed_work_that_is_killed() {
    for what in [&["tiobench:size=1M", "--threads", "2"][..], &["aim7", "--users", "4"]] {
        let target = temp_dir();
        let args = [what, &["--runs", "10000"]].concat();
        let running = start(target.path(), &args);
        assert!(wait_until(Duration::from_secs(20), || !dir_is_empty(target.path())));
        let since = Instant::now();
        running.signal(Signal::KILL);
        let ran = end(running);
        assert_eq!(killed_by(&ran), Some(Signal::KILL.as_raw()), "{ran}");
        assert_gone(target.path(), &[], since);
    }
}
