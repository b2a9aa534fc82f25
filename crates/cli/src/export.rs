//! `vfscale export`: writes a stored run.

use crate::Exit;
use crate::args::ExportArgs;
use crate::output::Output;
use crate::runs;
use std::ffi::OsStr;

/// Loads and writes.
pub(crate) fn export(args: &ExportArgs) -> anyhow::Result<Exit> {
    let destination =
        Output::new(args.output.as_deref())?.for_format(args.format.name, args.format.medium)?;
    let (_, run) = runs::load(&args.store, OsStr::new(&args.name))?;
    destination.write(|style| (args.format.render)(&run, &style))?;
    Ok(Exit::Done)
}
