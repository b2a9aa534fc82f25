//! What can go wrong once a source was chosen, and why a source was not.

use std::io;

/// Why there is no report. A source that is merely not allowed is no error: see [`crate::Refused`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A call failed that had worked when the source was chosen.
    #[error(
        "{call}: {error}\n  the lock report is lost, the measurement is not: run again without it"
    )]
    Os {
        /// Which.
        call: &'static str,
        /// How it failed.
        error: io::Error,
    },
    /// A file of /proc or /sys.
    #[error(
        "{path}: {error}\n  the lock report is lost, the measurement is not: run again without it"
    )]
    File {
        /// Which.
        path: String,
        /// How it failed.
        error: io::Error,
    },
    /// A task that is to be watched is not there.
    #[error(
        "no task has the id {0}\n  make the tasks before asking who watches them, and end them afterwards"
    )]
    NoTask(u32),
    /// There is nobody to watch.
    #[error("no task to watch: name one process or thread at least")]
    NoTasks,
}

impl Error {
    pub(crate) fn os(call: &'static str, error: impl Into<io::Error>) -> Error {
        Error::Os { call, error: error.into() }
    }

    pub(crate) fn file(path: impl Into<String>, error: io::Error) -> Error {
        Error::File { path: path.into(), error }
    }
}

/// Why a source cannot be used here, and what would change that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) why: String,
    pub(crate) remedy: String,
}

impl Refusal {
    pub(crate) fn new(why: impl Into<String>, remedy: impl Into<String>) -> Refusal {
        Refusal { why: why.into(), remedy: remedy.into() }
    }
}
