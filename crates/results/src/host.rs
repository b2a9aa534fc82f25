//! The machine a run was taken on.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What can change the numbers and can be read without privilege.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// uname: release and version, blank between.
    pub kernel: String,
    /// uname: machine.
    pub arch: String,
    /// The first "model name" of /proc/cpuinfo, if it has one.
    pub cpu_model: Option<String>,
    /// CPUs this run may use: affinity ∩ cpuset ∩ online, in ascending order.
    pub cpus: Vec<u32>,
    /// Where those CPUs sit.
    pub topology: Topology,
    /// CFS bandwidth limit of the process's cgroup or an ancestor, the tightest.
    pub quota: Option<Quota>,
    /// scaling_governor of the usable CPUs, each named once; empty where there is no cpufreq.
    pub governor: Vec<String>,
    /// Turbo or boost, where the kernel says.
    pub turbo: Option<bool>,
    /// /sys/devices/system/cpu/vulnerabilities: name to state.
    pub mitigations: BTreeMap<String, String>,
    /// Bytes of memory (MemTotal).
    pub memory_bytes: u64,
    /// Virtualisation as /proc/cpuinfo and DMI tell it ("hypervisor" flag), if any.
    pub virtualised: bool,
    /// One entry per target that is a directory.
    pub fs: Vec<Mount>,
}

/// Counts and the place of every usable CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Topology {
    /// Sockets with a usable CPU.
    pub sockets: u32,
    /// Physical cores with a usable CPU.
    pub cores: u32,
    /// NUMA nodes with a usable CPU.
    pub nodes: u32,
    /// Most usable hardware threads on one core.
    pub threads_per_core: u32,
    /// Cores of several kinds (P and E cores, big.LITTLE).
    pub hybrid: bool,
    /// In ascending order of id.
    pub cpus: Vec<Cpu>,
}

/// One logical CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpu {
    /// The kernel's number.
    pub id: u32,
    /// physical_package_id.
    pub socket: u32,
    /// Number of the core, unique over the machine.
    pub core: u32,
    /// NUMA node.
    pub node: u32,
    /// 0 for the first hardware thread of its core, 1 for the second, ...
    pub smt: u32,
    /// Relative capacity, 1024 for the strongest kind; equal for all CPUs of a machine that is not hybrid.
    pub capacity: u32,
}

/// A CFS bandwidth limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quota {
    /// CPUs' worth of time it allows (quota / period).
    pub cpus: f64,
    /// The cgroup that sets it.
    pub cgroup: String,
}

/// The file system under a `dir:` target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mount {
    /// The target as asked for, `dir:PATH`.
    pub target: String,
    /// ext4, tmpfs, ...
    pub fs_type: String,
    /// What is mounted: a device, or the name of a virtual file system.
    pub source: String,
    /// Where.
    pub mount_point: String,
    /// Options of this mount (relatime, ro, ...).
    pub mount_options: Vec<String>,
    /// Options of the super block (data=ordered, size=..., ...).
    pub super_options: Vec<String>,
}
