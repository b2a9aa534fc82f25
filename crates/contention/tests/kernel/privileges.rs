//! What is not permitted or not there is refused with a reason and a remedy, never an error; nothing is left behind.

use crate::load::{Load, Work, alone, in_private_mounts, is_root, memory_dir};
use contention::{Chosen, Kind, Options, Refused, Tracefs, sources};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

/// Set for the part of a test that an ordinary user runs.
const ORDINARY: &str = "CONTENTION_TEST_AS_ORDINARY_USER";
/// The name of that test.
const ORDINARY_TEST: &str = "privileges::an_ordinary_user_gets_what_there_is_and_is_told_the_rest";
const NOBODY: u32 = 65534;

#[test]
fn an_ordinary_user_gets_what_there_is_and_is_told_the_rest() {
    if env::var_os(ORDINARY).is_some() {
        return as_ordinary_user();
    }
    let _alone = alone();
    if !is_root() {
        return as_ordinary_user();
    }
    // The binary may lie where nobody else may go.
    let dir = tempfile::tempdir().expect("a directory");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("chmod");
    let binary = dir.path().join("test");
    fs::copy(env::current_exe().expect("own path"), &binary).expect("copy the test");
    let output = Command::new(&binary)
        .args(["--exact", ORDINARY_TEST, "--nocapture"])
        .env(ORDINARY, "1")
        .current_dir(dir.path())
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .expect("start the test again");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("1 passed"), "{text}");
}

fn as_ordinary_user() {
    let options = Options { samples: true, ..Options::default() };
    let ids = [std::process::id()];
    let Chosen { mut source, refused } = sources(&ids, &options).expect("no error");
    for kind in [Kind::Bpf, Kind::Tracepoints] {
        let Some(Refused { why, remedy, .. }) = refused.iter().find(|r| r.source == kind) else {
            panic!("{kind} is not for ordinary users: {refused:?}");
        };
        assert!(!why.is_empty() && remedy.contains("sudo"), "{kind}: {why}: {remedy}");
    }
    let mut better = Kind::ALL.into_iter().take_while(|&kind| kind != source.kind());
    assert!(better.all(|kind| refused.iter().any(|refused| refused.source == kind)), "{refused:?}");
    source.start().expect("start");
    std::thread::sleep(Duration::from_millis(5));
    source.stop().expect("stop");
    let report = source.read().expect("read");
    assert!(report.scheduling.is_some() || report.samples.is_some(), "{report:?}");
    assert!(report.contentions.is_none() && report.waits.is_empty(), "nobody counted waits");
}

#[test]
fn without_tracefs_only_bpf_sees_waits() {
    let _alone = alone();
    if !is_root() {
        return;
    }
    in_private_mounts(|| {
        unmount_tracefs();
        let ids = [std::process::id()];
        let forced = |kind, tracefs| {
            let options = Options { force: Some(kind), tracefs, ..Options::default() };
            sources(&ids, &options).expect("no error")
        };
        let Chosen { source, refused } = forced(Kind::Tracepoints, Tracefs::Mounted);
        assert_eq!(source.kind(), Kind::Scheduling);
        assert_eq!(refused.len(), 1);
        assert!(refused[0].remedy.contains("mount -t tracefs"), "{refused:?}");
        assert_eq!(forced(Kind::Bpf, Tracefs::Mounted).source.kind(), Kind::Bpf);

        let Chosen { source, refused } = forced(Kind::Tracepoints, Tracefs::Detached);
        assert_eq!(source.kind(), Kind::Tracepoints, "{refused:?}");
        assert!(!mounts().contains(" - tracefs "), "a detached mount is nowhere to be seen");
    });
}

#[test]
fn a_mounted_tracefs_is_found_wherever_it_is() {
    let _alone = alone();
    if !is_root() {
        return;
    }
    in_private_mounts(|| {
        unmount_tracefs();
        let dir = tempfile::Builder::new().prefix("trace fs").tempdir().expect("a directory");
        let mount =
            Command::new("mount").args(["-t", "tracefs", "tracefs"]).arg(dir.path()).status();
        assert!(mount.expect("start mount").success());
        let options = Options { force: Some(Kind::Tracepoints), ..Options::default() };
        let chosen = sources(&[std::process::id()], &options).expect("no error");
        let (kind, refused) = (chosen.source.kind(), chosen.refused);
        unmount_tracefs();
        assert_eq!(kind, Kind::Tracepoints, "{refused:?}");
    });
}

#[test]
fn nothing_stays_open_whatever_a_source_was_doing() {
    let _alone = alone();
    let (true, Some(dir)) = (is_root(), memory_dir()) else { return };
    let Some(load) = Load::start(Work::CreateUnlink, dir.path()) else { return };
    let before = kernel_descriptors();
    for kind in Kind::ALL {
        let open = || {
            let tracefs = Tracefs::Detached;
            let options =
                Options { samples: true, force: Some(kind), tracefs, ..Options::default() };
            sources(&load.ids(), &options).expect("no error").source
        };
        drop(open());
        let mut started = open();
        started.start().expect("start");
        drop(started);
        let mut read = open();
        read.start().expect("start");
        read.read().expect("read");
    }
    assert_eq!(before, kernel_descriptors());
    let stats = fs::read_to_string("/proc/sys/kernel/bpf_stats_enabled").expect("read a sysctl");
    assert_eq!(stats.trim(), "0", "the sysctl is not touched");
}

/// Descriptors of this process for BPF objects and perf events.
fn kernel_descriptors() -> Vec<String> {
    let entries = fs::read_dir("/proc/self/fd").expect("list descriptors").flatten();
    let targets = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    let names = targets.map(|target| target.display().to_string());
    names
        .filter(|name| ["bpf", "perf", "tracepoint"].iter().any(|part| name.contains(part)))
        .collect()
}

fn mounts() -> String {
    fs::read_to_string("/proc/thread-self/mountinfo").expect("read mountinfo")
}

fn unmount_tracefs() {
    for line in mounts().lines().filter(|line| line.contains(" - tracefs ")) {
        let point = line.split(' ').nth(4).expect("a mount point").replace("\\040", " ");
        assert!(Command::new("umount").arg(point).status().expect("start umount").success());
    }
}
