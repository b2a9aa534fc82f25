//! What is not a store of ours, or not yet, or not any more: refused with words, and not touched.

mod common;

use common::{assert_sound, name, place, raw, run, which};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use store::{Error, Store};

/// The bytes of all files in a directory, by name.
fn everything_in(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(directory).unwrap().map(Result::unwrap);
    let mut files: Vec<_> = entries
        .filter(|entry| entry.file_type().unwrap().is_file())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn reading_makes_no_store() {
    let place = place();
    let error = Store::open_existing(&place.path).unwrap_err();
    assert!(matches!(error, Error::Missing { .. }), "{error:?}");
    assert!(error.to_string().contains("--save"), "{error}");
    let error = Store::open_existing(&place.directory.path().join("no/such/dir")).unwrap_err();
    assert!(matches!(error, Error::Missing { .. }), "{error:?}");
    assert_eq!(everything_in(place.directory.path()), []);

    // What a writer leaves that was killed before its first commit.
    fs::write(&place.path, "").unwrap();
    assert!(matches!(Store::open_existing(&place.path), Err(Error::Missing { .. })));
    assert_eq!(fs::read(&place.path).unwrap(), b"");
    let mut store = Store::open(&place.path).unwrap();
    store.save(None, &run(1)).unwrap();
}

#[test]
fn a_file_of_another_program_is_not_touched() {
    let place = place();
    let sql = |statements: &str| {
        raw(&place.path).execute_batch(statements).unwrap();
        fs::read(&place.path).unwrap()
    };
    let database = sql("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)");
    fs::remove_file(&place.path).unwrap();
    let with_id = sql("PRAGMA application_id = 7; PRAGMA user_version = 1; CREATE TABLE runs (x)");
    fs::remove_file(&place.path).unwrap();
    let without_tables = sql("PRAGMA user_version = 1; VACUUM");
    let contents: [&[u8]; 6] =
        [b"x", b"a,b\n1,2\n", &[0; 8192], &database, &with_id, &without_tables];
    for content in contents {
        fs::write(&place.path, content).unwrap();
        // That of a crash; rolled back it would change the file.
        fs::write(place.directory.path().join("runs.sqlite-journal"), "not ours either").unwrap();
        let before = everything_in(place.directory.path());
        for open in [Store::open, Store::open_existing] {
            let error = open(&place.path).unwrap_err();
            assert!(matches!(error, Error::NotAStore { .. }), "{error:?}");
            assert!(error.to_string().contains("--store"), "{error}");
        }
        assert_eq!(everything_in(place.directory.path()), before);
    }
}

#[test]
fn a_newer_store_is_refused_and_not_touched() {
    let place = place();
    Store::open(&place.path).unwrap().save(None, &run(1)).unwrap();
    raw(&place.path).pragma_update(None, "user_version", 9).unwrap();
    let before = everything_in(place.directory.path());
    for open in [Store::open, Store::open_existing] {
        let error = open(&place.path).unwrap_err().to_string();
        assert!(error.contains("version 9") && error.contains("up to 1"), "{error}");
    }
    assert_eq!(everything_in(place.directory.path()), before);
}

#[test]
fn a_path_that_no_store_can_have_says_why() {
    let place = place();
    let directory = place.directory.path();
    fs::write(directory.join("file"), "x").unwrap();
    let fifo = directory.join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let cases = [
        (directory.to_owned(), "directory"),
        (directory.join("file/runs.sqlite"), "ot a directory"),
        (fifo, "no regular file"),
        (Path::new("").to_owned(), "empty"),
    ];
    for (path, why) in cases {
        let error = Store::open(&path).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains("--store"), "{}: {error}", path.display());
    }
}

