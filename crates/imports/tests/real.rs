//! Files that the tools of this machine write just now. A tool that is not installed is skipped, and the output says so.

use imports::Imported;
use results::{Curve, Point};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

#[allow(dead_code)] // of each test program a part
mod common;

/// Output of `program`, which must end well and within a minute; none if it is not installed.
///
/// Output goes to a file and what is left of the program is killed: a client of dbench whose fellow fails runs on for ever and
/// would hold a pipe open.
fn run(program: &str, args: &[&str], dir: &Path) -> Option<String> {
    let output = dir.join("output");
    let file = File::create(&output).expect("create a file for the output");
    let mut child = Command::new("timeout")
        .args(["60", program])
        .args(args)
        .current_dir(dir)
        .stdout(file.try_clone().expect("share the file"))
        .stderr(file)
        .process_group(0)
        .spawn()
        .expect("start timeout of coreutils");
    let status = child.wait().expect("wait for the program");
    let text = String::from_utf8_lossy(&std::fs::read(&output).expect("its output")).into_owned();
    // So timeout says that there is no such program.
    if status.code() == Some(127) {
        println!("SKIPPED: import of real files: {program} is not installed");
        return None;
    }
    if !status.success() {
        let group = format!("-{}", child.id());
        let killed = Command::new("kill").args(["-KILL", "--", &group]).output();
        panic!("{program} {args:?}: {status}, {text} (kill: {:?})", killed.map(|kill| kill.status));
    }
    Some(text)
}

/// What the file holds, found to be of the format by its content.
fn import(path: &Path, format: &str) -> Imported {
    let mut imported = imports::read(path, None).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(imported.len(), 1);
    let imported = imported.remove(0);
    let format = imports::Format::by_name(format).expect("a format");
    common::check(format, &path.to_string_lossy(), &imported.run);
    imported
}

#[track_caller]
fn curve<'a>(imported: &'a Imported, workload: &str) -> &'a Curve {
    let found = imported.run.curves.iter().find(|curve| curve.workload == workload);
    found.unwrap_or_else(|| panic!("no {workload}: {:?}", imported.run))
}

fn tasks(curve: &Curve) -> Vec<u32> {
    curve.points.iter().map(|point: &Point| point.tasks).collect()
}

#[test]
fn fio_creates_files() {
    let dir = tempfile::tempdir().unwrap();
    let job = "[global]\nioengine=filecreate\nthread=0\nfilesize=4k\nnrfiles=50\nopenfiles=1\ncreate_on_open=1\nfallocate=none\n\
               [one]\nnumjobs=1\n[two]\nstonewall\nnumjobs=2\n";
    std::fs::write(dir.path().join("job.fio"), job).unwrap();
    for (kind, extra) in [("json", None), ("json+", None), ("json", Some("--group_reporting"))] {
        let format = format!("--output-format={kind}");
        let output = dir.path().join(format!("{kind}{}", extra.is_some()));
        let to = format!("--output={}", output.display());
        let target = format!("--directory={}", dir.path().display());
        let args: Vec<&str> =
            [Some(format.as_str()), Some(&to), Some(&target), extra, Some("job.fio")]
                .into_iter()
                .flatten()
                .collect();
        if run("fio", &args, dir.path()).is_none() {
            return;
        }
        let imported = import(&output, "fio");
        let create = curve(&imported, "fio:filecreate");
        assert_eq!(
            (tasks(create), create.mode.as_str()),
            (vec![1, 2], "process"),
            "{kind} {extra:?}"
        );
        assert!(imported.run.import.as_ref().unwrap().summary_only);
        assert!(imported.run.started.starts_with("20"), "{}", imported.run.started);
    }
}

#[test]
fn fio_reads_and_writes_in_threads() {
    let dir = tempfile::tempdir().unwrap();
    let args = [
        "--output-format=json",
        "--output=out.json",
        "--name=mix",
        "--rw=randrw",
        "--size=64k",
        "--thread=1",
        "--filename=data",
    ];
    if run("fio", &args, dir.path()).is_none() {
        return;
    }
    let imported = import(&dir.path().join("out.json"), "fio");
    for workload in ["fio:randrw-read", "fio:randrw-write"] {
        let curve = curve(&imported, workload);
        assert_eq!((tasks(curve), curve.mode.as_str()), (vec![1], "thread"));
    }
}

