//! What this process may do, and whom to ask where it may not.

use crate::error::Refusal;
use std::fs;

/// Capabilities that matter here, by the kernel's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capability {
    /// The old one that stands for both of the next; asked for where no finer one exists.
    SysAdmin = 21,
    /// Performance monitoring.
    Perfmon = 38,
    /// BPF.
    Bpf = 39,
}

/// What a refused caller is asked to give the program: enough for all sources and for kernel symbols.
const GRANT: &str = "cap_bpf,cap_perfmon,cap_syslog=ep";

/// Has the calling thread this capability, or the old one that includes it?
pub(crate) fn has(capability: Capability) -> bool {
    let effective = effective();
    let bit = |capability: Capability| effective & 1 << capability as u32 != 0;
    bit(capability) || bit(Capability::SysAdmin)
}

/// Nothing where /proc does not say.
fn effective() -> u64 {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    parse_effective(&status).unwrap_or(0)
}

fn parse_effective(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

/// Why a call that needs `needed` was not permitted.
pub(crate) fn not_permitted(call: &str, needed: &[Capability]) -> Refusal {
    if let Some(missing) = needed.iter().find(|&&capability| !has(capability)) {
        let why = format!("{call} is not permitted without {}", missing.name());
        return Refusal::new(why, grant());
    }
    let lockdown = fs::read_to_string("/sys/kernel/security/lockdown").unwrap_or_default();
    match locked_down(&lockdown) {
        Some(mode) => Refusal::new(
            format!("{call} is not permitted: the kernel is locked down ({mode})"),
            "boot with lockdown=none (Secure Boot may have to be off)",
        ),
        None => Refusal::new(
            format!("{call} is not permitted, though this process has the capability"),
            "a container, a user namespace, a seccomp filter or a security module refuses it: \
             run on the host itself",
        ),
    }
}

/// How to give the program what it needs.
pub(crate) fn grant() -> String {
    let program = std::env::current_exe()
        .map_or_else(|_| "PROGRAM".to_owned(), |path| path.display().to_string());
    format!("run as root, or once: sudo setcap {GRANT} {program}")
}

/// The mode in brackets, unless it is `none`.
fn locked_down(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('[')?;
    let (mode, _) = rest.split_once(']')?;
    (mode != "none").then_some(mode)
}

impl Capability {
    fn name(self) -> &'static str {
        match self {
            Capability::SysAdmin => "CAP_SYS_ADMIN",
            Capability::Perfmon => "CAP_PERFMON",
            Capability::Bpf => "CAP_BPF",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effective_capabilities_are_read_from_status() {
        let status = "Name:\tx\nCapPrm:\t000001ffffffffff\nCapEff:\t0000004000000000\n";
        assert_eq!(parse_effective(status), Some(1 << Capability::Perfmon as u32));
        assert_eq!(parse_effective("Name:\tx\n"), None);
    }

    #[test]
    fn the_mode_of_lockdown_is_the_one_in_brackets() {
        assert_eq!(locked_down("none [integrity] confidentiality\n"), Some("integrity"));
        assert_eq!(locked_down("[none] integrity confidentiality\n"), None);
        assert_eq!(locked_down(""), None);
    }
}
