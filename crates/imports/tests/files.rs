//! Files of every format, as their tools write them: what is read out of them, and what is refused.

use imports::{FORMATS, Format, ImportError, Imported};
use results::{Curve, Run};

mod common;

fn import(name: &str) -> Vec<Imported> {
    imports::read(&common::dir().join(name), None).unwrap_or_else(|error| panic!("{error}"))
}

fn only(name: &str) -> Run {
    let mut runs = import(name);
    assert_eq!(runs.len(), 1, "{name}");
    runs.remove(0).run
}

#[track_caller]
fn curve<'a>(run: &'a Run, workload: &str, mode: &str) -> &'a Curve {
    let found = run.curves.iter().find(|curve| curve.workload == workload && curve.mode == mode);
    let names = || run.curves.iter().map(|c| format!("{} {}", c.workload, c.mode));
    found.unwrap_or_else(|| panic!("no {workload} {mode}, only {:?}", names().collect::<Vec<_>>()))
}

fn values(curve: &Curve) -> Vec<(u32, f64)> {
    curve.points.iter().map(|point| (point.tasks, point.ops_per_s)).collect()
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-6, "{found} is not {expected}");
}

fn codes(run: &Run) -> Vec<&str> {
    run.warnings.iter().map(|warning| warning.code.as_str()).collect()
}

#[track_caller]
fn refused(format: &str, text: &str) -> String {
    let format = Format::by_name(format).expect("a format");
    (format.parse)("f", text).expect_err("to be refused").to_string()
}

/// Every file is found to be of the format of its directory, and what comes of it keeps the rules of the record.
#[test]
fn every_file_is_recognised_and_its_runs_keep_the_rules() {
    let corpus = common::corpus();
    for format in FORMATS {
        assert!(corpus.iter().any(|(of, _, _)| of.name == format.name), "{}", format.name);
    }
    for (format, path, _) in corpus {
        for Imported { label, run } in imports::read(&path, None).unwrap() {
            assert!(!label.is_empty() && !run.started.is_empty());
            common::check(format, &path.to_string_lossy(), &run);
            let mut names: Vec<_> = run
                .curves
                .iter()
                .map(|curve| (&curve.workload, &curve.target, &curve.mode))
                .collect();
            names.sort();
            assert!(names.is_sorted_by(|a, b| a < b), "two curves of one name: {names:?}");
        }
    }
}

#[test]
fn a_forced_format_is_not_second_guessed() {
    let path = common::dir().join("reaim/reaim.csv");
    assert!(matches!(imports::read(&path, Some("fio")), Err(ImportError::Content { .. })));
}

#[test]
fn will_it_scale_csv() {
    let run = only("will-it-scale/open1.csv");
    let processes = curve(&run, "open_close", "process");
    assert_eq!(values(processes), [(1, 2103456.0), (2, 4180022.0), (24, 30102030.0)]);
    let threads = curve(&run, "open_close", "thread");
    assert_eq!(values(threads), [(1, 1987654.0), (2, 2412345.0), (16, 2301111.0)]);
    close(threads.points[1].speedup.unwrap(), 2412345.0 / 1987654.0);
    // 16 processes failed, 24 threads did nothing.
    let failed = run.warnings.iter().find(|warning| warning.code == "failed").unwrap();
    assert!(failed.message.contains("16 tasks: -1") && failed.message.contains("1 more"));

    let run = only("will-it-scale/unlink2.csv");
    assert_eq!(run.curves.len(), 1);
    assert_eq!(values(curve(&run, "wis:unlink2", "process")).len(), 2);
    assert!(codes(&run).contains(&"mode-not-measured"));

    let header = "tasks,processes,processes_idle,threads,threads_idle,linear\n";
    let error = refused("will-it-scale", &format!("{header}0,0,100,0,100,0\n1,2,3\n"));
    assert_eq!(error, "f:3: expected 6 columns, found \"1,2,3\"");
    let error = refused("will-it-scale", &format!("{header}1,x,1,1,1,1\n"));
    assert_eq!(error, "f:2: expected a number (operations per second), found \"x\"");
    let error = refused("will-it-scale", &format!("{header}1,-1,0.00,-1,0.00,0\n"));
    assert!(error.contains("-1: the program failed"), "{error}");
    refused("will-it-scale", &format!("{header}0,0,100,0,100,0\n"));
}

