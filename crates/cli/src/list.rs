//! `vfscale list`: workloads, targets and the lab's designs.

use crate::Exit;
use crate::args::{Head, ListArgs, ListFormat, ListWhat};
use crate::output;
use harness::{Machine, UserMachine, UserMachines};
use lab::design::DesignInfo;
use lab::eras::Era;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use vfs_api::{Calls, Info, Param, Shared, Suite, Values};

/// Prints workloads, targets and designs, or what of it was asked for.
pub(crate) fn list(args: &ListArgs) -> anyhow::Result<Exit> {
    let wanted = |what| args.what.is_none_or(|only| only == what);
    let text = match args.format {
        ListFormat::Json => {
            let mut all = Map::new();
            if wanted(ListWhat::Workloads) {
                all.insert("workloads".into(), workloads::ALL.iter().map(workload_json).collect());
                all.insert("fixed_work".into(), phased::ALL.iter().map(workload_json).collect());
            }
            if wanted(ListWhat::Targets) {
                all.insert("targets".into(), harness::KINDS.iter().map(target_json).collect());
            }
            if wanted(ListWhat::Designs) {
                all.insert("designs".into(), lab::eras::designs().map(design_json).collect());
                all.insert("eras".into(), lab::eras::ERAS.iter().map(era_json).collect());
            }
            if wanted(ListWhat::Machines) {
                let own = own_machines().into_iter().map(own_machine_json);
                let machines = harness::machines().map(|machine| machine_json(&machine)).chain(own);
                all.insert("machines".into(), machines.collect());
            }
            format!("{:#}\n", Value::Object(all))
        }
        ListFormat::Text => {
            let mut text = String::new();
            if wanted(ListWhat::Workloads) {
                workloads_text(&mut text, args.by);
            }
            if wanted(ListWhat::Targets) {
                targets_text(&mut text);
            }
            if wanted(ListWhat::Designs) {
                designs_text(&mut text);
            }
            if wanted(ListWhat::Machines) {
                machines_text(&mut text);
            }
            text
        }
    };
    output::print(&text)?;
    Ok(Exit::Done)
}

fn workload_json(info: &Info) -> Value {
    json!({
        "name": info.name,
        "aliases": info.aliases,
        "summary": info.summary,
        "origin": info.origin,
        "calls": info.calls.name(),
        "shared": info.shared.name(),
        "suites": info.suites.iter().map(|suite| suite.name()).collect::<Vec<_>>(),
        "params": info.params.iter().map(param_json).collect::<Vec<_>>(),
        "modes": info.modes.iter().map(|mode| mode.name()).collect::<Vec<_>>(),
        "operation": info.operation,
        "needs": info.needs.iter().map(|need| need.name()).collect::<Vec<_>>(),
        "background": info.background,
    })
}

fn param_json(param: &Param) -> Value {
    match param.values {
        Values::Number { min, max, default } | Values::Bytes { min, max, default } => json!({
            "name": param.name, "what": param.what, "min": min, "max": max, "default": default,
        }),
        Values::Word(words) => json!({
            "name": param.name, "what": param.what, "words": words, "default": words[0],
        }),
    }
}

fn target_json(kind: &harness::Kind) -> Value {
    json!({ "name": kind.name, "syntax": kind.syntax, "summary": kind.summary })
}

fn design_json(info: &DesignInfo) -> Value {
    json!({
        "part": info.part,
        "name": info.name,
        "kernel": info.kernel,
        "source": info.source,
        "shared": info.shared,
        "reconstruction": info.reconstruction,
    })
}

fn era_json(era: &Era) -> Value {
    let parts: Map<String, Value> =
        era.parts.iter().into_iter().map(|(part, name)| (part.into(), name.into())).collect();
    json!({ "name": era.name, "parts": parts })
}

fn machine_json(machine: &Machine) -> Value {
    json!({ "name": machine.name, "summary": machine.summary, "cpus": machine.cpus() })
}

/// The user's own machine files. That their folder cannot be read does not hide the built-in ones.
fn own_machines() -> Vec<UserMachine> {
    UserMachines::of_user().map_or_else(Vec::new, |own| {
        own.all().unwrap_or_else(|error| {
            output::tell(&format!("vfscale: your own machines are not listed: {error}"));
            Vec::new()
        })
    })
}

