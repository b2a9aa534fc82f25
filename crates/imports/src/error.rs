//! Why a file could not be imported, in words that say what to do about it.

use crate::FORMATS;

/// Why there is no run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The operating system refused.
    #[error("{file}: cannot be read: {source}\n  name a file that exists and that you may read")]
    Unreadable {
        /// The file, as it was given.
        file: String,
        /// What it answered.
        source: std::io::Error,
    },
    /// Larger than any result of a benchmark should be.
    #[error(
        "{file}: larger than {} MiB\n  name the file with the results, not a trace or a disk image",
        limit >> 20
    )]
    TooLarge {
        /// The file, as it was given.
        file: String,
        /// Bytes that are read at most.
        limit: u64,
    },
    /// No format looks like this.
    #[error("{file}: of no format that can be imported\n  say which it is: {}", names())]
    UnknownFormat {
        /// The file, as it was given.
        file: String,
    },
    /// Several formats look like this.
    #[error("{file}: could be {}\n  say which it is", candidates.join(" or "))]
    Ambiguous {
        /// The file, as it was given.
        file: String,
        /// Names of the formats.
        candidates: Vec<&'static str>,
    },
    /// The format that was asked for does not exist.
    #[error("no format is called {name:?}\n  use one of {}", names())]
    NoSuchFormat {
        /// What was asked for.
        name: String,
    },
    /// The file is not what its format says.
    #[error("{file}{}: expected {expected}, found {found}", at(*line))]
    Content {
        /// The file, as it was given.
        file: String,
        /// Line, from 1; none if it is about the file as a whole.
        line: Option<usize>,
        /// What should be there.
        expected: String,
        /// What is there, shortened, without control characters.
        found: String,
    },
}

fn names() -> String {
    let names: Vec<_> = FORMATS.iter().map(|format| format.name).collect();
    names.join(", ")
}

fn at(line: Option<usize>) -> String {
    line.map_or(String::new(), |line| format!(":{line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_where_and_what() {
        let content = |line| ImportError::Content {
            file: "a.csv".into(),
            line,
            expected: "6 columns".into(),
            found: "\"1,2\"".into(),
        };
        assert_eq!(content(Some(3)).to_string(), "a.csv:3: expected 6 columns, found \"1,2\"");
        assert_eq!(content(None).to_string(), "a.csv: expected 6 columns, found \"1,2\"");
        let unknown = ImportError::UnknownFormat { file: "x".into() }.to_string();
        FORMATS.iter().for_each(|format| assert!(unknown.contains(format.name), "{unknown}"));
    }
}