#[test]
fn will_it_scale_programs() {
    let run = only("will-it-scale-raw/open1_processes.txt");
    let point = &curve(&run, "open_close", "process").points[0];
    // Two tasks follow from the totals; the lines of the warm-up do not count.
    assert_eq!((point.tasks, point.samples.len(), run.plan.warmup_rounds), (2, 7, 2));
    assert_eq!(point.ops_per_s, 4000200.0);
    assert_eq!(point.ci95, Some([3995000.0, 4006000.0]));
    assert!(point.fairness > 0.98 && point.fairness < 1.0);
    assert_eq!(point.real_s, 7.0);

    let run = only("will-it-scale-raw/verbose_threads.log");
    let curve = curve(&run, "wis:verbose", "thread");
    assert_eq!(values(curve), [(3, 2690450.0)]);
    assert_eq!(curve.points[0].samples.len(), 6);
    close(curve.points[0].fairness, 1760300.0 / 1820300.0);
    // A dead task and an interrupted run give no figure.
    assert!(codes(&run).contains(&"failed") && codes(&run).contains(&"interrupted"));

    let sixteen = "testcase:x\nmeasurement\nmin:90 max:110 total:1600\n";
    let error = refused("will-it-scale-raw", sixteen);
    assert!(error.contains("-v") && error.contains("15 to 17 tasks"), "{error}");
    let error = refused("will-it-scale-raw", "testcase:x\nmeasurement\nmin:0 max:9 total:9\n");
    assert!(error.contains("died"), "{error}");
    let error = refused("will-it-scale-raw", "testcase:x\nmeasurement\nmin:1 max:9\n");
    assert!(error.starts_with("f:3: expected a number (total:)"), "{error}");
}

#[test]
fn fxmark() {
    let run = only("fxmark/fxmark.log");
    assert_eq!(run.curves.len(), 1);
    let curve = curve(&run, "fxmark:MWCL", "process");
    assert_eq!(curve.target, "ext4 on mem, bufferedio");
    close(curve.points[0].ops_per_s, 89933.821966);
    close(curve.points[1].ops_per_s, 136667.122223);
    assert_eq!(run.host.kernel, "4.2.3");
    assert_eq!(run.host.cpu_model.as_deref(), Some("Intel(R) Xeon(R) CPU E7-8870 v2 @ 2.30GHz"));
    assert_eq!((run.host.topology.sockets, run.host.topology.cores), (8, 80));
    // A full file system, one that was not mounted, -nan and inf.
    for code in ["cut-short", "failed", "no-figure"] {
        assert!(codes(&run).contains(&code), "{:?}", run.warnings);
    }
    let error = refused("fxmark", "## mem:ext4\n");
    assert!(error.starts_with("f:1: expected ## media"), "{error}");
    let error = refused("fxmark", "# ncpu secs works works/sec\n1 2 3 4\n");
    assert!(error.starts_with("f:2: expected ## media"), "{error}");
}

