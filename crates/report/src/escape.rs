//! Names come from outside (paths, mount options, argv) and may hold anything; a terminal must not obey them.

use std::borrow::Cow;
use std::fmt::Write;

/// True for what would move the cursor, change the terminal's state or the order of what is read: control characters, line
/// and paragraph separators, the marks that turn the direction of writing, and what cannot be seen at all.
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// `text` on one line, as Rust or C would write it in a literal: newline as `\n`, escape as `\x1b`. A backslash stays as it is,
/// so that an ordinary path can be copied from the report.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unprintable) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if !is_unprintable(c) => out.push(c),
            c if u32::from(c) < 0x100 => {
                write!(out, "\\x{:02x}", u32::from(c)).expect("to a String")
            }
            c => write!(out, "\\u{{{:x}}}", u32::from(c)).expect("to a String"),
        }
    }
    Cow::Owned(out)
}

/// `text` as running Markdown text that shows exactly these characters. An underscore inside a word means nothing in
/// CommonMark and stays bare, for the names of workloads are full of them.
pub(crate) fn markdown(text: &str) -> String {
    let text = plain(text);
    let mut out = String::with_capacity(text.len() + 8);
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let in_word = before.is_alphanumeric() && chars.peek().is_some_and(|c| c.is_alphanumeric());
        let special = matches!(c, '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '&' | '|' | '~' | '#');
        if special || (c == '_' && !in_word) {
            out.push('\\');
        }
        out.push(c);
        before = c;
    }
    out
}

/// `text` as a Markdown code span; the fence is longer than any run of backticks inside.
pub(crate) fn markdown_code(text: &str) -> String {
    let text = plain(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad =
        if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// `text` inside of an XML or HTML element or attribute. Characters that XML has not at all are shown as [`plain`] shows them.
pub(crate) fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in plain(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// A number in CSV: the shortest text that reads back as the same float; nothing where there is no number.
pub(crate) fn csv_number(value: Option<f64>) -> Cow<'static, str> {
    value.filter(|value| value.is_finite()).map_or("".into(), |value| value.to_string().into())
}

/// A field of CSV: quoted as RFC 4180 has it, where need be. What a name holds is data here and is not changed.
pub(crate) fn csv(text: &str) -> Cow<'_, str> {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\"")).into()
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_not_sent() {
        let cases = [
            ("/mnt/a b", "/mnt/a b"),
            ("/mnt/\u{e4}\u{6f22}", "/mnt/\u{e4}\u{6f22}"),
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("\u{1b}[31m", "\\x1b[31m"),
            ("\u{7f}\u{9b}", "\\x7f\\x9b"),
            ("a\u{202e}b", "a\\u{202e}b"),
            ("dev\\x2dsda", "dev\\x2dsda"),
        ];
        for (text, expected) in cases {
            assert_eq!(plain(text), expected);
        }
    }

    #[test]
    fn markdown_shows_the_same_characters() {
        let cases = [
            ("open_close", "open_close"),
            ("_x_", "\\_x\\_"),
            ("a|b*c", "a\\|b\\*c"),
            ("<b>\n", "\\<b\\>\\\\n"),
        ];
        for (text, expected) in cases {
            assert_eq!(markdown(text), expected);
        }
    }

    #[test]
    fn xml_has_no_tag_from_outside_and_no_character_that_it_must_not_have() {
        assert_eq!(
            xml("<b a='1'>&\u{1b}\u{ffff}\""),
            "&lt;b a=&#39;1&#39;&gt;&amp;\\x1b\u{fffd}&quot;"
        );
    }

    #[test]
    fn a_code_span_holds_backticks() {
        let cases = [("x", "`x`"), ("a`b", "``a`b``"), ("``", "``` `` ```"), ("", "`  `")];
        for (text, expected) in cases {
            assert_eq!(markdown_code(text), expected);
        }
    }
}
