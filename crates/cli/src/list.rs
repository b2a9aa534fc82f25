//! `vfscale list`.

use crate::Exit;
use crate::args::{ListArgs, ListFormat, ListWhat};
use crate::output;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use vfs_api::Info;

/// Prints workloads, targets or both.
pub(crate) fn list(args: &ListArgs) -> anyhow::Result<Exit> {
    let wanted = |what| args.what.is_none_or(|only| only == what);
    let text = match args.format {
        ListFormat::Json => {
            let mut all = Map::new();
            if wanted(ListWhat::Workloads) {
                all.insert("workloads".into(), workloads::ALL.iter().map(workload_json).collect());
            }
            if wanted(ListWhat::Targets) {
                all.insert("targets".into(), harness::KINDS.iter().map(target_json).collect());
            }
            format!("{:#}\n", Value::Object(all))
        }
        ListFormat::Text => {
            let mut text = String::new();
            if wanted(ListWhat::Workloads) {
                workloads_text(&mut text);
            }
            if wanted(ListWhat::Targets) {
                targets_text(&mut text);
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
        "modes": info.modes.iter().map(|mode| mode.name()).collect::<Vec<_>>(),
        "operation": info.operation,
        "needs": info.needs.iter().map(|need| need.name()).collect::<Vec<_>>(),
    })
}

fn target_json(kind: &harness::Kind) -> Value {
    json!({ "name": kind.name, "syntax": kind.syntax, "summary": kind.summary })
}

// Writing to a String cannot fail.
fn workloads_text(text: &mut String) {
    let width = workloads::ALL.iter().map(|info| info.name.len()).max().unwrap_or(0);
    let _ = writeln!(text, "workloads (the first is the default):");
    for info in workloads::ALL {
        let _ = writeln!(text, "  {:width$}  {}", info.name, info.summary);
        let _ = write!(text, "  {:width$}    from {}", "", info.origin);
        if !info.aliases.is_empty() {
            let _ = write!(text, "; also called {}", info.aliases.join(", "));
        }
        let _ = writeln!(text);
    }
}

fn targets_text(text: &mut String) {
    let _ = writeln!(text, "targets:");
    for kind in harness::KINDS {
        let _ = writeln!(text, "  {}  {}", kind.syntax, kind.summary);
    }
}