#[test]
fn mdtest() {
    let run = only("mdtest/mdtest-4.log");
    assert_eq!(run.curves.len(), 9);
    let create = curve(&run, "mdtest:file-creation", "process");
    assert_eq!((create.target.as_str(), values(create)), ("dir:/mnt/t", vec![(8, 24500.5)]));
    assert_eq!(run.command[..3], ["./mdtest", "-n", "1000"]);
    assert!(codes(&run).contains(&"no-figure"), "the rename that was not run");

    let run = only("mdtest/mdtest-3.log");
    let create = curve(&run, "mdtest:file-creation", "process");
    assert_eq!(values(create), [(1, 1011.0), (4, 3000.0)]);
    let time = curve(&run, "mdtest:file-creation-time", "process");
    assert_eq!(values(time), [(4, 1.333)]);
    assert!(time.metric.lower_is_better && time.metric.unit == "ms/op");
    assert!(codes(&run).contains(&"failed"), "the WARNING line");

    let table = "SUMMARY rate: (of 1 iterations)\n   Operation\n   File creation : 1.0 2.0 3.0\n";
    let error = refused("mdtest", &format!("2 tasks, 5 files\n{table}"));
    assert!(error.starts_with("f:4: expected a phase with max, min"), "{error}");
    assert!(refused("mdtest", table).starts_with("f:3: expected a line of tasks"));
}

#[test]
fn fio() {
    let run = only("fio/fio-3.json");
    assert_eq!(run.started, "2023-11-14T22:13:20Z");
    let create = curve(&run, "fio:filecreate", "thread");
    assert_eq!(values(create), [(1, 52000.5), (2, 81000.0)]);
    assert_eq!(create.target, "dir:/mnt/t");
    close(create.points[0].sys_s, 0.016);
    let failed = run.warnings.iter().find(|warning| warning.code == "failed").unwrap();
    assert!(failed.message.contains("error 28"), "{}", failed.message);

    let run = only("fio/fio-2.json");
    assert_eq!(values(curve(&run, "fio:randrw-read", "unknown")), [(1, 1000.25)]);
    assert_eq!(values(curve(&run, "fio:randrw-write", "unknown")), [(1, 990.75)]);

    let run = only("fio/fio-clients.json");
    assert_eq!(values(curve(&run, "fio:randread", "unknown")), [(2, 40.0)]);

    let error = refused("fio", "warning\n{ \"fio version\" : \"3\",\n \"jobs\" : 1 }\n");
    assert!(error.starts_with("f:3: expected JSON of fio"), "{error}");
    let error = refused("fio", "{ \"fio version\" : \"3\", \"jobs\" : [");
    assert!(error.starts_with("f:1: expected JSON of fio"), "{error}");
    refused("fio", "{ \"fio version\" : \"3\", \"jobs\" : [] }");
}

#[test]
fn fs_mark() {
    let run = only("fs_mark/fs_mark-3.3.txt");
    let create = curve(&run, "fs_mark:create-51200-S1", "process");
    close(create.points[0].ops_per_s, 612.4);
    // Each iteration wrote 4000 files, though the file counts up.
    let samples = &create.points[0].samples;
    assert_eq!(samples.iter().map(|sample| sample.ops).collect::<Vec<_>>(), [4000; 3]);
    assert_eq!((create.points[0].tasks, create.target.as_str()), (4, "dir:/mnt/t"));
    assert!(codes(&run).contains(&"rates-added"));

    let run = only("fs_mark/fs_mark-variants.txt");
    let create = curve(&run, "fs_mark:create-51200-S0", "process");
    assert_eq!(create.points.len(), 2);
    close(create.points[1].ops_per_s, 1500.0);
    assert!(codes(&run).contains(&"no-figure"), "an iteration without files");

    let heading = "FSUse% Count Size Files/sec\n";
    let error = refused("fs_mark", &format!("{heading}1 2 3 4\n"));
    assert!(error.starts_with("f:2: expected # Version"), "{error}");
    let error = refused(
        "fs_mark",
        &format!("# Version 3.3, 2 thread(s) starting\n{heading}1 5 3 4\n1 4 3 4\n"),
    );
    assert!(error.starts_with("f:4: expected a Count that does not fall"), "{error}");
}

