//! The stacks of a run with their weight, for flame graphs: below the functions stand the curve and the number of tasks.

use crate::{curves, escape};
use results::{Point, Run};

/// Frames, the outermost first, and what they weigh.
pub(crate) type Stack = (Vec<String>, u64);

/// Nanoseconds waited by stack (by folded path where whole stacks were not asked for; by lock in the lab), with the kind of the lock
/// in brackets on top; samples of a run in which no wait was seen. The unit goes with them.
pub(crate) fn weighted(run: &Run) -> (&'static str, Vec<Stack>) {
    let waits = of_points(run, waits);
    if waits.is_empty() { ("samples", of_points(run, samples)) } else { ("ns", waits) }
}

fn of_points(run: &Run, stacks: fn(&Point) -> Vec<Stack>) -> Vec<Stack> {
    let mut all = Vec::new();
    for (curve, label) in
        run.curves.iter().zip(curves::labels(&run.curves.iter().collect::<Vec<_>>()))
    {
        for point in &curve.points {
            let task = if point.tasks == 1 { "task" } else { "tasks" };
            let below = [escape::plain(&label).into_owned(), format!("{} {task}", point.tasks)];
            for (frames, weight) in stacks(point) {
                all.push((below.iter().cloned().chain(frames).collect(), weight));
            }
        }
    }
    all
}

fn waits(point: &Point) -> Vec<Stack> {
    let on_top = |frames: &[String], kind: &str, ns| {
        let kind = (!kind.is_empty()).then(|| format!("[{kind}]"));
        (frames.iter().cloned().chain(kind).collect(), ns)
    };
    let mut stacks = Vec::new();
    for lock in point.locks.iter().filter(|lock| lock.wait_ns > 0) {
        stacks.push(on_top(std::slice::from_ref(&lock.name), &lock.kind, lock.wait_ns));
    }
    for wait in point.traced.iter().flat_map(|traced| &traced.waits) {
        match (&wait.stacks[..], &wait.path[..]) {
            // Where nothing is known of the stack the row still has a name.
            ([], []) => {
                stacks.push(on_top(std::slice::from_ref(&wait.lock), &wait.kind, wait.wait_ns));
            }
            ([], path) => stacks.push(on_top(path, &wait.kind, wait.wait_ns)),
            (whole, _) => stacks
                .extend(whole.iter().map(|stack| on_top(&stack.frames, &wait.kind, stack.wait_ns))),
        }
    }
    stacks
}

fn samples(point: &Point) -> Vec<Stack> {
    let Some(samples) = point.traced.as_ref().and_then(|traced| traced.samples.as_ref()) else {
        return Vec::new();
    };
    if samples.stacks.is_empty() {
        let functions = samples.functions.iter();
        return functions.map(|function| (vec![function.name.clone()], function.count)).collect();
    }
    samples.stacks.iter().map(|stack| (stack.frames.clone(), stack.count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn lines(run: &Run) -> Vec<String> {
        let (unit, stacks) = weighted(run);
        stacks
            .iter()
            .map(|(frames, weight)| format!("{} {weight} {unit}", frames.join(";")))
            .collect()
    }

    #[test]
    fn waits_stand_on_their_curve_and_tasks() {
        let mut run = fixture::traced_run();
        assert_eq!(
            lines(&run),
            [
                "open_close;2 tasks;do_syscall_64;sys_unlink;do_unlinkat;down_write;[rwsem write] 81234567 ns",
                "open_close;2 tasks;do_syscall_64;lookup_fast;lockref_get_not_dead;down_write;[spin] 1234567 ns",
            ]
        );
        let traced = run.curves[0].points[1].traced.as_mut().expect("traced");
        for wait in &mut traced.waits {
            wait.stacks.clear();
        }
        traced.waits[1].path.clear();
        assert_eq!(
            lines(&run),
            [
                "open_close;2 tasks;sys_unlink;do_unlinkat;[rwsem write] 81234567 ns",
                "open_close;2 tasks;lockref_get_not_dead;[spin] 1234567 ns",
            ]
        );
        run.curves[0].points[0].locks = fixture::locks();
        assert_eq!(lines(&run)[0], "open_close;1 task;files_lock;[spin] 250000000 ns");
    }

    #[test]
    fn without_waits_samples_are_what_there_is() {
        let mut run = fixture::traced_run();
        let traced = run.curves[0].points[1].traced.as_mut().expect("traced");
        traced.waits.clear();
        let whole = "open_close;2 tasks;do_syscall_64;path_openat;lockref_get_not_dead 900 samples";
        assert_eq!(lines(&run), [whole]);
        let samples = run.curves[0].points[1].traced.as_mut().and_then(|t| t.samples.as_mut());
        samples.expect("sampled").stacks.clear();
        assert_eq!(lines(&run)[1], "open_close;2 tasks;do_unlinkat 300 samples");
        assert_eq!(lines(&fixture::run()), [""; 0]);
    }
}
