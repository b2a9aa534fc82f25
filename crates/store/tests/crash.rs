//! Processes that write at the same time, and processes that die while they write.
//!
//! The writers are this program again: a test that finds [`WRITER`] in its environment writes instead of testing.

mod common;

use common::{assert_sound, name, place, raw, run, which};
use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;
use store::{Error, Store};

/// Path of the store that a writer is to write to.
const WRITER: &str = "VFSCALE_TEST_STORE";

/// Rounds of the run with this number; large enough for several pages per table.
fn rounds(number: u32) -> u32 {
    200 + number % 7
}

/// Saves `count` runs; says the label of each on stderr, for libtest writes to stdout, once it is saved.
fn write(path: &Path, count: u32) {
    let mut store = Store::open(path).unwrap();
    let name = name("writer");
    for number in 0..count {
        // A save without a name reads before it writes, one with a name does not.
        let name = number.is_multiple_of(2).then_some(&name);
        let label = store.save(name, &run(rounds(number))).unwrap();
        eprintln!("saved {label} {}", rounds(number));
    }
}

/// The test `test` of this program as a writer.
fn writer(test: &str, path: &Path) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(WRITER, path)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Label and rounds of a line that [`write`] printed whole.
fn acknowledged(line: &str) -> Option<(String, u32)> {
    let (label, rounds) = line.strip_prefix("saved ")?.strip_suffix('\n')?.split_once(' ')?;
    Some((label.to_owned(), rounds.parse().unwrap()))
}

#[test]
fn all_runs_of_four_processes_arrive() {
    if let Some(path) = env::var_os(WRITER) {
        return write(Path::new(&path), 25);
    }
    let place = place();
    let writers: Vec<_> =
        (0..4).map(|_| writer("all_runs_of_four_processes_arrive", &place.path)).collect();
    for writer in writers {
        let output = writer.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_sound(&place.path);
    let store = Store::open_existing(&place.path).unwrap();
    let labels: Vec<_> = store.list().unwrap().into_iter().map(|entry| entry.label).collect();
    let numbers: Vec<_> = labels.iter().map(|label| label.id.number()).collect();
    assert_eq!(numbers, (1..=100).collect::<Vec<_>>());
    let versions: Vec<_> = labels.into_iter().filter_map(|label| Some(label.name?.1)).collect();
    assert_eq!(versions, (1..=4 * 13).collect::<Vec<_>>());
    let hosts: i64 =
        raw(&place.path).query_row("SELECT count(*) FROM hosts", [], |row| row.get(0)).unwrap();
    assert_eq!(hosts, 1);
}

#[test]
fn a_writer_killed_at_any_time_loses_nothing_that_it_saved() {
    const TEST: &str = "a_writer_killed_at_any_time_loses_nothing_that_it_saved";
    if let Some(path) = env::var_os(WRITER) {
        return write(Path::new(&path), u32::MAX);
    }
    let place = place();
    let mut saved = Vec::new();
    let mut interrupted = 0;
    for attempt in 0..30 {
        let mut writer = writer(TEST, &place.path);
        let mut lines = BufReader::new(writer.stderr.take().unwrap());
        let mut line = String::new();
        // At the first attempts also while it makes the store, later after a run or two; each time a little later.
        for _ in 0..attempt % 3 {
            line.clear();
            lines.read_line(&mut line).unwrap();
            saved.push(acknowledged(&line).unwrap_or_else(|| panic!("the writer failed: {line}")));
        }
        thread::sleep(Duration::from_micros(700 * attempt));
        writer.kill().unwrap();
        writer.wait().unwrap();
        let journal = place.directory.path().join("runs.sqlite-journal");
        interrupted += u32::from(fs::metadata(journal).is_ok_and(|file| file.len() > 0));
        // What it said before it died, too.
        loop {
            line.clear();
            if lines.read_line(&mut line).unwrap() == 0 {
                break;
            }
            saved.extend(acknowledged(&line));
        }
        match Store::open_existing(&place.path) {
            Ok(store) => {
                let list = store.list().unwrap();
                assert!(list.len() >= saved.len(), "{} of {}", list.len(), saved.len());
                // One that was saved but not reported yet is there as a whole or not at all.
                for entry in list.iter().rev().take(2) {
                    let stored = store.load(&which(&entry.label.to_string())).unwrap();
                    assert_eq!(stored.run, run(stored.run.plan.rounds));
                }
            }
            Err(error) => {
                assert!(matches!(error, Error::Missing { .. }), "{error:?}");
                assert_eq!(saved, []);
                continue;
            }
        }
        assert_sound(&place.path);
    }
    let store = Store::open_existing(&place.path).unwrap();
    for (label, rounds) in &saved {
        assert_eq!(store.load(&which(label)).unwrap().run, run(*rounds), "{label}");
    }
    println!("{interrupted} of 30 kills left a journal, {} runs were saved", saved.len());
}

#[test]
fn a_writer_killed_while_it_makes_the_store_leaves_a_place_for_one() {
    const TEST: &str = "a_writer_killed_while_it_makes_the_store_leaves_a_place_for_one";
    if let Some(path) = env::var_os(WRITER) {
        return write(Path::new(&path), u32::MAX);
    }
    for attempt in 0..40 {
        let place = place();
        let mut writer = writer(TEST, &place.path);
        while !place.path.exists() {
            assert!(writer.try_wait().unwrap().is_none(), "the writer failed");
        }
        thread::sleep(Duration::from_micros(50 * attempt));
        writer.kill().unwrap();
        writer.wait().unwrap();
        let mut store = Store::open(&place.path).unwrap();
        let label = store.save(None, &run(1)).unwrap();
        assert_eq!(store.load(&which(&label.to_string())).unwrap().run, run(1));
        assert_sound(&place.path);
    }
}

#[test]
fn a_transaction_half_written_to_the_file_is_undone() {
    let (before, crashed) = (place(), place());
    let mut store = Store::open(&before.path).unwrap();
    for number in 0..3 {
        store.save(Some(&name("kept")), &run(number)).unwrap();
    }
    let whole = fs::read(&before.path).unwrap();
    // A cache this small makes SQLite write to the file long before the commit; the copy is what a crash would leave.
    let writer = raw(&before.path);
    writer.execute_batch("PRAGMA cache_size = 1; BEGIN IMMEDIATE").unwrap();
    writer.execute_batch("UPDATE samples SET ops = ops + 1; UPDATE names SET last = 9").unwrap();
    let insert = "INSERT INTO samples SELECT point, seq + 1000 * (1 + value), round, task, ops, start_ns, elapsed_ns,
                  user_ns, sys_ns, vcsw, ivcsw, cpu_start, cpu_end FROM samples, json_each('[1,2,3,4,5,6,7,8,9]')";
    for _ in 0..3 {
        writer
            .execute_batch(&insert.replace("1000", "10 * (SELECT max(seq) + 1 FROM samples)"))
            .unwrap();
    }
    let journal = "runs.sqlite-journal";
    fs::copy(&before.path, &crashed.path).unwrap();
    fs::copy(before.directory.path().join(journal), crashed.directory.path().join(journal))
        .unwrap();
    writer.execute_batch("ROLLBACK").unwrap();
    assert_ne!(fs::read(&crashed.path).unwrap(), whole, "nothing was written before the commit");

    let store = Store::open_existing(&crashed.path).unwrap();
    for number in 0..3 {
        let label = format!("kept@{}", number + 1);
        assert_eq!(store.load(&which(&label)).unwrap().run, run(number));
    }
    assert_sound(&crashed.path);
    assert_eq!(fs::read(&crashed.path).unwrap(), whole);
}
