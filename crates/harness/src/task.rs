//! A task's life: pinned, prepared, then one slice after the other until it is told to end.

use crate::bench::{Bench, FailedOn, Next, Outcome, Runner};
use crate::clock::{Usage, now_ns};
use crate::machine;
use crate::shared::{ANYWHERE, NO_PHASE, QUIT, Shared};
use rustix::thread::futex;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// A batch takes about this long, so that a slice ends in time and the stop flag costs nothing.
const BATCH_NS: u64 = 50_000;
/// More than this many passes per look at the flag save nothing any more.
const BATCH_MAX: u64 = 64;
/// Looks at the barrier before a task sleeps at it: some milliseconds, far more than a task on its own CPU ever waits.
const SPINS: u32 = 200_000;

/// Sleeps until `word` is not `old`; wakes at once if it is not now. May wake for nothing.
///
/// Shared between processes, so not FUTEX_PRIVATE.
pub(crate) fn sleep_while(word: &AtomicU32, old: u32, timeout: Option<std::time::Duration>) {
    let timeout = timeout.map(|t| rustix::time::Timespec {
        tv_sec: t.as_secs() as i64,
        tv_nsec: i64::from(t.subsec_nanos()),
    });
    // Every outcome (woken, changed, signal, time-out) means: look again.
    let _ = futex::wait(word, futex::Flags::empty(), old, timeout.as_ref());
}

/// Wakes everybody who sleeps on `word`.
pub(crate) fn wake_all(word: &AtomicU32) {
    // Waking fails only for an address that is not mapped.
    let _ = futex::wake(word, futex::Flags::empty(), i32::MAX as u32);
}

/// Whom a task works for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It is measured. Where it is pinned.
    Measured(Option<u32>),
    /// It works in the background of those that are, if the curve wants one, on the CPU that the conductor says.
    Background,
}

/// A task of a curve and how many times it runs the loop's body between looks at the flag.
struct Prepared {
    runner: Box<dyn Runner>,
    batch: u64,
}

/// Runs task `id` until it is told to quit.
pub(crate) fn serve(shared: &Shared, id: usize, role: Role, benches: &[Box<dyn Bench>]) {
    let slot = &shared.slots()[id];
    let control = shared.control();
    slot.tid.store(rustix::thread::gettid().as_raw_nonzero().get() as u32, SeqCst);
    let mut tasks = match prepare(id, role, benches) {
        Ok(tasks) => tasks,
        Err((curve, failed)) => {
            slot.fail(curve, failed.failure, &failed.path);
            report_done(shared);
            return;
        }
    };
    slot.set_ready();
    report_done(shared);

    let mut number = 0;
    let mut here = None;
    loop {
        while slot.wake.load(SeqCst) == number {
            sleep_while(&slot.wake, number, None);
        }
        number = slot.wake.load(SeqCst);
        if number == QUIT {
            return;
        }
        let curve = control.curve.load(SeqCst) as usize;
        if here != Some(curve) {
            // In thread mode all tasks do it, with the same result: threads share their working directory.
            if let Err(failed) = benches[curve].enter() {
                slot.fail(curve, failed.failure, &failed.path);
                report_done(shared);
                return;
            }
            here = Some(curve);
        }
        if role == Role::Background {
            let cpu = control.background_cpu.load(SeqCst);
            if cpu != ANYWHERE {
                // As for the others: if the CPU has gone offline, it runs where the kernel lets it.
                let _ = machine::affinity::pin_self_to(cpu);
            }
        }
        // The conductor wakes who was prepared for the curve.
        let Some(task) = &mut tasks[curve] else { return };
        slice(shared, id, number, curve, task);
        if slot.failure().is_some() {
            return;
        }
    }
}

fn prepare(
    id: usize,
    role: Role,
    benches: &[Box<dyn Bench>],
) -> Result<Vec<Option<Prepared>>, (usize, FailedOn)> {
    if let Role::Measured(Some(cpu)) = role {
        // The CPU was usable a moment ago; if it has gone offline since, the task runs where the kernel lets it, and the
        // conductor sees that in the samples.
        let _ = machine::affinity::pin_self_to(cpu);
    }
    let mut tasks = Vec::new();
    for (curve, bench) in benches.iter().enumerate() {
        let runner = match role {
            Role::Measured(_) => Some(bench.task(id)),
            Role::Background => bench.has_background().then(|| bench.background(id)),
        };
        let runner = runner.transpose().map_err(|failed| (curve, failed))?;
        tasks.push(runner.map(|runner| Prepared { runner, batch: 1 }));
    }
    Ok(tasks)
}

