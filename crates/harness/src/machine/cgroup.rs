//! What control groups leave to this process: CPU bandwidth, tasks and memory; version 1 and 2, and both mixed.
//!
//! A limit on any ancestor binds, and the tightest wins. Ancestors above the root of a cgroup namespace cannot be seen.

use super::mounts::{self, Entry};
use super::{Roots, malformed, read_if_there, read_text};
use results::Quota;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Version 1 writes "no limit" as the largest number of pages it can count, which differs between kernels. No machine has as
/// many bytes as this.
const V1_UNLIMITED: u64 = 1 << 62;

/// The cgroups of this process, for the controllers that matter here.
#[derive(Clone, Debug)]
pub struct Cgroups {
    cpu: Hierarchy,
    pids: Hierarchy,
    memory: Hierarchy,
}

/// How often and how long bandwidth control kept this process's cgroup or an ancestor from running, since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttling {
    /// Periods in which the quota ran out.
    pub periods: u64,
    /// Time waited for the next period, added up over CPUs, so that it can exceed wall time. ns.
    pub ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

/// Where the groups of one controller are.
#[derive(Clone, Debug)]
enum Hierarchy {
    /// The kernel does not have the controller.
    Absent,
    /// It has, but its file system is not mounted here.
    NotMounted { controller: &'static str },
    /// The process's own group first, then its ancestors.
    Mounted { version: Version, groups: Vec<Group> },
}

#[derive(Clone, Debug)]
struct Group {
    /// Directory as this process's mounts name it, for people.
    name: PathBuf,
    /// Where to read it.
    dir: PathBuf,
}

impl Cgroups {
    /// Finds the cgroups of this process.
    ///
    /// # Errors
    /// When procfs does not tell: it is not mounted, or the kernel has no cgroups.
    pub fn read(roots: &Roots) -> io::Result<Cgroups> {
        let memberships = memberships(roots)?;
        let mounts = mounts::read(roots)?;
        let hierarchy = |controller| Hierarchy::find(roots, &mounts, &memberships, controller);
        Ok(Cgroups { cpu: hierarchy("cpu"), pids: hierarchy("pids"), memory: hierarchy("memory") })
    }

    /// The tightest CPU bandwidth limit; none if there is no limit.
    ///
    /// # Errors
    /// When that cannot be known, because the controller's file system is not mounted or a file is unreadable.
    pub fn quota(&self) -> io::Result<Option<Quota>> {
        let limits = self.cpu.limits(|version, group| {
            let cpus = match version {
                Version::V1 => v1_quota(&group.dir)?,
                Version::V2 => v2_quota(&group.dir)?,
            };
            Ok(cpus.map(|cpus| Quota { cpus, cgroup: group.name.display().to_string() }))
        })?;
        Ok(limits.into_iter().min_by(|a, b| a.cpus.total_cmp(&b.cpus)))
    }

    /// Tasks (processes and threads) that can still be made; none if there is no limit.
    ///
    /// # Errors
    /// As [`Cgroups::quota`].
    pub fn pids_left(&self) -> io::Result<Option<u64>> {
        let left = self.pids.limits(|_, group| {
            let Some(limit) = limit(&group.dir.join("pids.max"))? else { return Ok(None) };
            Ok(Some(limit.saturating_sub(count(&group.dir.join("pids.current"))?)))
        })?;
        Ok(left.into_iter().min())
    }

    /// Bytes of memory that can still be used before the kernel kills; none if there is no limit. Cache that has not been used
    /// lately counts as free, as the kernel drops it first.
    ///
    /// # Errors
    /// As [`Cgroups::quota`].
    pub fn memory_left(&self) -> io::Result<Option<u64>> {
        let left = self.memory.limits(|version, group| {
            let (max, usage, cache) = match version {
                Version::V1 => {
                    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
                }
                Version::V2 => ("memory.max", "memory.current", "inactive_file"),
            };
            let Some(limit) = limit(&group.dir.join(max))? else { return Ok(None) };
            let cache = counter(&group.dir.join("memory.stat"), cache)?.unwrap_or(0);
            let used = count(&group.dir.join(usage))?.saturating_sub(cache);
            Ok(Some(limit.saturating_sub(used)))
        })?;
        Ok(left.into_iter().min())
    }

