//! The built program, called as a reader of the documents would call it.

use anyhow::{Context, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A built `vfscale`.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
}

impl Program {
    /// The program at `path`.
    pub fn new(path: impl Into<PathBuf>) -> Program {
        Program { path: path.into() }
    }

    /// What it prints to stdout when it is called with `arguments` in an empty directory that is also its home, and with stdout a
    /// UTF-8 terminal's, 100 columns wide.
    ///
    /// # Errors
    /// It cannot be started, or fails; says what it said.
    pub fn output(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let home = TempDir::with_prefix("vfscale-docs-").context("no directory to run it in")?;
        self.run(arguments, home.path())
    }

    /// As [`Program::output`], for a command as a document shows it: words with blanks between them, the first of them `vfscale`.
    ///
    /// # Errors
    /// As there, or it is another command.
    pub fn typed(&self, command: &str) -> anyhow::Result<String> {
        let words: Vec<&str> = command.split(' ').collect();
        match words[..] {
            ["vfscale", ref arguments @ ..] => self.output(arguments),
            _ => bail!("`{command}` is not a plain call of vfscale"),
        }
    }

    /// As [`Program::output`], but in `dir`.
    ///
    /// # Errors
    /// As there.
    pub fn run(&self, arguments: &[&str], dir: &Path) -> anyhow::Result<String> {
        let mut command = Command::new(&self.path);
        command.args(arguments).current_dir(dir).env("HOME", dir).env("LC_ALL", "C.UTF-8");
        for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "NO_COLOR"] {
            command.env_remove(name);
        }
        let output =
            command.output().with_context(|| format!("cannot start {}", self.path.display()))?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "vfscale {}: {said}", arguments.join(" "));
        String::from_utf8(output.stdout).context("its output is not UTF-8")
    }
}
