//! Guests: real kernels in QEMU. What they need is large, so each test says what is missing and ends where it is: QEMU, Debian's
//! cloud kernels in the cache (vfscale fetch-kernel 6.1 6.12), and the static program (scripts/static-build).

use crate::support::{Process, Ran, Running, skip, temp_dir, vfscale, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A boot under emulation takes four seconds alone on a machine, and much longer beside other tests.
const PATIENCE: Duration = Duration::from_secs(300);

/// Whether `doctor guest` calls all good that `names` lists, and the cache holds the kernels; says that the test is skipped if not.
fn has(names: &[&str], kernels: &[&str]) -> bool {
    static DOCTOR: OnceLock<String> = OnceLock::new();
    let doctor = DOCTOR.get_or_init(|| vfscale_run(&["doctor", "guest"]).exits(0).stdout);
    let lines = || doctor.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let bad =
        names.iter().find(|name| !lines().any(|line| line.starts_with(&format!("ok {name} "))));
    let cached = lines().find_map(|line| Some(line.strip_prefix("ok kernels ")?.to_owned()));
    let cached = cached.unwrap_or_default();
    let cached: Vec<&str> = cached.split(", ").collect();
    let lost = kernels.iter().find(|kernel| !cached.contains(kernel));
    match (bad, lost) {
        (Some(name), _) => skip(&format!("no {name} for guests (vfscale doctor guest)")),
        (_, Some(kernel)) => {
            skip(&format!("no kernel {kernel} in the cache (vfscale fetch-kernel {kernel})"))
        }
        (None, None) => return true,
    }
    false
}

/// QEMU, the static program and these kernels are there.
pub(crate) fn ready(kernels: &[&str]) -> bool {
    has(&["qemu", "static vfscale"], kernels)
}

pub(crate) fn vfscale_run(args: &[&str]) -> Ran {
    Running::start(&mut vfscale(args)).wait(PATIENCE)
}

/// Pids of the QEMUs whose command line holds `mark`.
fn qemus(mark: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").expect("list /proc").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_it = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        line.starts_with("qemu-system") && line.contains(mark)
    };
    pids.filter(is_it).collect()
}

#[test]
fn doctor_says_what_guests_need() {
    let ran = vfscale_run(&["doctor", "guest"]).exits(0);
    for subject in ["qemu", "static vfscale", "kernels", "ext4", "xfs", "btrfs"] {
        assert!(ran.stdout.contains(subject), "{ran}");
    }
}

#[test]
fn five_workloads_run_in_both_kernels() {
    if !ready(&["6.1", "6.12"]) {
        return;
    }
    let workloads = ["open_close", "creat_close", "unlink_open", "truncate_by_byte", "fstat"];
    for (kernel, fs) in [("6.1", "ext4"), ("6.12", "tmpfs")] {
        let target = format!("guest:{kernel},cpus=2,fs={fs}");
        let mut args =
            vec!["run", "--on", &target, "--tasks", "1,2", "--rounds", "2", "--format", "json"];
        args.extend(workloads);
        let run = vfscale_run(&args).exits(0);
        let record = run.record();
        assert_eq!(record.curves.len(), workloads.len());
        for curve in &record.curves {
            let counts: Vec<u32> = curve.points.iter().map(|point| point.tasks).collect();
            assert_eq!((curve.cpus, counts), (2, vec![1, 2]), "{}", curve.workload);
            for point in &curve.points {
                assert_eq!(point.samples.len(), 2 * point.tasks as usize);
                assert!(point.samples.iter().all(|sample| sample.ops > 0 && sample.elapsed_ns > 0));
                assert_eq!(point.cpus.len(), point.tasks as usize);
            }
        }
        let mount =
            record.host.fs.iter().find(|mount| mount.target == target).expect("of the guest");
        assert_eq!(mount.fs_type, fs);
        assert!(mount.source.contains(&format!("Linux {kernel}.")), "{}", mount.source);
        let emulated = record.warnings.iter().any(|warning| warning.code == "guest-emulated");
        assert_eq!(emulated, mount.source.contains("tcg"), "{}", mount.source);
    }
}

#[test]
fn two_kernels_are_compared_boot_by_boot() {
    if !ready(&["6.1", "6.12"]) {
        return;
    }
    let sides = ["guest:6.12,cpus=1", "guest:6.1,cpus=1"];
    let args = [
        "compare",
        sides[0],
        sides[1],
        "open_close",
        "--tasks",
        "1",
        "--boots",
        "2",
        "--time",
        "1s",
        "--format",
        "json",
    ];
    let compared = vfscale_run(&args).exits(0).json();
    let point = &compared["curves"][0]["points"][0];
    assert_eq!(point["rounds"], 2, "a boot is a round");
    assert_eq!(point["verdict"]["verdict"], "undecided", "two boots show nothing");
    assert_eq!(compared["before"]["curves"][0]["target"], sides[0]);
    let release = |side: &str| compared[side]["host"]["fs"][0]["source"].to_string();
    assert!(release("before").contains("Linux 6.12.") && release("after").contains("Linux 6.1."));
}

