//! No room for a run, or a read-only file system: an error afterwards, and everything that was saved before is still there.

mod common;

use common::{assert_sound, name, run, which};
use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;
use store::{Error, Store};

/// Set in the process that has a mount namespace of its own; the directory to mount on.
const MOUNT_ON: &str = "VFSCALE_TEST_MOUNT_ON";

/// Runs `command`; an error says what it said.
fn succeed(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(format!("{command:?}: {said}")) }
}

#[test]
fn a_full_or_read_only_file_system_loses_no_run() {
    const TEST: &str = "a_full_or_read_only_file_system_loses_no_run";
    if let Some(directory) = env::var_os(MOUNT_ON) {
        let directory = Path::new(&directory);
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"]).arg(directory);
        succeed(&mut mount).unwrap();
        return fill(directory);
    }
    // The mount goes with its namespace, also if the test is killed.
    let unshare = || {
        let mut unshare = Command::new("unshare");
        unshare.args(["--map-root-user", "--mount"]);
        unshare
    };
    let directory = tempfile::tempdir().unwrap();
    let mount = ["mount", "-t", "tmpfs", "tmpfs"];
    if let Err(why) = succeed(unshare().args(mount).arg(directory.path())) {
        println!(
            "SKIPPED: full disk: a small tmpfs needs root or user namespaces: {}",
            why.replace('\n', "; ")
        );
        return;
    }
    let mut test = unshare();
    test.arg(env::current_exe().unwrap()).args(["--exact", TEST, "--nocapture"]);
    succeed(test.env(MOUNT_ON, directory.path())).unwrap_or_else(|said| panic!("{said}"));
}

/// Saves until the file system in `directory` is full.
fn fill(directory: &Path) {
    let path = directory.join("runs.sqlite");
    let ballast = directory.join("ballast");
    fs::write(&ballast, vec![1; 1 << 19]).unwrap();
    let mut store = Store::open(&path).unwrap();
    let (name, name_only) = (name("base"), which("base"));
    let mut saved = 0;
    let error = loop {
        match store.save(Some(&name), &run(400)) {
            Ok(label) => {
                saved += 1;
                assert_eq!(label.to_string(), format!("base@{saved}"));
            }
            Err(error) => break error,
        }
    };
    assert!(saved > 0);
    assert!(matches!(error, Error::Full { .. }), "{error:?}");
    assert!(error.to_string().contains("free some space"), "{error}");

    // The same store, another one, and a new one on the same file system.
    for store in [&store, &Store::open_existing(&path).unwrap()] {
        assert_eq!(store.list().unwrap().len(), saved);
        for version in 1..=saved {
            assert_eq!(store.load(&which(&format!("base@{version}"))).unwrap().run, run(400));
        }
    }
    assert_sound(&path);
    fs::write(directory.join("filler"), vec![0; 2 << 20]).unwrap_err();
    let another = Store::open(&directory.join("another.sqlite")).unwrap_err();
    assert!(matches!(another, Error::Full { .. }), "{another:?}");
    assert_eq!(Store::open_existing(&path).unwrap().list().unwrap().len(), saved);

    // With room again, it goes on.
    fs::remove_file(directory.join("filler")).unwrap();
    fs::remove_file(ballast).unwrap();
    // Of several that do not fit together none is in, although the first would fit.
    let large = run(400);
    let error = store.save_all(&vec![(&name, &large); saved + 20]).unwrap_err();
    assert!(matches!(error, Error::Full { .. }), "{error:?}");
    assert_eq!(store.list().unwrap().len(), saved);
    store.remove(&which("base@1")).unwrap();
    assert_eq!(
        store.save(Some(&name), &run(200)).unwrap().to_string(),
        format!("base@{}", saved + 1)
    );
    assert_sound(&path);

    // What is read-only is read all the same, and nothing else.
    drop(store);
    succeed(Command::new("mount").args(["-o", "remount,ro"]).arg(directory)).unwrap();
    let mut store = Store::open_existing(&path).unwrap();
    assert_eq!(store.load(&name_only).unwrap().run, run(200));
    for error in
        [store.save(Some(&name), &run(1)).unwrap_err(), store.remove(&name_only).unwrap_err()]
    {
        assert!(matches!(error, Error::ReadOnly { .. }), "{error:?}");
    }
    let error = Store::open(&directory.join("new.sqlite")).unwrap_err();
    assert!(matches!(error, Error::CannotOpen { .. }), "{error:?}");
    let error = Store::open(&directory.join("new/runs.sqlite")).unwrap_err();
    assert!(matches!(error, Error::Directory { .. }), "{error:?}");
}
