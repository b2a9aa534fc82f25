//! Locks that are known to contend are named, by every source that can, and counted alike.

use crate::load::{Load, Work, alone, in_private_mounts, is_root, memory_dir};
use contention::{Chosen, KernelWait, Kind, LockKind, Options, Report, Source, Tracefs, sources};
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const SLICE: Duration = Duration::from_millis(100);
/// How many slices are run at most until there is enough to see; one does on an idle machine.
const SLICES: usize = 100;

/// The source `kind` for the tasks of `load`.
fn forced(kind: Kind, load: &Load, stacks: bool) -> Box<dyn Source> {
    let tracefs = Tracefs::Detached;
    let options = Options { stacks, force: Some(kind), tracefs, ..Options::default() };
    let Chosen { source, refused } = sources(&load.ids(), &options).expect("tasks are there");
    assert_eq!(source.kind(), kind, "refused: {refused:?}");
    source
}

/// Slices with all of `sources` on, then their reports.
fn trace(load: &Load, mut sources: Vec<Box<dyn Source>>, slices: usize) -> Vec<Report> {
    for _ in 0..slices {
        sources.iter_mut().for_each(|source| source.start().expect("start"));
        load.run(SLICE);
        sources.iter_mut().for_each(|source| source.stop().expect("stop"));
    }
    sources.into_iter().map(|source| source.read().expect("read")).collect()
}

/// Reports of longer and longer runs until `enough`.
fn trace_until(load: &Load, kind: Kind, stacks: bool, enough: impl Fn(&Report) -> bool) -> Report {
    let mut slices = 2;
    loop {
        let mut reports = trace(load, vec![forced(kind, load, stacks)], slices);
        let report = reports.pop().expect("one source, one report");
        if enough(&report) || slices > SLICES {
            return report;
        }
        slices *= 4;
    }
}

/// A wait for the directory's semaphore.
fn is_directory(wait: &KernelWait) -> bool {
    let waits = ["path_openat", "open_last_lookups", "lookup_open", "do_unlinkat", "start_dirop"];
    wait.kind == LockKind::RwsemWrite && waits.contains(&wait.lock.trim_start_matches('_'))
}

#[test]
fn creating_in_one_directory_waits_for_its_semaphore() {
    let _alone = alone();
    let (true, Some(dir)) = (is_root(), memory_dir()) else { return };
    let Some(load) = Load::start(Work::CreateUnlink, dir.path()) else { return };
    for (kind, stacks) in [(Kind::Bpf, false), (Kind::Tracepoints, true)] {
        let report = trace_until(&load, kind, stacks, |report| {
            report.waits.first().is_some_and(is_directory)
        });
        let top = report.waits.first().expect("there is contention");
        assert!(is_directory(top), "{kind}: {:#?}", report.waits);
        assert!(top.count > 0 && top.wait_ns >= top.wait_max_ns.unwrap_or(0), "{top:?}");
        assert!(report.waits.is_sorted_by(|a, b| a.wait_ns >= b.wait_ns));
        let sum: u64 = report.waits.iter().map(|wait| wait.count).sum();
        assert_eq!(report.contentions, Some(sum), "{kind}");
        assert_eq!(top.stacks.is_empty(), !stacks);
        if let Some(stack) = top.stacks.first() {
            assert!(stack.frames.iter().any(|frame| frame == "down_write"), "{stack:?}");
            let outermost = &stack.frames[0];
            assert!(!outermost.starts_with("0x"), "a stack seen whole has a name: {stack:?}");
        }
        assert_eq!(report.cost.is_some(), kind == Kind::Bpf);
        if let Some(cost) = report.cost {
            assert!(cost.run_cnt >= sum * 2 && cost.run_ns > 0, "{cost:?} for {sum} waits");
        }
    }
}

#[test]
fn both_tracers_count_the_same_waits() {
    let _alone = alone();
    let (true, Some(dir)) = (is_root(), memory_dir()) else { return };
    let Some(load) = Load::start(Work::CreateUnlink, dir.path()) else { return };
    let [bpf, perf] = trace_with_both(&load);
    same_counts(&bpf, &perf);
}

/// Reports of BPF and perf on the same slices.
fn trace_with_both(load: &Load) -> [Report; 2] {
    let mut slices = 4;
    loop {
        let both = vec![forced(Kind::Bpf, load, true), forced(Kind::Tracepoints, load, true)];
        let both: [Report; 2] = trace(load, both, slices).try_into().expect("two");
        if both[1].contentions > Some(500) || slices > SLICES {
            return both;
        }
        slices *= 4;
    }
}