#[test]
fn tiobench() {
    let runs = import("tiobench/tiobench.txt");
    assert_eq!(
        runs.iter().map(|run| run.label.as_str()).collect::<Vec<_>>(),
        ["6.1.0-13-amd64", "6.12.1-patched"]
    );
    let [old, new] = [&runs[0].run, &runs[1].run];
    let reads = curve(old, "tiobench:sequential-reads-4096", "thread");
    assert_eq!(values(reads), [(1, 512.33), (2, 801.5)]);
    assert_eq!(reads.metric.unit, "MB/s");
    assert_eq!((reads.points[0].usecs_per_op, old.curves.len()), (0.0, 4));
    assert_eq!(new.host.kernel, "6.12.1-patched");
    assert_eq!(values(curve(new, "tiobench:sequential-reads-4096", "thread")), [(1, 530.0)]);
    assert!(codes(new).contains(&"overflow") && !codes(old).contains(&"overflow"));
    let error = refused("tiobench", "Random Reads\n-----\n6.1 8000 4096 1 5\n");
    assert!(error.starts_with("f:3: expected an identifier and 10 numbers"), "{error}");
}

#[test]
fn reaim() {
    for (file, second) in [("reaim/reaim.txt", 1945.35), ("reaim/reaim.csv", 1950.35)] {
        let run = only(file);
        let curve = curve(&run, "reaim", "process");
        assert_eq!(curve.metric.unit, "jobs/min");
        close(curve.points[0].ops_per_s, 1935.48);
        close(curve.points[1].ops_per_s, second);
        close(curve.points[1].user_s, 5.2 / 4.0);
        close(curve.points[1].sys_s, 30.1 / 4.0);
        assert_eq!(codes(&run).contains(&"repeated"), file.ends_with("csv"));
    }
    let run = only("reaim/aim7.txt");
    let curve = curve(&run, "aim7", "process");
    assert_eq!(values(curve), [(3000, 321456.78)]);
    assert_eq!(curve.points[0].real_s, 56.55);
    let error = refused("reaim", "Tasks jobs/min jti jobs/min/task real cpu\n5 6\n");
    assert!(error.starts_with("f:2: expected a number (wall time), found nothing"), "{error}");
}

#[test]
fn dbench() {
    let run = only("dbench/dbench-4.txt");
    assert_eq!(values(curve(&run, "dbench", "process")), [(2, 216.012)]);
    let create = curve(&run, "dbench:NTCreateX", "process");
    assert!(create.metric.lower_is_better && create.metric.unit == "ms");
    assert_eq!(values(create), [(2, 0.016)]);
    assert_eq!(run.curves.len(), 3);

    let run = only("dbench/dbench-variants.txt");
    assert_eq!(values(curve(&run, "dbench", "process")), [(1, 100.5), (2, 200.25)]);
    assert_eq!(values(curve(&run, "dbench:Close", "process")), [(2, 0.002)]);
    refused("dbench", "dbench version 4.00\n   2  17005   216.01 MB/sec  execute   1 sec\n");
}

#[test]
fn hyperfine() {
    let run = only("hyperfine/h.json");
    let copy = curve(&run, "hyperfine:cp -r a b", "unknown");
    let point = &copy.points[0];
    close(point.ops_per_s, 10.0);
    close(point.usecs_per_op, 100_000.0);
    assert_eq!((point.samples.len(), copy.metric.unit.as_str()), (7, "runs/s"));
    assert!(point.ci95.is_some());
    close(point.user_s, 0.14);
    assert_eq!(curve(&run, "hyperfine:once", "unknown").points[0].ci95, None);
    assert!(codes(&run).contains(&"failed"), "exit codes");

    let run = only("hyperfine/h.csv");
    let point = &curve(&run, "hyperfine:cp -r a, b", "unknown").points[0];
    close(point.ops_per_s, 10.0);
    assert!(point.samples.is_empty() && run.import.unwrap().summary_only);
    let error = refused("hyperfine", "command,mean,stddev,median,user,system\na,1,,x,1,1\n");
    assert_eq!(error, "f:2: expected a number (median), found \"x\"");
}

