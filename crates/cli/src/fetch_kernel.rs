//! `vfscale fetch-kernel`: kernels of the distribution's packages, unpacked into the user's cache.

use crate::Exit;
use crate::args::FetchKernelArgs;
use crate::output;

/// One after the other; the first that cannot be had ends it.
pub(crate) fn fetch_kernel(args: &FetchKernelArgs) -> anyhow::Result<Exit> {
    for version in &args.versions {
        let (package, place) = guest::fetch(version)?;
        output::print(&format!("guest:{version} is {package}, in {}\n", place.display()))?;
    }
    Ok(Exit::Done)
}
