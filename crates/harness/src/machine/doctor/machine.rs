//! Subjects of the machine and of this process's limits.

use super::{Finding, bytes};
use crate::machine::cgroup::Cgroups;
use crate::machine::conditions::CpuTime;
use crate::machine::warnings::{STEAL_LIMIT, count, decimal, percent};
use crate::machine::{Roots, affinity, cpulist, host, malformed, read_text, topology, warnings};
use crate::preflight;
use results::Host;
use rustix::process::Resource;
use std::io;

/// File descriptors of a task that do not belong to its workload: standard streams, shared memory, the directory, and spare.
const SPARE_FILES: u64 = 64;

/// Memory below which the kernel reclaims while a run is measured.
const TIGHT_MEMORY: u64 = 256 << 20;

/// Load average above which other work is assumed: a doctor alone adds next to nothing.
const OTHER_WORK: f64 = 0.5;

/// Where the machine does not say how fast its CPUs run.
const FREQUENCY: &str = "on bare hardware load the CPUs' cpufreq driver; in a virtual machine set it on the host, or trust ratios only";

/// Parts of the state of a vulnerability that are paid at every entry to or return from the kernel, or at every indirect call,
/// of which a path through the VFS has many. Whole parts: `IBRS_FW`, `Enhanced IBRS` or `IBPB: conditional` cost it nothing.
const DEAR_MITIGATIONS: [&str; 13] = [
    "PTI",
    "IBRS",
    "IBPB",
    "Clear CPU buffers",
    "Clear Register File",
    "untrained return thunk",
    "Stuffing",
    "Safe RET",
    "Retpolines",
    "LFENCE",
    "Full generic retpoline",
    "Full AMD retpoline",
    "BHI: SW loop",
];

/// Looks at every subject in turn.
pub(super) fn examine(roots: &Roots) -> Vec<Finding> {
    let usable = match affinity::usable_in(roots) {
        Ok(usable) => usable,
        Err(error) => {
            let remedy = "give it CPUs that are online (taskset, or the cpuset of its cgroup), and mount /sys";
            return vec![Finding::problem("cpus", error.to_string()).remedy(remedy)];
        }
    };
    let subject =
        Subject { roots, host: host::describe(roots, &usable), cgroups: Cgroups::read(roots) };
    vec![
        subject.cpus(),
        subject.topology(),
        subject.core_kinds(),
        subject.governor(),
        subject.turbo(),
        subject.quota(),
        subject.steal(),
        subject.open_files(),
        subject.pids(),
        subject.memory(),
        subject.mitigations(),
        subject.load(),
    ]
}

/// The machine under examination.
struct Subject<'a> {
    roots: &'a Roots,
    host: Host,
    cgroups: io::Result<Cgroups>,
}

