//! What goes into a plain-text mail: ASCII, 72 columns.

use crate::Style;
use crate::escape;

/// How tables and plots are made for a mail.
pub(crate) const STYLE: Style =
    Style { colour: false, unicode: false, width: WIDTH, verbose: false };

/// A patch's cover letter is wrapped here (Documentation/process/submitting-patches).
const WIDTH: u16 = 72;

/// A name from outside: nothing in it is obeyed, and what is not ASCII is written as an escape.
pub(crate) fn name(text: &str) -> String {
    ascii(&escape::plain(text))
}

/// `text` without signs beyond ASCII.
pub(crate) fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '±' => out.push_str("+-"),
            '→' => out.push_str("->"),
            'λ' => out.push_str("lambda"),
            'σ' => out.push_str("sigma"),
            'κ' => out.push_str("kappa"),
            c if c.is_ascii() => out.push(c),
            c => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
        }
    }
    out
}

/// Broken into lines of at most 72 columns at blanks; further lines are indented. A word that is longer is broken where it
/// must be: a line that is too long is folded by the mailer, at a place that is no better.
pub(crate) fn wrap(text: &str) -> String {
    let width = usize::from(WIDTH);
    let mut lines = vec![String::new()];
    for word in ascii(text).split(' ').filter(|word| !word.is_empty()) {
        let mut word = word;
        loop {
            let indent = if lines.len() > 1 { 2 } else { 0 };
            let line = lines.last_mut().expect("there is a line");
            let fresh = line.trim().is_empty();
            let room = width.saturating_sub(if fresh { indent } else { line.len() + 1 });
            if word.len() <= room {
                if !fresh {
                    line.push(' ');
                }
                line.push_str(word);
                break;
            }
            if fresh {
                let (now, later) = word.split_at(room);
                line.push_str(now);
                word = later;
            }
            lines.push("  ".to_owned());
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn long_lines_are_broken_at_blanks() {
        let text = "one ".repeat(40);
        let wrapped = wrap(&text);
        assert_eq!(wrapped.lines().count(), 3);
        assert!(wrapped.lines().skip(1).all(|line| line.starts_with("  one")));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_is_too_wide(text in "\\PC{0,300}") {
            let wrapped = wrap(&text);
            prop_assert!(wrapped.is_ascii());
            prop_assert!(wrapped.lines().all(|line| line.len() <= 72), "{wrapped}");
            let bare = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(bare(&wrapped), bare(&ascii(&text)));
        }
    }
}
