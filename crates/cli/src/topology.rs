//! `vfscale topology`: how far this host's CPUs are from each other, and a machine file made of it.

use crate::Exit;
use crate::args::{TopologyArgs, Usage};
use crate::output;
use anyhow::Context;
use harness::machine::Roots;
use harness::topology_probe::{self, Probe};
use harness::{UserMachines, check_machine_name};
use std::fmt::Write;
use std::time::SystemTime;

/// Measures, prints, and keeps the machine if it was given a name.
pub(crate) fn topology(args: &TopologyArgs) -> anyhow::Result<Exit> {
    // What would be refused afterwards is refused before.
    let keep = match &args.save {
        Some(name) => {
            check_machine_name(name).map_err(|error| Usage(format!("--save: {error}")))?;
            let own = UserMachines::of_user().ok_or_else(|| {
                Usage("--save: neither XDG_CONFIG_HOME nor HOME says where to".into())
            })?;
            own.check_free(name)?;
            Some((name, own))
        }
        None => None,
    };
    let mut told = 0;
    let probe = topology_probe::probe(&Roots::default(), &mut |done, all| {
        // So that somebody with hundreds of CPUs knows how long it takes.
        if all > 100 && done * 10 / all > told {
            told = done * 10 / all;
            output::tell(&format!("{done} of {all} pairs of CPUs are measured"));
        }
    })?;
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    output::print(&text(&probe, &host))?;
    if let Some((name, own)) = keep {
        let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let date = now.split('T').next().context("a date has a time")?;
        let file = own.save(&topology_probe::machine(&probe, name, &host, date)?)?;
        output::tell(&format!("written to {}; use it as sim:{name}/ERA", file.display()));
    }
    Ok(Exit::Done)
}

fn text(probe: &Probe, host: &str) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "a cache line's way from one CPU of {host} to another, nanoseconds (measured)"
    );
    let _ = writeln!(text, "with a compare-and-exchange; half of a round trip, median of many:\n");
    let width = probe.cpus.iter().map(|cpu| cpu.to_string().len()).max().unwrap_or(1).max(4) + 1;
    let _ = write!(text, "{:>width$}", "CPU");
    for cpu in &probe.cpus {
        let _ = write!(text, "{cpu:>width$}");
    }
    for row in &probe.cpus {
        let _ = write!(text, "\n{row:>width$}");
        for column in &probe.cpus {
            let shown = match probe.pair(*row, *column) {
                Some(pair) => format!("{:.0}", pair.locked_ns),
                None if row == column => "-".to_owned(),
                // One of those that were left out of too many.
                None => ".".to_owned(),
            };
            let _ = write!(text, "{shown:>width$}");
        }
    }
    let _ = writeln!(text, "\n\nbetween             pairs  median   range      load and store");
    for group in &probe.groups {
        let pairs = match group.pairs - group.measured {
            0 => group.pairs.to_string(),
            _ => format!("{}/{}", group.measured, group.pairs),
        };
        let range = format!("{:.0}-{:.0}", group.range_ns[0], group.range_ns[1]);
        let _ = writeln!(
            text,
            "{:<18}{pairs:>7} {:>7.0}   {range:<10} {:>14.0}",
            group.apart.pair(),
            group.locked_ns,
            group.plain_ns
        );
    }
    let (alone, wakes) = (&probe.alone, &probe.wakes);
    let _ = writeln!(text, "\non CPU {}, with lines of its own:", alone.cpu);
    for (what, value, unit) in [
        ("clock", alone.mhz, "MHz"),
        ("load in the first-level cache, until its value is there", alone.hit_ns, "ns"),
        ("locked operation", alone.rmw_ns, "ns"),
        ("full fence", alone.fence_ns, "ns"),
        ("pause of a spinning CPU", alone.pause_ns, "ns"),
        ("switch from one task to another", wakes.switch_ns, "ns"),
        ("call that wakes a sleeper on another CPU", wakes.wake_ns, "ns"),
        ("from there until it runs, without the switch", wakes.ipi_ns, "ns"),
    ] {
        let digits = usize::from(value < 100.0);
        let _ = writeln!(text, "  {what:<56} {value:>8.digits$} {unit}");
    }
    if cfg!(debug_assertions) {
        text.push_str("\nThis is a debug build: what is called the cost of one operation is that of a slow loop.\n");
    }
    text
}
