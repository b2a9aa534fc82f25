//! Values and rows as SQLite keeps them, where that is not as Rust has them.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, Params, Result, Row};
use serde::de::DeserializeOwned;
use serde::ser::{self, Serialize};
use std::fmt;

/// A count of 64 bits. SQLite's integers have 63: what is larger becomes decimal text, which sum() and avg() still take for a
/// number. No real count is that large, but one that comes back negative would be a wrong number.
pub(crate) struct Count(pub(crate) u64);

impl ToSql for Count {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        Ok(match i64::try_from(self.0) {
            Ok(count) => count.into(),
            Err(_) => self.0.to_string().into(),
        })
    }
}

impl FromSql for Count {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Count> {
        match value {
            ValueRef::Integer(count) => {
                u64::try_from(count).map(Count).map_err(|_| FromSqlError::OutOfRange(count))
            }
            _ => value.as_str()?.parse().map(Count).map_err(FromSqlError::other),
        }
    }
}

/// A figure and the field it is from. Only numbers that JSON has go in, because the record could not be written out again.
pub(crate) struct Figure(pub(crate) f64, pub(crate) &'static str);

impl ToSql for Figure {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        let Figure(value, field) = *self;
        if value.is_finite() {
            Ok(value.into())
        } else {
            let error = NotFinite { value, field };
            Err(rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
        }
    }
}

/// A figure that is no number.
#[derive(Debug)]
struct NotFinite {
    value: f64,
    field: &'static str,
}

impl fmt::Display for NotFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}, which is not a number a record can hold", self.field, self.value)
    }
}

impl std::error::Error for NotFinite {}

/// A list of plain values, kept as a JSON array: `sqlite3` reads it by json_each().
pub(crate) struct List<T>(pub(crate) T);

impl<T: Serialize> ToSql for List<&[T]> {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        match serde_json::to_string(self.0) {
            Ok(text) => Ok(text.into()),
            Err(error) => Err(rusqlite::Error::ToSqlConversionFailure(Box::new(error))),
        }
    }
}

impl<T: DeserializeOwned> FromSql for List<Vec<T>> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<List<Vec<T>>> {
        serde_json::from_str(value.as_str()?).map(List).map_err(FromSqlError::other)
    }
}

/// A unit variant under its name in JSON.
pub(crate) struct Word<T>(pub(crate) T);

impl<T: Serialize> ToSql for Word<T> {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        let failed = |error| rusqlite::Error::ToSqlConversionFailure(Box::new(error));
        match serde_json::to_value(&self.0).map_err(failed)? {
            serde_json::Value::String(word) => Ok(word.into()),
            other => Err(failed(ser::Error::custom(format!("{other} is not a word")))),
        }
    }
}

impl<T: DeserializeOwned> FromSql for Word<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Word<T>> {
        let word = serde_json::Value::from(value.as_str()?);
        serde_json::from_value(word).map(Word).map_err(FromSqlError::other)
    }
}

/// A row that is read from left to right, so that each column is named in one place only.
pub(crate) struct Fields<'row, 'statement> {
    row: &'row Row<'statement>,
    next: usize,
}

impl Fields<'_, '_> {
    /// The next column.
    pub(crate) fn take<T: FromSql>(&mut self) -> Result<T> {
        let value = self.row.get(self.next)?;
        self.next += 1;
        Ok(value)
    }

    /// The next column, a count.
    pub(crate) fn count(&mut self) -> Result<u64> {
        self.take().map(|Count(count)| count)
    }

    /// The next column, a word.
    pub(crate) fn word<T: DeserializeOwned>(&mut self) -> Result<T> {
        self.take().map(|Word(word)| word)
    }

    /// The next two columns, an interval or nothing.
    pub(crate) fn interval(&mut self) -> Result<Option<[f64; 2]>> {
        let (low, high): (Option<f64>, Option<f64>) = (self.take()?, self.take()?);
        Ok(low.zip(high).map(|(low, high)| [low, high]))
    }