    /// Throttling of this process's cgroup and its ancestors added up; none if no group counts it.
    ///
    /// # Errors
    /// As [`Cgroups::quota`].
    pub fn throttling(&self) -> io::Result<Option<Throttling>> {
        let counted = self.cpu.limits(|version, group| {
            let stat = group.dir.join("cpu.stat");
            let (time, unit_ns) = match version {
                Version::V1 => ("throttled_time", 1),
                Version::V2 => ("throttled_usec", 1000),
            };
            let (periods, time) = (counter(&stat, "nr_throttled")?, counter(&stat, time)?);
            Ok(periods.zip(time).map(|(periods, time)| Throttling { periods, ns: time * unit_ns }))
        })?;
        Ok(counted
            .into_iter()
            .reduce(|a, b| Throttling { periods: a.periods + b.periods, ns: a.ns + b.ns }))
    }
}

impl Hierarchy {
    fn find(
        roots: &Roots,
        mounts: &[Entry],
        memberships: &[Membership],
        controller: &'static str,
    ) -> Hierarchy {
        let v1 = memberships.iter().find(|m| m.controllers.iter().any(|name| name == controller));
        let v2 = memberships.iter().find(|m| m.controllers.is_empty());
        let (version, membership) = match (v1, v2) {
            (Some(membership), _) => (Version::V1, membership),
            (None, Some(membership)) => (Version::V2, membership),
            (None, None) => return Hierarchy::Absent,
        };
        let candidates: Vec<&Entry> = mounts
            .iter()
            .filter(|mount| match version {
                Version::V1 => {
                    mount.fs_type == "cgroup" && mount.super_options.iter().any(|o| o == controller)
                }
                Version::V2 => mount.fs_type == "cgroup2",
            })
            .collect();
        // Inside a container the path can be that of the host and not exist below the mount, whose root is then the group.
        let found = candidates.iter().find_map(|mount| {
            let below = below(mount, &membership.path)?;
            roots.locate(&mount.mount_point).join(&below).is_dir().then_some((*mount, below))
        });
        let root = || candidates.first().map(|mount| (*mount, PathBuf::new()));
        match found.or_else(root) {
            Some((mount, below)) => {
                Hierarchy::Mounted { version, groups: groups(roots, mount, &below) }
            }
            None => Hierarchy::NotMounted { controller },
        }
    }

    /// What `read` says about every group that has a limit.
    fn limits<T>(
        &self,
        read: impl Fn(Version, &Group) -> io::Result<Option<T>>,
    ) -> io::Result<Vec<T>> {
        match self {
            Hierarchy::Absent => Ok(Vec::new()),
            Hierarchy::NotMounted { controller } => {
                let message = format!(
                    "the cgroup file system of the {controller} controller is not mounted here"
                );
                Err(io::Error::new(io::ErrorKind::NotFound, message))
            }
            Hierarchy::Mounted { version, groups } => {
                groups.iter().filter_map(|group| read(*version, group).transpose()).collect()
            }
        }
    }
}

/// A line of /proc/self/cgroup: this process's group in one hierarchy.
struct Membership {
    /// Empty for version 2.
    controllers: Vec<String>,
    path: PathBuf,
}

/// `4:cpu,cpuacct:/user.slice`; version 2 is `0::/user.slice`.
fn memberships(roots: &Roots) -> io::Result<Vec<Membership>> {
    let file = roots.proc.join("self/cgroup");
    let text = read_text(&file)?;
    let parse = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let controllers = controllers.split(',').filter(|name| !name.is_empty());
        Some(Membership {
            controllers: controllers.map(str::to_owned).collect(),
            path: path.into(),
        })
    };
    text.lines().map(|line| parse(line).ok_or_else(|| malformed(&file, line))).collect()
}

/// The path of a group relative to a mount whose root may itself be a group. None if it leads out of what is visible.
fn below(mount: &Entry, path: &Path) -> Option<PathBuf> {
    let below = path.strip_prefix(&mount.root).or_else(|_| path.strip_prefix("/")).ok()?;
    let inside = below.components().all(|component| matches!(component, Component::Normal(_)));
    inside.then(|| below.to_path_buf())
}

/// A group and its ancestors up to the root of the mount.
fn groups(roots: &Roots, mount: &Entry, below: &Path) -> Vec<Group> {
    let paths = below.ancestors();
    paths
        .map(|path| {
            // Joining an empty path would leave a slash at the end.
            let name = match path.as_os_str().is_empty() {
                true => mount.mount_point.clone(),
                false => mount.mount_point.join(path),
            };
            Group { dir: roots.locate(&name), name }
        })
        .collect()
}

/// CPUs' worth of time that cpu.cfs_quota_us allows; -1 is no limit.
fn v1_quota(dir: &Path) -> io::Result<Option<f64>> {
    let (quota_file, period_file) = (dir.join("cpu.cfs_quota_us"), dir.join("cpu.cfs_period_us"));
    let Some(text) = read_if_there(&quota_file)? else { return Ok(None) };
    let quota: i64 = text.parse().map_err(|_| malformed(&quota_file, &text))?;
    if quota < 0 {
        return Ok(None);
    }
    ratio(&period_file, quota as u64, count(&period_file)?)
}

