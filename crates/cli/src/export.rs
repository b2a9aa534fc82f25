//! `vfscale export`: writes a stored run.

use crate::Exit;
use crate::args::{ExportArgs, Usage};
use crate::output::Output;
use crate::runs;
use std::ffi::OsStr;

/// Loads and writes.
pub(crate) fn export(args: &ExportArgs) -> anyhow::Result<Exit> {
    let destination =
        Output::new(args.output.as_deref())?.for_format(args.format.name, args.format.medium)?;
    let (_, run) = runs::load(&args.store, OsStr::new(&args.name))?;
    let seen = |point: &results::Point| point.traced.is_some() || !point.locks.is_empty();
    if args.format.needs_locks() && !run.curves.iter().flat_map(|curve| &curve.points).any(seen) {
        let what = format!("--format {}: this run was taken without --locks", args.format.name);
        return Err(Usage(what).into());
    }
    destination.write(|style| (args.format.render)(&run, &style))?;
    Ok(Exit::Done)
}
