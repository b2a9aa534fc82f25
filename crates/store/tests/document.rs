//! Holds `docs/store.md` to the tables as they are, and runs its queries.

mod common;

use common::{imported, name, place, raw, run};
use rusqlite::Connection;
use std::collections::BTreeMap;
use store::Store;

const DOCUMENT: &str = include_str!("../../../docs/store.md");

/// A column as the document and `PRAGMA table_xinfo` have it: name, type, is a key, may be NULL.
#[derive(Debug, PartialEq)]
struct Column {
    name: String,
    kind: String,
    key: bool,
    null: bool,
}

/// The tables of the document; of a view, the names of the columns count only.
fn documented() -> BTreeMap<String, Vec<Column>> {
    let column = |line: &str| {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        let name = cells[0].strip_prefix('`')?.strip_suffix('`')?;
        let kind = cells[1].trim_end_matches(", key").trim_end_matches(" or NULL");
        Some(Column {
            name: name.into(),
            kind: kind.into(),
            key: cells[1].ends_with(", key"),
            null: cells[1].ends_with(" or NULL"),
        })
    };
    let (_, tables) = DOCUMENT.split_once("\n## Tables\n").expect("a section of tables");
    let sections = tables.split("\n### `").skip(1);
    sections
        .map(|section| {
            let (table, rest) = section.split_once("`\n").expect("a heading");
            let lines = rest.lines().filter(|line| line.starts_with('|'));
            (table.to_owned(), lines.filter_map(column).collect())
        })
        .collect()
}

fn existing(connection: &Connection) -> BTreeMap<String, Vec<Column>> {
    let sql = "SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view')
               AND name <> 'sqlite_sequence'";
    let mut tables = connection.prepare(sql).unwrap();
    let tables = tables.query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?))).unwrap();
    tables
        .map(|table| {
            let (table, sort): (String, String) = table.unwrap();
            let sql =
                "SELECT name, type, pk > 0, NOT \"notnull\" AND pk = 0 FROM pragma_table_xinfo(?)";
            let mut columns = connection.prepare(sql).unwrap();
            let read = |row: &rusqlite::Row<'_>| {
                let (name, kind) = (row.get(0)?, row.get(1)?);
                Ok(Column { name, kind, key: row.get(2)?, null: row.get(3)? && sort == "table" })
            };
            let columns = columns.query_map([&table], read).unwrap();
            (table.clone(), columns.map(Result::unwrap).collect())
        })
        .collect()
}

#[test]
fn every_table_and_column_is_described() {
    let place = place();
    Store::open(&place.path).unwrap();
    let (mut documented, existing) = (documented(), existing(&raw(&place.path)));
    assert!(existing.len() > 15, "{existing:?}");
    // SQLite does not know whether a view's columns may be NULL.
    documented.get_mut("history").unwrap().iter_mut().for_each(|column| column.null = false);
    for (table, columns) in &existing {
        assert_eq!(documented.get(table), Some(columns), "{table}");
    }
    assert_eq!(documented.len(), existing.len());
}

#[test]
fn every_query_finds_something() {
    let place = place();
    let mut store = Store::open(&place.path).unwrap();
    for rounds in [8, 9] {
        store.save(Some(&name("base")), &run(rounds)).unwrap();
    }
    store.save(None, &imported()).unwrap();
    let connection = raw(&place.path);
    let queries: Vec<_> = DOCUMENT.split("\n```sql\n").skip(1).collect();
    assert!(queries.len() >= 8, "{}", queries.len());
    for query in queries {
        let (query, _) = query.split_once("\n```\n").expect("the end of a block");
        let mut statement = connection.prepare(query).unwrap_or_else(|e| panic!("{query}\n{e}"));
        let rows = statement.query_map([], |_| Ok(())).unwrap();
        assert!(rows.map(Result::unwrap).count() > 0, "{query}");
    }
}

#[test]
fn a_round_is_as_the_record_has_it() {
    let place = place();
    let run = run(8);
    Store::open(&place.path).unwrap().save(None, &run).unwrap();
    let query =
        DOCUMENT.split("\n```sql\n").find(|query| query.contains("AS ops_per_s\nFROM samples"));
    let (query, _) = query.unwrap().split_once("\n```\n").unwrap();
    let connection = raw(&place.path);
    let mut statement = connection.prepare(query).unwrap();
    let rates = statement.query_map([], |row| row.get(1)).unwrap();
    let rates: Vec<f64> = rates.map(Result::unwrap).collect();
    let expected = run.curves[0].points[1].round_rates();
    assert_eq!(rates.len(), expected.len());
    for (rate, expected) in rates.iter().zip(expected) {
        assert!((rate / expected - 1.0).abs() < 1e-12, "{rate} is not {expected}");
    }
}