/// CPUs' worth of time that cpu.max allows: `max 100000` or `50000 100000`.
fn v2_quota(dir: &Path) -> io::Result<Option<f64>> {
    let file = dir.join("cpu.max");
    let Some(text) = read_if_there(&file)? else { return Ok(None) };
    let Some((quota, period)) = text.split_once(' ') else { return Err(malformed(&file, &text)) };
    if quota == "max" {
        return Ok(None);
    }
    match (quota.parse(), period.parse()) {
        (Ok(quota), Ok(period)) => ratio(&file, quota, period),
        _ => Err(malformed(&file, &text)),
    }
}

fn ratio(file: &Path, quota: u64, period: u64) -> io::Result<Option<f64>> {
    if period == 0 { Err(malformed(file, "0")) } else { Ok(Some(quota as f64 / period as f64)) }
}

/// A limit; none if the group has no such file (a root) or says that there is none.
fn limit(file: &Path) -> io::Result<Option<u64>> {
    match read_if_there(file)?.as_deref() {
        None | Some("max") => Ok(None),
        Some(text) => {
            let limit: u64 = text.parse().map_err(|_| malformed(file, text))?;
            Ok(Some(limit).filter(|&limit| limit < V1_UNLIMITED))
        }
    }
}

fn count(file: &Path) -> io::Result<u64> {
    let text = read_text(file)?;
    text.parse().map_err(|_| malformed(file, &text))
}