/// Within one in a hundred, and so is each row with more than a hundred waits, but for those whose stack BPF's table had no room for.
fn same_counts(bpf: &Report, perf: &Report) {
    let near = |a: u64, b: u64| a.abs_diff(b) * 100 <= a.max(b);
    let (a, b) = (bpf.contentions.expect("counted"), perf.contentions.expect("counted"));
    println!("BPF counted {a} waits, perf {b}; notes: {:?} {:?}", bpf.notes, perf.notes);
    assert!(b > 100 && near(a, b), "BPF {a}, perf {b}: {:?} {:?}", bpf.notes, perf.notes);
    let nameless =
        bpf.waits.iter().filter(|wait| wait.path.is_empty()).map(|wait| wait.count).sum::<u64>();
    for row in perf.waits.iter().filter(|row| row.count >= 100) {
        let same = |wait: &&KernelWait| wait.path == row.path && wait.kind == row.kind;
        let count = bpf.waits.iter().find(same).map_or(0, |wait| wait.count);
        let same = near(count, row.count) || (count..=count + nameless).contains(&row.count);
        assert!(same, "BPF {count}, and {nameless} without a stack, of {row:?}");
    }
}

#[test]
fn a_source_that_is_off_sees_nothing() {
    let _alone = alone();
    let (true, Some(dir)) = (is_root(), memory_dir()) else { return };
    let Some(load) = Load::start(Work::CreateUnlink, dir.path()) else { return };
    for kind in [Kind::Bpf, Kind::Tracepoints, Kind::CpuClock] {
        let mut source = forced(kind, &load, false);
        load.run(SLICE);
        source.start().expect("start");
        source.stop().expect("stop");
        load.run(SLICE);
        let report = source.read().expect("read");
        assert_eq!(report.contentions.unwrap_or(0), 0, "{kind}: {:?}", report.waits);
        assert_eq!(report.samples.map_or(0, |samples| samples.total), 0, "{kind}");
    }
}

#[test]
fn programs_that_are_off_do_not_run_while_tasks_wait() {
    let _alone = alone();
    let (true, Some(dir)) = (is_root(), memory_dir()) else { return };
    let Some(load) = Load::start(Work::CreateUnlink, dir.path()) else { return };
    // Held all the time, or runs of a program that is still attached would not be counted.
    let _counted = enable_stats();
    let mut bpf = forced(Kind::Bpf, &load, false);
    let runs_after_slice = || {
        load.run(SLICE);
        program_runs()
    };
    bpf.start().expect("start");
    let traced =
        (0..SLICES).map(|_| runs_after_slice()).find(|runs| runs.iter().all(|&runs| runs > 0));
    bpf.stop().expect("stop");
    assert!(traced.is_some(), "begins and ends are seen while they are attached");

    let before = program_runs();
    assert_eq!(before.len(), 2, "begin and end");
    let mut slices = 0;
    loop {
        // Somebody else sees that there is something to be seen.
        let perf = trace(&load, vec![forced(Kind::Tracepoints, &load, false)], 2);
        slices += 2;
        if perf[0].contentions > Some(0) {
            break;
        }
        assert!(slices < SLICES, "nobody waited");
    }
    assert_eq!(program_runs(), before, "what is detached costs nothing");
    bpf.start().expect("start");
    let again = (0..SLICES).map(|_| runs_after_slice()).any(|runs| runs > before);
    assert!(again, "it can be attached once more");
}

/// Makes the kernel count how often BPF programs run, as long as the descriptor is held.
fn enable_stats() -> OwnedFd {
    /// BPF_ENABLE_STATS.
    const COMMAND: i32 = 32;
    // The type, BPF_STATS_RUN_TIME.
    let mut attr = [0u32; 4];
    // SAFETY: the kernel reads no more than the given size.
    let fd =
        unsafe { libc::syscall(libc::SYS_bpf, COMMAND, attr.as_mut_ptr(), size_of_val(&attr)) };
    assert!(fd >= 0, "BPF_ENABLE_STATS: {}", std::io::Error::last_os_error());
    // SAFETY: the kernel made this descriptor for this call.
    unsafe { OwnedFd::from_raw_fd(fd as i32) }
}

