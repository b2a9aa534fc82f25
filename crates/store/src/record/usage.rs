//! What a point's tasks waited for: locks, cache lines, shares of time, RCU; and how long operations of fixed work took.

use crate::column::{Count, Figure, Table};
use results::{FixedWork, Latency, LineUse, LockUse, RcuBacklog, TimeShares};
use rusqlite::{Connection, Result, params};

const LOCKS: Table = Table {
    name: "locks",
    key: &["point", "seq"],
    columns: &[
        "name",
        "kind",
        "acquisitions",
        "contended",
        "wait_ns",
        "wait_max_ns",
        "hold_ns",
        "hold_max_ns",
    ],
};

const LINES: Table =
    Table { name: "lines", key: &["point", "seq"], columns: &["name", "transfers", "wait_ns"] };

const TIME_SHARES: Table = Table {
    name: "time_shares",
    key: &["point"],
    columns: &["work", "lines", "spin", "sleep", "ready"],
};

const RCU_BACKLOGS: Table =
    Table { name: "rcu_backlogs", key: &["point"], columns: &["waiting", "peak", "peak_bytes"] };

const FIXED_WORK: Table = Table {
    name: "fixed_work",
    key: &["point"],
    columns: &["per_op", "block_bytes", "file_bytes"],
};

const LATENCIES: Table = Table {
    name: "latencies",
    key: &["point"],
    columns: &[
        "count", "mean_ns", "max_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "over_2s",
        "over_10s",
    ],
};

/// Writes the locks of a point.
pub(crate) fn insert_locks(connection: &Connection, point: i64, locks: &[LockUse]) -> Result<()> {
    let mut insert = LOCKS.insert(connection)?;
    for (seq, lock) in (0i64..).zip(locks) {
        let LockUse {
            name,
            kind,
            acquisitions,
            contended,
            wait_ns,
            wait_max_ns,
            hold_ns,
            hold_max_ns,
        } = lock;
        insert.execute(params![
            point,
            seq,
            name,
            kind,
            Count(*acquisitions),
            Count(*contended),
            Count(*wait_ns),
            Count(*wait_max_ns),
            Count(*hold_ns),
            Count(*hold_max_ns),
        ])?;
    }
    Ok(())
}

/// The locks of a point in their order.
pub(crate) fn locks(connection: &Connection, point: i64) -> Result<Vec<LockUse>> {
    LOCKS.of_owner(connection, point, |fields| {
        Ok(LockUse {
            name: fields.take()?,
            kind: fields.take()?,
            acquisitions: fields.count()?,
            contended: fields.count()?,
            wait_ns: fields.count()?,
            wait_max_ns: fields.count()?,
            hold_ns: fields.count()?,
            hold_max_ns: fields.count()?,
        })
    })
}

/// Writes the cache lines of a point.
pub(crate) fn insert_lines(connection: &Connection, point: i64, lines: &[LineUse]) -> Result<()> {
    let mut insert = LINES.insert(connection)?;
    for (seq, LineUse { name, transfers, wait_ns }) in (0i64..).zip(lines) {
        insert.execute(params![point, seq, name, Count(*transfers), Count(*wait_ns)])?;
    }
    Ok(())
}

/// The cache lines of a point in their order.
pub(crate) fn lines(connection: &Connection, point: i64) -> Result<Vec<LineUse>> {
    LINES.of_owner(connection, point, |fields| {
        Ok(LineUse { name: fields.take()?, transfers: fields.count()?, wait_ns: fields.count()? })
    })
}

/// Writes what the tasks of a point spent their time with.
pub(crate) fn insert_shares(
    connection: &Connection,
    point: i64,
    shares: &TimeShares,
) -> Result<()> {
    let TimeShares { work, lines, spin, sleep, ready } = *shares;
    let share = |value| Figure(value, "shares");
    let parameters =
        params![point, share(work), share(lines), share(spin), share(sleep), share(ready)];
    TIME_SHARES.insert(connection)?.execute(parameters).map(drop)
}

/// What the tasks of a point spent their time with, where it is known.
pub(crate) fn shares(connection: &Connection, point: i64) -> Result<Option<TimeShares>> {
    let shares = TIME_SHARES.of_owner(connection, point, |fields| {
        Ok(TimeShares {
            work: fields.take()?,
            lines: fields.take()?,
            spin: fields.take()?,
            sleep: fields.take()?,
            ready: fields.take()?,
        })
    })?;
    Ok(shares.into_iter().next())
}

/// Writes the RCU backlog of a point.
pub(crate) fn insert_backlog(
    connection: &Connection,
    point: i64,
    backlog: &RcuBacklog,
) -> Result<()> {
    let RcuBacklog { waiting, peak, peak_bytes } = *backlog;
    let parameters = params![point, Count(waiting), Count(peak), Count(peak_bytes)];
    RCU_BACKLOGS.insert(connection)?.execute(parameters).map(drop)
}

/// The RCU backlog of a point, where there is RCU.
pub(crate) fn backlog(connection: &Connection, point: i64) -> Result<Option<RcuBacklog>> {
    let backlogs = RCU_BACKLOGS.of_owner(connection, point, |fields| {
        Ok(RcuBacklog {
            waiting: fields.count()?,
            peak: fields.count()?,
            peak_bytes: fields.count()?,
        })
    })?;
    Ok(backlogs.into_iter().next())
}

/// Writes what there is to know of a point's fixed work.
pub(crate) fn insert_fixed(connection: &Connection, point: i64, work: &FixedWork) -> Result<()> {
    let FixedWork { per_op, block_bytes, file_bytes, latency } = work;
    let parameters =
        params![point, Figure(*per_op, "per_op"), Count(*block_bytes), Count(*file_bytes)];
    FIXED_WORK.insert(connection)?.execute(parameters)?;
    let Some(latency) = latency else { return Ok(()) };
    let Latency { count, mean_ns, max_ns, p50_ns, p90_ns, p99_ns, p999_ns, over_2s, over_10s } =
        *latency;
    let parameters = params![
        point,
        Count(count),
        Figure(mean_ns, "mean_ns"),
        Count(max_ns),
        Count(p50_ns),
        Count(p90_ns),
        Count(p99_ns),
        Count(p999_ns),
        Count(over_2s),
        Count(over_10s),
    ];
    LATENCIES.insert(connection)?.execute(parameters).map(drop)
}

/// What there is to know of a point's fixed work, if it was that.
pub(crate) fn fixed(connection: &Connection, point: i64) -> Result<Option<FixedWork>> {
    let latencies = LATENCIES.of_owner(connection, point, |fields| {
        Ok(Latency {
            count: fields.count()?,
            mean_ns: fields.take()?,
            max_ns: fields.count()?,
            p50_ns: fields.count()?,
            p90_ns: fields.count()?,
            p99_ns: fields.count()?,
            p999_ns: fields.count()?,
            over_2s: fields.count()?,
            over_10s: fields.count()?,
        })
    })?;
    let latency = latencies.into_iter().next();
    let work = FIXED_WORK.of_owner(connection, point, |fields| {
        Ok(FixedWork {
            per_op: fields.take()?,
            block_bytes: fields.count()?,
            file_bytes: fields.count()?,
            latency,
        })
    })?;
    Ok(work.into_iter().next())
}
