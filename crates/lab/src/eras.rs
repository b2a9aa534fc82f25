//! Eras: one design per part, and the spinlock of the time.
//!
//! On the command line `linux-2.6.20`, or with parts replaced: `linux-2.6.7,fd_table=rcu`.

use crate::design::DesignInfo;
use crate::{dir_lock, fd_table, file_list, mount_ref, orphan_list, path_walk, write_count};
use machine::SpinKind;
use std::fmt;

/// The design of each part, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Descriptors.
    pub fd_table: &'static str,
    /// Open files of a super block.
    pub file_list: &'static str,
    /// Writers of a mount.
    pub write_count: &'static str,
    /// References to a mount.
    pub mount_ref: &'static str,
    /// Path walk and dentries.
    pub path_walk: &'static str,
    /// Lock of a directory.
    pub dir_lock: &'static str,
    /// Orphans.
    pub orphan_list: &'static str,
}

/// A named set of designs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Era {
    /// On the command line.
    pub name: &'static str,
    /// Its designs.
    pub parts: Parts,
    /// Its spinlock.
    pub spin: SpinKind,
}

const LINUX_2_6_7: Parts = Parts {
    fd_table: "spinlock",
    file_list: "global",
    write_count: "none",
    mount_ref: "shared",
    path_walk: "dcache_lock_fs_root",
    dir_lock: "mutex",
    orphan_list: "mutex",
};
const LINUX_2_6_14: Parts = Parts { fd_table: "rcu", ..LINUX_2_6_7 };
const LINUX_2_6_26: Parts = Parts { write_count: "percpu_spin", ..LINUX_2_6_14 };
const LINUX_2_6_30: Parts =
    Parts { write_count: "percpu_hold", dir_lock: "mutex_spinning", ..LINUX_2_6_26 };
const LINUX_2_6_32: Parts = Parts { path_walk: "dcache_lock", ..LINUX_2_6_30 };
const VFS_SCALE: Parts =
    Parts { file_list: "lglock", mount_ref: "percpu", path_walk: "dentry_locks", ..LINUX_2_6_32 };
const LINUX_2_6_36: Parts = Parts { file_list: "lglock", ..LINUX_2_6_32 };
const LINUX_2_6_38: Parts =
    Parts { mount_ref: "long_short", path_walk: "rcu_walk", ..LINUX_2_6_36 };
const LINUX_3_13: Parts = Parts { file_list: "none", ..LINUX_2_6_38 };
const LINUX_3_16: Parts = Parts { orphan_list: "reduced", ..LINUX_3_13 };
const LINUX_5_15: Parts =
    Parts { path_walk: "rcu_walk_fast_dput", dir_lock: "rwsem", orphan_list: "file", ..LINUX_3_16 };
const LINUX_6_18: Parts =
    Parts { fd_table: "typesafe", dir_lock: "rwsem_lockless_create", ..LINUX_5_15 };

const fn era(name: &'static str, spin: SpinKind, parts: Parts) -> Era {
    Era { name, parts, spin }
}

use SpinKind::{Queued, TestAndSet, Ticket};

/// Every era, in the order of time.
///
/// An era is the kernel's set of designs as far as the five threads go: what a kernel of that number had elsewhere is not here.
pub const ERAS: &[Era] = &[
    era("linux-2.6.7", TestAndSet, LINUX_2_6_7),
    era("linux-2.6.7+rwlock", TestAndSet, Parts { fd_table: "rwlock", ..LINUX_2_6_7 }),
    era("linux-2.6.7+kref", TestAndSet, Parts { fd_table: "kref", ..LINUX_2_6_7 }),
    era("linux-2.6.14", TestAndSet, LINUX_2_6_14),
    era("linux-2.6.20", TestAndSet, LINUX_2_6_14),
    era("linux-2.6.20+s_files", TestAndSet, Parts { file_list: "filevec", ..LINUX_2_6_14 }),
    era("linux-2.6.20+ro-bind", TestAndSet, Parts { write_count: "spinlock", ..LINUX_2_6_14 }),
    era(
        "linux-2.6.20+ro-bind-cached-flag",
        TestAndSet,
        Parts { write_count: "atomic_cached_flag", ..LINUX_2_6_14 },
    ),
    era("linux-2.6.26", Ticket, LINUX_2_6_26),
    era("linux-2.6.30", Ticket, LINUX_2_6_30),
    era("linux-2.6.32", Ticket, LINUX_2_6_32),
    era("linux-2.6.32+vfs-scale", Ticket, VFS_SCALE),
    era(
        "linux-2.6.32+vfs-scale+remount-bug",
        Ticket,
        Parts { mount_ref: "percpu_remount_bug", ..VFS_SCALE },
    ),
    era("linux-2.6.36", Ticket, LINUX_2_6_36),
    era("linux-2.6.38", Ticket, LINUX_2_6_38),
    era("linux-3.13", Ticket, LINUX_3_13),
    era("linux-3.15", Ticket, LINUX_3_13),
    era("linux-3.15+hashed-orphan", Ticket, Parts { orphan_list: "hashed", ..LINUX_3_13 }),
    era("linux-3.16", Ticket, LINUX_3_16),
    era("linux-5.15", Queued, LINUX_5_15),
    era("linux-6.18", Queued, LINUX_6_18),
];

