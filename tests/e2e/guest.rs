//! Guests: real kernels in QEMU. What they need is large, so each test says what is missing and ends where it is: QEMU, Debian's
//! cloud kernels in the cache (vfscale fetch-kernel 6.1 6.12), and the static program (scripts/static-build).

use crate::support::{Process, Ran, Running, skip, temp_dir, vfscale, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::Command;
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
fn ready(kernels: &[&str]) -> bool {
    has(&["qemu", "static vfscale"], kernels)
}

fn vfscale_run(args: &[&str]) -> Ran {
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

/// As many of the mails as one boot is worth.
const WORKLOADS: [&str; 5] =
    ["open_close", "creat_close", "unlink_open", "truncate_by_byte", "fstat"];

/// Five workloads on one task and on all CPUs of one guest, and what the record says of it.
fn five_workloads(kernel: &str, cpus: u32, fs: &str) {
    let target = format!("guest:{kernel},cpus={cpus},fs={fs}");
    let (rounds, counts) = ("2", if cpus == 1 { vec![1] } else { vec![1, cpus] });
    let tasks: Vec<String> = counts.iter().map(u32::to_string).collect();
    let tasks = tasks.join(",");
    let mut args =
        vec!["run", "--on", &target, "--tasks", &tasks, "--rounds", rounds, "--format", "json"];
    args.extend(WORKLOADS);
    let record = vfscale_run(&args).exits(0).record();
    assert_eq!(record.curves.len(), WORKLOADS.len());
    for curve in &record.curves {
        let measured: Vec<u32> = curve.points.iter().map(|point| point.tasks).collect();
        assert_eq!((curve.cpus, measured), (cpus, counts.clone()), "{}", curve.workload);
        for point in &curve.points {
            assert_eq!(point.samples.len(), 2 * point.tasks as usize);
            // Eight CPUs on one of the host's: a task may get none of its short slice.
            let worked = |task: u32| point.samples.iter().any(|s| s.task == task && s.ops > 0);
            assert!(worked(0), "{} on {target}", curve.workload);
            assert!(point.samples.iter().all(|sample| sample.elapsed_ns > 0));
            assert_eq!(point.cpus.len(), point.tasks as usize);
        }
    }
    let mount = record.host.fs.iter().find(|mount| mount.target == target).expect("of the guest");
    assert_eq!(mount.fs_type, fs.split(',').next().expect("a file system"));
    assert!(mount.source.contains(&format!("Linux {kernel}.")), "{}", mount.source);
    assert_eq!(mount.source.starts_with("/dev/vda"), fs.contains("virtio"), "{}", mount.source);
    let has = |code: &str| record.warnings.iter().any(|warning| warning.code == code);
    assert_eq!(has("guest-emulated"), mount.source.contains("tcg"), "{}", mount.source);
    let host = std::thread::available_parallelism().map_or(1, usize::from);
    assert_eq!(has("guest-cpus"), cpus as usize > host, "{target}");
}

#[test]
fn five_workloads_run_in_both_kernels() {
    if !has(&["qemu", "static vfscale", "ext4"], &["6.1", "6.12"]) {
        return;
    }
    for (kernel, cpus, fs) in
        [("6.1", 2, "ext4"), ("6.12", 8, "tmpfs"), ("6.1", 1, "ext4,disk=virtio")]
    {
        five_workloads(kernel, cpus, fs);
    }
}

#[test]
#[ignore = "eighteen boots: run it after changes to guests (cargo test -p vfscale --test e2e guest -- --ignored)"]
fn five_workloads_run_in_both_kernels_on_any_number_of_cpus() {
    if !has(&["qemu", "static vfscale", "ext4"], &["6.1", "6.12"]) {
        return;
    }
    for kernel in ["6.1", "6.12"] {
        for cpus in [1, 2, 8] {
            for fs in ["tmpfs", "ext4", "ext4,disk=virtio"] {
                five_workloads(kernel, cpus, fs);
            }
        }
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
fn instructions_of_two_kernels_are_compared_under_two_cpu_models() {
    if !ready(&["6.1", "6.12"]) {
        return;
    }
    let args = ["compare", "guest:6.1", "guest:6.12", "open_close", "--clock", "instructions"];
    let args = [&args[..], &["--boots", "1", "--seed", "7", "--format", "json"]].concat();
    let compared = vfscale_run(&args).exits(0).json();
    let curves = compared["curves"].as_array().expect("a list");
    assert_eq!(curves.len(), 2, "two CPU models");
    for curve in curves {
        let point = &curve["points"][0];
        let value = |side: &str| point[side].as_f64().expect("a number");
        // Under each of them 6.12 has the shorter path (bench/guest).
        assert!(value("after") < value("before"), "{curve}");
        assert_eq!(point["verdict"]["verdict"], "undecided", "one boot shows nothing");
    }
    let target = |curve: usize| curves[curve]["targets"][0].to_string();
    assert!(target(0).contains("cpu=max,-erms,-fsrm") && target(1).ends_with("cpu=max\""));
}

#[test]
fn a_package_and_a_build_tree_are_kernels() {
    if !has(&["qemu", "static vfscale", "ext4", "dpkg-deb"], &["6.1"]) {
        return;
    }
    let dir = temp_dir();
    let made = Unpacked::find("6.1");
    let (package, tree) = (dir.path().join("package"), dir.path().join("tree"));
    // Of the modules those that ext4 on a RAM disk needs.
    let modules = package.join("lib/modules").join(&made.release);
    copy(&made.image, &package.join("boot").join(made.image.file_name().expect("a name")));
    copy(&made.modules.join("modules.builtin"), &modules.join("modules.builtin"));
    copy(&made.modules.join(BRD), &modules.join(BRD));
    write(&package.join("DEBIAN/control"), CONTROL);
    let deb = dir.path().join("linux-image.deb");
    let built = Command::new("dpkg-deb").args(["-b", "-Znone"]).args([&package, &deb]).output();
    assert!(built.expect("run dpkg-deb").status.success());
    copy(&made.image, &tree.join("arch/x86/boot/bzImage"));
    copy(&made.modules.join("modules.builtin"), &tree.join("modules.builtin"));
    copy(&made.modules.join(BRD), &tree.join("drivers/block/brd.ko"));

    let cache = dir.path().join("cache");
    let run = |kernel: &Path, what: &str| {
        let target = format!("guest:{},cpus=1,fs={what}", kernel.display());
        let mut command = vfscale(&["run", "--on", &target, "--rounds", "1", "--format", "json"]);
        Running::start(command.env("XDG_CACHE_HOME", &cache)).wait(PATIENCE)
    };
    for kernel in [&deb, &tree.join("arch/x86/boot/bzImage")] {
        let record = run(kernel, "ext4").exits(0).record();
        assert!(record.curves[0].points[0].samples[0].ops > 0);
        let source = &record.host.fs.last().expect("of the guest").source;
        assert!(source.contains(&made.release), "{source}");
    }
    let unpacked = std::fs::read_dir(cache.join("vfscale/kernels")).expect("the cache");
    assert_eq!(unpacked.count(), 1, "the package, once");
    // The modules of the tree, named in place of the image; and one that it has not.
    let ran = run(&tree, "ext4,disk=virtio").exits(3);
    assert!(ran.stderr.contains("the kernel has no virtio"), "{ran}");
    assert!(ran.stderr.contains("make modules"), "{ran}");
}

#[test]
fn a_guest_that_dies_ends_the_run_with_its_console() {
    if !ready(&["6.1"]) {
        return;
    }
    for (append, parts) in [
        ("rdinit=/nothing", ["Kernel panic", "  | ["]),
        ("mem=60M", ["it was booted twice", "for new RAMDISK"]),
    ] {
        let ran = vfscale_run(&["run", "--on", &format!("guest:6.1,append={append}")]).exits(3);
        assert!(parts.iter().all(|part| ran.stderr.contains(part)), "{ran}");
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn a_boot_that_fails_is_repeated_and_reported() {
    if !ready(&["6.1"]) {
        return;
    }
    let mark = format!("repeated-boot-{}", std::process::id());
    let target = format!("guest:6.1,cpus=1,append={mark}");
    let args = ["run", "--on", &target, "--rounds", "1", "--format", "json"];
    let running = Running::start(&mut vfscale(&args));
    assert!(wait_until(PATIENCE, || !qemus(&mark).is_empty()), "{}", running.stderr());
    // It has had no time to boot.
    qemus(&mark).into_iter().for_each(kill);
    let record = running.wait(PATIENCE).exits(0).record();
    let told = record.warnings.iter().find(|warning| warning.code == "guest-boots");
    let told = &told.expect("it is reported").message;
    assert!(told.contains("SIGKILL") && told.contains("booted once more"), "{told}");
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
    let (target, dir) = (format!("guest:6.1,fs=ext4,disk=virtio,append={mark}"), temp_dir());
    let mut command = vfscale(&["run", "--on", &target, "--time", "1h"]);
    let running = Running::start(command.env("TMPDIR", dir.path()).current_dir(dir.path()));
    assert!(wait_until(PATIENCE, || !qemus(&mark).is_empty()), "{}", running.stderr());
    kill(running.pid());
    running.wait(PATIENCE);
    assert!(wait_until(Duration::from_secs(20), || qemus(&mark).is_empty()), "QEMU lives on");
    assert!(crate::support::dir_is_empty(dir.path()));
}

/// Debian's 6.1 has no file system but ext4 built in, and the RAM disk as a module without dependencies.
const BRD: &str = "kernel/drivers/block/brd.ko";
const CONTROL: &str = "Package: linux-image-test\nVersion: 1\nArchitecture: amd64\nMaintainer: nobody\nDescription: a kernel\n";

/// A kernel in the user's cache.
struct Unpacked {
    image: PathBuf,
    modules: PathBuf,
    release: String,
}

impl Unpacked {
    fn find(version: &str) -> Unpacked {
        let home = |name| std::env::var_os(name).map(PathBuf::from);
        let cache = home("XDG_CACHE_HOME").or_else(|| Some(home("HOME")?.join(".cache")));
        let root = cache.expect("a cache").join("vfscale/kernels").join(version);
        let only = |dir: &str| {
            let mut entries = std::fs::read_dir(root.join(dir)).expect("list it").flatten();
            let names = entries.find(|entry| {
                dir != "boot" || entry.file_name().to_string_lossy().starts_with("vmlinuz")
            });
            names.expect("there is one").path()
        };
        let modules = only("lib/modules");
        let release = modules.file_name().expect("a name").to_string_lossy().into_owned();
        Unpacked { image: only("boot"), modules, release }
    }
}

fn write(path: &Path, content: &str) {
    std::fs::create_dir_all(path.parent().expect("it has one")).expect("make a directory");
    std::fs::write(path, content).expect("write a file");
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to.parent().expect("it has one")).expect("make a directory");
    std::fs::copy(from, to).expect("copy a file");
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
        (
            vec!["run", "--on", "guest:6.1", "--clock", "instructions", "--tasks", "2"],
            4,
            "on one CPU unless",
        ),
        (
            vec!["run", "--on", "guest:6.1,fs=ext4,disk=virtio", "--clock", "instructions"],
            4,
            "no virtio disk",
        ),
        (vec!["run", "--on", "guest:6.1,disk=virtio"], 2, "tmpfs has none"),
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
