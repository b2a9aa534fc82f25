//! `vfscale completions`: what a shell needs to complete its command lines, made from their definition.

use crate::Exit;
use crate::args::CompletionsArgs;
use crate::{help, output};

/// Prints them.
pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut help::command(), "vfscale", &mut script);
    output::print(&String::from_utf8(script)?)?;
    Ok(Exit::Done)
}
