//! Parameters of workloads: declared with their range, parsed from `name:key=value,...`, read without a string in sight.

use crate::{Demand, Info};
use std::fmt;

/// A parameter that a workload declares. It is also the key to read its value with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// As written before the `=`.
    pub name: &'static str,
    /// One line: what it sets, with its unit.
    pub what: &'static str,
    /// What may stand behind the `=`.
    pub values: Values,
}

/// The values that a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// A whole number.
    Number {
        /// The least.
        min: u64,
        /// The largest.
        max: u64,
        /// Where nothing is said.
        default: u64,
    },
    /// A number of bytes, written with K, M or G behind it if they are many (1024 each).
    Bytes {
        /// The least.
        min: u64,
        /// The most.
        max: u64,
        /// Where nothing is said.
        default: u64,
    },
    /// One of these words; the first where nothing is said.
    Word(&'static [&'static str]),
}

impl Param {
    /// A whole number from `min` to `max`.
    pub const fn number(
        name: &'static str,
        what: &'static str,
        (min, max): (u64, u64),
        default: u64,
    ) -> Param {
        Param { name, what, values: Values::Number { min, max, default } }
    }

    /// Bytes from `min` to `max`.
    pub const fn bytes(
        name: &'static str,
        what: &'static str,
        (min, max): (u64, u64),
        default: u64,
    ) -> Param {
        Param { name, what, values: Values::Bytes { min, max, default } }
    }

    /// One of some words, the default first.
    pub const fn word(
        name: &'static str,
        what: &'static str,
        words: &'static [&'static str],
    ) -> Param {
        Param { name, what, values: Values::Word(words) }
    }

    fn default(&self) -> u64 {
        match self.values {
            Values::Number { default, .. } | Values::Bytes { default, .. } => default,
            Values::Word(_) => 0,
        }
    }

    fn parse(&self, text: &str) -> Result<u64, String> {
        let wrong = |range: String| format!("{}={text}: {} is {range}", self.name, self.name);
        match self.values {
            Values::Number { min, max, .. } => {
                let number = text.parse().ok().filter(|number| (min..=max).contains(number));
                number.ok_or_else(|| wrong(format!("a whole number from {min} to {max}")))
            }
            Values::Bytes { min, max, .. } => {
                let bytes = parse_bytes(text).filter(|bytes| (min..=max).contains(bytes));
                let range = || format!("from {} to {} bytes", Bytes(min), Bytes(max));
                bytes.ok_or_else(|| wrong(range()))
            }
            Values::Word(words) => {
                let at = words.iter().position(|word| *word == text);
                at.map(|at| at as u64).ok_or_else(|| wrong(format!("one of {}", words.join(", "))))
            }
        }
    }

    fn show(&self, value: u64) -> String {
        match self.values {
            Values::Number { .. } => value.to_string(),
            Values::Bytes { .. } => Bytes(value).to_string(),
            Values::Word(words) => words[value as usize].to_owned(),
        }
    }
}

impl fmt::Display for Param {
    /// `depth=1..32 (8)`: range and default.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.values {
            Values::Number { min, max, default } => {
                write!(f, "{}={min}..{max} ({default})", self.name)
            }
            Values::Bytes { min, max, default } => {
                write!(f, "{}={}..{} ({})", self.name, Bytes(min), Bytes(max), Bytes(default))
            }
            Values::Word(words) => write!(f, "{}={} ({})", self.name, words.join("|"), words[0]),
        }
    }
}

/// Units of [`Values::Bytes`], the largest first.
const UNITS: [(char, u64); 3] = [('G', 1 << 30), ('M', 1 << 20), ('K', 1 << 10)];

/// Bytes as they are read: `100M`, `4096`.
pub struct Bytes(
    /// How many.
    pub u64,
);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |(_, unit): &&(char, u64)| self.0 >= *unit && self.0.is_multiple_of(*unit);
        match UNITS.iter().find(whole) {
            Some((letter, unit)) => write!(f, "{}{letter}", self.0 / unit),
            None => write!(f, "{}", self.0),
        }
    }
}

fn parse_bytes(text: &str) -> Option<u64> {
    let unit = UNITS
        .iter()
        .find(|(letter, _)| text.ends_with(*letter) || text.ends_with(letter.to_ascii_lowercase()));
    let (number, unit) = match unit {
        Some((_, unit)) => (&text[..text.len() - 1], *unit),
        None => (text, 1),
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

/// A value for each parameter of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    declared: &'static [Param],
    values: Vec<u64>,
}

impl Params {
    /// The defaults of what a workload declares.
    pub fn new(declared: &'static [Param]) -> Params {
        Params { declared, values: declared.iter().map(Param::default).collect() }
    }

    /// Reads `key=value,key=value`; what is not named keeps its default.
    ///
    /// # Errors
    /// In words: an unknown key (and which there are), one named twice, a value out of its range.
    pub fn parse(declared: &'static [Param], text: &str) -> Result<Params, String> {
        let mut params = Params::new(declared);
        let mut seen = Vec::new();
        for pair in text.split(',') {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let at = declared.iter().position(|param| param.name == key).ok_or_else(|| {
                let known: Vec<String> = declared.iter().map(Param::to_string).collect();
                match known.as_slice() {
                    [] => "it takes no parameters".to_owned(),
                    known => format!("no parameter '{key}'; there are: {}", known.join(", ")),
                }
            })?;
            if seen.contains(&at) {
                return Err(format!("{key} is given twice"));
            }
            seen.push(at);
            params.values[at] = declared[at].parse(value)?;
        }
        Ok(params)
    }

    fn value(&self, param: &Param) -> u64 {
        let at = self.declared.iter().position(|declared| declared.name == param.name);
        self.values[at.expect("a workload reads the parameters that it declares")]
    }

    /// The value of a number.
    pub fn number(&self, param: &Param) -> u64 {
        self.value(param)
    }

    /// The place of a word among those that there are.
    pub fn word(&self, param: &Param) -> usize {
        self.value(param) as usize
    }

    /// The same with another value, which must be one of the parameter's.
    ///
    /// # Errors
    /// It is not; in words.
    pub fn with(mut self, param: &Param, text: &str) -> Result<Params, String> {
        let value = param.parse(text)?;
        let at = self.declared.iter().position(|declared| declared.name == param.name);
        self.values[at.expect("a workload sets the parameters that it declares")] = value;
        Ok(self)
    }

    /// Whether a word is this one.
    pub fn is(&self, param: &Param, word: &str) -> bool {
        param.show(self.value(param)) == word
    }
}

/// Those that are not the default, as they are written.
impl fmt::Display for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs = self.declared.iter().zip(&self.values);
        let told = pairs.filter(|(param, value)| **value != param.default());
        let told: Vec<String> =
            told.map(|(param, value)| format!("{}={}", param.name, param.show(*value))).collect();
        f.write_str(&told.join(","))
    }
}

