//! `--locks`: on a directory with every source there is and with none, in a comparison, in the lab and the simulator.

use crate::support::{
    Mount, Ran, Running, Unprivileged, allow_all, dir_is_empty, is_root_or_skip, leave_tracefs, on,
    run, skip, temp_dir, vfscale, wait_until,
};
use results::{Comparison, KernelWait, Point, Run, Traced};
use rustix::process::Signal;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Names of functions that wait for a directory's semaphore to make or remove a name in it.
const DIRECTORY: [&str; 5] =
    ["path_openat", "open_last_lookups", "lookup_open", "do_unlinkat", "start_dirop"];

/// A run in rounds of 10 ms with `--locks`, and more arguments.
fn arguments<'a>(workload: &'a str, on: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let own = ["run", workload, "--on", on, "--slice", "10ms", "--format", "json"];
    [&own, more].concat()
}

fn record(workload: &str, dir: &Path, more: &[&str]) -> Run {
    run(&mut vfscale(&arguments(workload, &on(dir), more))).exits(0).record()
}

fn traced(point: &Point) -> &Traced {
    point.traced.as_ref().expect("somebody looked")
}

/// The last point of longer and longer runs until `enough`.
fn until(
    workload: &str,
    dir: &Path,
    more: &[&str],
    enough: impl Fn(&Traced) -> bool,
) -> Option<Traced> {
    ["40", "200", "1000", "2000"].into_iter().find_map(|rounds| {
        let record = record(workload, dir, &[&["--rounds", rounds], more].concat());
        let point = record.curves[0].points.last().expect("a point");
        Some(traced(point).clone()).filter(&enough)
    })
}

fn waits_for_directory_first(traced: &Traced) -> bool {
    traced.waits.first().is_some_and(|wait| {
        let waiter = wait.path.last().map_or("", |name| name.trim_start_matches('_'));
        wait.kind == "rwsem write" && DIRECTORY.contains(&waiter)
    })
}

fn has_two_cpus() -> bool {
    let two = std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() >= 2);
    if !two {
        skip("contention needs 2 CPUs");
    }
    two
}

#[test]
fn tasks_that_create_in_one_directory_wait_for_its_semaphore() {
    let (true, true, Some(mount)) = (is_root_or_skip(), has_two_cpus(), Mount::tmpfs("size=16m"))
    else {
        return;
    };
    // Two on a CPU: whoever is preempted with the semaphore makes the others sleep, and only that is traced.
    let locks = ["--tasks", "4", "--locks=stacks"];
    let top = until("unlink_open", mount.path(), &locks, |traced| {
        traced.source != "bpf" || waits_for_directory_first(traced)
    });
    let traced = top.expect("the semaphore of the directory stands on top");
    if traced.source != "bpf" {
        return skip(&format!("BPF is refused here: {:?}", traced.refused));
    }
    let counted: u64 = traced.waits.iter().map(|wait| wait.count).sum();
    assert_eq!(traced.contentions, Some(counted));
    assert!(traced.waits.is_sorted_by(|a, b| a.wait_ns >= b.wait_ns));
    for wait in &traced.waits {
        let stacks: u64 = wait.stacks.iter().map(|stack| stack.count).sum();
        assert_eq!(stacks, wait.count, "{wait:?}");
    }
    let cost = traced.cost.expect("root may ask what BPF costs");
    assert!(cost.runs >= 2 * counted && cost.run_ns > 0, "{cost:?}");
    assert!(traced.ops > 0 && traced.task_ns > 0 && traced.slices > 0);
    assert!(dir_is_empty(mount.path()));
}

/// An ext4 on a loop device whose orphans are on a list under a mutex, as before Linux 5.15.
fn ext4_with_orphan_list() -> Option<Mount> {
    Mount::image(64, Command::new("mkfs.ext4").args(["-q", "-F", "-O", "^orphan_file"]))
}

/// A wait for ext4's `s_orphan_lock`. Only functions have names of their own, so it is known by who waits for it.
fn waits_for_orphans(wait: &KernelWait) -> bool {
    let waiter = wait.path.last().map_or("", String::as_str);
    wait.kind == "mutex" && waiter.starts_with("ext4_orphan_")
}