#[test]
fn the_directory_is_made_for_its_owner_only() {
    let place = place();
    let path = place.directory.path().join("share/vfscale/runs.sqlite");
    Store::open(&path).unwrap();
    for made in [path.parent().unwrap(), path.parent().unwrap().parent().unwrap()] {
        let mode = fs::metadata(made).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{}", made.display());
    }
    // One that was there is left as it was.
    fs::set_permissions(place.directory.path(), Permissions::from_mode(0o755)).unwrap();
    Store::open(&place.path).unwrap();
    let mode = fs::metadata(place.directory.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
}

#[test]
fn odd_file_names_are_files() {
    let place = place();
    for odd in [":memory:", "file:x?mode=memory", "a b%20?#&'.sqlite", "-x", "ü"] {
        let path = place.directory.path().join(odd);
        Store::open(&path).unwrap().save(Some(&name("kept")), &run(1)).unwrap();
        assert!(fs::metadata(&path).unwrap().len() > 0, "{odd}");
        let stored = Store::open_existing(&path).unwrap().load(&which("kept")).unwrap();
        assert_eq!(stored.run, run(1), "{odd}");
    }
    let link = place.directory.path().join("link");
    symlink(place.directory.path().join("behind"), &link).unwrap();
    Store::open(&link).unwrap().save(None, &run(1)).unwrap();
    assert_sound(&place.directory.path().join("behind"));
}

#[test]
fn looking_at_the_file_drops_no_lock_that_the_process_has_on_it() {
    let place = place();
    Store::open(&place.path).unwrap();
    let inode = format!(":{} ", fs::metadata(&place.path).unwrap().ino());
    let is_locked = || fs::read_to_string("/proc/locks").unwrap().contains(&inode);
    let writer = raw(&place.path);
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(is_locked());
    Store::open_existing(&place.path).unwrap();
    assert!(is_locked());
    writer.execute_batch("COMMIT").unwrap();
    assert!(!is_locked());
}

#[test]
fn damage_is_called_damage() {
    let place = place();
    let spoil: [fn(&Path); 3] = [
        |path| {
            let mut bytes = fs::read(path).unwrap();
            bytes[4096..].fill(0xa5);
            fs::write(path, bytes).unwrap();
        },
        |path| fs::File::options().write(true).open(path).unwrap().set_len(4096 * 3).unwrap(),
        |path| assert_eq!(raw(path).execute("UPDATE curves SET kind = 'new'", []).unwrap(), 2),
    ];
    for spoil in spoil {
        Store::open(&place.path).unwrap().save(None, &run(200)).unwrap();
        spoil(&place.path);
        let result = Store::open_existing(&place.path).and_then(|store| store.load(&which("@1")));
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "{error:?}");
        assert!(error.to_string().contains(".recover"), "{error}");
        fs::remove_file(&place.path).unwrap();
    }
}

#[test]
fn a_store_in_use_by_others_is_waited_for() {
    let place = place();
    let mut store = Store::open(&place.path).unwrap();
    let other = raw(&place.path);
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let (send, receive) = std::sync::mpsc::channel();
    let writer = std::thread::spawn(move || {
        send.send(()).unwrap();
        store.save(None, &run(1)).map(|label| label.to_string())
    });
    receive.recv().unwrap();
    // Long enough for the writer to find the lock taken at least now and then.
    std::thread::sleep(std::time::Duration::from_millis(200));
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(writer.join().unwrap().unwrap(), "@1");
}

#[test]
fn the_file_is_kept_as_the_documentation_says() {
    let place = place();
    Store::open(&place.path).unwrap();
    let connection = raw(&place.path);
    let pragma = |name: &str| -> String {
        let value: rusqlite::types::Value =
            connection.pragma_query_value(None, name, |row| row.get(0)).unwrap();
        match value {
            rusqlite::types::Value::Integer(number) => number.to_string(),
            rusqlite::types::Value::Text(text) => text,
            other => panic!("{name}: {other:?}"),
        }
    };
    assert_eq!(pragma("application_id"), 0x7666_7363.to_string());
    assert_eq!(pragma("user_version"), "1");
    assert_eq!(pragma("journal_mode"), "delete");
    assert_eq!(pragma("auto_vacuum"), "1");
}
