//! Output shown in the documents: a block that follows a command is what the command prints.
//!
//! A document says so with a line [`MARK`] between the command's block and the output's:
//!
//! ````text
//! ```console
//! $ vfscale run open_close --on sim:8-socket-2007/linux-2.6.20 --seed 1 --rounds 8
//! ```
//!
//! <!-- output: written by cargo xtask docs -->
//! ```text
//! ```
//! ````
//!
//! The command must print the same each time: a simulation with a seed and a number of rounds does, a measurement does not.
//! So it does in one build: the last digits of a simulation differ between debug and release builds, and a debug build counts here.

use crate::Program;
use crate::docs::Generated;
use anyhow::{Context, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// What stands before a block that is generated.
pub const MARK: &str = "<!-- output: written by cargo xtask docs -->";

/// A command of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Behind the `$`.
    pub command: String,
    /// Its output is shown, and generated.
    pub generated: bool,
}

/// The commands of a document: lines that begin with `$ ` in blocks marked as `console`.
pub fn commands(text: &str) -> Vec<Shown> {
    let mut inside = false;
    let mut commands: Vec<Shown> = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if inside && let Some(command) = line.strip_prefix("$ ") {
            commands.push(Shown { command: command.to_owned(), generated: false });
        } else if line == MARK
            && let Some(last) = commands.last_mut()
        {
            last.generated = true;
        }
    }
    commands
}

/// The Markdown files whose blocks are looked at: those of `docs`, without the root's, which people write around measured runs.
///
/// # Errors
/// A folder cannot be read.
pub fn files(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        let shown = folder.display().to_string();
        for entry in
            fs::read_dir(root.join(&folder)).with_context(|| format!("cannot list {shown}"))?
        {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// The documents with generated blocks, as they have to be.
pub(crate) fn documents(program: &Program, root: &Path) -> anyhow::Result<Vec<Generated>> {
    let mut documents = Vec::new();
    for file in files(root)? {
        let text = fs::read_to_string(root.join(&file))
            .with_context(|| format!("cannot read {}", file.display()))?;
        if text.lines().any(|line| line == MARK) {
            let filled = fill(&text, |command| program.typed(command))
                .with_context(|| format!("{}", file.display()))?;
            documents.push(Generated { file, bytes: filled.into_bytes() });
        }
    }
    Ok(documents)
}

/// `text` with what `run` says of the commands in the blocks behind each [`MARK`].
fn fill(text: &str, run: impl Fn(&str) -> anyhow::Result<String>) -> anyhow::Result<String> {
    let mut filled = String::with_capacity(text.len());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        filled.push_str(line);
        filled.push('\n');
        if line != MARK {
            continue;
        }
        let shown = commands(&filled);
        let Some(Shown { command, .. }) = shown.last() else {
            bail!("an output without a command before it");
        };
        if lines.next() != Some("```text") {
            bail!("the line after the mark of `{command}` must be ```text");
        }
        if !lines.any(|line| line == "```") {
            bail!("the output of `{command}` does not end");
        }
        let output = run(command)?;
        filled.push_str("```text\n");
        // Blanks at the ends of lines are invisible, and editors take them away.
        for line in output.trim_end().lines() {
            filled.push_str(line.trim_end());
            filled.push('\n');
        }
        filled.push_str("```\n");
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(output: &str) -> String {
        let command = "```console\n$ vfscale list\n$ vfscale run x\n```\n";
        format!("# A\n\n{command}\n{MARK}\n```text\n{output}```\n\n```text\nmine\n```\n")
    }

    #[test]
    fn a_block_is_what_the_command_before_it_prints_and_the_rest_stays() {
        let run = |command: &str| Ok(format!("{command}:  \n\nb\n\n"));
        for before in ["", "old\n\nold\n"] {
            let filled = fill(&document(before), run).expect("it is well formed");
            assert_eq!(filled, document("vfscale run x:\n\nb\n"));
        }
    }

    #[test]
    fn a_mark_in_a_wrong_place_is_an_error() {
        let run = |_: &str| Ok(String::new());
        for wrong in [
            format!("{MARK}\n```text\n```\n"),
            format!("```console\n$ x\n```\n{MARK}\n\n```text\n```\n"),
            format!("```console\n$ x\n```\n{MARK}\n```text\n"),
        ] {
            assert!(fill(&wrong, run).is_err(), "{wrong}");
        }
    }

    #[test]
    fn commands_are_found_with_whether_their_output_is_shown() {
        let shown = |command: &str, generated| Shown { command: command.into(), generated };
        let wanted = [shown("vfscale list", false), shown("vfscale run x", true)];
        assert_eq!(commands(&document("$ no\n")), wanted);
    }
}
