//! Stores that earlier versions of the schema left on people's disks.
//!
//! `fixtures/version_N.sql` makes a store of version N as it was then, and `version_N.json` is the run that is in it. Neither is
//! ever changed; a version that is added gets its own.

mod common;

use common::{assert_sound, name, place, raw, run, which};
use results::Run;
use std::path::Path;
use store::Store;

const FIXTURES: &[(&str, &str)] =
    &[(include_str!("fixtures/version_1.sql"), include_str!("fixtures/version_1.json"))];

/// Everything that `.schema` and the header say.
fn schema(path: &Path) -> Vec<String> {
    let connection = raw(path);
    let sql = "SELECT type || ' ' || name || ' ' || ifnull(sql, '') FROM sqlite_schema";
    let mut schema: Vec<String> = connection
        .prepare(sql)
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    schema.sort();
    for pragma in ["user_version", "application_id"] {
        let value: i64 = connection.pragma_query_value(None, pragma, |row| row.get(0)).unwrap();
        schema.push(format!("{pragma} {value}"));
    }
    schema
}

#[test]
fn a_store_of_every_version_is_read_and_written() {
    let fresh = place();
    Store::open(&fresh.path).unwrap();
    let version: u32 =
        raw(&fresh.path).pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(FIXTURES.len(), version as usize, "each version has its fixture");
    for (sql, json) in FIXTURES {
        let old = place();
        raw(&old.path).execute_batch(sql).unwrap();
        let mut store = Store::open_existing(&old.path).unwrap();
        assert_eq!(schema(&old.path), schema(&fresh.path));
        let stored = store.load(&which("base@2")).unwrap();
        let expected: Run = serde_json::from_str(json).unwrap();
        assert_eq!(stored.run, expected);
        assert_eq!(store.save(Some(&name("base")), &run(2)).unwrap().to_string(), "base@4");
        assert_sound(&old.path);
    }
}