/// The counter `name` of a file of `name value` lines; none if the file or the line is missing.
fn counter(file: &Path, name: &str) -> io::Result<Option<u64>> {
    let Some(text) = read_if_there(file)? else { return Ok(None) };
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.map(|value| value.parse().map_err(|_| malformed(file, value))).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::fixture::Tree;

    const V1_MOUNTS: &str = "\
30 22 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
31 22 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset
32 22 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
33 22 0:29 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
";
    const V1_GROUPS: &str = "4:pids:/a/b\n3:memory:/a/b\n2:cpuset:/\n1:cpu,cpuacct:/a/b\n";
    const V2_MOUNTS: &str = "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";

    fn tree(mounts: &str, groups: &str) -> Tree {
        let tree = Tree::new();
        tree.proc("self/mountinfo", mounts);
        tree.proc("self/cgroup", groups);
        tree
    }

    fn cgroups(tree: &Tree) -> Cgroups {
        Cgroups::read(&tree.roots()).expect("cgroups")
    }

    fn quota(cpus: f64, cgroup: &str) -> Option<Quota> {
        Some(Quota { cpus, cgroup: cgroup.to_owned() })
    }

    #[test]
    fn version_1_takes_the_tightest_ancestor() {
        let tree = tree(V1_MOUNTS, V1_GROUPS);
        for (group, cpu_quota) in [("", "-1\n"), ("/a", "150000\n"), ("/a/b", "400000\n")] {
            tree.sys(&format!("fs/cgroup/cpu,cpuacct{group}/cpu.cfs_quota_us"), cpu_quota);
            tree.sys(&format!("fs/cgroup/cpu,cpuacct{group}/cpu.cfs_period_us"), "100000\n");
        }
        tree.sys("fs/cgroup/pids/a/b/pids.max", "max\n");
        tree.sys("fs/cgroup/pids/a/pids.max", "100\n");
        tree.sys("fs/cgroup/pids/a/pids.current", "30\n");
        tree.sys("fs/cgroup/memory/a/b/memory.limit_in_bytes", "1000\n");
        tree.sys("fs/cgroup/memory/a/b/memory.usage_in_bytes", "700\n");
        tree.sys("fs/cgroup/memory/a/b/memory.stat", "inactive_file 1\ntotal_inactive_file 200\n");
        tree.sys("fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        tree.sys("fs/cgroup/memory/memory.usage_in_bytes", "5\n");
        let cgroups = cgroups(&tree);
        assert_eq!(cgroups.quota().expect("quota"), quota(1.5, "/sys/fs/cgroup/cpu,cpuacct/a"));
        assert_eq!(cgroups.pids_left().expect("pids"), Some(70));
        assert_eq!(cgroups.memory_left().expect("memory"), Some(500));
    }

    #[test]
    fn version_2_takes_the_tightest_ancestor() {
        let tree = tree(V2_MOUNTS, "0::/user.slice/run.scope\n");
        tree.sys("fs/cgroup/user.slice/cpu.max", "50000 100000\n");
        tree.sys("fs/cgroup/user.slice/run.scope/cpu.max", "max 100000\n");
        tree.sys("fs/cgroup/user.slice/run.scope/pids.max", "20\n");
        tree.sys("fs/cgroup/user.slice/run.scope/pids.current", "25\n");
        tree.sys("fs/cgroup/user.slice/memory.max", "max\n");
        let cgroups = cgroups(&tree);
        assert_eq!(cgroups.quota().expect("quota"), quota(0.5, "/sys/fs/cgroup/user.slice"));
        assert_eq!(cgroups.pids_left().expect("pids"), Some(0));
        assert_eq!(cgroups.memory_left().expect("memory"), None);
    }

    #[test]
    fn a_container_sees_its_group_as_the_root_of_the_mount() {
        let quota_at_root = |mounts: &str, groups: &str| {
            let tree = tree(mounts, groups);
            tree.sys("fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
            tree.sys("fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
            cgroups(&tree).quota().expect("quota")
        };
        let mount =
            |root| format!("30 22 0:26 {root} /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n");
        let expected = quota(2.0, "/sys/fs/cgroup/cpu");
        // The host's path, with the mount showing only the group: without and with the group in the mount's root.
        assert_eq!(quota_at_root(&mount("/"), "1:cpu:/docker/c0ffee\n"), expected);
        assert_eq!(quota_at_root(&mount("/docker/c0ffee"), "1:cpu:/docker/c0ffee\n"), expected);
        // A process that was moved in from outside its cgroup namespace.
        assert_eq!(quota_at_root(&mount("/"), "1:cpu:/../other\n"), expected);
    }

    #[test]
    fn a_group_below_the_root_of_the_mount() {
        let tree = tree(
            "30 22 0:26 /docker/c0ffee /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n",
            "1:cpu:/docker/c0ffee/job\n",
        );
        tree.sys("fs/cgroup/cpu/job/cpu.cfs_quota_us", "25000\n");
        tree.sys("fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
        assert_eq!(cgroups(&tree).quota().expect("quota"), quota(0.25, "/sys/fs/cgroup/cpu/job"));
    }

    #[test]
    fn mixed_hierarchies_use_the_one_that_has_the_controller() {
        let mounts = "\
30 22 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
31 22 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";
        let tree = tree(mounts, "1:cpu:/\n0::/x\n");
        tree.sys("fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
        tree.sys("fs/cgroup/unified/x/cpu.max", "1000 100000\n");
        tree.sys("fs/cgroup/unified/x/pids.max", "7\n");
        tree.sys("fs/cgroup/unified/x/pids.current", "1\n");
        let cgroups = cgroups(&tree);
        assert_eq!(cgroups.quota().expect("quota"), None);
        assert_eq!(cgroups.pids_left().expect("pids"), Some(6));
    }

    #[test]
    fn what_cannot_be_known_is_an_error() {
        let unmounted = tree("", "1:cpu:/\n0::/\n");
        let error = cgroups(&unmounted).quota().expect_err("not mounted");
        assert!(error.to_string().contains("cpu controller is not mounted"), "{error}");

        let garbled = tree(V2_MOUNTS, "0::/\n");
        garbled.sys("fs/cgroup/cpu.max", "100000\n");
        let error = cgroups(&garbled).quota().expect_err("malformed");
        assert!(error.to_string().contains("cpu.max"), "{error}");

        assert!(Cgroups::read(&Tree::new().roots()).is_err());
    }

    #[test]
    fn a_kernel_without_the_controller_has_no_limit() {
        let tree = tree(V1_MOUNTS, "2:cpuset:/\n");
        assert_eq!(cgroups(&tree).pids_left().expect("pids"), None);
        assert_eq!(cgroups(&tree).throttling().expect("throttling"), None);
    }

    #[test]
    fn throttling_is_added_up_in_nanoseconds() {
        let v1 = tree(V1_MOUNTS, V1_GROUPS);
        let stat = "nr_periods 9\nnr_throttled 2\nthrottled_time 3000\n";
        v1.sys("fs/cgroup/cpu,cpuacct/a/cpu.stat", stat);
        v1.sys("fs/cgroup/cpu,cpuacct/a/b/cpu.stat", stat);
        let throttling = cgroups(&v1).throttling().expect("throttling");
        assert_eq!(throttling, Some(Throttling { periods: 4, ns: 6000 }));

        let v2 = tree(V2_MOUNTS, "0::/a\n");
        v2.sys("fs/cgroup/cpu.stat", "usage_usec 5\n");
        v2.sys("fs/cgroup/a/cpu.stat", "usage_usec 5\nnr_throttled 1\nthrottled_usec 7\n");
        let throttling = cgroups(&v2).throttling().expect("throttling");
        assert_eq!(throttling, Some(Throttling { periods: 1, ns: 7000 }));
    }
}
