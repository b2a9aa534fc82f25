//! The run itself: how it was asked for, what of the plan was done, its warnings.

use super::{curve, host};
use crate::column::{Figure, List, Table};
use crate::name::RunName;
use results::{Import, Plan, Run, Warning};
use rusqlite::{Connection, Result, params};

const RUNS: Table = Table {
    name: "runs",
    key: &["id"],
    columns: &[
        "schema",
        "vfscale",
        "command",
        "started",
        "seed",
        "time_s",
        "slice_s",
        "rounds",
        "warmup_rounds",
        "planned_rounds",
        "pin",
        "partial",
        "host",
    ],
};

const IMPORTS: Table =
    Table { name: "imports", key: &["run"], columns: &["tool", "file", "summary_only"] };

const WARNINGS: Table =
    Table { name: "warnings", key: &["run", "seq"], columns: &["code", "message", "advice"] };

/// Writes the record and gives its number.
pub(crate) fn insert(
    connection: &Connection,
    name: Option<(&RunName, u32)>,
    run: &Run,
) -> Result<i64> {
    let Run { schema, vfscale, command, started, seed, plan, host, curves, warnings, import } = run;
    let Plan { time_s, slice_s, rounds, warmup_rounds, planned_rounds, pin, partial } = plan;
    let host_id = host::find_or_insert(connection, host)?;
    RUNS.insert(connection)?.execute(params![
        None::<i64>,
        schema,
        vfscale,
        List(&command[..]),
        started,
        seed.to_string(),
        Figure(*time_s, "plan.time_s"),
        Figure(*slice_s, "plan.slice_s"),
        rounds,
        warmup_rounds,
        planned_rounds,
        pin,
        partial,
        host_id,
    ])?;
    let id = connection.last_insert_rowid();
    if let Some((name, version)) = name {
        let sql = "UPDATE runs SET name = ?, version = ? WHERE id = ?";
        connection.prepare_cached(sql)?.execute(params![name.as_str(), version, id])?;
    }
    if let Some(Import { tool, file, summary_only }) = import {
        IMPORTS.insert(connection)?.execute(params![id, tool, file, summary_only])?;
    }
    let mut insert = WARNINGS.insert(connection)?;
    for (seq, Warning { code, message, advice }) in (0i64..).zip(warnings) {
        insert.execute(params![id, seq, code, message, advice])?;
    }
    host::insert_mounts(connection, id, &host.fs)?;
    for (seq, curve) in (0i64..).zip(curves) {
        curve::insert(connection, id, seq, curve)?;
    }
    Ok(id)
}

/// The record of this number.
pub(crate) fn select(connection: &Connection, id: i64) -> Result<Option<Run>> {
    let runs = RUNS.of_owner(connection, id, |fields| {
        let run = Run {
            schema: fields.take()?,
            vfscale: fields.take()?,
            command: fields.list()?,
            started: fields.take()?,
            seed: fields.count()?,
            plan: Plan {
                time_s: fields.take()?,
                slice_s: fields.take()?,
                rounds: fields.take()?,
                warmup_rounds: fields.take()?,
                planned_rounds: fields.take()?,
                pin: fields.take()?,
                partial: fields.take()?,
            },
            host: host::select(connection, fields.take()?, id)?,
            curves: curve::of_run(connection, id)?,
            warnings: WARNINGS.of_owner(connection, id, |fields| {
                Ok(Warning {
                    code: fields.take()?,
                    message: fields.take()?,
                    advice: fields.take()?,
                })
            })?,
            import: import(connection, id)?,
        };
        Ok(run)
    })?;
    Ok(runs.into_iter().next())
}

fn import(connection: &Connection, run: i64) -> Result<Option<Import>> {
    let imports = IMPORTS.of_owner(connection, run, |fields| {
        Ok(Import { tool: fields.take()?, file: fields.take()?, summary_only: fields.take()? })
    })?;
    Ok(imports.into_iter().next())
}

/// Removes the hosts that no run has any more.
pub(crate) fn remove_unused_hosts(connection: &Connection) -> Result<()> {
    let sql = "DELETE FROM hosts WHERE id NOT IN (SELECT host FROM runs)";
    connection.execute(sql, []).map(drop)
}
