//! Stacks folded to what tells: which function waits, and on whose behalf.
//!
//! Innermost frames belong to the tracer, then come those of the lock itself (`rwsem_down_write_slowpath`, `down_write`).
//! The first one behind them is the function that waits. Its caller is often a helper that says nothing; the first that is
//! none is taken, at the latest the system call.

/// Begin the names of functions that run because of the tracer.
const TRACER: &[&str] = &[
    "bpf_get_stackid",
    "bpf_prog_",
    "bpf_trace_run",
    "bpf_trampoline_",
    "__bpf_trace_",
    "__bpf_prog_",
    "perf_trace_",
    "trace_contention_",
    "__traceiter_",
];

/// Begin the names of functions that are a lock's own.
const LOCK: &[&str] = &[
    "_raw_read_lock",
    "_raw_spin_lock",
    "_raw_spin_trylock",
    "_raw_write_lock",
    "__down_read",
    "__down_write",
    "__mutex_",
    "__percpu_down_",
    "__pv_queued_spin_lock_slowpath",
    "__raw_callee_save___pv_queued_spin",
    "__rt_mutex_",
    "__rwbase_",
    "__ww_mutex_",
    "do_raw_spin_lock",
    "down_read",
    "down_write",
    "mutex_",
    "native_queued_spin_lock_slowpath",
    "osq_lock",
    "percpu_down_",
    "percpu_rwsem_",
    "queued_read_lock_slowpath",
    "queued_spin_lock_slowpath",
    "queued_write_lock_slowpath",
    "resilient_queued_spin_lock_slowpath",
    "resilient_tas_spin_lock",
    "rt_mutex_",
    "rt_read_lock",
    "rt_spin_lock",
    "rt_write_lock",
    "rtlock_",
    "rwbase_",
    "rwsem_",
    "ww_mutex_",
];

/// Those of semaphores; their names are beginnings of others.
const LOCK_EXACTLY: &[&str] = &[
    "down",
    "__down",
    "__down_common",
    "___down_common",
    "__down_interruptible",
    "__down_killable",
    "__down_timeout",
    "down_interruptible",
    "down_killable",
    "down_timeout",
];

/// Begin the names of helpers that do not tell on whose behalf they work.
const HELPER: &[&str] = &["__", "legitimize_", "try_to_unlazy", "do_filp_open", "do_sys_open"];

/// Begin the names of the ways into the kernel.
const ENTRY: &[&str] = &[
    "do_syscall_64",
    "do_el0_svc",
    "el0",
    "entry_SYSCALL",
    "invoke_syscall",
    "ret_from_fork",
    "x64_sys_call",
];

/// What stands before the name of a system call in its function, on the architectures that have such.
const SYSTEM_CALL: &[&str] =
    &["__x64_sys_", "__ia32_sys_", "__arm64_sys_", "__riscv_sys_", "__se_sys_", "__do_sys_"];

fn begins(name: &str, with: &[&str]) -> bool {
    with.iter().any(|prefix| name.starts_with(prefix))
}

fn is_lock(name: &str) -> bool {
    begins(name, LOCK) || LOCK_EXACTLY.contains(&name)
}

/// `sys_openat` of `__x64_sys_openat`.
fn system_call(name: &str) -> Option<String> {
    let call = SYSTEM_CALL.iter().find_map(|prefix| name.strip_prefix(prefix))?;
    Some(format!("sys_{call}"))
}

/// `frames`, innermost first, without those of the tracer.
pub(crate) fn without_tracer(frames: &[String]) -> &[String] {
    let own = frames.iter().take_while(|name| begins(name, TRACER)).count();
    &frames[own..]
}

/// Who waits and on whose behalf, the caller first; `frames` innermost first. Empty if there are no frames.
pub(crate) fn telling(frames: &[String]) -> Vec<String> {
    let frames = without_tracer(frames);
    let lock = frames.iter().take_while(|name| is_lock(name)).count();
    // Where the stack was too deep to be seen whole, the lock's own function is the best there is.
    let waiting = lock.min(frames.len().saturating_sub(1));
    let Some((name, outer)) = frames.get(waiting..).and_then(<[String]>::split_first) else {
        return Vec::new();
    };
    let is_entry = |name: &&String| begins(name, ENTRY);
    let caller =
        outer.iter().take_while(|name| !is_entry(name)).find_map(|name| match system_call(name) {
            Some(call) => Some(call),
            None => (!begins(name, HELPER) && !is_lock(name)).then(|| name.clone()),
        });
    let name = system_call(name).unwrap_or_else(|| name.clone());
    caller.into_iter().chain([name]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(stack: &str) -> Vec<String> {
        stack.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn stacks_are_folded_to_who_waits_and_for_whom() {
        let entry = "do_syscall_64 entry_SYSCALL_64_after_hwframe";
        let cases = [
            (
                "__pv_queued_spin_lock_slowpath _raw_spin_lock lockref_get_not_dead \
                 __legitimize_path try_to_unlazy lookup_fast path_openat do_filp_open",
                "lookup_fast lockref_get_not_dead",
            ),
            (
                "rwsem_down_write_slowpath down_write path_openat do_filp_open do_sys_openat2 \
                 __x64_sys_openat",
                "sys_openat path_openat",
            ),
            (
                "rwsem_down_write_slowpath down_write_nested do_unlinkat __x64_sys_unlink",
                "sys_unlink do_unlinkat",
            ),
            (
                "bpf_prog_6deef7357e7b4530_begin bpf_trace_run2 __traceiter_contention_begin \
                 __mutex_lock mutex_lock ext4_orphan_add ext4_truncate",
                "ext4_truncate ext4_orphan_add",
            ),
            (
                "___down_common __down down xfs_buf_lock xfs_buf_find_lock",
                "xfs_buf_find_lock xfs_buf_lock",
            ),
            ("osq_lock __mutex_lock __x64_sys_flock", "sys_flock"),
            ("__mutex_lock vfs_lock", "vfs_lock"),
            ("down_write downgrade_it", "downgrade_it"),
        ];
        for (stack, want) in cases {
            for stack in [stack.to_owned(), format!("{stack} {entry}")] {
                assert_eq!(telling(&frames(&stack)), frames(want), "of {stack}");
            }
        }
    }

    #[test]
    fn a_stack_that_is_not_seen_whole_still_has_its_lock() {
        assert_eq!(telling(&frames("__mutex_lock mutex_lock")), ["mutex_lock"]);
        assert!(telling(&[]).is_empty());
    }

    #[test]
    fn only_the_innermost_frames_are_the_tracer_s() {
        let stack = frames("bpf_prog_1 bpf_trace_run2 down_write bpf_prog_2");
        assert_eq!(without_tracer(&stack), frames("down_write bpf_prog_2"));
    }
}
