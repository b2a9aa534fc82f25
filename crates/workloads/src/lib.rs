//! The workloads, one file each.
//!
//! To add one: write its file and its line in [`registry!`](self). Each file's header says what is shared, what should
//! scale, which cache line moves, and in which kernel it did not scale.

use vfs_api::{Info, Params, Selected, Suite, Workload};

/// Something done once for every workload, with its type: how a target builds its table of runners.
pub trait Visitor {
    /// Called once for each workload, in the order of the registry.
    fn visit<W: Workload>(&mut self);
}

macro_rules! registry {
    ($($module:ident: $($workload:ident),+;)*) => {
        $(mod $module;)*
        $($(pub use $module::$workload;)+)*

        /// Every workload's description, the default first.
        pub const ALL: &[Info] = &[$($(<$workload as Workload>::INFO),+),*];

        /// Calls `visitor` for every workload.
        pub fn visit_all(visitor: &mut impl Visitor) {
            $($(visitor.visit::<$workload>();)+)*
        }
    };
}

mod common;
mod set;

registry! {
    open_close: OpenClose;
    openbench: Openbench;
    file_ops: FileOps;
    truncate_by_byte: TruncateByByte;
    creat_close: CreatClose;
    fd_read: FdRead;
    fstat: Fstat;
    stat_shared: StatShared;
    open_shared: OpenShared;
    unlink_open: UnlinkOpen;
    own_dir: OpenOwnDir, CreateUnlink, CreateUnlinkOwnDir;
    own_file: LseekOwn, LseekShared, DupClose, LockOwn, LockShared;
    block_io: PreadOwn, PreadSame, PreadStrided, PreadRegion, PwriteOwn, PwriteSame, PwriteStrided, PwriteRegion,
        PreadOwnWritten, PreadSameWritten, PreadRegionWritten, ReadseekSame, ReadseekStrided, WriteseekOwn, WriteseekSame, WriteseekStrided;
    stream_io: ReadOwn, ReadShared, ReadOwnDirect, ReadSharedDirect, WriteOwn;
    fallocate: Fallocate;
    events: PollOne, PollMany, EventfdOwn, PipeOwn;
    map_file: MapUnmap, FaultPrivate, FaultShared;
    grow_cut: AppendOwn, TruncateByPage;
    sync_own: PwriteFsync;
    stat_deep: StatDeepOwn, StatDeepSame, PathDepth, StatTree, StatTreeChanging;
    readdir: ReaddirOwn, ReaddirShared, ReaddirOwnChanging, ReaddirSharedChanging;
    phases: CreateOwn, CreateShared, UnlinkOwn, UnlinkShared, StatFiles, MkdirShared, StatDirs, RmdirShared,
        MdtestFileCreate, MdtestFileStat, MdtestFileRead, MdtestFileRemove, MdtestDirCreate, MdtestDirStat, MdtestDirRemove;
    rename_set: RenameOwn, RenameAcross, RenameToShared;
    fs_mark: FsMark;
    look_up_missing: LookUpMissing;
    ways_to_open: OpenReadonly, OpenPath, Openat2Shared, StatxShared;
    tmpfile: TmpfileClose, TmpfileLink;
    attributes: ChmodOwn, ChmodOwnMount, UtimensOwn, UtimensOwnMount;
    open_watched: OpenWatched;
    open_remounted: OpenRemounted;
    fd_table: DupFull, DupFar, FdGrowth, CloseRange16, FstatOwnTable, DupOwnTable;
}

/// No such workload, or not with these parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoWorkload {
    /// No workload has the name.
    Name(String),
    /// It does not take these parameters.
    Params {
        /// The workload.
        name: &'static str,
        /// In words.
        problem: String,
    },
}

impl std::fmt::Display for NoWorkload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NoWorkload::Name(name) => {
                write!(f, "there is no workload '{name}' (see: vfscale list workloads)")?;
                let near: Vec<&str> = near(name).collect();
                if near.is_empty() {
                    return Ok(());
                }
                write!(f, "; do you mean {}?", near.join(" or "))
            }
            NoWorkload::Params { name, problem } => write!(f, "{name}: {problem}"),
        }
    }
}

impl std::error::Error for NoWorkload {}

/// Names that a wrong one may have meant: they contain it, or begin alike.
fn near(wrong: &str) -> impl Iterator<Item = &'static str> {
    let begins = wrong.chars().take(4).collect::<String>();
    let all = ALL.iter().flat_map(|info| std::iter::once(&info.name).chain(info.aliases)).copied();
    let alike = move |name: &&str| name.contains(&begins) || name.eq_ignore_ascii_case(&begins);
    all.filter(alike).take(5)
}

/// The workload of that name or alias; parameters follow behind a colon: `path_depth:depth=8`.
///
/// # Errors
/// There is none, or it does not take the parameters.
pub fn find(text: &str) -> Result<Selected, NoWorkload> {
    let named =
        |name: &str| ALL.iter().find(|info| info.name == name || info.aliases.contains(&name));
    // Aliases have a colon of their own.
    if let Some(info) = named(text) {
        return Ok(Selected::from(info));
    }
    let (name, params) = text.rsplit_once(':').unwrap_or((text, ""));
    let Some(info) = named(name) else { return Err(NoWorkload::Name(text.to_owned())) };
    match Params::parse(info.params, params) {
        Ok(params) => Ok(Selected::new(info, params)),
        Err(problem) => Err(NoWorkload::Params { name: info.name, problem }),
    }
}

/// The workloads of a suite, in the order of the registry.
pub fn suite(suite: Suite) -> impl Iterator<Item = &'static Info> {
    ALL.iter().filter(move |info| info.suites.contains(&suite))
}

#[cfg(test)]
mod tests;
