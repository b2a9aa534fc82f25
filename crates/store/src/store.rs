//! Opening the file, and what can be done with it: save, load, list, remove.

use crate::column::rows;
use crate::listing::{self, Entry, HistoryRow};
use crate::location::{self, Found};
use crate::name::{HostId, Label, RunName, RunRef};
use crate::{Error, record, schema};
use results::{Host, Run};
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Transaction, TransactionBehavior};
use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long to wait for another process that saves or removes a run, which takes it about a second.
const PATIENCE: Duration = Duration::from_secs(30);

/// More than there are different statements, so that none is prepared twice.
const STATEMENTS: usize = 64;

/// A store of runs.
///
/// Any number of processes may have the same file open; each change is one transaction, so a run is in it whole or not at all,
/// whenever whoever dies. The journal is SQLite's default one, not a write-ahead log: that needs memory which all users of the
/// file share, and home directories are often on network file systems, which have none.
///
/// Open it when it is needed: SQLite does not allow to carry an open file over `fork`.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

/// A run out of the store.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// What it is called, also if it was asked for by `NAME` alone.
    pub label: Label,
    /// The record as it was saved.
    pub run: Run,
}

impl Store {
    /// `$XDG_DATA_HOME/vfscale/runs.sqlite`, or `~/.local/share/vfscale/runs.sqlite`.
    ///
    /// # Errors
    ///
    /// [`Error::NoHome`].
    pub fn default_path() -> Result<PathBuf, Error> {
        location::default_path(|name| env::var_os(name))
    }

