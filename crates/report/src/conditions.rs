//! The conditions of a run as label and value, for people.

use crate::mail;
use results::{Host, Run};

/// argv as a shell would take it.
pub(crate) fn shell(command: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,%+@".contains(c);
    let word = |word: &String| match !word.is_empty() && word.chars().all(plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    command.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// Labels and values in a fixed order. The values hold names from outside: pass them through [`crate::escape`].
pub(crate) fn conditions(run: &Run) -> Vec<(&'static str, String)> {
    let (host, plan) = (&run.host, &run.plan);
    let mut lines = vec![
        ("command", shell(&run.command)),
        ("started", format!("{}, vfscale {}", run.started, run.vfscale)),
        (
            "rounds",
            format!(
                "{} of {} planned, {} warm-up; {}; seed {}",
                plan.rounds,
                plan.planned_rounds,
                plan.warmup_rounds,
                slices(plan.slice_s),
                run.seed
            ),
        ),
        ("kernel", format!("{} ({})", host.kernel, host.arch)),
        ("CPU", cpu(host)),
        ("usable CPUs", format!("{} ({})", host.cpus.len(), ranges(&host.cpus))),
        ("topology", topology(host)),
        (
            "governor",
            if host.governor.is_empty() {
                "no cpufreq".to_owned()
            } else {
                host.governor.join(", ")
            },
        ),
        ("turbo", host.turbo.map_or("unknown", |on| if on { "on" } else { "off" }).to_owned()),
        (
            "CPU quota",
            host.quota.as_ref().map_or("none".to_owned(), |quota| {
                format!("{} CPUs, set by cgroup {}", quota.cpus, quota.cgroup)
            }),
        ),
        ("mitigations", mitigations(host)),
        ("memory", format!("{:.1} GiB", host.memory_bytes as f64 / f64::from(1 << 30))),
    ];
    for mount in &host.fs {
        let super_options = match mount.super_options.is_empty() {
            true => String::new(),
            false => format!("; super block: {}", mount.super_options.join(",")),
        };
        lines.push((
            "file system",
            format!(
                "{}: {} from {} on {}, mounted {}{super_options}",
                mount.target,
                mount.fs_type,
                mount.source,
                mount.mount_point,
                mount.mount_options.join(","),
            ),
        ));
    }
    lines
}

/// Those that belong below a figure in a mail, a line each.
pub(crate) fn for_mail(run: &Run) -> String {
    let wanted = [
        "command",
        "rounds",
        "kernel",
        "CPU",
        "usable CPUs",
        "governor",
        "CPU quota",
        "file system",
    ];
    let lines = conditions(run);
    let lines = lines.iter().filter(|(what, _)| wanted.contains(what));
    let lines = lines.map(|(what, value)| mail::wrap(&format!("{what}: {}", mail::name(value))));
    lines.collect::<Vec<_>>().join("\n")
}

fn slices(seconds: f64) -> String {
    match seconds {
        0.0 => "each of fixed work".to_owned(),
        seconds => format!("slices of {} ms", (seconds * 1e6).round() / 1e3),
    }
}

fn cpu(host: &Host) -> String {
    let model = host.cpu_model.as_deref().unwrap_or("unknown");
    format!("{model}{}", if host.virtualised { ", virtual machine" } else { "" })
}

fn topology(host: &Host) -> String {
    let topology = &host.topology;
    format!(
        "{}, {}, {}, {}{}",
        count(topology.sockets, "socket"),
        count(topology.cores, "core"),
        count(topology.threads_per_core, "thread") + " per core",
        count(topology.nodes, "NUMA node"),
        if topology.hybrid { ", cores of several kinds" } else { "" },
    )
}

fn count(n: u32, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// The kernel's states begin with one of three words; each mitigation costs something at every system call.
fn mitigations(host: &Host) -> String {
    let begin =
        |word: &str| host.mitigations.values().filter(|state| state.starts_with(word)).count();
    match host.mitigations.len() {
        0 => "unknown".to_owned(),
        all => format!(
            "{} active, {} vulnerable, of {all} known",
            begin("Mitigation"),
            begin("Vulnerable")
        ),
    }
}

/// Ascending CPU numbers as the kernel writes them: `0-3,8`.
fn ranges(cpus: &[u32]) -> String {
    let runs = cpus.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    let range = |run: &[u32]| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    };
    runs.map(range).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_listed_as_the_kernel_lists_them() {
        let cases: [(&[u32], &str); 5] = [
            (&[], ""),
            (&[3], "3"),
            (&[0, 1, 2, 3], "0-3"),
            (&[0, 2, 3, 8], "0,2-3,8"),
            (&[u32::MAX], "4294967295"),
        ];
        for (cpus, expected) in cases {
            assert_eq!(ranges(cpus), expected);
        }
    }

    #[test]
    fn a_command_can_be_given_to_a_shell_again() {
        let mut run = crate::fixture::run();
        let words =
            ["vfscale", "compare", "--before-cmd", "mount -o remount,ro /a", "dir:it's", ""];
        run.command = words.map(str::to_owned).to_vec();
        let command = &conditions(&run)[0];
        let quoted = r"vfscale compare --before-cmd 'mount -o remount,ro /a' 'dir:it'\''s' ''";
        assert_eq!(*command, ("command", quoted.to_owned()));
    }

    #[test]
    fn mitigations_are_counted_by_state() {
        let states = [
            ("l1tf", "Not affected"),
            ("spectre_v2", "Mitigation: Retpolines"),
            ("mds", "Vulnerable: no microcode"),
        ];
        let mitigations =
            states.iter().map(|(name, state)| ((*name).to_owned(), (*state).to_owned())).collect();
        let host = Host { mitigations, ..Host::default() };
        assert_eq!(super::mitigations(&host), "1 active, 1 vulnerable, of 3 known");
    }
}