impl Subject<'_> {
    fn usable(&self) -> usize {
        self.host.cpus.len()
    }

    /// Asks the cgroups, with either error in words.
    fn ask<T>(&self, question: impl Fn(&Cgroups) -> io::Result<T>) -> Result<T, String> {
        let cgroups = self.cgroups.as_ref().map_err(io::Error::to_string)?;
        question(cgroups).map_err(|error| error.to_string())
    }

    fn cpus(&self) -> Finding {
        let what =
            format!("{} usable: {}", count(self.usable(), "CPU"), cpulist::format(&self.host.cpus));
        // Pinning binds a thread, so that trying it needs one that ends afterwards.
        let pin_each = || self.host.cpus.iter().try_for_each(|&cpu| affinity::pin_self_to(cpu));
        let pinned = std::thread::scope(|scope| scope.spawn(pin_each).join());
        match pinned {
            Ok(Ok(())) => Finding::ok("cpus", format!("{what}; a task can be pinned to each")),
            Ok(Err(error)) => Finding::problem("cpus", format!("{what}; {error}"))
                .remedy("run without pinning (none)"),
            Err(_) => Finding::unreadable("cpus", "the thread that tries pinning died"),
        }
    }

    fn topology(&self) -> Finding {
        let topology = &self.host.topology;
        let what = format!(
            "{}, {}, {}, up to {} a core",
            count(topology.sockets as usize, "socket"),
            count(topology.nodes as usize, "NUMA node"),
            count(topology.cores as usize, "core"),
            count(topology.threads_per_core as usize, "usable hardware thread"),
        );
        let known = |cpu: &u32| self.roots.cpu(*cpu).join("topology/core_id").exists();
        if !self.host.cpus.iter().all(known) {
            let dir = self.roots.cpus().join("cpuN/topology");
            return Finding::unreadable(
                "topology",
                format!("{}; taken to be {what}", dir.display()),
            );
        }
        if topology.threads_per_core > 1 {
            let cores = count(topology.cores as usize, "task");
            return Finding::note(
                "topology",
                format!("{what}: beyond {cores} siblings share cores"),
            )
            .remedy(format!("pin (cores), and read the curve up to {cores} as that of cores"));
        }
        Finding::ok("topology", what)
    }

    fn core_kinds(&self) -> Finding {
        let topology = &self.host.topology;
        if !topology.hybrid {
            // x86 has the event unit `cpu` where all cores are of one kind; Arm and hybrid x86 rate every CPU.
            let (unit, capacity) = (self.roots.sys.join("devices/cpu"), "cpu_capacity");
            let rated = |cpu: &u32| self.roots.cpu(*cpu).join(capacity).exists();
            let known = topology::lists_kinds(self.roots)
                || unit.exists()
                || self.host.cpus.iter().all(rated);
            return match known {
                true => Finding::ok("core kinds", "one kind of core"),
                false => Finding::unreadable(
                    "core kinds",
                    format!("neither {} nor cpuN/{capacity}; taken to be one kind", unit.display()),
                ),
            };
        }
        let strong = count(topology::strongest_cores(topology) as usize, "task");
        Finding::note(
            "core kinds",
            "cores of several kinds: a curve bends where the weaker ones begin",
        )
        .remedy(format!("pin (cores) and run at most {strong}"))
    }

    fn governor(&self) -> Finding {
        if self.host.governor.is_empty() {
            let file = self.roots.cpus().join("cpuN/cpufreq/scaling_governor");
            return Finding::unreadable(
                "governor",
                format!("no {}; the frequency may vary unseen", file.display()),
            )
            .remedy(FREQUENCY);
        }
        match warnings::governor(&self.host) {
            Some(warning) => Finding::note("governor", warning.message).remedy(warning.advice),
            None => Finding::ok("governor", "performance"),
        }
    }

    fn turbo(&self) -> Finding {
        match (self.host.turbo, warnings::turbo(&self.host)) {
            (_, Some(warning)) => Finding::note("turbo", warning.message).remedy(warning.advice),
            (Some(_), None) => Finding::ok("turbo", "off"),
            (None, None) => {
                let dir = self.roots.cpus();
                let why =
                    format!("neither intel_pstate/no_turbo nor cpufreq/boost in {}", dir.display());
                Finding::unreadable("turbo", why).remedy(FREQUENCY)
            }
        }
    }

    fn quota(&self) -> Finding {
        let name = "cpu quota";
        match self.ask(Cgroups::quota) {
            Err(why) => Finding::unreadable(name, why),
            Ok(None) => Finding::ok(name, "no cgroup in sight limits CPU time"),
            Ok(Some(quota)) => match warnings::cfs_quota(&self.host, &quota, u32::MAX) {
                Some(warning) => Finding::problem(name, warning.message).remedy(warning.advice),
                None => {
                    let cpus = decimal(quota.cpus);
                    Finding::ok(name, format!("{cpus} CPUs of time, enough for the usable ones"))
                }
            },
        }
    }

    fn steal(&self) -> Finding {
        let name = "steal";
        match CpuTime::read(self.roots, &self.host.cpus).map(CpuTime::steal_share) {
            Err(error) => Finding::unreadable(name, error),
            Ok(None) => Finding::unreadable(name, "the CPUs have counted no work since boot"),
            Ok(Some(share)) => {
                let what = format!(
                    "since boot {} of the time with work was given to other guests",
                    percent(share)
                );
                if share > STEAL_LIMIT {
                    Finding::note(name, what).remedy("measure on a quiet or dedicated host")
                } else {
                    Finding::ok(name, what)
                }
            }
        }
    }

    fn open_files(&self) -> Finding {
        let limits = rustix::process::getrlimit(Resource::Nofile);
        open_files(limits.current, limits.maximum, self.usable() as u64)
    }

    fn pids(&self) -> Finding {
        let name = "pids";
        // A task for every CPU, the coordinator, the janitor.
        let needed = self.usable() as u64 + 2;
        if let Err(why) = self.ask(Cgroups::pids_left) {
            return Finding::unreadable(name, why);
        }
        let limits = preflight::task_limits(self.roots);
        let tightest =
            limits.iter().filter_map(|limit| Some((limit.most?, limit))).min_by_key(|l| l.0);
        match tightest {
            None => Finding::ok(name, "no limit of tasks in sight"),
            Some((most, limit)) if most < needed => Finding::problem(
                name,
                format!("{} is {most} tasks, one per CPU needs {needed}", limit.name),
            )
            .remedy(format!("run fewer tasks, or {}", limit.advice)),
            Some((most, limit)) => Finding::ok(name, format!("{} is {most} tasks", limit.name)),
        }
    }

    fn memory(&self) -> Finding {
        let name = "memory";
        // MemAvailable came with Linux 3.14; before it, free memory is the part that is surely available.
        let available = host::memory(self.roots, "MemAvailable")
            .or_else(|_| host::memory(self.roots, "MemFree"));
        let available = match available {
            Err(error) => return Finding::unreadable(name, error),
            Ok(available) => available,
        };
        let limit = self.ask(Cgroups::memory_left);
        let left =
            limit.as_ref().ok().copied().flatten().map_or(available, |left| left.min(available));
        let what = format!("{} available", bytes(left));
        if left < TIGHT_MEMORY {
            return Finding::problem(name, what)
                .remedy("free memory or raise the limit of the cgroup: reclaim would be measured");
        }
        match limit {
            Err(why) => {
                Finding::note(name, format!("{what}; limit of the cgroup not readable: {why}"))
                    .remedy("see that /proc and /sys/fs/cgroup are mounted and readable")
            }
            Ok(_) => Finding::ok(name, what),
        }
    }

    fn mitigations(&self) -> Finding {
        let name = "mitigations";
        let states = match host::mitigations(self.roots) {
            Err(error) => return Finding::unreadable(name, error),
            Ok(states) if states.is_empty() => {
                return Finding::unreadable(name, "no vulnerability is listed");
            }
            Ok(states) => states,
        };
        let dear: Vec<String> = states
            .iter()
            .map(|(vulnerability, state)| (vulnerability, dear_parts(state)))
            .filter(|(_, parts)| !parts.is_empty())
            .map(|(vulnerability, parts)| format!("{vulnerability} ({})", parts.join(", ")))
            .collect();
        if dear.is_empty() {
            return Finding::ok(name, "none that makes every system call dearer");
        }
        Finding::note(name, format!("system calls are dearer because of {}", dear.join(", ")))
            .remedy("compare only machines with the same mitigations")
    }

    fn load(&self) -> Finding {
        let name = "load";
        let file = self.roots.proc.join("loadavg");
        let load = read_text(&file).and_then(|text| {
            let first = text.split(' ').next().and_then(|load| load.parse::<f64>().ok());
            first.ok_or_else(|| malformed(&file, &text))
        });
        match load {
            Err(error) => Finding::unreadable(name, error),
            Ok(load) if load > OTHER_WORK => Finding::note(
                name,
                format!("{} tasks ran or waited on average in the last minute", decimal(load)),
            )
            .remedy("stop other work on this machine"),
            Ok(load) => Finding::ok(name, format!("load average {}", decimal(load))),
        }
    }
}

