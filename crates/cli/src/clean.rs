//! `vfscale clean`: what even the janitor could not remove.

use crate::Exit;
use crate::args::CleanArgs;
use crate::output;
use anyhow::Context;
use harness::{Found, Owner, find_leftovers, remove_leftover};
use std::fmt::Write;

/// Removes the leftovers directly in the directory.
pub(crate) fn clean(args: &CleanArgs) -> anyhow::Result<Exit> {
    let found =
        find_leftovers(&args.dir).with_context(|| format!("cannot read {}", args.dir.display()))?;
    let mut text = String::new();
    let mut exit = Exit::Done;
    if found.is_empty() {
        let _ = writeln!(text, "nothing to clean in {}", args.dir.display());
    }
    for Found { path, owner } in found {
        let shown = path.display();
        let said = match owner {
            Some(Owner::Gone) => remove(&path, &mut exit),
            Some(Owner::Elsewhere(_)) if args.force => remove(&path, &mut exit),
            Some(Owner::Elsewhere(place)) => format!(
                "{shown}: not removed: made on {place}, which cannot be seen from here; \
                 if that run has ended, use --force"
            ),
            Some(Owner::Running(pid)) => {
                format!("{shown}: not removed: its run (process {pid}) is still going")
            }
            None => format!("{shown}: not removed: it has no marker of vfscale"),
        };
        let _ = writeln!(text, "{said}");
    }
    output::print(&text)?;
    Ok(exit)
}

fn remove(path: &std::path::Path, exit: &mut Exit) -> String {
    match remove_leftover(path) {
        Ok(()) => format!("{}: removed", path.display()),
        Err(error) => {
            *exit = Exit::Failed;
            format!("{}: could not be removed: {error}", path.display())
        }
    }
}
