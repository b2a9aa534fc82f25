//! The record of the machine that is kept with every run.

use super::cgroup::Cgroups;
use super::{Roots, read_text, topology};
use results::Host;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Vendors in DMI that make only virtual machines, as the beginning of sys_vendor.
const VIRTUAL_VENDORS: [&str; 7] =
    ["QEMU", "VMware", "innotek", "Xen", "Parallels", "OpenStack", "Nutanix"];

/// Products in DMI that are virtual though their vendor makes hardware too.
const VIRTUAL_PRODUCTS: [&str; 6] =
    ["Virtual Machine", "KVM", "VMware", "VirtualBox", "Google Compute Engine", "HVM domU"];

/// Describes this machine for a run on the `usable` CPUs. What cannot be read is left empty; `fs` is for the caller to fill, who
/// knows the targets ([`super::mounts::mount_of`]).
pub fn describe(roots: &Roots, usable: &[u32]) -> Host {
    let uname = rustix::system::uname();
    let cpus: BTreeSet<u32> = usable.iter().copied().collect();
    let cpuinfo = read_text(&roots.proc.join("cpuinfo")).unwrap_or_default();
    Host {
        kernel: format!(
            "{} {}",
            uname.release().to_string_lossy(),
            uname.version().to_string_lossy()
        ),
        arch: uname.machine().to_string_lossy().into_owned(),
        cpu_model: field(&cpuinfo, "model name").map(str::to_owned),
        topology: topology::read(roots, usable),
        quota: Cgroups::read(roots).and_then(|cgroups| cgroups.quota()).ok().flatten(),
        governor: governors(roots, &cpus),
        turbo: turbo(roots),
        mitigations: mitigations(roots).unwrap_or_default(),
        memory_bytes: memory(roots, "MemTotal").unwrap_or(0),
        virtualised: virtualised(roots, &cpuinfo),
        fs: Vec::new(),
        cpus: cpus.into_iter().collect(),
    }
}

/// What /sys/devices/system/cpu/vulnerabilities says, name to state.
///
/// # Errors
/// When the directory cannot be read; kernels before 4.15 have none.
pub(crate) fn mitigations(roots: &Roots) -> io::Result<BTreeMap<String, String>> {
    let dir = roots.cpus().join("vulnerabilities");
    let entries = std::fs::read_dir(&dir).map_err(|error| super::at(&dir, error))?;
    entries
        .map(|entry| {
            let entry = entry.map_err(|error| super::at(&dir, error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            Ok((name, read_text(&entry.path())?))
        })
        .collect()
}

/// Bytes of an entry of /proc/meminfo.
///
/// # Errors
/// When the file cannot be read or has no such entry.
pub(crate) fn memory(roots: &Roots, entry: &str) -> io::Result<u64> {
    let file = roots.proc.join("meminfo");
    let text = read_text(&file)?;
    let kib = field(&text, entry).and_then(|value| value.strip_suffix(" kB")?.parse::<u64>().ok());
    kib.map(|kib| kib * 1024).ok_or_else(|| super::malformed(&file, &format!("no {entry}")))
}

/// The value of the first line `name : value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim_end() == name).then_some(value.trim())
    })
}