#[test]
fn instructions_are_the_same_in_every_boot() {
    if !ready(&["6.1"]) {
        return;
    }
    let target = "guest:6.1,cpu=max,-erms,-fsrm";
    let args = [
        "compare",
        target,
        target,
        "open_close",
        "--clock",
        "instructions",
        "--boots",
        "1",
        "--seed",
        "7",
        "--format",
        "json",
    ];
    let compared = vfscale_run(&args).exits(0).json();
    let curve = &compared["curves"][0];
    assert_eq!(curve["metric"]["unit"], "instructions/op");
    let value = |side: &str| curve["points"][0][side].as_f64().expect("a number");
    // To the last digit as a rule; on a busy host QEMU may raise a timer's interrupt a little late.
    let change = value("after") / value("before") - 1.0;
    assert!(change.abs() < 0.005, "two boots of one kernel with one seed: {change}");
    // Of an open and a close: more than entering the kernel twice, less than anything that reaches a disk.
    assert!((500.0..100_000.0).contains(&value("before")), "{}", value("before"));
    let warnings = compared["before"]["warnings"].as_array().expect("a list");
    let calibration = warnings.iter().find(|warning| warning["code"] == "calibration");
    let said = calibration.expect("the clock is calibrated")["message"].to_string();
    assert!(said.contains("the clock counts instructions"), "{said}");
    let notes = curve["points"][0]["notes"].to_string();
    assert!(notes.contains("one CPU model only"), "{notes}");
}

#[test]
fn a_guest_that_dies_ends_the_run_with_its_console() {
    if !ready(&["6.1"]) {
        return;
    }
    let ran = vfscale_run(&["run", "--on", "guest:6.1,append=rdinit=/nothing"]).exits(3);
    assert!(ran.stderr.contains("Kernel panic") && ran.stderr.contains("  | ["), "{ran}");
    assert_eq!(ran.stdout, "");
}

#[test]
fn a_killed_qemu_ends_the_run() {
    if !ready(&["6.1"]) {
        return;
    }
    let mark = format!("killed-qemu-{}", std::process::id());
    let target = format!("guest:6.1,append={mark}");
    let running = Running::start(&mut vfscale(&["run", "--on", &target, "--time", "1h"]));
    assert!(wait_until(PATIENCE, || !qemus(&mark).is_empty()), "{}", running.stderr());
    // Whether it is at its first instruction or at its last boot message: without it there is no result. Booted once more it
    // would be another process, so all of them are killed until the run has ended.
    let deadline = Instant::now() + PATIENCE;
    let runs = || Process::read(running.pid()).is_some_and(|process| process.state != 'Z');
    while runs() && Instant::now() < deadline {
        qemus(&mark).into_iter().for_each(kill);
        std::thread::sleep(Duration::from_millis(50));
    }
    let ran = running.wait(PATIENCE).exits(3);
    assert!(ran.stderr.contains("SIGKILL"), "{ran}");
}

#[test]
fn nothing_is_left_when_vfscale_is_killed() {
    if !ready(&["6.1"]) {
        return;
    }
    let mark = format!("killed-vfscale-{}", std::process::id());
    let (target, dir) = (format!("guest:6.1,fs=ext4,append={mark}"), temp_dir());
    let mut command = vfscale(&["run", "--on", &target, "--time", "1h"]);
    let running = Running::start(command.env("TMPDIR", dir.path()).current_dir(dir.path()));
    assert!(wait_until(PATIENCE, || !qemus(&mark).is_empty()), "{}", running.stderr());
    kill(running.pid());
    running.wait(PATIENCE);
    assert!(wait_until(Duration::from_secs(20), || qemus(&mark).is_empty()), "QEMU lives on");
    assert!(crate::support::dir_is_empty(dir.path()));
}

#[test]
fn what_is_no_guest_is_refused() {
    let dir = temp_dir();
    let file = dir.path().join("vmlinuz");
    std::fs::write(&file, "no kernel").expect("write a file");
    let target = |what: &Path| format!("guest:{}", what.display());
    let empty: PathBuf = dir.path().join("nowhere");
    for (args, code, part) in [
        (vec!["run", "--on", &target(&empty)], 4, ""),
        (vec!["run", "--on", &target(&file)], 4, ""),
        (vec!["run", "--on", "guest:6.1,fs=zfs"], 2, "tmpfs, ramfs, ext4, xfs, btrfs"),
        (vec!["run", "--on", "guest:6.1,memory=1M"], 2, "at least 128M"),
        (
            vec!["run", "--on", "lab:linux-6.18", "--clock", "instructions"],
            4,
            "only guests can count instructions",
        ),
        (vec!["run", "--on", "lab:linux-6.18", "--boots", "3"], 4, "only guests can be booted"),
        (vec!["run", "--on", "guest:6.1", "--clock", "instructions", "--tasks", "2"], 4, "one CPU"),
        (vec!["fetch-kernel", "newest"], 4, "like 6.12"),
    ] {
        let ran = vfscale_run(&args).exits(code);
        assert!(ran.stderr.contains(part), "{part}: {ran}");
        assert_eq!(ran.stdout, "");
    }
    if has(&["qemu"], &[]) {
        let ran = vfscale_run(&["run", "--on", &target(&file)]).exits(4);
        assert!(ran.stderr.contains("is not a kernel"), "{ran}");
    }
}

fn kill(pid: u32) {
    let pid = Pid::from_raw(pid as i32).expect("a pid is not 0");
    // It may have ended by itself.
    let _ = kill_process(pid, Signal::KILL);
}
