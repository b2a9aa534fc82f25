//! Words that an argument offers, to the completions of a shell and to the help, beside whatever else it takes.

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};
use std::ffi::OsStr;

/// A parser and words that it is known to take.
#[derive(Clone)]
pub(crate) struct Offer<P> {
    parser: P,
    words: fn() -> Vec<PossibleValue>,
}

/// `parser`, and the words to offer for it.
pub(crate) fn offer<P>(parser: P, words: fn() -> Vec<PossibleValue>) -> Offer<P> {
    Offer { parser, words }
}

impl<P: TypedValueParser> TypedValueParser for Offer<P> {
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<P::Value, Error> {
        self.parser.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.words)().into_iter()))
    }
}

/// The workloads' names, with what one operation is.
pub(crate) fn workloads() -> Vec<PossibleValue> {
    let word = |info: &vfs_api::Info| PossibleValue::new(info.name).help(info.summary);
    workloads::ALL.iter().map(word).collect()
}

/// How a run can be shown.
pub(crate) fn formats() -> Vec<PossibleValue> {
    let word = |format: &report::Format| PossibleValue::new(format.name).help(format.summary);
    report::FORMATS.iter().map(word).collect()
}

/// How a comparison can be shown.
pub(crate) fn comparison_formats() -> Vec<PossibleValue> {
    let word =
        |format: &report::ComparisonFormat| PossibleValue::new(format.name).help(format.summary);
    report::COMPARISON_FORMATS.iter().map(word).collect()
}

/// How a run or a comparison can be shown.
pub(crate) fn any_formats() -> Vec<PossibleValue> {
    let of_runs = formats();
    let is_new =
        |format: &&report::ComparisonFormat| report::Format::by_name(format.name).is_none();
    let others = report::COMPARISON_FORMATS.iter().filter(is_new);
    let others = others.map(|format| PossibleValue::new(format.name).help(format.summary));
    of_runs.into_iter().chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offer_takes_what_its_parser_takes_and_refuses_what_that_refuses() {
        let parser = offer(|text: &str| text.parse::<u8>(), || vec![PossibleValue::new("1")]);
        let command = Command::new("x");
        let parse = |text: &str| parser.parse_ref(&command, None, OsStr::new(text)).ok();
        assert_eq!(parse("2"), Some(2));
        assert_eq!(parse("300"), None);
        let offered: Vec<_> = parser.possible_values().into_iter().flatten().collect();
        assert_eq!(offered.iter().map(PossibleValue::get_name).collect::<Vec<_>>(), ["1"]);
    }

    #[test]
    fn what_is_offered_is_taken() {
        for word in workloads() {
            assert!(workloads::find(word.get_name()).is_ok(), "{word:?}");
        }
        for word in formats() {
            assert!(report::Format::by_name(word.get_name()).is_some(), "{word:?}");
        }
        for word in any_formats() {
            assert!(crate::values::any_format(word.get_name()).is_ok(), "{word:?}");
        }
        for word in comparison_formats() {
            assert!(report::ComparisonFormat::by_name(word.get_name()).is_some(), "{word:?}");
        }
    }
}
