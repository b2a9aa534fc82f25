//! The manual pages, as the program writes them.

use crate::Program;
use crate::docs::Generated;
use anyhow::Context;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Where they are kept.
pub(crate) const FOLDER: &str = "docs/man";

pub(crate) fn pages(program: &Program, _root: &Path) -> anyhow::Result<Vec<Generated>> {
    let dir = TempDir::with_prefix("vfscale-man-").context("no directory for the pages")?;
    program.run(&["man", "."], dir.path())?;
    let mut pages = Vec::new();
    for entry in fs::read_dir(dir.path())? {
        let entry = entry?;
        let file = Path::new(FOLDER).join(entry.file_name());
        pages.push(Generated { file, bytes: fs::read(entry.path())? });
    }
    Ok(pages)
}
