//! The workloads, one file each.
//!
//! To add one: write its file and its line in [`registry!`](self). Each file's header says what is shared, what should
//! scale, which cache line moves, and in which kernel it did not scale.

use vfs_api::{Info, Workload};

/// Something done once for every workload, with its type: how a target builds its table of runners.
pub trait Visitor {
    /// Called once for each workload, in the order of the registry.
    fn visit<W: Workload>(&mut self);
}

macro_rules! registry {
    ($($module:ident::$workload:ident),* $(,)?) => {
        $(mod $module;)*
        $(pub use $module::$workload;)*

        /// Every workload's description, the default first.
        pub const ALL: &[Info] = &[$($workload::INFO),*];

        /// Calls `visitor` for every workload.
        pub fn visit_all(visitor: &mut impl Visitor) {
            $(visitor.visit::<$workload>();)*
        }
    };
}

mod common;

registry! {
    open_close::OpenClose,
    openbench::Openbench,
    file_ops::FileOps,
    truncate_by_byte::TruncateByByte,
    creat_close::CreatClose,
    fd_read::FdRead,
    fstat::Fstat,
    stat_shared::StatShared,
    open_shared::OpenShared,
    unlink_open::UnlinkOpen,
}

/// The workload of that name or alias.
pub fn find(name: &str) -> Option<&'static Info> {
    ALL.iter().find(|info| info.name == name || info.aliases.contains(&name))
}

#[cfg(test)]
mod tests;