    /// The next column, a list.
    pub(crate) fn list<T: DeserializeOwned>(&mut self) -> Result<Vec<T>> {
        self.take().map(|List(list)| list)
    }
}

/// All rows of a query.
pub(crate) fn rows<T>(
    connection: &Connection,
    sql: &str,
    parameters: impl Params,
    mut read: impl FnMut(&mut Fields<'_, '_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mapped = statement.query_map(parameters, |row| read(&mut Fields { row, next: 0 }))?;
    mapped.collect()
}

/// A table and those of its columns that are written and read together, in that order.
pub(crate) struct Table {
    /// Its name.
    pub(crate) name: &'static str,
    /// The columns that say whose the row is; rows of one owner have an order by them.
    pub(crate) key: &'static [&'static str],
    /// The others.
    pub(crate) columns: &'static [&'static str],
}

impl Table {
    /// Takes the key and the other columns as parameters.
    pub(crate) fn insert<'a>(&self, connection: &'a Connection) -> Result<CachedStatement<'a>> {
        let columns = [self.key, self.columns].concat();
        let marks = vec!["?"; columns.len()].join(", ");
        let sql = format!("INSERT INTO {} ({}) VALUES ({marks})", self.name, columns.join(", "));
        connection.prepare_cached(&sql)
    }

    /// What `read` makes of the rows of `owner`, the first column of the key, in the order of the key. It gets the columns
    /// without the key.
    pub(crate) fn of_owner<T>(
        &self,
        connection: &Connection,
        owner: i64,
        read: impl FnMut(&mut Fields<'_, '_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let (columns, key) = (self.columns.join(", "), self.key.join(", "));
        let (name, first) = (self.name, self.key[0]);
        let sql = format!("SELECT {columns} FROM {name} WHERE {first} = ? ORDER BY {key}");
        rows(connection, &sql, [owner], read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through_sqlite<T: FromSql>(value: impl ToSql) -> T {
        let connection = Connection::open_in_memory().unwrap();
        connection.query_row("SELECT ?", [value], |row| row.get(0)).unwrap()
    }

    #[test]
    fn a_count_comes_back_whatever_its_size() {
        for count in [0, 1, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX] {
            assert_eq!(through_sqlite::<Count>(Count(count)).0, count);
        }
    }

    #[test]
    fn a_sum_over_counts_that_are_too_large_is_not_wrong() {
        let connection = Connection::open_in_memory().unwrap();
        let sql = "SELECT sum(column1) FROM (VALUES (?1), (?2))";
        let sum: f64 =
            connection.query_row(sql, [Count(u64::MAX), Count(1 << 62)], |row| row.get(0)).unwrap();
        assert!((sum / (1.25 * 2f64.powi(64)) - 1.0).abs() < 1e-15, "{sum}");
    }

    #[test]
    fn what_is_no_count_is_an_error() {
        let connection = Connection::open_in_memory().unwrap();
        for bad in ["-1", "'-1'", "'x'", "NULL", "1.5", "'18446744073709551616'", "x'31'"] {
            let read = connection.query_row(&format!("SELECT {bad}"), [], |row| {
                row.get::<_, Count>(0).map(|Count(count)| count)
            });
            assert!(read.is_err(), "{bad}: {read:?}");
        }
    }

    #[test]
    fn what_is_no_number_is_refused_by_name() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let error = Figure(value, "plan.time_s").to_sql().unwrap_err().to_string();
            assert!(error.contains("plan.time_s"), "{error}");
        }
    }

    #[test]
    fn lists_are_json() {
        let text: String = through_sqlite(List(&["a\0\"b".to_owned(), String::new()][..]));
        assert_eq!(text, r#"["a\u0000\"b",""]"#);
        assert_eq!(through_sqlite::<List<Vec<u32>>>(List(&[3u32, 1][..])).0, [3, 1]);
    }
}
