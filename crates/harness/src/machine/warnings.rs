//! Conditions that make the numbers of a run less true, in the words of the record.

use super::conditions::Conditions;
use super::topology::strongest_cores;
use results::{Host, Quota, Topology, Warning};
use std::time::Duration;

/// Work of others above this share of the CPUs' time is reported.
const OTHERS_LIMIT: f64 = 0.05;
/// Stolen time above this share is reported.
pub(crate) const STEAL_LIMIT: f64 = 0.01;

/// What is known before a run of up to `tasks_max` tasks. `pinned` is whether every task has its CPU.
pub fn run_warnings(host: &Host, tasks_max: u32, pinned: bool) -> Vec<Warning> {
    [
        more_tasks_than_cpus(host, tasks_max),
        host.quota.as_ref().and_then(|quota| cfs_quota(host, quota, tasks_max)),
        hybrid(&host.topology, tasks_max, pinned),
        governor(host),
        turbo(host),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What is known after the run. `own` is the CPU time that the program itself used meanwhile.
pub fn conditions_warnings(conditions: &Conditions, own: Duration) -> Vec<Warning> {
    let warnings = [steal(conditions), throttled(conditions), other_work(conditions, own)];
    warnings.into_iter().flatten().collect()
}

fn warning(code: &str, message: String, advice: impl Into<String>) -> Option<Warning> {
    Some(Warning { code: code.to_owned(), message, advice: advice.into() })
}

/// Other programs ran on the CPUs that were measured.
fn other_work(conditions: &Conditions, own: Duration) -> Option<Warning> {
    let time = conditions.cpu_time?;
    let busy = time.total.saturating_sub(time.idle).saturating_sub(time.steal);
    let ticks = rustix::param::clock_ticks_per_second() as f64;
    let others = busy as f64 / ticks - own.as_secs_f64();
    let share = others / (time.total as f64 / ticks);
    // NaN (no time has passed) is no finding either.
    if share.is_nan() || share <= OTHERS_LIMIT {
        return None;
    }
    warning(
        "other-work",
        format!("other programs used {:.0} % of the time of the CPUs", share * 100.0),
        "stop other work on this machine, or trust only the ratios within a round",
    )
}

fn more_tasks_than_cpus(host: &Host, tasks_max: u32) -> Option<Warning> {
    let cpus = host.cpus.len();
    if u64::from(tasks_max) <= cpus as u64 {
        return None;
    }
    warning(
        "more-tasks-than-cpus",
        format!(
            "{tasks_max} tasks share {}: beyond that the curve shows the scheduler too",
            count(cpus, "CPU")
        ),
        format!("run at most {}", count(cpus, "task")),
    )
}

pub(crate) fn cfs_quota(host: &Host, quota: &Quota, tasks_max: u32) -> Option<Warning> {
    let used = f64::from(tasks_max).min(host.cpus.len() as f64);
    if quota.cpus >= used {
        return None;
    }
    let (cgroup, cpus) = (&quota.cgroup, decimal(quota.cpus));
    let fitting = quota.cpus.floor();
    let run_less = match fitting >= 1.0 {
        true => format!(" or run at most {}", count(fitting as usize, "task")),
        false => String::new(),
    };
    warning(
        "cfs-quota",
        format!("the cgroup {cgroup} allows {cpus} CPUs of time; tasks beyond that are throttled"),
        format!(
            "raise the limit of {cgroup} (cpu.max, or cpu.cfs_quota_us in cgroup v1){run_less}"
        ),
    )
}

fn hybrid(topology: &Topology, tasks_max: u32, pinned: bool) -> Option<Warning> {
    let strong = strongest_cores(topology);
    if !topology.hybrid || (pinned && tasks_max <= strong) {
        return None;
    }
    let total = topology.cores;
    let effect = match pinned {
        true => "from there on the curve bends because cores are weaker",
        false => "and the scheduler moves unpinned tasks between the kinds",
    };
    warning(
        "hybrid",
        format!(
            "{strong} of {} are of the strongest kind, {effect}",
            count(total as usize, "core")
        ),
        format!("pin (cores) and run at most {}", count(strong as usize, "task")),
    )
}

pub(crate) fn governor(host: &Host) -> Option<Warning> {
    if host.governor.iter().all(|governor| governor == "performance") {
        return None;
    }
    warning(
        "governor",
        format!(
            "the frequency governor is {}: the frequency follows the load",
            host.governor.join(", ")
        ),
        "select the governor performance (cpupower frequency-set -g performance)",
    )
}

pub(crate) fn turbo(host: &Host) -> Option<Warning> {
    if host.turbo != Some(true) {
        return None;
    }
    warning(
        "turbo",
        "turbo is on: few busy cores run faster than many, which makes scaling look worse"
            .to_owned(),
        "for a comparison of task counts write 1 to intel_pstate/no_turbo or 0 to cpufreq/boost below /sys/devices/system/cpu",
    )
}

fn steal(conditions: &Conditions) -> Option<Warning> {
    let share = conditions.steal_share.filter(|&share| share > STEAL_LIMIT)?;
    warning(
        "steal",
        format!("the hypervisor gave {} of the time the CPUs had work to others", percent(share)),
        "repeat on a quiet or dedicated host; compare only what was interleaved in one run",
    )
}

fn throttled(conditions: &Conditions) -> Option<Warning> {
    let throttling = conditions.throttling.filter(|throttling| throttling.periods > 0)?;
    let waited = Duration::from_nanos(throttling.ns);
    warning(
        "throttled",
        format!(
            "the CPU bandwidth limit of the cgroup ran out in {}; CPUs waited {waited:.1?} for the next one",
            count(throttling.periods as usize, "period")
        ),
        "raise cpu.max (cpu.cfs_quota_us in cgroup v1) or run fewer tasks",
    )
}

/// `1 task`, `2 tasks`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// At most two decimals, without trailing zeros.
pub(crate) fn decimal(number: f64) -> String {
    format!("{number:.2}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A share from 0 to 1 in per cent.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::cgroup::Throttling;
    use crate::machine::conditions::CpuTime;
    use results::Cpu;

    fn host(cpus: u32) -> Host {
        let cpu = |id| Cpu { id, socket: 0, core: id, node: 0, smt: 0, capacity: 1024 };
        let topology =
            Topology { cores: cpus, cpus: (0..cpus).map(cpu).collect(), ..Topology::default() };
        Host { cpus: (0..cpus).collect(), topology, ..Host::default() }
    }

    fn codes(host: &Host, tasks_max: u32, pinned: bool) -> Vec<String> {
        run_warnings(host, tasks_max, pinned).into_iter().map(|warning| warning.code).collect()
    }

    #[test]
    fn a_plain_machine_gives_none() {
        assert_eq!(codes(&host(4), 4, true), [""; 0]);
        assert_eq!(codes(&Host { turbo: Some(false), ..host(4) }, 1, false), [""; 0]);
    }

    #[test]
    fn a_quota_matters_below_the_cpus_in_use() {
        let limited = |cpus| Host { quota: Some(Quota { cpus, cgroup: "/g".into() }), ..host(4) };
        assert_eq!(codes(&limited(2.0), 2, true), [""; 0]);
        assert_eq!(codes(&limited(4.0), 8, true), ["more-tasks-than-cpus"]);
        let warnings = run_warnings(&limited(1.5), 2, true);
        assert_eq!(warnings[0].code, "cfs-quota");
        assert_eq!(
            warnings[0].message,
            "the cgroup /g allows 1.5 CPUs of time; tasks beyond that are throttled"
        );
        assert!(warnings[0].advice.ends_with("or run at most 1 task"), "{}", warnings[0].advice);
        let advice = &run_warnings(&limited(0.5), 1, true)[0].advice;
        assert!(!advice.contains("at most"), "no number of tasks fits: {advice}");
    }

    #[test]
    fn hybrid_matters_beyond_the_strong_cores_or_unpinned() {
        let mut machine = host(4);
        machine.topology.hybrid = true;
        machine.topology.cpus[2].capacity = 512;
        machine.topology.cpus[3].capacity = 512;
        assert_eq!(codes(&machine, 2, true), [""; 0]);
        assert_eq!(codes(&machine, 3, true), ["hybrid"]);
        assert_eq!(codes(&machine, 1, false), ["hybrid"]);
    }

    #[test]
    fn frequency() {
        let governed = |names: &[&str]| Host {
            governor: names.iter().map(|name| name.to_string()).collect(),
            turbo: Some(true),
            ..host(1)
        };
        assert_eq!(codes(&governed(&["performance"]), 1, true), ["turbo"]);
        assert_eq!(codes(&governed(&["performance", "powersave"]), 1, true), ["governor", "turbo"]);
    }

    #[test]
    fn after_the_run() {
        let codes = |conditions: Conditions| -> Vec<String> {
            conditions_warnings(&conditions, Duration::ZERO)
                .into_iter()
                .map(|warning| warning.code)
                .collect()
        };
        assert_eq!(codes(Conditions::default()), [""; 0]);
        let quiet = Conditions {
            steal_share: Some(0.01),
            throttling: Some(Throttling::default()),
            ..Conditions::default()
        };
        assert_eq!(codes(quiet), [""; 0]);
        let disturbed = Conditions {
            steal_share: Some(0.02),
            throttling: Some(Throttling { periods: 3, ns: 1_500_000 }),
            ..Conditions::default()
        };
        assert_eq!(codes(disturbed), ["steal", "throttled"]);
        let message = &conditions_warnings(&disturbed, Duration::ZERO)[1].message;
        assert!(message.contains("in 3 periods; CPUs waited 1.5ms"), "{message}");
    }

    #[test]
    fn numbers_in_words() {
        assert_eq!((count(1, "CPU"), count(2, "CPU")), ("1 CPU".into(), "2 CPUs".into()));
        assert_eq!(
            (decimal(2.0), decimal(0.25), decimal(10.0)),
            ("2".into(), "0.25".into(), "10".into())
        );
        assert_eq!(percent(0.0234), "2.3 %");
    }

    #[test]
    fn work_of_others_is_what_the_program_did_not_use() {
        let ticks = rustix::param::clock_ticks_per_second();
        let time = CpuTime { steal: 0, idle: 10 * ticks, total: 20 * ticks };
        let conditions = Conditions { cpu_time: Some(time), ..Conditions::default() };
        let codes = |own: u64| -> Vec<String> {
            let warnings = conditions_warnings(&conditions, Duration::from_secs(own));
            warnings.into_iter().map(|warning| warning.code).collect()
        };
        assert_eq!(codes(10), [""; 0], "all of the ten busy seconds are ours");
        assert_eq!(codes(9), [""; 0], "one of twenty is at the limit");
        assert_eq!(codes(8), ["other-work"]);
    }
}
