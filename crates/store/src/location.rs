//! Where the store is if nobody says otherwise, and what lies at a path.

use crate::Error;
use crate::schema::APPLICATION_ID;
use rusqlite::{Connection, OpenFlags};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{self, Path, PathBuf};

/// By the XDG Base Directory Specification: $XDG_DATA_HOME, or ~/.local/share. It says to ignore paths that are not absolute.
pub(crate) fn default_path(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, Error> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME")
        .or_else(|| Some(absolute("HOME")?.join(".local/share")))
        .ok_or(Error::NoHome)?;
    Ok(data.join("vfscale/runs.sqlite"))
}

/// `path` from the root on. SQLite takes some relative ones (`:memory:`, the empty one, `file:x?mode=memory`) for a store that
/// is gone afterwards.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Error> {
    path::absolute(path).map_err(|error| Error::Unusable { path: path.into(), error })
}

/// Makes the directories above `path` that are missing, for nobody but their owner, as the XDG specification asks.
pub(crate) fn make_directory(path: &Path) -> Result<(), Error> {
    let Some(directory) = path.parent() else { return Ok(()) };
    let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.map_err(|error| {
        let error = match error.kind() {
            // Said of a file that stands in the way, for a directory would do.
            ErrorKind::AlreadyExists => io::Error::from(ErrorKind::NotADirectory),
            _ => error,
        };
        Error::Directory { directory: directory.into(), error }
    })
}

/// What lies at a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// No file, or one of no bytes: that much is left if the first writer is killed before its first commit.
    Nothing,
    /// A store of runs, of whatever version.
    Store,
}

/// Looks without changing a byte, not even where another program's journal waits to be rolled back.
pub(crate) fn look_at(path: &Path) -> Result<Found, Error> {
    let unusable = |error| Error::Unusable { path: path.into(), error };
    let no_store = |what: &str| Error::NotAStore { path: path.into(), what: what.into() };
    let metadata = match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
        other => other.map_err(unusable)?,
    };
    if metadata.is_dir() {
        return Err(unusable(io::Error::from(ErrorKind::IsADirectory)));
    }
    if !metadata.is_file() {
        return Err(no_store("it is no regular file"));
    }
    if metadata.len() == 0 {
        return Ok(Found::Nothing);
    }
    match application_id(path) {
        Ok(APPLICATION_ID) => Ok(Found::Store),
        Ok(_) => Err(no_store("it is another program's SQLite database")),
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase) => {
            Err(no_store("it is not an SQLite database"))
        }
        Err(error) => Err(Error::sqlite(path, error)),
    }
}

/// Read by SQLite rather than by hand: closing a file of our own would drop the locks that this process has on it.
/// `immutable` makes SQLite look at the file alone, without locks and journal.
fn application_id(path: &Path) -> rusqlite::Result<i32> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(immutable_uri(path), flags)?;
    // Without the journal a file that is being written, or whose writer was killed, may be shorter than its header says. By
    // this SQLite takes it as it is.
    connection.pragma_update(None, "writable_schema", true)?;
    connection.pragma_query_value(None, "application_id", |row| row.get(0))
}

fn immutable_uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(&byte) {
            uri.push(byte.into());
        } else {
            write!(uri, "%{byte:02X}").expect("a String takes any text");
        }
    }
    uri + "?immutable=1"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn the_default_path_is_that_of_the_xdg_specification() {
        type Variables = &'static [(&'static str, &'static str)];
        let cases: [(Variables, Option<&str>); 6] = [
            (&[("XDG_DATA_HOME", "/d"), ("HOME", "/h")], Some("/d/vfscale/runs.sqlite")),
            (&[("HOME", "/h")], Some("/h/.local/share/vfscale/runs.sqlite")),
            (
                &[("XDG_DATA_HOME", "rel"), ("HOME", "/h")],
                Some("/h/.local/share/vfscale/runs.sqlite"),
            ),
            (&[("XDG_DATA_HOME", ""), ("HOME", "/h")], Some("/h/.local/share/vfscale/runs.sqlite")),
            (&[("HOME", "")], None),
            (&[], None),
        ];
        for (variables, expected) in cases {
            let get = |wanted: &str| {
                let found = variables.iter().find(|(name, _)| *name == wanted);
                found.map(|(_, value)| value.into())
            };
            match (default_path(get), expected) {
                (Ok(path), Some(expected)) => assert_eq!(path, Path::new(expected)),
                (Err(error), None) => assert!(error.to_string().contains("--store"), "{error}"),
                (other, _) => panic!("{variables:?}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_store_is_known_by_its_first_page() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.sqlite");
        assert_eq!(look_at(&path).unwrap(), Found::Nothing);
        drop(crate::Store::open(&path).unwrap());
        // So it is when the first page of the first commit is written and the others are not.
        fs::File::options().write(true).open(&path).unwrap().set_len(4096).unwrap();
        assert_eq!(look_at(&path).unwrap(), Found::Store);
    }

    #[test]
    fn any_path_can_be_a_uri() {
        let path = Path::new(OsStr::from_bytes(b"/a b/%?#&=\xff.sqlite"));
        assert_eq!(immutable_uri(path), "file:/a%20b/%25%3F%23%26%3D%FF.sqlite?immutable=1");
    }
}
