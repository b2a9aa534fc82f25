//! What is not permitted or not there is refused with a reason and a remedy, never an error; nothing is left behind.

use crate::load::{Load, Work, alone, in_private_mounts, is_root, memory_dir};
use contention::{Chosen, Kind, Options, Refused, Tracefs, sources};
use std::io::{BufRead, BufReader};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs};

/// Set for the part of a test that an ordinary user runs.
const ORDINARY: &str = "CONTENTION_TEST_AS_ORDINARY_USER";
/// The name of that test.
const ORDINARY_TEST: &str = "privileges::an_ordinary_user_gets_what_there_is_and_is_told_the_rest";
/// Set for the tracer that is to be killed.
const KILLED: &str = "CONTENTION_TEST_TO_BE_KILLED";
/// The name of that test.
const KILLED_TEST: &str = "privileges::nothing_stays_attached_when_the_tracer_is_killed";
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
        let ids = [own_thread()];
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
        let chosen = sources(&[own_thread()], &options).expect("no error");
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

#[test]
fn nothing_stays_attached_when_the_tracer_is_killed() {
    let _alone = alone();
    if !is_root() {
        return;
    }
    if env::var_os(KILLED).is_some() {
        let options = Options { force: Some(Kind::Bpf), ..Options::default() };
        let mut source = sources(&[own_thread()], &options).expect("no error").source;
        source.start().expect("start");
        println!("tracing");
        std::thread::sleep(Duration::from_secs(600));
    }
    let before = loaded_programs();
    let mut tracer = Command::new(env::current_exe().expect("own path"))
        .args(["--exact", KILLED_TEST, "--nocapture"])
        .env(KILLED, "1")
        .stdout(Stdio::piped())
        .spawn()
        .expect("start the test again");
    let lines = BufReader::new(tracer.stdout.take().expect("a pipe")).lines();
    let traces = lines.map_while(Result::ok).any(|line| line.ends_with("tracing"));
    let mut during = loaded_programs();
    during.retain(|program| !before.contains(program));
    tracer.kill().expect("kill");
    tracer.wait().expect("wait");
    assert!(traces, "the tracer did not start");
    assert!(during.len() >= 2, "begin and end: {during:?}");
    // The kernel frees them a grace period later.
    let gone = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        loaded_programs().iter().all(|program| !during.contains(program))
    });
    assert!(gone, "{during:?} are still there");
}

/// Ids of all BPF programs of the system that are called as this crate's are.
fn loaded_programs() -> Vec<u32> {
    /// The head of `union bpf_attr` for these commands.
    #[repr(C)]
    struct Attr {
        id_or_fd: u32,
        next_or_length: u32,
        flags_or_info: u64,
    }
    let bpf = |command: u32, attr: &mut Attr| {
        // SAFETY: the kernel reads and writes no more than the given size, and `info` below where its address is in it.
        unsafe {
            libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attr), size_of::<Attr>())
        }
    };
    let (mut ids, mut last) = (Vec::new(), 0);
    loop {
        let mut next = Attr { id_or_fd: last, next_or_length: 0, flags_or_info: 0 };
        // BPF_PROG_GET_NEXT_ID
        if bpf(11, &mut next) != 0 {
            return ids;
        }
        last = next.next_or_length;
        let mut by_id = Attr { id_or_fd: last, next_or_length: 0, flags_or_info: 0 };
        // BPF_PROG_GET_FD_BY_ID
        let fd = bpf(13, &mut by_id);
        if fd < 0 {
            continue;
        }
        // SAFETY: the kernel made this descriptor for this call.
        let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
        // `struct bpf_prog_info` up to and with its name, which is at byte 64.
        let mut info = [0u8; 80];
        let mut by_fd = Attr {
            id_or_fd: fd.as_raw_fd() as u32,
            next_or_length: info.len() as u32,
            flags_or_info: info.as_mut_ptr() as u64,
        };
        // BPF_OBJ_GET_INFO_BY_FD
        if bpf(15, &mut by_fd) == 0 && info[64..].starts_with(b"lock_wait_") {
            ids.push(last);
        }
    }
}

/// Not the whole process: threads of other tests may end meanwhile.
fn own_thread() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
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