#[test]
fn fio_that_failed_gives_no_figure() {
    let dir = tempfile::tempdir().unwrap();
    // A file to be read that cannot be made, in JSON all the same.
    let args = [
        "--output-format=json",
        "--output=out.json",
        "--name=x",
        "--rw=read",
        "--size=4k",
        "--directory=absent",
    ];
    match Command::new("fio").args(args).current_dir(dir.path()).output() {
        Ok(output) => assert!(!output.status.success()),
        Err(_) => return println!("SKIPPED: import of real files: fio is not installed"),
    }
    assert!(imports::read(&dir.path().join("out.json"), Some("fio")).is_err());
}

#[test]
fn hyperfine_with_every_run_and_with_summaries() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["-N", "--runs=7", "--export-json=h.json", "--export-csv=h.csv", "true", "echo a,b"];
    if run("hyperfine", &args, dir.path()).is_none() {
        return;
    }
    let imported = import(&dir.path().join("h.json"), "hyperfine");
    let runs = curve(&imported, "hyperfine:echo a,b").points[0].samples.len();
    assert_eq!(runs, 7);
    let summary = import(&dir.path().join("h.csv"), "hyperfine");
    let point = &curve(&summary, "hyperfine:echo a,b").points[0];
    assert!(point.samples.is_empty());
    // Both are the median, one in nanoseconds, which are whole.
    let all = curve(&imported, "hyperfine:echo a,b").points[0].ops_per_s;
    assert!((point.ops_per_s / all - 1.0).abs() < 1e-3, "{} and {all}", point.ops_per_s);
}

#[test]
fn dbench_with_two_clients() {
    let dir = tempfile::tempdir().unwrap();
    // dbench puts the number of each client in place of client1.
    let load = "Deltree \"\\clients\\client1\" NT_STATUS_OK\n\
                Mkdir \"\\clients\" NT_STATUS_OK\n\
                NTCreateX \"\\clients\\client1\" 0x1 0x2 1 NT_STATUS_OK\n\
                Close 1 NT_STATUS_OK\n\
                NTCreateX \"\\clients\\client1\\f.txt\" 0x2 0x5 2 NT_STATUS_OK\n\
                WriteX 2 0 4096 4096 NT_STATUS_OK\n\
                Close 2 NT_STATUS_OK\n\
                Deltree \"\\clients\\client1\" NT_STATUS_OK\n";
    std::fs::write(dir.path().join("load"), load).unwrap();
    // In less than two seconds dbench prints a throughput of 0.
    let Some(output) = run("dbench", &["-c", "load", "-t", "3", "-D", ".", "2"], dir.path()) else {
        return;
    };
    let path = dir.path().join("dbench.txt");
    std::fs::write(&path, output).unwrap();
    let imported = import(&path, "dbench");
    let throughput = curve(&imported, "dbench");
    assert_eq!((tasks(throughput), throughput.metric.unit.as_str()), (vec![2], "MB/s"));
    assert!(curve(&imported, "dbench:NTCreateX").metric.lower_is_better);
}

#[test]
fn perf_bench_three_times() {
    let dir = tempfile::tempdir().unwrap();
    let mut all = String::new();
    for args in [
        &["bench", "sched", "pipe", "-l", "500"][..],
        &["bench", "sched", "pipe", "-l", "500"],
        &["bench", "sched", "messaging", "-g", "1", "-l", "20"],
        &["bench", "futex", "wake", "-t", "2"],
    ] {
        let Some(output) = run("perf", args, dir.path()) else { return };
        all.push_str(&output);
    }
    let path = dir.path().join("perf.txt");
    std::fs::write(&path, all).unwrap();
    let imported = import(&path, "perf-bench");
    assert_eq!(curve(&imported, "perf:sched/pipe").points[0].samples.len(), 2);
    assert_eq!(tasks(curve(&imported, "perf:sched/messaging")), [40]);
    assert_eq!(tasks(curve(&imported, "perf:futex/wake")), [2]);
}

#[test]
fn stress_ng_with_two_instances() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["--open", "2", "--open-ops", "300", "-t", "20", "--metrics", "--yaml", "s.yaml"];
    let Some(output) = run("stress-ng", &[&args[..], &["--temp-path", "."]].concat(), dir.path())
    else {
        return;
    };
    let path = dir.path().join("s.txt");
    std::fs::write(&path, &output).unwrap();
    for path in [path, dir.path().join("s.yaml")] {
        let imported = import(&path, "stress-ng");
        let opens = curve(&imported, "stress-ng:open");
        assert_eq!((tasks(opens), opens.mode.as_str()), (vec![2], "process"), "{output}");
    }
}
