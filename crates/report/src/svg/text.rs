//! How wide text is, without a font: an estimate that is rather too wide, so that nothing is cut or runs into its neighbour.

use crate::escape;

/// Size of all text, in user units.
pub(super) const SIZE: f64 = 13.0;

/// Wide fonts first: the estimate is made for them, and in any other one there is room left.
pub(super) const FAMILY: &str = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif";

/// Width of `text` at [`SIZE`]. After DejaVu Sans, which is wider than what most systems take for sans-serif.
pub(super) fn width(text: &str) -> f64 {
    text.chars().map(advance).sum::<f64>() * SIZE
}

/// In ems.
fn advance(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | ' ' | '!' => 0.34,
        'f' | 't' | 'r' | 'I' | 'J' | '(' | ')' | '[' | ']' | '/' | '-' | '\\' | '"' => 0.46,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 1.0,
        'A'..='Z' | '+' | '<' | '>' | '=' | '~' | '#' | '&' => 0.84,
        c if c.is_ascii() => 0.64,
        // A full-width character takes an em; what has more (some emoji) is rare.
        _ => 1.05,
    }
}

/// `text` on one line in at most `room`, with an ellipsis for what does not fit.
pub(super) fn fit(text: &str, room: f64) -> String {
    let text = escape::plain(text);
    if width(&text) <= room {
        return text.into_owned();
    }
    let mut left = room - width("\u{2026}");
    let fits = text.chars().take_while(|&c| {
        left -= advance(c) * SIZE;
        left >= 0.0
    });
    fits.collect::<String>().trim_end().to_owned() + "\u{2026}"
}

/// `text` in lines of at most `room`, broken at blanks, and inside of a word that is longer than a line.
pub(super) fn wrap(text: &str, room: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in escape::plain(text).split(' ').filter(|word| !word.is_empty()) {
        let line = lines.last_mut().expect("there is a line");
        let blank = if line.is_empty() { "" } else { " " };
        if width(line) + width(blank) + width(word) <= room {
            line.push_str(blank);
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(String::new());
        }
        for c in word.chars() {
            let line = lines.last_mut().expect("there is a line");
            if !line.is_empty() && width(line) + advance(c) * SIZE > room {
                lines.push(c.to_string());
            } else {
                line.push(c);
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_fitted_fits_and_what_is_wrapped_is_whole(text in "\\PC{0,200}", room in 60.0..700.0f64) {
            let fitted = width(&fit(&text, room));
            prop_assert!(fitted <= room, "{fitted} > {room}");
            let lines = wrap(&text, room);
            prop_assert!(lines.iter().all(|line| width(line) <= room), "{lines:?}");
            let bare = |text: &str| text.chars().filter(|&c| c != ' ').collect::<String>();
            prop_assert_eq!(bare(&lines.concat()), bare(&escape::plain(&text)));
        }
    }
}
