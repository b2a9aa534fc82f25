//! The tables, and how a store of an earlier version becomes one of the present.
//!
//! A change of the tables is one more file of SQL at the end of [`STEPS`]. What stands in the list is never changed again,
//! because stores that were made by it are on people's disks; a new store goes through the same steps as an old one.

use crate::Error;
use rusqlite::{Connection, Result, Transaction, TransactionBehavior, ffi};
use std::path::Path;

/// "vfsc"; file(1) and other programs know by it whose the file is.
pub(crate) const APPLICATION_ID: i32 = 0x7666_7363;

/// Step n makes version n of version n - 1; version 0 is an empty file.
pub(crate) const STEPS: &[&str] = &[include_str!("schema/version_1.sql")];

/// Makes the file a store of the version that `steps` lead to. Does not write if it is one.
pub(crate) fn bring_up(
    connection: &mut Connection,
    path: &Path,
    steps: &[&str],
) -> std::result::Result<(), Error> {
    let failed = |error| Error::sqlite(path, error);
    let known = steps.len();
    let check = |version: i64| match usize::try_from(version) {
        Ok(version) if version <= known => Ok(version),
        _ => Err(Error::Newer { path: path.into(), found: version, known: known as i64 }),
    };
    if check(version(connection).map_err(failed)?)? == known {
        return Ok(());
    }
    let transaction = begin(connection).map_err(failed)?;
    // Only now nobody else can change it.
    let done = check(version(&transaction).map_err(failed)?)?;
    if done == known {
        return Ok(());
    }
    if done == 0 && has_tables(&transaction).map_err(failed)? {
        let what = "another program has just made its tables in it".into();
        return Err(Error::NotAStore { path: path.into(), what });
    }
    apply(&transaction, &steps[done..], known).map_err(failed)?;
    transaction.commit().map_err(failed)
}

/// A transaction that has the lock for writing, and in which an empty file becomes one whose size follows its contents: a run
/// that is removed gives its space back to the file system.
fn begin(connection: &mut Connection) -> Result<Transaction<'_>> {
    // A step may replace a table that others refer to.
    connection.pragma_update(None, "foreign_keys", false)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Deferred)?;
    // Takes the lock. It must come before BEGIN IMMEDIATE would have made the first page, and after BEGIN, for by itself it
    // commits that page: a writer killed then would leave a database that is nobody's. On an older store it changes nothing.
    transaction.pragma_update(None, "auto_vacuum", "FULL")?;
    Ok(transaction)
}

fn apply(connection: &Connection, steps: &[&str], version: usize) -> Result<()> {
    for step in steps {
        connection.execute_batch(step)?;
    }
    if connection.prepare("PRAGMA foreign_key_check")?.exists([])? {
        let code = ffi::Error::new(ffi::SQLITE_CORRUPT);
        let what = "rows refer to rows that are not there".to_owned();
        return Err(rusqlite::Error::SqliteFailure(code, Some(what)));
    }
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", version as i64)
}

fn version(connection: &Connection) -> Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn has_tables(connection: &Connection) -> Result<bool> {
    connection.prepare("SELECT 1 FROM sqlite_schema")?.exists([])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that `sqlite3 .schema` would show.
    fn schema(connection: &Connection) -> Vec<(String, String, Option<String>)> {
        let sql = "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name";
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        rows.unwrap().collect::<Result<_>>().unwrap()
    }

    fn at(steps: &[&str], connection: &mut Connection) -> std::result::Result<(), String> {
        bring_up(connection, Path::new("runs.sqlite"), steps).map_err(|error| error.to_string())
    }

    const LATER: &[&str] = &[
        STEPS[0],
        "ALTER TABLE runs ADD COLUMN note TEXT; CREATE TABLE tags (run INTEGER REFERENCES runs)",
        "DROP TABLE tags",
    ];

    #[test]
    fn a_store_of_any_earlier_version_becomes_what_a_new_one_is() {
        let mut fresh = Connection::open_in_memory().unwrap();
        at(LATER, &mut fresh).unwrap();
        for from in 1..=LATER.len() {
            let mut old = Connection::open_in_memory().unwrap();
            at(&LATER[..from], &mut old).unwrap();
            assert_eq!(version(&old).unwrap(), from as i64);
            old.execute("INSERT INTO names VALUES ('kept', 1)", []).unwrap();
            at(LATER, &mut old).unwrap();
            assert_eq!(version(&old).unwrap(), 3);
            assert_eq!(schema(&old), schema(&fresh), "from version {from}");
            let kept: i64 = old.query_row("SELECT count(*) FROM names", [], |r| r.get(0)).unwrap();
            assert_eq!(kept, 1);
        }
    }

    #[test]
    fn a_step_that_fails_changes_nothing() {
        let mut connection = Connection::open_in_memory().unwrap();
        at(&LATER[..1], &mut connection).unwrap();
        let before = schema(&connection);
        let orphan = "INSERT INTO imports VALUES (7, 'fio', 'x', 0)";
        for bad in ["CREATE TABLE tags (run); SELECT no_such_function()", orphan] {
            at(&[LATER[0], LATER[1], bad], &mut connection).unwrap_err();
            assert_eq!(version(&connection).unwrap(), 1);
            assert_eq!(schema(&connection), before);
        }
        at(LATER, &mut connection).unwrap();
    }

    #[test]
    fn nothing_is_in_the_file_before_everything_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.sqlite");
        let mut connection = Connection::open(&path).unwrap();
        at(&[STEPS[0], "SELECT no_such_function()"], &mut connection).unwrap_err();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
    }

    #[test]
    fn a_file_is_locked_from_before_its_version_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.sqlite");
        for exists in [false, true] {
            let mut first = Connection::open(&path).unwrap();
            let second = Connection::open(&path).unwrap();
            second.busy_timeout(std::time::Duration::ZERO).unwrap();
            let transaction = begin(&mut first).unwrap();
            let error = second.execute_batch("BEGIN IMMEDIATE").unwrap_err();
            let code = error.sqlite_error_code();
            assert_eq!(code, Some(rusqlite::ErrorCode::DatabaseBusy), "exists: {exists}");
            drop(transaction);
            at(STEPS, &mut first).unwrap();
        }
    }

    #[test]
    fn a_newer_store_is_refused_with_both_versions() {
        let mut connection = Connection::open_in_memory().unwrap();
        at(LATER, &mut connection).unwrap();
        let error = at(&LATER[..2], &mut connection).unwrap_err();
        assert!(error.contains("version 3") && error.contains("up to 2"), "{error}");
    }

    #[test]
    fn tables_that_others_made_meanwhile_are_left_alone() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE theirs (x)").unwrap();
        let before = schema(&connection);
        at(STEPS, &mut connection).unwrap_err();
        assert_eq!(schema(&connection), before);
    }
}
