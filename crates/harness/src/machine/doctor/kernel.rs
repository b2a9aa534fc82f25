//! What the kernel lets this process see of itself, and what it has put in the way of an open.

use super::Finding;
use crate::machine::{Roots, read_text};
use contention::{Kind, Options, Symbols, sources};
use std::fs;

/// Modules that have a say whenever a file is opened.
const ASKED_AT_OPEN: [&str; 6] = ["selinux", "apparmor", "smack", "tomoyo", "ima", "evm"];

/// Looks at every subject in turn. Sources are opened, not started.
pub(super) fn examine(roots: &Roots) -> Vec<Finding> {
    vec![
        paranoia(roots),
        source("bpf", Kind::Bpf, "who waits for which lock can be traced at the least price"),
        source(
            "tracepoints",
            Kind::Tracepoints,
            "waits for locks can be traced by perf events too",
        ),
        source("cycles", Kind::Cycles, "the hardware counts cycles for this process"),
        symbols(roots),
        security(roots),
    ]
}

/// Without a privilege the setting decides; with one, the privilege.
fn paranoia(roots: &Roots) -> Finding {
    let name = "perf events";
    let file = roots.proc.join("sys/kernel/perf_event_paranoid");
    let level = match read_text(&file) {
        Ok(level) => level,
        Err(error) => return Finding::unreadable(name, error),
    };
    let what = format!("perf_event_paranoid is {level}");
    match refusal(Kind::CpuClock) {
        None => Finding::ok(name, format!("{what}: this process may sample the kernel")),
        Some((why, remedy)) => Finding::note(name, format!("{what}: {why}")).remedy(remedy),
    }
}

/// Whether a source of waits for locks can be had.
fn source(name: &'static str, kind: Kind, good: &str) -> Finding {
    match refusal(kind) {
        None => Finding::ok(name, good),
        Some((why, remedy)) => Finding::note(name, why).remedy(remedy),
    }
}

/// Why not, and what would change it.
fn refusal(kind: Kind) -> Option<(String, String)> {
    let options = Options { force: Some(kind), ..Options::default() };
    match sources(&[std::process::id()], &options) {
        Ok(chosen) => {
            let refused = chosen.refused.into_iter().next()?;
            Some((refused.why.replace('\n', "; "), refused.remedy.replace('\n', "; ")))
        }
        Err(error) => Some((error.to_string().replace('\n', ";"), "mount /proc".into())),
    }
}

fn symbols(roots: &Roots) -> Finding {
    let name = "kernel symbols";
    let file = roots.proc.join("kallsyms");
    match fs::read_to_string(&file) {
        Err(error) => Finding::unreadable(name, format!("{}: {error}", file.display()))
            .remedy("a kernel with CONFIG_KALLSYMS has it"),
        Ok(text) if Symbols::parse(&text).hidden() => Finding::note(
            name,
            "hidden from this process: functions would be shown as addresses",
        )
        .remedy("run as root, or: sudo sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1"),
        Ok(_) => Finding::ok(name, "functions of the kernel have names"),
    }
}

fn security(roots: &Roots) -> Finding {
    let name = "security modules";
    let file = roots.sys.join("kernel/security/lsm");
    let modules = match read_text(&file) {
        Ok(modules) => modules,
        Err(error) => {
            return Finding::unreadable(name, error).remedy(
                "if the kernel has any: sudo mount -t securityfs securityfs /sys/kernel/security",
            );
        }
    };
    let asked: Vec<&str> =
        modules.split(',').filter(|module| ASKED_AT_OPEN.contains(module)).collect();
    match asked.is_empty() {
        true => Finding::ok(name, format!("none that is asked at every open ({modules})")),
        false => Finding::note(name, format!("asked at every open: {}", asked.join(", ")))
            .remedy("compare only machines with the same modules (boot with lsm= to choose)"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;
    use crate::machine::fixture::Tree;

    #[test]
    fn modules_that_are_asked_at_every_open_are_named() {
        let tree = Tree::new();
        assert!(security(&tree.roots()).what.starts_with("not readable"));
        tree.sys("kernel/security/lsm", "lockdown,capability,yama\n");
        assert_eq!(security(&tree.roots()).state, State::Ok);
        tree.sys("kernel/security/lsm", "capability,selinux,bpf,ima");
        let finding = security(&tree.roots());
        assert_eq!(finding.state, State::Note);
        assert_eq!(finding.what, "asked at every open: selinux, ima");
    }

    #[test]
    fn hidden_symbols_are_a_note_with_a_remedy() {
        let tree = Tree::new();
        tree.proc("kallsyms", "ffffffff81000000 T _stext\n");
        assert_eq!(symbols(&tree.roots()).state, State::Ok);
        tree.proc("kallsyms", "0000000000000000 T _stext\n");
        let finding = symbols(&tree.roots());
        assert_eq!(finding.state, State::Note);
        assert!(finding.remedy.is_some_and(|remedy| remedy.contains("kptr_restrict")));
    }

    #[test]
    fn what_is_refused_has_a_remedy() {
        for finding in examine(&Roots::default()) {
            let fine = finding.state == State::Ok;
            assert!(fine || finding.remedy.is_some(), "{finding:?}");
            assert!(!finding.what.is_empty());
        }
    }

    #[test]
    fn the_level_of_paranoia_is_told() {
        let tree = Tree::new();
        assert!(paranoia(&tree.roots()).what.starts_with("not readable"));
        tree.proc("sys/kernel/perf_event_paranoid", "3\n");
        assert!(paranoia(&tree.roots()).what.starts_with("perf_event_paranoid is 3: "));
    }
}
