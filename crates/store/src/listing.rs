//! What there is in the store, without the samples: the runs, and the figures of a workload over time.

use crate::column::{Fields, rows};
use crate::name::{HostId, Label, RunId, RunName};
use results::{Kind, Metric};
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};
use rusqlite::{Connection, Result};

/// A stored run in brief.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// What it is called.
    pub label: Label,
    /// When the measurement started; UTC, RFC 3339.
    pub started: String,
    /// Version of the program.
    pub vfscale: String,
    /// uname: release and version.
    pub kernel: String,
    /// The machine and its conditions.
    pub host: HostId,
    /// It was interrupted.
    pub partial: bool,
    /// The tool whose file it was read from; none for a run of vfscale's own.
    pub tool: Option<String>,
    /// Each workload once, in the order of the curves.
    pub workloads: Vec<String>,
    /// Each target once, in the order of the curves.
    pub targets: Vec<String>,
}

/// A point of a stored run.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryRow {
    /// What the run is called.
    pub label: Label,
    /// When its measurement started; UTC, RFC 3339.
    pub started: String,
    /// uname: release and version.
    pub kernel: String,
    /// The machine and its conditions.
    pub host: HostId,
    /// It was interrupted.
    pub partial: bool,
    /// Name of the workload.
    pub workload: String,
    /// The target.
    pub target: String,
    /// process or thread.
    pub mode: String,
    /// Where the figures come from.
    pub kind: Kind,
    /// What `rate` is.
    pub metric: Metric,
    /// Tasks running at the same time.
    pub tasks: u32,
    /// `ops_per_s` of the point: the median over rounds, in the unit of `metric`.
    pub rate: f64,
    /// 95 % interval of `rate`.
    pub ci95: Option<[f64; 2]>,
    /// Rounds that were measured at this point; 0 if there are no samples.
    pub rounds: u32,
}

/// Names were checked when they were saved; one that does not pass now was written by somebody else.
struct NameColumn(RunName);

impl FromSql for NameColumn {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<NameColumn> {
        value.as_str()?.parse().map(NameColumn).map_err(FromSqlError::other)
    }
}

/// Of columns `id, name, version`.
pub(crate) fn label(fields: &mut Fields<'_, '_>) -> Result<Label> {
    let id = RunId(fields.take()?);
    let (name, version): (Option<NameColumn>, Option<u32>) = (fields.take()?, fields.take()?);
    Ok(Label { id, name: name.map(|NameColumn(name)| name).zip(version) })
}

/// All runs, the first saved first.
pub(crate) fn entries(connection: &Connection) -> Result<Vec<Entry>> {
    let once = |column: &str| {
        format!(
            "(SELECT json_group_array({column}) FROM (SELECT {column} FROM curves
              WHERE run = runs.id GROUP BY {column} ORDER BY min(seq)))"
        )
    };
    let sql = format!(
        "SELECT runs.id, name, version, started, vfscale, kernel, host, partial, tool, {}, {}
         FROM runs JOIN hosts ON hosts.id = runs.host LEFT JOIN imports ON imports.run = runs.id
         ORDER BY runs.id",
        once("workload"),
        once("target"),
    );
    rows(connection, &sql, [], |fields| {
        Ok(Entry {
            label: label(fields)?,
            started: fields.take()?,
            vfscale: fields.take()?,
            kernel: fields.take()?,
            host: HostId(fields.take()?),
            partial: fields.take()?,
            tool: fields.take()?,
            workloads: fields.list()?,
            targets: fields.list()?,
        })
    })
}

/// The points of a workload, or of all; those of one curve and task count together, the first started first.
pub(crate) fn history(connection: &Connection, workload: Option<&str>) -> Result<Vec<HistoryRow>> {
    let sql = "
        SELECT run, name, version, started, kernel, host, partial, workload, target, mode, kind,
               unit, lower_is_better, tasks, ops_per_s, ci95_low, ci95_high, rounds
        FROM history WHERE ?1 IS NULL OR workload = ?1
        ORDER BY workload, target, mode, kind, unit, tasks, started, run";
    rows(connection, sql, [workload], |fields| {
        Ok(HistoryRow {
            label: label(fields)?,
            started: fields.take()?,
            kernel: fields.take()?,
            host: HostId(fields.take()?),
            partial: fields.take()?,
            workload: fields.take()?,
            target: fields.take()?,
            mode: fields.take()?,
            kind: fields.word()?,
            metric: Metric { unit: fields.take()?, lower_is_better: fields.take()? },
            tasks: fields.take()?,
            rate: fields.take()?,
            ci95: fields.interval()?,
            rounds: fields.take()?,
        })
    })
}