/// The frequency governors of these CPUs, each once.
fn governors(roots: &Roots, cpus: &BTreeSet<u32>) -> Vec<String> {
    let read = |&id: &u32| read_text(&roots.cpu(id).join("cpufreq/scaling_governor")).ok();
    cpus.iter().filter_map(read).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Whether the CPUs may run above their nominal frequency: `no_turbo` of intel_pstate, `boost` of the other drivers.
fn turbo(roots: &Roots) -> Option<bool> {
    let flag = |file: &str| match read_text(&roots.cpus().join(file)).ok()?.as_str() {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    };
    flag("intel_pstate/no_turbo").map(|off| !off).or_else(|| flag("cpufreq/boost"))
}

/// x86 has a CPU flag for it; on other architectures DMI and the Xen directory have to tell.
fn virtualised(roots: &Roots, cpuinfo: &str) -> bool {
    if let Some(flags) = field(cpuinfo, "flags") {
        return flags.split_ascii_whitespace().any(|flag| flag == "hypervisor");
    }
    let dmi =
        |file: &str| read_text(&roots.sys.join("class/dmi/id").join(file)).unwrap_or_default();
    let (vendor, product) = (dmi("sys_vendor"), dmi("product_name"));
    VIRTUAL_VENDORS.iter().any(|name| vendor.starts_with(name))
        || VIRTUAL_PRODUCTS.iter().any(|name| product.contains(name))
        // Instances without a hypervisor are the ones called *.metal.
        || (vendor == "Amazon EC2" && !product.contains("metal"))
        || roots.sys.join("hypervisor/type").exists()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::fixture::Tree;

    #[test]
    fn a_server_is_described() {
        let tree = Tree::two_sockets();
        let cpuinfo = "processor\t: 0\nmodel name\t: Some CPU @ 2.0\nflags\t\t: fpu hypervisor\n\nmodel name\t: B\n";
        tree.proc("cpuinfo", cpuinfo);
        tree.proc("meminfo", "MemTotal:        1024 kB\nMemFree: 1 kB\n");
        for (cpu, governor) in
            [(0, "schedutil\n"), (1, "performance\n"), (2, "schedutil\n"), (9, "x\n")]
        {
            tree.cpu(cpu, "cpufreq/scaling_governor", governor);
        }
        tree.sys("devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI\n");
        tree.sys("devices/system/cpu/cpufreq/boost", "1\n");
        let host = describe(&tree.roots(), &[0, 1, 2, 8]);
        assert_eq!(host.cpu_model.as_deref(), Some("Some CPU @ 2.0"));
        assert_eq!(host.cpus, [0, 1, 2, 8]);
        assert_eq!(host.topology.cores, 3);
        assert_eq!(host.governor, ["performance", "schedutil"], "of the usable CPUs only");
        assert_eq!(host.turbo, Some(true));
        assert_eq!(host.mitigations["meltdown"], "Mitigation: PTI");
        assert_eq!(host.memory_bytes, 1 << 20);
        assert!(host.virtualised);
        assert!(!host.kernel.is_empty() && !host.arch.is_empty());
    }

    #[test]
    fn missing_files_leave_gaps() {
        let host = describe(&Tree::new().roots(), &[5]);
        assert_eq!((host.cpu_model, host.quota, host.turbo), (None, None, None));
        assert_eq!((host.memory_bytes, host.virtualised), (0, false));
        assert!(host.governor.is_empty() && host.mitigations.is_empty());
        assert_eq!(host.topology.cpus[0].id, 5);
    }

    #[test]
    fn turbo_of_intel_is_said_the_other_way_round() {
        for (no_turbo, expected) in [("0\n", Some(true)), ("1\n", Some(false)), ("\n", None)] {
            let tree = Tree::new();
            tree.sys("devices/system/cpu/intel_pstate/no_turbo", no_turbo);
            assert_eq!(turbo(&tree.roots()), expected, "{no_turbo:?}");
        }
    }

    #[test]
    fn dmi_tells_on_machines_without_the_flag() {
        let cases = [
            ("QEMU", "KVM Virtual Machine", true),
            ("Amazon EC2", "m6g.large", true),
            ("Amazon EC2", "m6g.metal", false),
            ("Microsoft Corporation", "Virtual Machine", true),
            ("Ampere", "Altra", false),
        ];
        for (vendor, product, expected) in cases {
            let tree = Tree::new();
            tree.sys("class/dmi/id/sys_vendor", vendor);
            tree.sys("class/dmi/id/product_name", product);
            assert_eq!(
                virtualised(&tree.roots(), "processor : 0\n"),
                expected,
                "{vendor} {product}"
            );
            assert!(
                !virtualised(&tree.roots(), "flags : fpu\n"),
                "the flag decides where flags are"
            );
        }
    }
}