#[test]
fn tasks_that_truncate_on_ext4_wait_for_the_orphan_list() {
    let (true, true, Some(list)) = (is_root_or_skip(), has_two_cpus(), ext4_with_orphan_list())
    else {
        return;
    };
    // Each truncate adds its inode to the list and takes it off again; the files have nothing else in common but the journal.
    let by = ["--tasks", "4", "--locks"];
    let top = until("truncate_by_byte", list.path(), &by, |traced| {
        traced.source != "bpf" || traced.waits.first().is_some_and(waits_for_orphans)
    });
    let traced = top.expect("the mutex of the orphan list stands on top");
    if traced.source != "bpf" {
        return skip(&format!("BPF is refused here: {:?}", traced.refused));
    }
    let first = &traced.waits[0];
    assert!(first.wait_max_ns.is_some_and(|max| max > 0 && max <= first.wait_ns), "{first:?}");

    // The orphan file, which came with Linux 5.15, takes no mutex: nobody waits for one there.
    let orphan_file = ["-q", "-F", "-O", "orphan_file"];
    let Some(file) = Mount::image(64, Command::new("mkfs.ext4").args(orphan_file)) else { return };
    let record = record("truncate_by_byte", file.path(), &[&["--rounds", "40"], &by[..]].concat());
    let traced = self::traced(&record.curves[0].points[0]);
    assert!(!traced.waits.iter().any(waits_for_orphans), "{:?}", traced.waits);
}

#[test]
fn traced_slices_are_no_samples() {
    let dir = temp_dir();
    let record = record("open_close", dir.path(), &["--tasks", "1,2", "--rounds", "8", "--locks"]);
    assert_eq!(record.plan.rounds, 8);
    for point in &record.curves[0].points {
        assert_eq!(point.samples.len(), 8 * point.tasks as usize);
        assert_eq!(traced(point).slices, 2, "a quarter of the rounds");
        assert!(point.locks.is_empty(), "nobody counts the locks of this kernel");
    }
    let plain = self::record("open_close", dir.path(), &["--tasks", "1", "--rounds", "8"]);
    assert_eq!(plain.curves[0].points[0].traced, None, "nobody asked");
}

#[test]
fn the_plan_says_what_is_traced() {
    let dir = temp_dir();
    let on = on(dir.path());
    let ran =
        run(&mut vfscale(&["run", "--on", &on, "--tasks", "1", "--time", "600ms", "--locks"]));
    let ran = ran.exits(0);
    assert!(ran.stderr.contains("s for the locks, "), "{ran}");
    assert!(ran.stderr.contains(" traced slices a point that are no samples"), "{ran}");
    assert!(ran.stdout.contains("1 task: "), "{ran}");
}

#[test]
fn samples_name_the_reference_count_that_gives_no_lock_event() {
    let (true, true, Some(mount)) = (is_root_or_skip(), has_two_cpus(), Mount::tmpfs("size=16m"))
    else {
        return;
    };
    let names_it = |traced: &Traced| {
        let samples = traced.samples.as_ref();
        samples.is_none_or(|s| s.functions.iter().any(|f| f.name.contains("lockref")))
    };
    let by = ["--tasks", "2", "--locks", "--locks-by", "cpu-clock"];
    let traced = until("open_shared", mount.path(), &by, names_it).expect("lockref is sampled");
    let Some(samples) = traced.samples else {
        return skip(&format!("no samples here: {:?}", traced.refused));
    };
    assert_eq!((traced.source.as_str(), samples.event.as_str()), ("cpu-clock", "cpu-clock"));
    let in_kernel: u64 = samples.functions.iter().map(|function| function.count).sum();
    assert_eq!(samples.total, samples.user + in_kernel);
    assert_eq!(traced.contentions, None, "it sees no locks");
}

#[test]
fn threads_are_looked_at_as_processes_are() {
    let (true, Some(mount)) = (is_root_or_skip(), Mount::tmpfs("size=16m")) else { return };
    let by = ["--tasks", "2", "--mode", "thread", "--locks", "--locks-by", "cpu-clock"];
    let sampled = |traced: &Traced| traced.samples.as_ref().is_none_or(|s| s.total > 0);
    let traced = until("open_close", mount.path(), &by, sampled).expect("threads are sampled");
    if traced.samples.is_none() {
        skip(&format!("no samples here: {:?}", traced.refused));
    }
}