/// One slice: barrier, loop, results.
fn slice(shared: &Shared, id: usize, number: u32, curve: usize, task: &mut Prepared) {
    let control = shared.control();
    let slot = &shared.slots()[id];
    let crowded = control.crowded.load(SeqCst) != 0;
    let next = match control.phase.load(SeqCst) {
        NO_PHASE => Next::Slice,
        phase => {
            let tasks = control.tasks.load(SeqCst) as usize;
            Next::Phase { number: phase as usize, tasks }
        }
    };
    let sliced = next == Next::Slice;
    // A failure waits until the others have been let through the barrier.
    let renewed = task.runner.renew(next);
    pass_barrier(shared, number, crowded);
    let opened = control.opened_ns.load(SeqCst);
    let until = (crowded && sliced).then(|| opened + control.length_ns.load(SeqCst));

    let cpu_before = machine::affinity::current_cpu();
    // Only jobs of fixed work make processes; the task is then one itself.
    let usage = if sliced { Usage::of_this_thread } else { Usage::with_children };
    let before = usage();
    let start = now_ns();
    let outcome = match renewed {
        Ok(()) => task.runner.run(&control.stop, task.batch as u32, until),
        Err(failure) => Outcome { ops: 0, passes: 0, failure: Some(failure) },
    };
    let end = now_ns();
    let used = usage().since(before);
    let cpu_after = machine::affinity::current_cpu();

    // With a CPU of its own a task's time runs from its own start. Where tasks take turns, time spent waiting for the CPU
    // is part of the price: counted from its own start, each would claim the CPU for itself and their sum would be too high. Of fixed
    // work no sum is made, but the end of the last counts.
    let from = if crowded && sliced { opened } else { start };
    slot.ops.store(outcome.ops, SeqCst);
    slot.start_ns.store(start.saturating_sub(opened), SeqCst);
    slot.elapsed_ns.store(end.saturating_sub(from), SeqCst);
    slot.user_ns.store(used.user_ns, SeqCst);
    slot.sys_ns.store(used.sys_ns, SeqCst);
    slot.vcsw.store(used.vcsw, SeqCst);
    slot.ivcsw.store(used.ivcsw, SeqCst);
    slot.cpu[0].store(cpu_before, SeqCst);
    slot.cpu[1].store(cpu_after, SeqCst);
    let extra = task.runner.extra();
    if !extra.locks.is_empty() || extra.rcu.is_some() {
        shared.extras()[id].put(&extra);
    }
    if let (Some(latencies), Some(slot)) = (task.runner.latencies(), shared.latencies().get(id)) {
        slot.put(latencies);
    }
    if let Some(failure) = outcome.failure {
        slot.fail(curve, failure, task.runner.path());
        control.stop.store(1, SeqCst);
    }
    if let Some(ns_per_pass) = (end - start).checked_div(outcome.passes) {
        task.batch = (BATCH_NS / ns_per_pass.max(1)).clamp(1, BATCH_MAX);
    }
    report_done(shared);
}

/// Waits until all tasks of the slice are here. The last one opens the barrier, so that the conductor need not run.
fn pass_barrier(shared: &Shared, number: u32, crowded: bool) {
    let control = shared.control();
    if control.arrived.fetch_add(1, SeqCst) + 1 == control.tasks.load(SeqCst) {
        control.opened_ns.store(now_ns(), SeqCst);
        control.open.store(number, SeqCst);
        wake_all(&control.open);
        return;
    }
    let mut spins = if crowded { 0 } else { SPINS };
    loop {
        let open = control.open.load(SeqCst);
        if open == number {
            return;
        }
        if spins > 0 {
            spins -= 1;
            std::hint::spin_loop();
        } else {
            sleep_while(&control.open, open, None);
        }
    }
}

/// Tells the conductor that one more task is where it waits for it to be.
///
/// It wakes at every task only while the crew is being made; in a slice the last one alone is worth waking for.
pub(crate) fn report_done(shared: &Shared) {
    let control = shared.control();
    let done = control.done.fetch_add(1, SeqCst) + 1;
    if done >= control.tasks.load(SeqCst) {
        wake_all(&control.done);
    }
}
