//! What can go wrong with the store, in words that say what to do about it.

use crate::name::RunRef;
use rusqlite::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};

/// Why the store did not do what it should. Whatever it is, runs that were saved before are still there, but for
/// [`Error::Damaged`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No place for the store.
    #[error(
        "no place for the store of runs: neither XDG_DATA_HOME nor HOME is an absolute path\n  set one of them, or name the file with --store FILE"
    )]
    NoHome,
    /// The directory of the store could not be made.
    #[error("cannot make the directory {}: {error}\n  name another file with --store FILE", directory.display())]
    Directory {
        /// Which.
        directory: PathBuf,
        /// How it failed.
        error: io::Error,
    },
    /// The path cannot be that of a store.
    #[error("cannot use {} as the store of runs: {error}\n  name another file with --store FILE", path.display())]
    Unusable {
        /// As given.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// There is nothing to read.
    #[error(
        "there is no store of runs at {}\n  nothing was saved there yet: save a run with --save NAME, or name another file with --store FILE",
        path.display()
    )]
    Missing {
        /// Where.
        path: PathBuf,
    },
    /// The file is something else. It was not touched.
    #[error("{} is not a store of runs: {what}\n  it was left as it is; name another file with --store FILE", path.display())]
    NotAStore {
        /// Which file.
        path: PathBuf,
        /// What it is.
        what: String,
    },
    /// A later version of the program made or migrated it.
    #[error(
        "the store of runs {} has schema version {found}; this vfscale knows versions up to {known}\n  use the newer vfscale that wrote it, or name another file with --store FILE",
        path.display()
    )]
    Newer {
        /// Which file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest known version.
        known: i64,
    },
    /// No such run.
    #[error("there is no run {which} in the store {}\n  vfscale history shows the runs there are", path.display())]
    NoRun {
        /// As asked for.
        which: RunRef,
        /// Which store.
        path: PathBuf,
    },
    /// The record has something that cannot be kept.
    #[error(
        "the run cannot be saved: {what}\n  this is a fault of the program that made the record; nothing was saved"
    )]
    NotARecord {
        /// What.
        what: String,
    },
    /// Others kept it locked.
    #[error(
        "the store of runs {} is locked by another process\n  try again when it is done (fuser names it); an sqlite3 shell with an open transaction holds a lock",
        path.display(),
    )]
    Busy {
        /// Which store.
        path: PathBuf,
    },
    /// No room.
    #[error(
        "no room for the store of runs {}: the file system is full\n  runs saved before are unharmed; free some space, or name a file elsewhere with --store FILE",
        path.display()
    )]
    Full {
        /// Which store.
        path: PathBuf,
    },
    /// It can be read but must be written.
    #[error(
        "the store of runs {} cannot be written\n  make the file and its directory writable, or name another file with --store FILE",
        path.display()
    )]
    ReadOnly {
        /// Which store.
        path: PathBuf,
    },
    /// It cannot be opened.
    #[error(
        "cannot open the store of runs {}: {error}\n  file and directory must be readable and writable; or name another file with --store FILE",
        path.display()
    )]
    CannotOpen {
        /// Which store.
        path: PathBuf,
        /// What SQLite says.
        error: rusqlite::Error,
    },
    /// Its pages make no sense.
    #[error(
        "the store of runs {} is damaged: {error}\n  move it away; `sqlite3 FILE .recover` gets out what can be read",
        path.display()
    )]
    Damaged {
        /// Which store.
        path: PathBuf,
        /// What SQLite says.
        error: rusqlite::Error,
    },
    /// The file system fails.
    #[error(
        "reading or writing the store of runs {} failed: {error}\n  see dmesg, and whether a quota is used up; a network file system must support locks (fcntl)",
        path.display()
    )]
    Io {
        /// Which store.
        path: PathBuf,
        /// What SQLite says.
        error: rusqlite::Error,
    },
    /// Anything else.
    #[error("the store of runs {}: {error}", path.display())]
    Sqlite {
        /// Which store.
        path: PathBuf,
        /// What SQLite says.
        error: rusqlite::Error,
    },
}

impl Error {
    /// Of the store at `path`.
    pub(crate) fn sqlite(path: &Path, error: rusqlite::Error) -> Error {
        let path = path.to_owned();
        if let rusqlite::Error::ToSqlConversionFailure(error) = error {
            return Error::NotARecord { what: error.to_string() };
        }
        if is_unreadable_value(&error) {
            return Error::Damaged { path, error };
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy { path },
            Some(ErrorCode::DiskFull) => Error::Full { path },
            Some(ErrorCode::ReadOnly) => Error::ReadOnly { path },
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Error::CannotOpen { path, error }
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Error::Damaged { path, error }
            }
            Some(ErrorCode::SystemIoFailure | ErrorCode::FileLockingProtocolFailed) => {
                Error::Io { path, error }
            }
            Some(ErrorCode::TooBig) => Error::NotARecord { what: "a text is too long".into() },
            _ => Error::Sqlite { path, error },
        }
    }
}

/// A row that this program would not have written.
fn is_unreadable_value(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{
        FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error,
    };
    matches!(
        error,
        FromSqlConversionFailure(..)
            | IntegralValueOutOfRange(..)
            | InvalidColumnType(..)
            | Utf8Error(..)
    )
}