#[test]
fn an_ordinary_user_gets_what_there_is_and_is_told_the_rest() {
    let Some(user) = Unprivileged::new() else { return };
    let dir = temp_dir();
    user.own(dir.path());
    allow_all(dir.path());
    let on = on(dir.path());
    let more = ["--tasks", "1,2", "--rounds", "8", "--locks"];
    let record = run(&mut user.vfscale(&arguments("open_close", &on, &more))).exits(0).record();
    for point in &record.curves[0].points {
        let traced = traced(point);
        assert!(traced.contentions.is_none() && traced.waits.is_empty(), "{traced:?}");
        assert!(traced.scheduling.is_some() || traced.samples.is_some(), "{traced:?}");
        for source in ["bpf", "tracepoints"] {
            let refused = traced.refused.iter().find(|refused| refused.source == source);
            let refused = refused.unwrap_or_else(|| panic!("{source}: {:?}", traced.refused));
            assert!(!refused.why.is_empty() && refused.remedy.contains("sudo"), "{refused:?}");
        }
    }
    let text = ["run", "--on", &on, "--tasks", "1", "--rounds", "8", "--locks"];
    let ran = run(&mut user.vfscale(&text)).exits(0);
    assert!(ran.stdout.contains("not seen by bpf: "), "{ran}");
    assert!(ran.stdout.contains("setcap"), "{ran}");
}

#[test]
fn hidden_symbols_are_shown_as_addresses_and_said_to_be_hidden() {
    let (true, true, Some(mount)) = (is_root_or_skip(), has_two_cpus(), Mount::tmpfs("size=16m"))
    else {
        return;
    };
    // Root without CAP_SYSLOG may trace, but sees no names unless the machine shows them to everybody.
    let shown = |file: &str, most: i32| {
        let text = fs::read_to_string(file).unwrap_or_default();
        text.trim().parse().is_ok_and(|level: i32| level <= most)
    };
    if shown("/proc/sys/kernel/kptr_restrict", 0)
        && shown("/proc/sys/kernel/perf_event_paranoid", 1)
    {
        return skip("everybody may see the kernel's symbols here");
    }
    let names = |command: &mut Command| -> (Traced, String) {
        let record = run(command).exits(0).record();
        let traced = traced(&record.curves[0].points[0]).clone();
        let notes = traced.notes.join("\n");
        (traced, notes)
    };
    let on = on(mount.path());
    let more = ["--tasks", "4", "--rounds", "200", "--locks"];
    let arguments = arguments("unlink_open", &on, &more);
    let mut hidden = Command::new("setpriv");
    hidden.args(["--bounding-set=-syslog", "--inh-caps=-syslog", env!("CARGO_BIN_EXE_vfscale")]);
    if !Command::new("setpriv").arg("--version").output().is_ok_and(|ran| ran.status.success()) {
        return skip("no setpriv");
    }
    let (seen, notes) = names(hidden.args(&arguments));
    assert!(notes.contains("hides its symbols") && notes.contains("cap_syslog"), "{notes}");
    let addresses = |traced: &Traced| {
        let functions = traced.samples.iter().flat_map(|samples| &samples.functions);
        let waits = traced.waits.iter().flat_map(|wait| &wait.path);
        functions.map(|f| &f.name).chain(waits).any(|name| name.starts_with("0x"))
    };
    assert!(addresses(&seen), "{seen:?}");

    let (seen, notes) = names(&mut vfscale(&arguments));
    assert!(!notes.contains("hides its symbols"), "{notes}");
    assert!(!seen.waits.iter().any(|wait| wait.lock.starts_with("0x")), "{:?}", seen.waits);
}

/// What a forced source came to.
fn forced(dir: &Path, source: &str) -> Traced {
    let by = ["--tasks", "2", "--rounds", "8", "--locks", "--locks-by", source];
    traced(&record("unlink_open", dir, &by).curves[0].points[0]).clone()
}

#[test]
fn every_source_can_be_forced_and_refuses_with_a_remedy() {
    if !is_root_or_skip() {
        return;
    }
    let Some(_tracefs) = Mount::tracefs() else { return };
    let dir = temp_dir();
    for source in ["bpf", "tracepoints", "cycles", "cpu-clock", "lock_stat", "scheduling"] {
        let traced = forced(dir.path(), source);
        if traced.source == source {
            let counts_waits = ["bpf", "tracepoints", "lock_stat"].contains(&source);
            assert_eq!(traced.contentions.is_some(), counts_waits, "{traced:?}");
            assert_eq!(traced.cost.is_some(), source == "bpf", "{traced:?}");
        } else {
            assert_eq!(traced.source, "scheduling");
            assert_eq!(traced.refused[0].source, source);
            assert!(!traced.refused[0].remedy.is_empty(), "{traced:?}");
        }
    }
}