#[test]
fn lkp() {
    let runs = import("lkp/mail.txt");
    assert_eq!(runs.len(), 2);
    assert!(runs[0].label.starts_with("ec81deb6b7 maple_tree: preserve"), "{}", runs[0].label);
    let [before, after] = [&runs[0].run, &runs[1].run];
    assert_eq!(before.started, "2023-12-05T07:30:00Z");
    assert_eq!(after.host.kernel, "commit 6e553c6bcb");
    assert_eq!(after.host.cpu_model.as_deref(), Some("Skylake"));
    assert_eq!(values(curve(before, "open_close", "process")), [(104, 13467005.0)]);
    assert_eq!(values(curve(after, "open_close", "process")), [(104, 26223847.0)]);
    assert_eq!(values(curve(before, "open_close:per-task", "process")), [(104, 129489.0)]);
    assert_eq!(before.curves.len(), 2);

    let runs = import("lkp/three-commits.txt");
    assert_eq!(runs.len(), 3);
    let jobs = runs.iter().map(|run| values(curve(&run.run, "creat_close", "unknown"))[0]);
    assert_eq!(jobs.collect::<Vec<_>>(), [(3000, 100000.0), (3000, 95000.0), (3000, 101000.0)]);
    let third = &runs[2].run;
    let jobs = curve(third, "creat_close", "unknown");
    assert_eq!((jobs.metric.unit.as_str(), jobs.target.as_str()), ("jobs/min", "xfs"));
    assert_eq!(values(curve(third, "fsmark:files_per_sec", "unknown")), [(1, 251.8)]);
    assert!(codes(third).contains(&"tasks-unknown") && codes(third).contains(&"no-figure"));

    refused("lkp", "%stddev %change %stddev\n1 +1% 2 will-it-scale.1.processes\n");
}

#[test]
fn mmtests() {
    let runs = import("mmtests/compare.txt");
    let labels: Vec<_> = runs.iter().map(|run| run.label.as_str()).collect();
    assert_eq!(labels, ["base-vanilla", "patched-series-v2"]);
    let [base, patched] = [&runs[0].run, &runs[1].run];
    let open = curve(patched, "open_close", "process");
    assert_eq!(values(open), [(2, 1340000.0), (4, 1900000.0)]);
    assert!(!open.metric.lower_is_better);
    assert_eq!(values(curve(base, "wis:unlink2", "thread")), [(4, 500000.0)]);
    let elapsed = curve(patched, "mmtests:elapsed", "unknown");
    assert!(elapsed.metric.lower_is_better && values(elapsed) == [(8, 90.0)]);
    assert!(curve(base, "mmtests:latency", "unknown").metric.lower_is_better);
    assert!(!curve(base, "mmtests:score", "unknown").metric.lower_is_better);
    assert!(codes(base).contains(&"tasks-unknown"));
    let error = refused("mmtests", "Hmean a-1 1.0 ( 0.00%) 2.0 ( 1.00%)\n");
    assert!(error.starts_with("f:1: expected two lines with the names of 2 kernels"), "{error}");
}