/// A run raises the soft limit to the hard one; `None` is no limit.
fn open_files(soft: Option<u64>, hard: Option<u64>, tasks: u64) -> Finding {
    let name = "open files";
    let words =
        |limit: Option<u64>| limit.map_or("unlimited".to_owned(), |limit| limit.to_string());
    let what = format!("RLIMIT_NOFILE soft {}, hard {}", words(soft), words(hard));
    let needed = tasks + SPARE_FILES;
    match hard {
        Some(hard) if hard < needed => {
            Finding::problem(name, format!("{what}; a thread per CPU needs {needed} in one process"))
                .remedy("raise the hard limit (ulimit -Hn as root, limits.conf, or LimitNOFILE= of the service)")
        }
        _ => Finding::ok(name, what),
    }
}

/// The parts of a vulnerability's state that cost system calls time. A mitigation that is not complete costs it too.
fn dear_parts(state: &str) -> Vec<&str> {
    let measures =
        state.strip_prefix("Mitigation: ").or_else(|| state.strip_prefix("Vulnerable: "));
    let parts = measures.unwrap_or_default().split([';', ',']).map(str::trim);
    parts
        .filter(|part| DEAR_MITIGATIONS.iter().any(|dear| dear.eq_ignore_ascii_case(part)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;
    use crate::machine::fixture::Tree;

    /// Examines the CPUs of a tree, whether this process could use them or not.
    fn subject<'a>(roots: &'a Roots, usable: &[u32]) -> Subject<'a> {
        Subject { roots, host: host::describe(roots, usable), cgroups: Cgroups::read(roots) }
    }

    fn brief(finding: &Finding) -> (State, &str) {
        (finding.state, finding.what.as_str())
    }

    #[test]
    fn a_server_with_siblings() {
        let roots_of = Tree::two_sockets();
        let roots = roots_of.roots();
        let siblings = subject(&roots, &Vec::from_iter(0..16)).topology();
        let what = "2 sockets, 2 NUMA nodes, 8 cores, up to 2 usable hardware threads a core: beyond 8 tasks siblings share cores";
        assert_eq!(brief(&siblings), (State::Note, what));
        assert_eq!(subject(&roots, &[0, 1]).topology().state, State::Ok);
        let unplugged = subject(&roots, &[0, 99]).topology();
        assert!(unplugged.what.starts_with("not readable: "), "{unplugged:?}");
    }

    #[test]
    fn kinds_of_core() {
        let tree = Tree::new();
        let roots = tree.roots();
        assert!(subject(&roots, &[0, 1]).core_kinds().what.starts_with("not readable"));
        tree.cpu(0, "cpu_capacity", "1024\n");
        assert_eq!(subject(&roots, &[0]).core_kinds().state, State::Ok);
        assert_eq!(subject(&roots, &[0, 1]).core_kinds().state, State::Note, "1 is not rated");
        tree.cpu(1, "cpu_capacity", "500\n");
        let hybrid = subject(&roots, &[0, 1]).core_kinds();
        assert_eq!(hybrid.remedy.as_deref(), Some("pin (cores) and run at most 1 task"));
    }

    #[test]
    fn a_cpu_that_cannot_be_pinned_to_is_a_problem() {
        let tree = Tree::new();
        let finding = subject(&tree.roots(), &[cpulist::ID_LIMIT - 1]).cpus();
        assert_eq!(finding.state, State::Problem);
        assert!(finding.remedy.is_some());
    }

    #[test]
    fn limits_of_the_cgroup() {
        let tree = Tree::new();
        tree.proc("self/cgroup", "0::/\n");
        tree.proc("self/mountinfo", "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        tree.proc("meminfo", "MemAvailable: 1048576 kB\n");
        tree.sys("fs/cgroup/cgroup.procs", "");
        let roots = tree.roots();
        let unlimited = subject(&roots, &[0, 1]);
        assert_eq!(unlimited.quota().state, State::Ok);
        assert_eq!(unlimited.pids().state, State::Ok);
        assert_eq!(brief(&unlimited.memory()), (State::Ok, "1.0 GiB available"));

        tree.sys("fs/cgroup/cpu.max", "150000 100000\n");
        tree.sys("fs/cgroup/pids.max", "10\n");
        tree.sys("fs/cgroup/pids.current", "7\n");
        tree.sys("fs/cgroup/memory.max", "1048576\n");
        tree.sys("fs/cgroup/memory.current", "0\n");
        let limited = subject(&roots, &[0, 1]);
        assert_eq!(limited.quota().state, State::Problem);
        assert_eq!(subject(&roots, &[0]).quota().state, State::Ok, "1.5 is enough for one CPU");
        assert_eq!(limited.pids().state, State::Problem);
        assert!(limited.pids().what.starts_with("what pids.max of the cgroup leaves is 3"));
        assert_eq!(subject(&roots, &[0]).pids().state, State::Ok);
        assert_eq!(brief(&limited.memory()), (State::Problem, "1.0 MiB available"));
        tree.sys("fs/cgroup/pids.max", "max\n");
        tree.proc("sys/kernel/pid_max", "3\n");
        let pids = subject(&roots, &[0, 1]).pids();
        assert_eq!(
            brief(&pids),
            (State::Problem, "kernel.pid_max is 3 tasks, one per CPU needs 4")
        );
        assert!(pids.remedy.is_some_and(|remedy| remedy.contains("sysctl kernel.pid_max")));
    }

    #[test]
    fn frequency() {
        let tree = Tree::new();
        tree.cpu(0, "cpufreq/scaling_governor", "powersave\n");
        tree.sys("devices/system/cpu/intel_pstate/no_turbo", "1\n");
        let roots = tree.roots();
        assert_eq!(subject(&roots, &[0]).governor().state, State::Note);
        assert_eq!(brief(&subject(&roots, &[0]).turbo()), (State::Ok, "off"));
        assert!(subject(&roots, &[1]).governor().what.starts_with("not readable"));
    }

    #[test]
    fn other_work() {
        let tree = Tree::new();
        tree.proc("stat", "cpu0 50 0 0 100000 0 0 0 50\n");
        tree.proc("loadavg", "2.50 1.00 1.00 1/100 5\n");
        let roots = tree.roots();
        let steal = subject(&roots, &[0]).steal();
        assert_eq!(
            brief(&steal),
            (State::Note, "since boot 50.0 % of the time with work was given to other guests")
        );
        assert_eq!(subject(&roots, &[0]).load().state, State::Note);
        tree.proc("loadavg", "garbage\n");
        assert!(subject(&roots, &[0]).load().what.starts_with("not readable"));
    }

    #[test]
    fn the_hard_limit_of_open_files_decides() {
        assert_eq!(open_files(Some(1024), Some(4096), 64).state, State::Ok);
        assert_eq!(open_files(Some(1024), Some(1024), 1024).state, State::Problem);
        let unlimited = open_files(Some(8), None, 1024);
        assert_eq!(brief(&unlimited), (State::Ok, "RLIMIT_NOFILE soft 8, hard unlimited"));
    }

    #[test]
    fn mitigations_on_the_path_of_a_system_call() {
        let cases: [(&str, &[&str]); 10] = [
            ("Not affected", &[]),
            ("Vulnerable", &[]),
            ("Mitigation: PTI", &["PTI"]),
            ("Mitigation: PTE Inversion; VMX: conditional cache flushes, SMT vulnerable", &[]),
            ("Mitigation: Enhanced / Automatic IBRS; IBPB: conditional; RSB filling", &[]),
            (
                "Mitigation: Retpolines; IBPB: conditional; IBRS_FW; BHI: SW loop, KVM: SW loop",
                &["Retpolines", "BHI: SW loop"],
            ),
            ("Mitigation: safe RET", &["safe RET"]),
            ("Vulnerable: Safe RET, no microcode", &["Safe RET"]),
            ("Mitigation: IBPB before exit to userspace", &[]),
            ("Mitigation: Clear CPU buffers; SMT vulnerable", &["Clear CPU buffers"]),
        ];
        for (state, dear) in cases {
            assert_eq!(dear_parts(state), dear, "{state}");
        }
    }
}