/// Every design of every part.
pub fn designs() -> impl Iterator<Item = &'static DesignInfo> {
    [
        fd_table::DESIGNS,
        file_list::DESIGNS,
        write_count::DESIGNS,
        mount_ref::DESIGNS,
        path_walk::DESIGNS,
        dir_lock::DESIGNS,
        orphan_list::DESIGNS,
    ]
    .into_iter()
    .flatten()
}

impl Parts {
    /// Part and design, in the order of the fields.
    pub fn iter(&self) -> [(&'static str, &'static str); 7] {
        [
            ("fd_table", self.fd_table),
            ("file_list", self.file_list),
            ("write_count", self.write_count),
            ("mount_ref", self.mount_ref),
            ("path_walk", self.path_walk),
            ("dir_lock", self.dir_lock),
            ("orphan_list", self.orphan_list),
        ]
    }

    fn set(&mut self, part: &str, design: &'static str) {
        let field = match part {
            "fd_table" => &mut self.fd_table,
            "file_list" => &mut self.file_list,
            "write_count" => &mut self.write_count,
            "mount_ref" => &mut self.mount_ref,
            "path_walk" => &mut self.path_walk,
            "dir_lock" => &mut self.dir_lock,
            _ => &mut self.orphan_list,
        };
        *field = design;
    }
}

/// Why a name is no kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoKernel(String);

impl fmt::Display for NoKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoKernel {}

/// The era and overrides of `ERA[,part=design]...`.
///
/// # Errors
/// An unknown era, part or design, a part given twice, or parts that do not go together; the text lists what there is.
pub fn parse(text: &str) -> Result<Era, NoKernel> {
    let mut words = text.split(',');
    let name = words.next().unwrap_or_default();
    let mut era = *ERAS.iter().find(|era| era.name == name).ok_or_else(|| {
        let names: Vec<&str> = ERAS.iter().map(|era| era.name).collect();
        NoKernel(format!("there is no era '{name}'; there are: {}", names.join(", ")))
    })?;
    let mut chosen = Vec::new();
    for word in words {
        let Some((part, design)) = word.split_once('=') else {
            return Err(NoKernel(format!("'{word}': write part=design")));
        };
        let of_part: Vec<&DesignInfo> = designs().filter(|info| info.part == part).collect();
        if of_part.is_empty() {
            let parts: Vec<&str> = era.parts.iter().map(|(part, _)| part).into();
            return Err(NoKernel(format!(
                "there is no part '{part}'; there are: {}",
                parts.join(", ")
            )));
        }
        let Some(info) = of_part.iter().find(|info| info.name == design) else {
            let names: Vec<&str> = of_part.iter().map(|info| info.name).collect();
            let names = names.join(", ");
            return Err(NoKernel(format!("{part} has no design '{design}'; there are: {names}")));
        };
        if chosen.contains(&part) {
            return Err(NoKernel(format!("{part} is given twice; a kernel has one design of it")));
        }
        chosen.push(part);
        era.parts.set(part, info.name);
    }
    if era.parts.write_count == "none" && era.parts.file_list == "none" {
        return Err(NoKernel(
            "write_count=none finds writers on the list of open files, and file_list=none has none: \
             no kernel had both"
                .into(),
        ));
    }
    Ok(era)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_era_names_designs_that_there_are() {
        for era in ERAS {
            for (part, design) in era.parts.iter() {
                let known = designs().any(|info| info.part == part && info.name == design);
                assert!(known, "{}: {part}={design}", era.name);
            }
            assert_eq!(parse(era.name).as_ref(), Ok(era));
        }
    }

    #[test]
    fn overrides_replace_one_part() {
        let era = parse("linux-2.6.7,fd_table=rcu").unwrap();
        assert_eq!(era.parts, Parts { fd_table: "rcu", ..LINUX_2_6_7 });
        for wrong in [
            "linux-1.0",
            "",
            "linux-2.6.7,fd_table",
            "linux-2.6.7,fd=rcu",
            "linux-2.6.7,fd_table=x",
            "linux-2.6.7,file_list=none",
            "linux-2.6.7,fd_table=rcu,fd_table=kref",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