#[test]
fn perf_bench() {
    let run = only("perf-bench/all.txt");
    let pipe = &curve(&run, "perf:sched/pipe", "process").points[0];
    assert_eq!((pipe.tasks, pipe.samples.len()), (2, 2));
    close(pipe.ops_per_s, (1e6 / 26.11 + 40000.0) / 2.0);
    let messaging = curve(&run, "perf:sched/messaging", "process");
    close(messaging.points[0].ops_per_s, 1.0 / 0.179);
    assert_eq!((messaging.points[0].tasks, messaging.metric.unit.as_str()), (400, "runs/s"));
    close(curve(&run, "perf:syscall/basic", "unknown").points[0].ops_per_s, 1e6 / 0.119);
    let hash = &curve(&run, "perf:futex/hash", "thread").points[0];
    close(hash.ops_per_s, 6_000_000.0);
    assert_eq!((hash.tasks, hash.fairness, hash.real_s), (2, 0.5, 2.0));
    assert_eq!(values(curve(&run, "perf:futex/lock-pi", "thread")), [(2, 10174.0)]);
    let wake = &curve(&run, "perf:futex/wake", "thread").points[0];
    assert_eq!((wake.tasks, wake.samples.len()), (4, 2));
    let copy = curve(&run, "perf:mem/memcpy/x86-64-movsq", "unknown");
    assert_eq!((values(copy), copy.metric.unit.as_str()), (vec![(1, 33.90842)], "GB/s"));
    assert!(codes(&run).contains(&"no-figure"), "synthesize");

    // Numbers alone are only read if the format is forced.
    let simple =
        (Format::by_name("perf-bench").unwrap().parse)("pipe.txt", "0.026\n0.025\n").unwrap();
    assert_eq!(simple[0].run.curves[0].points[0].samples.len(), 2);
    assert!(codes(&simple[0].run).contains(&"tasks-unknown"));
}

#[test]
fn stress_ng_output_and_yaml() {
    // Both of one run of version 0.15.06.
    let [text, yaml] = ["stress-ng/both.txt", "stress-ng/both.yaml"].map(only);
    for run in [&text, &yaml] {
        let opens = curve(run, "stress-ng:open", "process");
        assert_eq!(opens.metric.unit, "bogo ops/s");
        assert_eq!(opens.points[0].tasks, 2);
        assert!((opens.points[0].ops_per_s - 3220.86).abs() < 0.01);
        close(opens.points[0].sys_s, if std::ptr::eq(run, &text) { 0.145 } else { 0.145146 });
        assert_eq!(curve(run, "stress-ng:dentry", "process").points[0].tasks, 2);
        assert!(run.import.as_ref().unwrap().summary_only);
        // What the stressor did not come to has no figure and needs no word.
        assert_eq!(run.curves.len(), 4, "{:?}", run.curves);
        assert!(!codes(run).contains(&"no-figure") && !codes(run).contains(&"tasks-unknown"));
    }
    let each = curve(&text, "stress-ng:open/nanosecs-per-open", "process");
    assert_eq!((values(each), each.metric.lower_is_better), (vec![(2, 228956.63)], true));
    close(
        curve(&yaml, "stress-ng:open/nanosecs-per-open", "process").points[0].ops_per_s,
        229152.504143,
    );
    assert_eq!(yaml.started, "2026-11-30T22:23:22Z");
    assert_eq!(
        (yaml.host.kernel.as_str(), yaml.host.arch.as_str()),
        ("6.1.0 #1 SMP PREEMPT_DYNAMIC", "x86_64")
    );

    // By hand, after version 0.17: the instances are listed, metrics may be refused; several runs in one file are points.
    let run = only("stress-ng/instances.yaml");
    assert_eq!(values(curve(&run, "stress-ng:unlink", "process")), [(3, 120.5)]);
    let rate = curve(&run, "stress-ng:unlink/unlink-calls-per-sec", "process");
    assert_eq!((values(rate), rate.metric.lower_is_better), (vec![(3, 42.0)], false));
    let run = only("stress-ng/sweep.txt");
    assert_eq!(values(curve(&run, "stress-ng:open", "process")), [(1, 400.25), (4, 1200.5)]);
    assert!(codes(&run).contains(&"failed"), "{:?}", run.warnings);

    let error = refused("stress-ng", "- stressor: open\n  wall-clock-time: x\n");
    assert_eq!(error, "f:2: expected a number (wall-clock-time), found \"x\"");
    let head = "stress-ng: metrc: [1] stressor bogo ops\n";
    let error = refused("stress-ng", &format!("{head}stress-ng: metrc: [1] open 5 1.0 ####\n"));
    assert_eq!(error, "f:2: expected a number (user time), found \"####\"");
}
