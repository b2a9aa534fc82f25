//! `--locks` on guests: each looks into its own kernel, whose names come over the serial port. What is missing makes a test say so
//! and end, as in `guest.rs`.

use crate::guest::{ready, vfscale_run};
use results::{Comparison, KernelWait, Traced};

/// Four tasks on two CPUs: whoever is preempted with the directory's semaphore makes the others sleep for it.
const TASKS: &str = "4";

/// A wait for the semaphore of the directory in which all tasks make and remove their files.
fn is_directory(wait: &KernelWait) -> bool {
    let waits = ["path_openat", "open_last_lookups", "lookup_open", "do_unlinkat"];
    let waiter = wait.path.last().map_or("", |name| name.trim_start_matches('_'));
    wait.kind == "rwsem write" && waits.contains(&waiter)
}

/// `source` has seen what tasks that create in one directory wait for.
fn sees_the_directory(traced: &Traced, source: &str) {
    assert_eq!(traced.source, source, "{:?}", traced.refused);
    assert!(traced.waits.first().is_some_and(is_directory), "{:#?}", traced.waits);
    let counted: u64 = traced.waits.iter().map(|wait| wait.count).sum();
    assert_eq!(traced.contentions, Some(counted));
    assert!(traced.ops > 0 && traced.task_ns > 0 && traced.slices > 0, "{traced:?}");
    let samples = traced.samples.as_ref().expect("a guest may sample itself");
    assert!(samples.total > 0 && samples.functions.iter().any(|f| !f.name.starts_with("0x")));
}

#[test]
fn two_kernels_are_compared_lock_by_lock() {
    if !ready(&["6.1", "6.12"]) {
        return;
    }
    let sides = ["guest:6.1,cpus=2", "guest:6.12,cpus=2"];
    let run = ["compare", sides[0], sides[1], "unlink_open", "--tasks", TASKS, "--boots", "1"];
    let more = ["--rounds", "100", "--locks=stacks", "--format", "json"];
    let ran = vfscale_run(&[&run[..], &more].concat()).exits(0);
    let comparison: Comparison = serde_json::from_str(&ran.stdout).expect("a comparison");
    for side in [&comparison.before, &comparison.after] {
        let point = &side.curves[0].points[0];
        let traced = point.traced.as_ref().expect("it looked into its kernel");
        sees_the_directory(traced, "bpf");
        assert!(traced.cost.is_some_and(|cost| cost.runs > 0), "{:?}", traced.cost);
        assert_eq!((traced.slices, point.samples.len()), (25, 400), "no slice is both");
        for wait in &traced.waits {
            let stacks: u64 = wait.stacks.iter().map(|stack| stack.count).sum();
            assert_eq!(stacks, wait.count, "{wait:?}");
        }
        let emulated = side.warnings.iter().any(|warning| warning.code == "guest-emulated");
        let hides_spinlocks = traced.notes.iter().any(|note| note.contains("-hypervisor"));
        assert_eq!(hides_spinlocks, emulated, "{:?}", traced.notes);
    }
}

#[test]
fn a_guest_without_a_mounted_tracefs_has_its_tracepoints() {
    if !ready(&["6.1"]) {
        return;
    }
    let run = ["run", "unlink_open", "--on", "guest:6.1,cpus=2", "--tasks", TASKS];
    let by = ["--rounds", "100", "--locks", "--locks-by", "tracepoints", "--format", "json"];
    let record = vfscale_run(&[&run[..], &by].concat()).exits(0).record();
    let traced = record.curves[0].points[0].traced.as_ref().expect("it looked into its kernel");
    sees_the_directory(traced, "tracepoints");
    assert_eq!(traced.cost, None, "perf does not tell what it costs");
}

#[test]
fn what_counts_instructions_sees_no_waits() {
    let ran = vfscale_run(&["run", "--on", "guest:6.1", "--clock", "instructions", "--locks"]);
    let ran = ran.exits(4);
    assert!(ran.stderr.contains("sees no waits") && ran.stdout.is_empty(), "{ran}");
}
