//! Where a result goes: stdout, or a file that is written whole or not at all.

use crate::args::Usage;
use anyhow::Context;
use report::{Medium, Style};
use std::io::{ErrorKind, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
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
        // As `> FILE` would, follow a link to what it stands for: a rename would put the result in the link's place.
        let resolve = |file: &Path| file.canonicalize().unwrap_or_else(|_| file.to_owned());
        let file = file.filter(|file| !is_stdout(file)).map(resolve);
        if let Some(file) = &file {
            let shown = file.display();
            if file.is_dir() || file.as_os_str().as_bytes().ends_with(b"/") {
                return Err(Usage(format!("--output: {shown} is a directory")).into());
            }
            let place = if is_special(file) { file } else { parent(file) };
            rustix::fs::access(place, rustix::fs::Access::WRITE_OK).map_err(|errno| {
                let error = std::io::Error::from(errno);
                Usage(format!("--output: cannot write {shown}: {error}"))
            })?;
        }
        Ok(Output { file })
    }

    /// The same for a result in the format called `name`.
    ///
    /// # Errors
    /// It would go to a terminal, which cannot show it.
    pub(crate) fn for_format(self, name: &str, medium: Medium) -> anyhow::Result<Output> {
        let shown = self.file.is_none() && std::io::stdout().is_terminal();
        if shown && medium == Medium::File {
            let what = format!(
                "a terminal cannot show {name}: write it to a file with -o FILE.{name}, or redirect it"
            );
            return Err(Usage(what).into());
        }
        Ok(self)
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
                tell(&format!("written to {}", file.display()));
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
    let tamed = out.is_terminal().then(|| tamed(text));
    let text = tamed.as_deref().unwrap_or(text);
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("cannot write the result")
        }
        _ => Ok(()),
    }
}

/// `text` for a terminal: nothing in it steers one but the colours of our own formats. In CSV and JSON a name is data and stands as it
/// is, which in a file is right.
fn tamed(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let colour = colour(rest);
        let (taken, next) = rest.split_at(colour.max(c.len_utf8()));
        match c {
            '\n' | '\t' => shown.push(c),
            c if colour == 0 && report::is_unprintable(c) => shown.extend(c.escape_default()),
            _ => shown.push_str(taken),
        }
        rest = next;
    }
    shown
}

/// Length of the sequence for colour or weight that `text` begins with, or 0: ESC [ digits and semicolons m.
fn colour(text: &str) -> usize {
    let Some(numbers) = text.strip_prefix("\u{1b}[") else { return 0 };
    let after = numbers.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
    if after.starts_with('m') { text.len() - after.len() + 1 } else { 0 }
}

/// Tells the user something on stderr. That nobody can read it stops nothing; names in it cannot steer a terminal.
pub(crate) fn tell(text: &str) {
    let mut shown = harmless(text);
    shown.push('\n');
    let _ = std::io::stderr().lock().write_all(shown.as_bytes());
}

/// [`tell`] for what is one line, whatever the names in it hold.
pub(crate) fn tell_line(text: &str) {
    tell(&one_line(text));
}

/// [`harmless`], and on one line.
pub(crate) fn one_line(text: &str) -> String {
    harmless(text).replace('\n', "\\n")
}

/// `text` without what a terminal would obey; newlines stay.
pub(crate) fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() + 1);
    for c in text.chars() {
        if report::is_unprintable(c) && c != '\n' {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Style for what goes to stdout.
pub(crate) fn terminal_style() -> Style {
    let stdout = std::io::stdout();
    let terminal = stdout.is_terminal();
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = is_dumb();
    let size = rustix::termios::tcgetwinsize(&stdout).ok().map(|size| size.ws_col);
    Style {
        colour: terminal && !no_colour && !dumb,
        unicode: is_unicode(&stdout),
        width: size.filter(|width| *width >= 40).unwrap_or(100),
        verbose: false,
    }
}

/// Whether what is written there may hold characters beyond ASCII.
pub(crate) fn is_unicode(stream: &impl IsTerminal) -> bool {
    is_utf8() && !(stream.is_terminal() && is_dumb())
}

fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
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

/// Whether it is another name of stdout (/dev/stdout, or the file that the shell has redirected it to).
fn is_stdout(file: &Path) -> bool {
    let same = |meta: std::fs::Metadata| {
        rustix::fs::fstat(std::io::stdout())
            .is_ok_and(|stat| (stat.st_dev, stat.st_ino) == (meta.dev(), meta.ino()))
    };
    file.metadata().is_ok_and(same)
}

/// A temporary file beside it, then rename: an old result is not lost to a full disk.
fn replace(file: &Path, text: &str) -> anyhow::Result<()> {
    if is_special(file) {
        return Ok(std::fs::write(file, text)?);
    }
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    let mut builder = tempfile::Builder::new();
    let mut temporary = builder.prefix(".vfscale-").permissions(mode).tempfile_in(parent(file))?;
    if let Ok(old) = file.metadata() {
        // Who keeps a file private wants its successor private.
        temporary.as_file().set_permissions(old.permissions())?;
    }
    temporary.write_all(text.as_bytes())?;
    temporary.as_file().sync_all()?;
    temporary.persist(file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_colours_and_nothing_else_that_it_would_obey() {
        let cases = [
            ("plain ± ⣀\n\tx", "plain ± ⣀\n\tx"),
            ("\u{1b}[1mbold\u{1b}[0m \u{1b}[38;5;4mx", "\u{1b}[1mbold\u{1b}[0m \u{1b}[38;5;4mx"),
            ("\u{1b}[2J\u{1b}]0;x\u{7}", "\\u{1b}[2J\\u{1b}]0;x\\u{7}"),
            ("a\u{202e}b\u{9b}1mc\r", "a\\u{202e}b\\u{9b}1mc\\r"),
            ("\u{1b}", "\\u{1b}"),
            ("\u{1b}[", "\\u{1b}["),
        ];
        for (text, shown) in cases {
            assert_eq!(tamed(text), shown);
        }
    }

    #[test]
    fn a_name_cannot_break_a_line_in_two() {
        let plan = "plan: open_close on dir:/mnt/a\nplan: nothing\u{1b}[2J";
        assert_eq!(one_line(plan), "plan: open_close on dir:/mnt/a\\nplan: nothing\\u{1b}[2J");
    }
}
