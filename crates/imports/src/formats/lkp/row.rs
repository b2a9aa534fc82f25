//! A row of the comparison, taken apart into words.

/// Values of the commits and the name of the figure.
#[derive(Debug, PartialEq)]
pub(super) struct Row<'a> {
    pub(super) values: Vec<f64>,
    pub(super) key: &'a str,
}

/// More commits than any mail compares.
const MOST_COMMITS: usize = 16;

impl<'a> Row<'a> {
    /// None if the line is no row: a head, a rule, text, a row of failures (`3:6  -50%  0:6`).
    pub(super) fn of(line: &'a str) -> Option<Row<'a>> {
        let key = line.split_whitespace().next_back()?;
        key.contains('.').then_some(())?;
        let mut words = line.split_whitespace().peekable();
        let mut values = Vec::new();
        loop {
            let word = words.next()?;
            if words.peek().is_none() {
                break;
            }
            // In the first round the value comes without a change before it.
            let value =
                if values.is_empty() { word } else { is_change(word).then(|| words.next())?? };
            values.push(value.parse().ok().filter(|value: &f64| value.is_finite())?);
            if values.len() > MOST_COMMITS {
                return None;
            }
            if words.peek().copied().is_some_and(is_plus_minus) {
                words.next();
                words.next()?.strip_suffix('%')?;
            }
        }
        (!values.is_empty()).then_some(Row { values, key })
    }
}

/// `+94.7%`, `-7.2`, `+1.2e+05%`, `+Inf%`.
fn is_change(word: &str) -> bool {
    word.starts_with(['+', '-'])
}

/// The sign before a deviation. Archives make other bytes of it: a replacement character, two characters of Latin-1.
fn is_plus_minus(word: &str) -> bool {
    word.contains(['±', '\u{fffd}']) || matches!(word, "=C2=B1" | "+-" | "+/-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_word_by_word() {
        let row = |line| Row::of(line).map(|row| (row.values, row.key));
        type Parts<'a> = (Vec<f64>, &'a str);
        let cases: [(&str, Option<Parts<'_>>); 13] = [
            (
                "     24.47            -7.2       17.29        mpstat.cpu.all.soft%",
                Some((vec![24.47, 17.29], "mpstat.cpu.all.soft%")),
            ),
            (
                "  13467005           +94.7%   26223847        will-it-scale.104.processes",
                Some((vec![13467005.0, 26223847.0], "will-it-scale.104.processes")),
            ),
            (
                "11.22 ± 9% -4.1 7.13 ± 12% perf-profile.x",
                Some((vec![11.22, 7.13], "perf-profile.x")),
            ),
            ("11.22 \u{fffd} 9% -4.1 7.13 a.b", Some((vec![11.22, 7.13], "a.b"))),
            ("1 +1% 2 +2% 3 ± 5% a.b", Some((vec![1.0, 2.0, 3.0], "a.b"))),
            ("1.2e+09 +1% 1.3e+09 a.b", Some((vec![1.2e9, 1.3e9], "a.b"))),
            ("3:6 -50% 0:6 dmesg.x", None),
            ("a sentence with a word.", None),
            ("1 2 a.b", None),
            ("1 +1% 2 ± a.b", None),
            ("nan +1% 2 a.b", None),
            ("a.b", None),
            ("", None),
        ];
        for (line, expected) in cases {
            assert_eq!(row(line), expected, "of {line}");
        }
    }
}