#[test]
fn without_tracefs_bpf_sees_waits_and_perf_says_what_to_mount() {
    if !is_root_or_skip() || !leave_tracefs() {
        return;
    }
    let mounts = || fs::read_to_string("/proc/thread-self/mountinfo").expect("readable");
    let before = mounts();
    let dir = temp_dir();
    let traced = forced(dir.path(), "tracepoints");
    assert_eq!(traced.source, "scheduling");
    assert!(traced.refused[0].remedy.contains("mount -t tracefs"), "{traced:?}");
    let best = record("unlink_open", dir.path(), &["--tasks", "2", "--rounds", "8", "--locks"]);
    let best = self::traced(&best.curves[0].points[0]);
    let bpf_refused = best.refused.iter().any(|refused| refused.source == "bpf");
    assert!(best.source == "bpf" || bpf_refused, "{best:?}");
    assert_eq!(before, mounts(), "nothing is mounted");
}

/// Descriptors of a tracer that a process has.
fn traces(pid: u32) -> bool {
    let links = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    links.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|link| {
        let link = link.to_string_lossy().into_owned();
        link.contains("perf_event") || link.contains("bpf")
    })
}

#[test]
fn an_end_while_tracing_keeps_the_samples_and_leaves_nothing() {
    if !is_root_or_skip() {
        return;
    }
    for signal in [Signal::INT, Signal::KILL] {
        let dir = temp_dir();
        let on = on(dir.path());
        // Traced for some seconds, measured before for a few times as long as that at most.
        let more = ["--tasks", "2", "--time", "12s", "--locks"];
        let running = Running::start(&mut vfscale(&arguments("open_close", &on, &more)));
        let pid = running.pid();
        if !wait_until(Duration::from_secs(25), || traces(pid)) {
            return skip("no tracer is permitted here");
        }
        let tasks = running.tasks();
        running.signal(signal);
        let ran = running.wait(Duration::from_secs(20));
        let gone = || tasks.iter().all(|task| !crate::support::is_alive(task.pid));
        assert!(wait_until(Duration::from_secs(5), gone), "tasks are left");
        assert!(wait_until(Duration::from_secs(5), || dir_is_empty(dir.path())));
        let stats = fs::read_to_string("/proc/sys/kernel/bpf_stats_enabled");
        assert!(stats.is_ok_and(|stats| stats.trim() == "0"), "the sysctl is not touched");
        if signal == Signal::INT {
            let ran: Ran = ran.exits(130);
            let record = ran.record();
            assert!(record.plan.partial);
            let point = &record.curves[0].points[0];
            assert_eq!(point.samples.len(), 2 * record.plan.rounds as usize, "{ran}");
        }
    }
}

#[test]
fn a_comparison_has_the_locks_of_both_sides() {
    let (before, after) = (temp_dir(), temp_dir());
    let sides = [on(before.path()), on(after.path())];
    let arguments = ["compare", &sides[0], &sides[1], "unlink_open", "--tasks", "1,2", "--rounds"];
    let arguments = [&arguments[..], &["8", "--locks", "--format"]].concat();
    let ran = run(&mut vfscale(&[&arguments[..], &["json"]].concat())).exits(0);
    let comparison: Comparison = serde_json::from_str(&ran.stdout).expect("a comparison");
    for side in [&comparison.before, &comparison.after] {
        for point in &side.curves[0].points {
            assert!(traced(point).ops > 0, "{:?}", point.traced);
            assert_eq!(point.samples.len(), 8 * point.tasks as usize);
        }
    }
    for format in ["text", "markdown", "mail"] {
        let ran = run(&mut vfscale(&[&arguments[..], &[format]].concat())).exits(0);
        for side in ["before, 1 task: ", "after, 2 tasks: "] {
            assert!(ran.stdout.contains(side), "{format}: {ran}");
        }
    }
}

#[test]
fn two_kernels_of_the_lab_are_compared_lock_by_lock() {
    let arguments = ["compare", "lab:linux-2.6.20", "lab:linux-2.6.20+s_files", "open_close"];
    let more = ["--tasks", "2", "--rounds", "6", "--slice", "20ms", "--locks"];
    let ran = run(&mut vfscale(&[&arguments[..], &more].concat())).exits(0);
    let row = ran.stdout.lines().find(|line| line.contains(" files_lock "));
    assert!(row.is_some_and(|row| row.contains("spin")), "{ran}");
    assert!(ran.stdout.contains("/1000 ops"), "{ran}");
}