fn own_machine_json(own: UserMachine) -> Value {
    let mut value = match &own.machine {
        Ok(machine) => machine_json(machine),
        Err(error) => json!({ "error": error }),
    };
    // By the file's name it is found.
    value["name"] = own.name.into();
    value["file"] = own.file.to_string_lossy().into();
    value
}

fn machines_text(text: &mut String) {
    let line = |text: &mut String, name: &str, machine: &Machine| {
        let cpus = machine.cpus();
        let _ = writeln!(text, "  {name:20} {cpus:5} CPUs  {}", machine.summary);
    };
    let _ = writeln!(text, "simulated machines (sim:MACHINE/ERA):");
    for machine in harness::machines() {
        line(text, &machine.name, &machine);
    }
    let own = own_machines();
    if !own.is_empty() {
        let _ = writeln!(text, "your own machines (sim:MACHINE/ERA):");
    }
    for UserMachine { name, machine, .. } in &own {
        match machine {
            Ok(machine) => line(text, name, machine),
            Err(error) => {
                let _ = writeln!(text, "  {name:20} cannot be used: {}", error.replace('\n', " "));
            }
        }
    }
}

fn designs_text(text: &mut String) {
    let mut part = "";
    for info in lab::eras::designs() {
        if info.part != part {
            part = info.part;
            let _ = writeln!(text, "designs of {part}:");
        }
        let mark = if info.reconstruction { "  (reconstruction)" } else { "" };
        let _ = writeln!(text, "  {:22}  {}{mark}", info.name, info.kernel);
        let _ = writeln!(text, "  {:22}    shares: {}", "", info.shared);
        let _ = writeln!(text, "  {:22}    from: {}", "", info.source);
    }
    let _ = writeln!(text, "eras (lab:ERA):");
    for era in lab::eras::ERAS {
        let parts: Vec<String> =
            era.parts.iter().iter().map(|(part, name)| format!("{part}={name}")).collect();
        let _ = writeln!(text, "  {}\n      {}", era.name, parts.join(" "));
    }
}

/// The workloads under their heads. By origin one that several peers have stands under each of them.
fn under_heads(by: Head) -> Vec<(&'static str, Vec<&'static Info>)> {
    fn group<T: Copy>(
        all: &[T],
        name: fn(T) -> &'static str,
        is_in: impl Fn(&Info, T) -> bool,
    ) -> Vec<(&'static str, Vec<&'static Info>)> {
        let members = |head: T| workloads::ALL.iter().filter(|info| is_in(info, head)).collect();
        all.iter().map(|&head| (name(head), members(head))).collect()
    }
    match by {
        Head::Call => group(Calls::ALL, Calls::name, |info, head| info.calls == head),
        Head::Sharing => group(Shared::ALL, Shared::name, |info, head| info.shared == head),
        Head::Origin => group(Suite::ALL, Suite::name, |info, head| {
            head.is_origin() && info.suites.contains(&head)
        }),
    }
}

// Writing to a String cannot fail.
fn workloads_text(text: &mut String, by: Head) {
    let width = workloads::ALL.iter().map(|info| info.name.len()).max().unwrap_or(0);
    let _ = writeln!(text, "workloads (the default is {}):", workloads::ALL[0].name);
    for (head, members) in under_heads(by) {
        if members.is_empty() {
            continue;
        }
        let _ = writeln!(text, "{head}:");
        members.into_iter().for_each(|info| workload_text(text, info, width));
    }
    let _ = writeln!(text, "of fixed work, each run alone (vfscale run NAME [options]):");
    phased::ALL.iter().for_each(|info| workload_text(text, info, width));
    let suites: Vec<&str> = Suite::ALL.iter().map(|suite| suite.name()).collect();
    let _ = writeln!(text, "suites (run --suite NAME): {}, all", suites.join(", "));
}

fn workload_text(text: &mut String, info: &Info, width: usize) {
    let _ = writeln!(text, "  {:width$}  {}", info.name, info.summary);
    let _ = write!(text, "  {:width$}    from {}", "", info.origin);
    if !info.aliases.is_empty() {
        let _ = write!(text, "; also called {}", info.aliases.join(", "));
    }
    let _ = writeln!(text);
    for param in info.params {
        let _ = writeln!(text, "  {:width$}    {param}: {}", "", param.what);
    }
}

fn targets_text(text: &mut String) {
    let _ = writeln!(text, "targets:");
    for kind in harness::KINDS {
        let _ = writeln!(text, "  {}  {}", kind.syntax, kind.summary);
    }
}