    /// Opens the store at `path` to save; makes it, and directories above it that are missing, with access for their owner
    /// only.
    ///
    /// # Errors
    ///
    /// Among others [`Error::NotAStore`] and [`Error::Newer`]; then the file is as it was.
    pub fn open(path: &Path) -> Result<Store, Error> {
        let path = location::absolute(path)?;
        location::make_directory(&path)?;
        location::look_at(&path)?;
        Store::connect(path, OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Opens the store at `path` to read or remove; never makes a file. A store of an earlier version is migrated.
    ///
    /// # Errors
    ///
    /// As [`Store::open`], and [`Error::Missing`].
    pub fn open_existing(path: &Path) -> Result<Store, Error> {
        let path = location::absolute(path)?;
        match location::look_at(&path)? {
            Found::Nothing => Err(Error::Missing { path }),
            Found::Store => Store::connect(path, OpenFlags::empty()),
        }
    }

    fn connect(path: PathBuf, create: OpenFlags) -> Result<Store, Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | create;
        let failed = |error| Error::sqlite(&path, error);
        let mut connection = Connection::open_with_flags(&path, flags).map_err(failed)?;
        configure(&connection).map_err(failed)?;
        schema::bring_up(&mut connection, &path, schema::STEPS)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
        Ok(Store { connection, path })
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a run could be saved now. Changes nothing, but does what saving begins with: a file or a directory that cannot be
    /// written, and a disk without any room, show only then.
    ///
    /// # Errors
    ///
    /// As [`Store::save`].
    pub fn can_save(&mut self) -> Result<(), Error> {
        let mut begin = || {
            let transaction =
                self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            transaction.execute("INSERT INTO names (name, last) VALUES ('', 1)", [])?;
            transaction.rollback()
        };
        begin().map_err(|error| Error::sqlite(&self.path, error))
    }

    /// Saves a run. Under a name that is used already it becomes the newest run of that name, and the others stay.
    ///
    /// # Errors
    ///
    /// [`Error::Full`], [`Error::Busy`] and others; then nothing of the run is in the store and all that was, is.
    pub fn save(&mut self, name: Option<&RunName>, run: &Run) -> Result<Label, Error> {
        self.change(|transaction| insert(transaction, name, run))
    }

    /// Saves several runs as [`Store::save`] does one: all of them, in their order, or none.
    ///
    /// # Errors
    ///
    /// As [`Store::save`].
    pub fn save_all(&mut self, runs: &[(&RunName, &Run)]) -> Result<Vec<Label>, Error> {
        self.change(|transaction| {
            runs.iter().map(|(name, run)| insert(transaction, Some(name), run)).collect()
        })
    }

    /// The run that is meant, as it was saved: equal to it, and floats to the bit, but that a negative zero is a zero.
    ///
    /// # Errors
    ///
    /// Among others [`Error::NoRun`].
    pub fn load(&self, which: &RunRef) -> Result<Stored, Error> {
        self.look(|connection| {
            let Some(label) = find(connection, which)? else { return Ok(None) };
            let run = record::select(connection, label.id.0)?;
            Ok(run.map(|run| Stored { label, run }))
        })?
        .ok_or_else(|| self.no_run(which))
    }

    /// What the run that is meant is called, without reading it.
    ///
    /// # Errors
    ///
    /// Among others [`Error::NoRun`].
    pub fn find(&self, which: &RunRef) -> Result<Label, Error> {
        self.look(|connection| find(connection, which))?.ok_or_else(|| self.no_run(which))
    }

    /// All runs in brief, the first saved first.
    ///
    /// # Errors
    ///
    /// Those of reading the file.
    pub fn list(&self) -> Result<Vec<Entry>, Error> {
        self.look(listing::entries)
    }

    /// The points of a workload in all runs, or of all workloads: those of the same workload, target, mode and task count
    /// together, the first started first.
    ///
    /// # Errors
    ///
    /// Those of reading the file.
    pub fn history(&self, workload: Option<&str>) -> Result<Vec<HistoryRow>, Error> {
        self.look(|connection| listing::history(connection, workload))
    }

    /// The machine and its conditions, without mounts: those belong to a run.
    ///
    /// # Errors
    ///
    /// Those of reading the file; there is no such machine any more.
    pub fn host(&self, id: HostId) -> Result<Host, Error> {
        self.look(|connection| record::machine(connection, id.0))
    }

    /// Removes one run, of a name alone the newest, and says which. Its number and version are not given again.
    ///
    /// # Errors
    ///
    /// Among others [`Error::NoRun`].
    pub fn remove(&mut self, which: &RunRef) -> Result<Label, Error> {
        let removed = self.change(|transaction| {
            let Some(label) = find(transaction, which)? else { return Ok(None) };
            transaction.execute("DELETE FROM runs WHERE id = ?", [label.id.0])?;
            record::remove_unused_hosts(transaction)?;
            Ok(Some(label))
        })?;
        removed.ok_or_else(|| self.no_run(which))
    }

    fn no_run(&self, which: &RunRef) -> Error {
        Error::NoRun { which: which.clone(), path: self.path.clone() }
    }

    /// Several queries that see the same state of the file.
    fn look<T>(
        &self,
        queries: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let look = || queries(&*self.connection.unchecked_transaction()?);
        look().map_err(|error| Error::sqlite(&self.path, error))
    }

    /// A change that is made whole or not at all. It takes the lock at once: a transaction that began by reading could not
    /// wait for another writer.
    fn change<T>(
        &mut self,
        change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let run = || {
            let transaction =
                self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let result = change(&transaction)?;
            transaction.commit()?;
            Ok(result)
        };
        run().map_err(|error| Error::sqlite(&self.path, error))
    }
}

/// What SQLite does not keep in the file.
fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // After a power failure, too, a run that was reported as saved is there: EXTRA also makes the removal of the journal
    // durable, which is what commits. It costs a few writes to the disk per run.
    connection.pragma_update(None, "synchronous", "EXTRA")?;
    // No temporary files: the directory for them may be full, or be what was measured.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // The file may be somebody else's: nothing in it may call what has effects.
    connection.pragma_update(None, "trusted_schema", false)
}

/// One run more, as the newest of its name.
fn insert(
    transaction: &Transaction<'_>,
    name: Option<&RunName>,
    run: &Run,
) -> rusqlite::Result<Label> {
    let version = name.map(|name| next_version(transaction, name)).transpose()?;
    let id = record::insert(transaction, name.zip(version), run)?;
    label_of(transaction, id)
}

/// Takes the next number for a run of this name.
fn next_version(connection: &Connection, name: &RunName) -> rusqlite::Result<u32> {
    let sql = "INSERT INTO names (name, last) VALUES (?, 1)
               ON CONFLICT (name) DO UPDATE SET last = last + 1 RETURNING last";
    connection.query_row(sql, [name.as_str()], |row| row.get(0))
}

fn find(connection: &Connection, which: &RunRef) -> rusqlite::Result<Option<Label>> {
    let id = |sql: &str, parameters: &[&dyn rusqlite::ToSql]| {
        connection.query_row(sql, parameters, |row| row.get(0)).optional()
    };
    let id = match which {
        RunRef::Newest(name) => {
            let sql = "SELECT id FROM runs WHERE name = ? ORDER BY version DESC LIMIT 1";
            id(sql, &[&name.as_str()])
        }
        RunRef::Version(name, version) => {
            id("SELECT id FROM runs WHERE name = ? AND version = ?", &[&name.as_str(), version])
        }
        RunRef::Id(number) => id("SELECT id FROM runs WHERE id = ?", &[&number.0]),
    };
    id?.map(|id| label_of(connection, id)).transpose()
}

fn label_of(connection: &Connection, id: i64) -> rusqlite::Result<Label> {
    let sql = "SELECT id, name, version FROM runs WHERE id = ?";
    let found = rows(connection, sql, [id], listing::label)?;
    found.into_iter().next().ok_or(rusqlite::Error::QueryReturnedNoRows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::{Host, Plan, Warning};

    fn run(warnings: usize) -> Run {
        let warning = Warning {
            code: "steal".into(),
            message: "much of it ".repeat(400),
            advice: "none".into(),
        };
        Run {
            schema: Run::SCHEMA.into(),
            vfscale: "0.1.0".into(),
            command: vec![],
            started: "2026-03-01T12:00:00Z".into(),
            seed: 1,
            plan: Plan {
                time_s: 1.0,
                slice_s: 0.01,
                rounds: 1,
                warmup_rounds: 0,
                planned_rounds: 1,
                pin: "none".into(),
                partial: false,
            },
            host: Host::default(),
            curves: vec![],
            warnings: vec![warning; warnings],
            import: None,
        }
    }

    #[test]
    fn a_run_without_room_is_not_there_and_the_store_goes_on() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(&directory.path().join("runs.sqlite")).unwrap();
        let name: RunName = "base".parse().unwrap();
        store.save(Some(&name), &run(1)).unwrap();
        let set_limit = |store: &Store, pages: i64| {
            // The pragma answers with what it was set to.
            store.connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
        };
        let pages: i64 =
            store.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        set_limit(&store, pages + 10).unwrap();
        let error = store.save(Some(&name), &run(40)).unwrap_err();
        assert!(matches!(error, Error::Full { .. }), "{error:?}");
        let newest = "base".parse().unwrap();
        assert_eq!(store.load(&newest).unwrap().run, run(1));
        assert_eq!(store.list().unwrap().len(), 1);
        set_limit(&store, 1 << 20).unwrap();
        assert_eq!(store.save(Some(&name), &run(40)).unwrap().to_string(), "base@2");
        assert_eq!(store.load(&newest).unwrap().run, run(40));
    }

    #[test]
    fn whether_a_run_could_be_saved_is_asked_without_a_trace() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.sqlite");
        let mut store = Store::open(&path).unwrap();
        let before = std::fs::read(&path).unwrap();
        store.can_save().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), before);
        store.connection.pragma_update(None, "query_only", true).unwrap();
        let error = store.can_save().unwrap_err();
        assert!(matches!(error, Error::ReadOnly { .. }), "{error:?}");
        store.connection.pragma_update(None, "query_only", false).unwrap();
        store.connection.busy_timeout(Duration::ZERO).unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert!(matches!(store.can_save().unwrap_err(), Error::Busy { .. }));
    }

    #[test]
    fn a_store_that_stays_locked_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.sqlite");
        let mut store = Store::open(&path).unwrap();
        store.connection.busy_timeout(Duration::ZERO).unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN EXCLUSIVE").unwrap();
        for error in [store.save(None, &run(1)).unwrap_err(), store.list().unwrap_err()] {
            assert!(matches!(error, Error::Busy { .. }), "{error:?}");
            assert!(error.to_string().contains("try again"), "{error}");
        }
        other.execute_batch("ROLLBACK").unwrap();
        store.save(None, &run(1)).unwrap();
    }

    #[test]
    fn a_connection_is_as_careful_as_it_has_to_be() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&directory.path().join("runs.sqlite")).unwrap();
        let pragma = |name: &str| -> i64 {
            store.connection.pragma_query_value(None, name, |row| row.get(0)).unwrap()
        };
        assert_eq!(pragma("synchronous"), 3);
        assert_eq!(pragma("foreign_keys"), 1);
        assert_eq!(pragma("trusted_schema"), 0);
        assert_eq!(pragma("busy_timeout"), PATIENCE.as_millis() as i64);
    }
}