#[test]
fn a_simulated_comparison_has_its_locks_too() {
    let sides = ["sim:8-socket-2007/linux-2.6.20", "sim:8-socket-2007/linux-2.6.20+s_files"];
    let more = ["open_close", "--tasks", "8", "--rounds", "6", "--locks", "--format", "json"];
    let ran = run(&mut vfscale(&[&["compare"], &sides[..], &more].concat())).exits(0);
    let comparison: Comparison = serde_json::from_str(&ran.stdout).expect("a comparison");
    let wait = |side: &Run| {
        let locks = &side.curves[0].points[0].locks;
        let lock = locks.iter().find(|lock| lock.name == "files_lock");
        lock.map_or(0, |lock| lock.wait_ns)
    };
    assert!(wait(&comparison.before) > 0 && wait(&comparison.after) == 0);
}

#[test]
fn the_reference_count_of_a_shared_file_stands_on_top_where_every_transfer_is_counted() {
    let on = "sim:8-socket-2007/linux-6.18";
    let more = ["--tasks", "8", "--rounds", "1", "--locks"];
    let record = run(&mut vfscale(&arguments("open_shared", on, &more))).exits(0).record();
    let lines = &record.curves[0].points[0].lines;
    let transfers: u64 = lines.iter().map(|line| line.transfers).sum();
    let first = lines.first().expect("CPUs take lines from each other");
    assert!(first.name.contains("d_lockref"), "{lines:?}");
    assert!(first.transfers * 2 > transfers, "{lines:?}");
}

#[test]
fn stacks_come_folded_and_as_a_picture() {
    let place = temp_dir();
    let dir = temp_dir();
    let (on, store) = (on(dir.path()), place.path().join("runs.sqlite"));
    let store = store.to_str().expect("UTF-8");
    let own = ["run", "unlink_open", "--on", &on, "--tasks", "2", "--rounds", "40"];
    let show = |format: &str, more: &[&str]| {
        let arguments = [&own[..], &["--format", format], more].concat();
        run(&mut vfscale(&arguments))
    };
    let saved = ["--locks=stacks", "--save", "seen", "--store", store];
    let folded = show("folded", &saved).exits(0);
    for line in folded.stdout.lines() {
        let (frames, weight) = line.rsplit_once(' ').expect("frames and a weight");
        assert!(frames.starts_with("unlink_open;2 tasks;"), "{line}");
        assert!(weight.parse::<u64>().is_ok_and(|weight| weight > 0), "{line}");
    }
    let export = |format: &str| {
        run(&mut vfscale(&["export", "seen", "--store", store, "--format", format])).exits(0).stdout
    };
    assert_eq!(export("folded"), folded.stdout, "the store keeps the stacks");
    let flame = export("flame");
    assert!(flame.starts_with("<svg ") && flame.ends_with("</svg>\n"), "{flame}");

    let stderr = show("flame", &[]).exits(2).stderr;
    assert!(stderr.contains("add --locks"), "{stderr}");
    show("json", &["--save", "unseen", "--store", store]).exits(0);
    let unseen = ["export", "unseen", "--store", store, "--format", "flame"];
    let stderr = run(&mut vfscale(&unseen)).exits(2).stderr;
    assert!(stderr.contains("without --locks"), "{stderr}");
    let stored = ["compare", "seen", "unseen", "--store", store, "--locks"];
    let stderr = run(&mut vfscale(&stored)).exits(2).stderr;
    assert!(stderr.contains("shown in any case"), "{stderr}");
}

#[test]
fn a_target_without_a_kernel_below_and_a_directory_go_into_one_run() {
    let dir = temp_dir();
    let more = ["--on", "lab:linux-2.6.20", "--tasks", "2", "--rounds", "4", "--locks"];
    let record = record("open_close", dir.path(), &more);
    let [directory, lab] = &record.curves[..] else { panic!("two curves") };
    assert!(directory.points[0].traced.is_some() && directory.points[0].locks.is_empty());
    assert!(lab.points[0].traced.is_none());
    let files_lock = lab.points[0].locks.iter().find(|lock| lock.name == "files_lock");
    assert_eq!(files_lock.map(|lock| lock.kind.as_str()), Some("spin"));
}