/// A workload with a value for each of its parameters.
#[derive(Clone, Debug)]
pub struct Selected {
    info: &'static Info,
    params: Params,
}

impl Selected {
    /// `info` with `params`, which are its own.
    pub fn new(info: &'static Info, params: Params) -> Selected {
        Selected { info, params }
    }

    /// Its description.
    pub fn info(&self) -> &'static Info {
        self.info
    }

    /// The values of its parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// What it takes of the machine with these values.
    pub fn demand(&self) -> Demand {
        (self.info.demand)(&self.params)
    }
}

impl From<&'static Info> for Selected {
    /// With the defaults.
    fn from(info: &'static Info) -> Selected {
        Selected { info, params: Params::new(info.params) }
    }
}

impl PartialEq for Selected {
    fn eq(&self, other: &Selected) -> bool {
        self.info.name == other.info.name && self.params == other.params
    }
}

/// The name in the record: parameters that differ from their defaults follow it, in the order they are declared, so that one
/// workload has one name however it was written.
impl fmt::Display for Selected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let params = self.params.to_string();
        let colon = if params.is_empty() { "" } else { ":" };
        f.pad(&format!("{}{colon}{params}", self.info.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPTH: Param = Param::number("depth", "directories", (1, 32), 8);
    const DIRS: Param = Param::word("dirs", "whose", &["shared", "own"]);
    const DECLARED: &[Param] = &[DEPTH, DIRS];
    const SIZE: Param = Param::bytes("size", "of a file", (1, 1 << 40), 100 << 20);

    #[test]
    fn bytes_are_read_with_and_without_their_unit() {
        let table = [
            ("4096", 4096, "size=4K"),
            ("1000", 1000, "size=1000"),
            ("100m", 100 << 20, ""),
            ("2G", 2 << 30, "size=2G"),
            ("1025K", 1025 << 10, "size=1025K"),
        ];
        for (text, bytes, shown) in table {
            let params = Params::parse(&[SIZE], &format!("size={text}")).unwrap();
            assert_eq!(params.number(&SIZE), bytes, "{text}");
            assert_eq!(params.to_string(), shown, "{text}");
            let with = Params::new(&[SIZE]).with(&SIZE, text).unwrap();
            assert_eq!(with, params);
        }
        for wrong in ["", "K", "0", "-1", "1T", "1.5M", "1MM", "99999999999G", "2048G", "ä"] {
            let error = Params::parse(&[SIZE], &format!("size={wrong}")).unwrap_err();
            assert!(error.contains("from 1 to 1024G bytes"), "{wrong}: {error}");
        }
    }

    #[test]
    fn values_are_read_typed_and_written_back_without_the_defaults() {
        let table = [
            ("depth=32", 32, false, "depth=32"),
            ("dirs=own,depth=1", 1, true, "depth=1,dirs=own"),
            ("depth=8,dirs=shared", 8, false, ""),
        ];
        for (text, depth, own, shown) in table {
            let params = Params::parse(DECLARED, text).unwrap();
            assert_eq!(params.number(&DEPTH), depth, "{text}");
            assert_eq!(params.is(&DIRS, "own"), own, "{text}");
            assert_eq!(params.to_string(), shown, "{text}");
        }
        assert_eq!(Params::new(DECLARED).number(&DEPTH), 8);
    }

    #[test]
    fn what_is_wrong_is_said_with_what_would_be_right() {
        let table = [
            ("depth=0", "a whole number from 1 to 32"),
            ("depth=33", "a whole number from 1 to 32"),
            ("depth=-1", "from 1 to 32"),
            ("depth=", "from 1 to 32"),
            ("depth", "from 1 to 32"),
            ("depth=99999999999999999999", "from 1 to 32"),
            ("dirs=mine", "one of shared, own"),
            ("width=3", "depth=1..32 (8), dirs=shared|own (shared)"),
            ("", "no parameter ''"),
            ("depth=1,", "no parameter ''"),
            ("depth=1,depth=2", "depth is given twice"),
        ];
        for (text, says) in table {
            let error = Params::parse(DECLARED, text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
        assert!(Params::parse(&[], "a=1").unwrap_err().contains("takes no parameters"));
    }
}