/// How often each BPF program of this process has run, in the order of their descriptors.
fn program_runs() -> Vec<u64> {
    let mut runs: Vec<(u32, u64)> = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fdinfo").expect("list descriptors").flatten() {
        let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
        let number = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().parse::<u64>().ok()
        };
        // A link tells of its program too, but has no count.
        if let (Some(_), Some(count)) = (number("prog_type:"), number("run_cnt:")) {
            let fd = entry.file_name().to_string_lossy().parse().expect("a descriptor's number");
            runs.push((fd, count));
        }
    }
    runs.sort_unstable();
    runs.into_iter().map(|(_, count)| count).collect()
}

#[test]
fn samples_name_what_gives_no_lock_event() {
    let _alone = alone();
    let (true, Some(dir)) = (is_root(), memory_dir()) else { return };
    let Some(load) = Load::start(Work::OpenShared, dir.path()) else { return };
    let touches = |report: &Report| {
        let samples = report.samples.as_ref().expect("a sampler samples");
        samples.functions.iter().any(|(name, _)| name.contains("lockref"))
    };
    let report = trace_until(&load, Kind::CpuClock, true, touches);
    assert!(touches(&report), "{:#?}", report.samples);
    let samples = report.samples.expect("looked at above");
    let by_function: u64 = samples.functions.iter().map(|(_, count)| count).sum();
    let by_stack: u64 = samples.stacks.iter().map(|(_, count)| count).sum();
    assert_eq!(samples.total, samples.user + by_function);
    assert_eq!(by_function, by_stack);
    let depths: Vec<usize> = samples.stacks.iter().map(|(frames, _)| frames.len()).collect();
    assert!(depths.iter().any(|&depth| depth > 3), "stacks are walked: {depths:?}");
}

#[test]
fn samples_stand_beside_waits() {
    let _alone = alone();
    let (true, Some(dir)) = (is_root(), memory_dir()) else { return };
    let Some(load) = Load::start(Work::CreateUnlink, dir.path()) else { return };
    let options = Options { samples: true, ..Options::default() };
    let Chosen { source, refused } = sources(&load.ids(), &options).expect("tasks are there");
    let best = source.kind();
    let report = trace(&load, vec![source], 3).pop().expect("one report");
    assert_eq!((best, report.source), (Kind::Bpf, Kind::Bpf), "{refused:?}");
    let samples = report.samples.expect("asked for");
    let refused_cycles = refused.iter().any(|refused| refused.source == Kind::Cycles);
    assert_eq!(samples.event == "cpu-clock", refused_cycles, "{refused:?}");
    assert!(samples.total > 0);
}

#[test]
fn the_orphan_list_of_ext4_is_a_mutex() {
    let _alone = alone();
    if !is_root() {
        return;
    }
    in_private_mounts(|| {
        let work = tempfile::tempdir().expect("a directory");
        let Some(mounted) = ext4_on_loop(work.path()) else { return };
        let Some(load) = Load::start(Work::TruncateUnlink, &mounted) else { return };
        let is_orphans = |wait: &KernelWait| {
            wait.kind == LockKind::Mutex
                && (wait.lock.starts_with("ext4_orphan_") || wait.lock == "ext4_mark_iloc_dirty")
        };
        let report = trace_until(&load, Kind::Bpf, true, |report| {
            report.waits.iter().take(3).any(is_orphans)
        });
        assert!(report.waits.iter().take(3).any(is_orphans), "{:#?}", report.waits);
        // Mutexes are spun and slept for in turns, which both have to count alike.
        let [bpf, perf] = trace_with_both(&load);
        same_counts(&bpf, &perf);
        drop(load);
        let unmounted = Command::new("umount").arg(&mounted).status().expect("start umount");
        assert!(unmounted.success());
    });
}

/// Without the orphan file, which is there to need no mutex. None, and why is printed, where it cannot be made.
fn ext4_on_loop(work: &Path) -> Option<std::path::PathBuf> {
    let (image, point) = (work.join("image"), work.join("mnt"));
    std::fs::create_dir(&point).expect("make the mount point");
    std::fs::File::create(&image).and_then(|file| file.set_len(64 << 20)).expect("make the image");
    let run = |program: &str, arguments: &[&std::ffi::OsStr]| {
        let output = Command::new(program).args(arguments).output();
        let output = output
            .inspect_err(|error| eprintln!("SKIPPED: kernel locks: {program}: {error}"))
            .ok()?;
        if !output.status.success() {
            eprintln!(
                "SKIPPED: kernel locks: {program}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        output.status.success().then_some(())
    };
    run("mkfs.ext4", &["-q".as_ref(), "-O".as_ref(), "^orphan_file".as_ref(), image.as_ref()])?;
    run("mount", &["-o".as_ref(), "loop".as_ref(), image.as_ref(), point.as_ref()])?;
    Some(point)
}
