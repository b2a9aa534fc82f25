//! Where a result goes: stdout, or a file that is written whole or not at all.

use anyhow::Context;
use report::Style;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Destination of a result.
pub(crate) struct Output {
    file: Option<PathBuf>,
}

impl Output {
    /// To `file`, or to stdout. Looks now whether the file can be written, not when the measurement is over.
    ///
    /// # Errors
    /// It cannot.
    pub(crate) fn new(file: Option<&Path>) -> anyhow::Result<Output> {
        if let Some(file) = file {
            let dir = parent(file);
            if file.is_dir() {
                return Err(crate::args::Usage(format!("--output: {} is a directory", file.display())).into());
            }
            let place = if is_special(file) { file } else { dir };
            rustix::fs::access(place, rustix::fs::Access::WRITE_OK).map_err(|errno| {
                let error = std::io::Error::from(errno);
                crate::args::Usage(format!("--output: cannot write {}: {error}", file.display()))
            })?;
        }
        Ok(Output { file: file.map(Path::to_owned) })
    }

    /// Renders and writes.
    ///
    /// # Errors
    /// The file cannot be written; then the result is on stdout, so that nothing is lost.
    pub(crate) fn write(&self, render: impl Fn(Style) -> String) -> anyhow::Result<()> {
        let Some(file) = &self.file else {
            return print(&render(terminal_style()));
        };
        let text = render(Style { colour: false, unicode: is_utf8(), width: 100, verbose: false });
        match replace(file, &text) {
            Ok(()) => {
                eprintln!("written to {}", file.display());
                Ok(())
            }
            Err(error) => {
                print(&text)?;
                Err(error).with_context(|| {
                    format!("cannot write {}; the result is on the standard output", file.display())
                })
            }
        }
    }
}

/// Prints to stdout. A reader who has seen enough (`| head`) is no error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context("cannot write the result"),
        _ => Ok(()),
    }
}

/// Style for what goes to stdout.
pub(crate) fn terminal_style() -> Style {
    let stdout = std::io::stdout();
    let terminal = stdout.is_terminal();
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let size = rustix::termios::tcgetwinsize(&stdout).ok().map(|size| size.ws_col);
    Style {
        colour: terminal && !no_colour && !dumb,
        unicode: is_utf8() && !(terminal && dumb),
        width: size.filter(|width| *width >= 40).unwrap_or(100),
        verbose: false,
    }
}

/// Whether the locale's encoding is UTF-8: LC_ALL before LC_CTYPE before LANG, as setlocale(3) has it.
fn is_utf8() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    locale.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

fn parent(file: &Path) -> &Path {
    match file.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    }
}

/// A device or pipe (/dev/stdout, /dev/null): there is nothing to rename over.
fn is_special(file: &Path) -> bool {
    file.metadata().is_ok_and(|meta| !meta.is_file() && !meta.is_dir())
}

/// A temporary file beside it, then rename: an old result is not lost to a full disk.
fn replace(file: &Path, text: &str) -> anyhow::Result<()> {
    if is_special(file) {
        return Ok(std::fs::write(file, text)?);
    }
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    let mut builder = tempfile::Builder::new();
    let mut temporary = builder.prefix(".vfscale-").permissions(mode).tempfile_in(parent(file))?;
    temporary.write_all(text.as_bytes())?;
    temporary.as_file().sync_all()?;
    temporary.persist(file)?;
    Ok(())
}
