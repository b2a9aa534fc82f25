//! The text of a file with its name: lines with numbers, figures out of words, errors that say where.

use crate::ImportError;
use std::str::FromStr;

/// Characters of the file that an error shows.
const SHOWN: usize = 60;

/// A file that is being read.
#[derive(Clone, Copy)]
pub(crate) struct Text<'a> {
    /// As it was given.
    pub(crate) file: &'a str,
    /// Its contents.
    pub(crate) text: &'a str,
}

/// A line and its number, from 1.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) number: usize,
    /// Without the end of line, also of DOS.
    pub(crate) text: &'a str,
}

impl<'a> Text<'a> {
    pub(crate) fn new(file: &'a str, text: &'a str) -> Text<'a> {
        // Some editors begin a file with a byte order mark.
        Text { file, text: text.strip_prefix('\u{feff}').unwrap_or(text) }
    }

    pub(crate) fn lines(&self) -> impl Iterator<Item = Line<'a>> + use<'a> {
        let lines = self.text.lines().enumerate();
        lines.map(|(index, text)| Line { number: index + 1, text: text.trim_end() })
    }

    /// The file's name without directories and extension.
    pub(crate) fn stem(&self) -> &'a str {
        let name = self.file.rsplit('/').next().unwrap_or(self.file);
        match name.split_once('.') {
            Some((stem, _)) if !stem.is_empty() => stem,
            _ => name,
        }
    }

    /// `expected` is not what stands in `line`.
    pub(crate) fn error(&self, line: Line<'_>, expected: impl Into<String>) -> ImportError {
        self.error_at(Some(line.number), expected, shown(line.text))
    }

    pub(crate) fn error_at(
        &self,
        line: Option<usize>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> ImportError {
        ImportError::Content {
            file: self.file.into(),
            line,
            expected: expected.into(),
            found: found.into(),
        }
    }

    /// A number out of `word`; `what` names it.
    pub(crate) fn number<T: FromStr>(
        &self,
        line: Line<'_>,
        what: &str,
        word: Option<&str>,
    ) -> Result<T, ImportError> {
        let number = word.and_then(|word| word.trim().parse().ok());
        number.ok_or_else(|| {
            let found = word.map_or("nothing".into(), shown);
            self.error_at(Some(line.number), format!("a number ({what})"), found)
        })
    }
}

/// `text` quoted for a message: short, and with nothing in it that a terminal would obey.
pub(crate) fn shown(text: &str) -> String {
    let short: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    let more = if text.chars().nth(SHOWN).is_some() { "..." } else { "" };
    format!("\"{short}{more}\"")
}

/// Words and numbers of which a program made names: `Sequential Reads` as `sequential-reads`.
pub(crate) fn kebab(name: &str) -> String {
    let words: Vec<String> = name.split_whitespace().map(str::to_lowercase).collect();
    words.join("-")
}

/// RFC 3339 of seconds since 1970; none beyond what that can write.
pub(crate) fn date(seconds: u64) -> Option<String> {
    const YEAR_10000: u64 = 253_402_300_800;
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    (seconds < YEAR_10000).then(|| humantime::format_rfc3339_seconds(time).to_string())
}

/// Does `text` begin with a digit, blanks aside?
pub(crate) fn begins_with_digit(text: &str) -> bool {
    text.trim_start().starts_with(|c: char| c.is_ascii_digit())
}

/// Of `key = value` after `prefix`, blanks aside.
pub(crate) fn assignment<'a>(line: &'a str, prefix: &str) -> Option<(&'a str, &'a str)> {
    let (key, value) = line.trim_start().strip_prefix(prefix)?.split_once('=')?;
    Some((key.trim(), value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stem_is_the_name_without_directories_and_extensions() {
        let cases = [
            ("a/b/open1.csv", "open1"),
            ("open1", "open1"),
            ("x/.hidden", ".hidden"),
            ("a.b/c.tar.gz", "c"),
            ("", ""),
            ("a/", ""),
        ];
        for (file, stem) in cases {
            assert_eq!(Text::new(file, "").stem(), stem, "of {file}");
        }
    }

    #[test]
    fn errors_show_little_and_nothing_that_a_terminal_obeys() {
        let text = Text::new("f", "");
        let evil = format!("\u{1b}[2J{}", "x".repeat(1000));
        let error = text.error(Line { number: 7, text: &evil }, "a row").to_string();
        assert!(error.starts_with("f:7: expected a row, found \"\\u{1b}[2Jxxx"), "{error}");
        assert!(error.len() < 120 && !error.contains('\u{1b}'), "{error}");
        let line = Line { number: 1, text: "" };
        let missing = text.number::<u32>(line, "tasks", None).unwrap_err().to_string();
        assert_eq!(missing, "f:1: expected a number (tasks), found nothing");
    }

    #[test]
    fn lines_of_dos_and_a_byte_order_mark_change_nothing() {
        let text = Text::new("f", "\u{feff}a,b\r\nc");
        let lines: Vec<_> = text.lines().map(|line| (line.number, line.text)).collect();
        assert_eq!(lines, [(1, "a,b"), (2, "c")]);
    }
}
