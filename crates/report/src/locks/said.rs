//! What is said about the locks of a curve in words: who looked, at what price, and why nobody better did.

use super::rows::{name, quotient};
use crate::number::significant;
use crate::{Style, escape};
use results::{Curve, Point, Refused, Scheduling, Traced};

/// Stacks shown of a point.
const STACKS: usize = 5;

/// A line for each traced task count, then what holds for several of them, each said once.
pub(crate) fn said(curve: &Curve) -> Vec<String> {
    said_of([curve].into_iter().map(|curve| ("", curve)))
}

/// The same for two sides.
pub(crate) fn both_said(before: &Curve, after: &Curve) -> Vec<String> {
    said_of([("before, ", before), ("after, ", after)].into_iter())
}

fn said_of<'a>(curves: impl Iterator<Item = (&'static str, &'a Curve)> + Clone) -> Vec<String> {
    let traced = curves.flat_map(|(side, curve)| {
        let of_point = move |point: &'a Point| Some((side, point.tasks, point.traced.as_ref()?));
        curve.points.iter().filter_map(of_point)
    });
    let mut lines: Vec<String> = Vec::new();
    for (side, tasks, traced) in traced.clone() {
        lines.push(format!("{side}{}: {}", count(u64::from(tasks), "task"), seen(traced)));
    }
    for (_, _, traced) in traced {
        let refused = traced.refused.iter().map(refusal);
        let notes = traced.notes.iter().map(|note| format!("note: {}", escape::plain(note)));
        for line in refused.chain(notes) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

fn refusal(refused: &Refused) -> String {
    let Refused { source, why, remedy } = refused;
    format!(
        "not seen by {}: {}; {}",
        escape::plain(source),
        escape::plain(why),
        escape::plain(remedy)
    )
}

/// Who looked, how much, and what that cost.
fn seen(traced: &Traced) -> String {
    let slices = count(u64::from(traced.slices), "traced slice");
    let mut text = match traced.contentions {
        Some(0) => format!("{} saw no wait for a lock in {slices}", traced.source),
        Some(waits) => {
            format!("{} saw {} in {slices}", traced.source, count(waits, "wait"))
        }
        None if traced.samples.is_some() => {
            format!("{} shows where tasks ran in {slices}, but no lock", traced.source)
        }
        None => format!("no lock can be seen; {slices}"),
    };
    if let Some(scheduling) = &traced.scheduling {
        text += &switches(scheduling, traced.ops);
    }
    if let Some(ratio) = traced.rate_ratio {
        text += &format!("; under the tracer: {} of the rate", significant(ratio, 2));
    }
    if let Some(cost) = traced.cost {
        text += &format!("; its programs ran {}", count(cost.runs, "time"));
        if let Some(share) = quotient(cost.run_ns, traced.task_ns) {
            text += &format!(" for {} % of the tasks' time", significant(share * 100.0, 2));
        }
    }
    text
}

fn switches(scheduling: &Scheduling, ops: u64) -> String {
    let per_1000 = |count: u64| quotient(count, ops).map(|each| significant(each * 1000.0, 3));
    let mut text = String::new();
    if let (Some(slept), Some(lost)) =
        (per_1000(scheduling.voluntary), per_1000(scheduling.involuntary))
    {
        text += &format!(
            ": per 1000 operations tasks gave their CPU up {slept} times and lost it {lost} times"
        );
    }
    let stalls = [
        ("CPUs", scheduling.stalled_cpu_ns),
        ("memory", scheduling.stalled_memory_ns),
        ("input and output", scheduling.stalled_io_ns),
        ("other guests of the host", Some(scheduling.steal_ns)),
    ];
    for (what, ns) in stalls {
        if let Some(ns) = ns.filter(|ns| *ns > 0) {
            text += &format!("; {} ms of waiting for {what}", significant(ns as f64 / 1e6, 2));
        }
    }
    text
}

fn count(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// The stacks with the longest waits, a block each, where whole stacks were asked for.
pub(crate) fn stacks(curve: &Curve, style: &Style) -> Vec<String> {
    let mut blocks = Vec::new();
    for point in &curve.points {
        let waits = point.traced.iter().flat_map(|traced| &traced.waits);
        let mut all: Vec<_> =
            waits.flat_map(|wait| wait.stacks.iter().map(move |stack| (wait, stack))).collect();
        all.sort_by_key(|(_, stack)| std::cmp::Reverse(stack.wait_ns));
        for (wait, stack) in all.into_iter().take(STACKS) {
            let mut lines = vec![format!(
                "{}, {}, {}: {}, {} ms",
                count(u64::from(point.tasks), "task"),
                name(wait, style),
                escape::plain(&wait.kind),
                count(stack.count, "wait"),
                significant(stack.wait_ns as f64 / 1e6, 3)
            )];
            lines.extend(stack.frames.iter().map(|frame| format!("  {}", escape::plain(frame))));
            blocks.push(lines.join("\n"));
        }
    }
    blocks
}

/// One line per point whose RCU callbacks piled up.
pub(crate) fn backlog(curve: &Curve) -> Vec<String> {
    let line = |point: &Point| {
        let rcu = point.rcu?;
        (rcu.peak > 0).then(|| {
            format!(
                "{}: at most {} RCU callbacks waited, to free {} KiB",
                count(u64::from(point.tasks), "task"),
                rcu.peak,
                rcu.peak_bytes >> 10
            )
        })
    };
    curve.points.iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn who_looked_and_what_it_cost_is_said() {
        let run = fixture::traced_run();
        assert_eq!(
            said(&run.curves[0]),
            [
                "1 task: no lock can be seen; 20 traced slices: per 1000 operations tasks gave their CPU up 50.0 times and \
                 lost it 1.00 times; 2.0 ms of waiting for CPUs; 10 ms of waiting for other guests of the host",
                "2 tasks: bpf saw 17 waits in 20 traced slices; under the tracer: 0.93 of the rate; its programs ran 34 \
                 times for 0.011 % of the tasks' time",
                "not seen by bpf: not permitted; run as root",
                "not seen by tracepoints: not permitted; run as root",
                "note: the kernel traces no spinning for a reader-writer semaphore",
                "not seen by cycles: this machine does not count cycles; give it a virtual PMU",
            ]
        );
        assert!(said(&fixture::run().curves[0]).is_empty());
    }

    #[test]
    fn no_wait_is_said_as_such() {
        let mut traced = fixture::traced(1);
        (traced.contentions, traced.cost, traced.rate_ratio) = (Some(0), None, None);
        assert_eq!(seen(&traced), "bpf saw no wait for a lock in 20 traced slices");
        (traced.contentions, traced.slices) = (None, 1);
        traced.source = "cpu-clock".into();
        assert_eq!(seen(&traced), "cpu-clock shows where tasks ran in 1 traced slice, but no lock");
    }

    #[test]
    fn a_stack_stands_under_its_lock() {
        let blocks = stacks(&fixture::traced_run().curves[0], &Style::default());
        assert_eq!(blocks.len(), 2);
        assert_eq!(
            blocks[0],
            "2 tasks, sys_unlink → do_unlinkat, rwsem write: 12 waits, 81.2 ms\n  do_syscall_64\n  sys_unlink\n  \
             do_unlinkat\n  down_write"
        );
    }
}
