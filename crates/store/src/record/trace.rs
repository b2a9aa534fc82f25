//! What a tracer saw of a point: waits for the kernel's locks, samples, and who was refused.

use crate::column::{Count, Fields, Figure, List, Table};
use results::{
    CpuSamples, KernelWait, Refused, SampledFunction, SampledStack, Scheduling, Traced, TracerCost,
    WaitStack,
};
use rusqlite::{Connection, Result, params};

const TRACES: Table = Table {
    name: "traces",
    key: &["point"],
    columns: &[
        "source",
        "slices",
        "ops",
        "task_ns",
        "rate_ratio",
        "contentions",
        "cost_runs",
        "cost_run_ns",
        "notes",
        "sample_event",
        "sample_hertz",
        "sample_total",
        "sample_user",
        "voluntary",
        "involuntary",
        "stalled_cpu_ns",
        "stalled_memory_ns",
        "stalled_io_ns",
        "steal_ns",
    ],
};

const KERNEL_WAITS: Table = Table {
    name: "kernel_waits",
    key: &["point", "seq"],
    columns: &["id", "lock", "kind", "path", "count", "wait_ns", "wait_max_ns"],
};

const WAIT_STACKS: Table =
    Table { name: "wait_stacks", key: &["wait", "seq"], columns: &["frames", "count", "wait_ns"] };

const SAMPLED_FUNCTIONS: Table =
    Table { name: "sampled_functions", key: &["point", "seq"], columns: &["name", "count"] };

const SAMPLED_STACKS: Table =
    Table { name: "sampled_stacks", key: &["point", "seq"], columns: &["frames", "count"] };

const REFUSED_SOURCES: Table = Table {
    name: "refused_sources",
    key: &["point", "seq"],
    columns: &["source", "why", "remedy"],
};

/// Writes what was seen of a point.
pub(crate) fn insert(connection: &Connection, point: i64, traced: &Traced) -> Result<()> {
    let Traced {
        source,
        slices,
        ops,
        task_ns,
        rate_ratio,
        contentions,
        waits,
        samples,
        scheduling,
        cost,
        notes,
        refused,
    } = traced;
    let (cost_runs, cost_run_ns) = match *cost {
        Some(TracerCost { runs, run_ns }) => (Some(Count(runs)), Some(Count(run_ns))),
        None => (None, None),
    };
    let of_samples = |count: fn(&CpuSamples) -> u64| samples.as_ref().map(|s| Count(count(s)));
    let of_scheduling =
        |count: fn(&Scheduling) -> Option<u64>| scheduling.as_ref().and_then(count).map(Count);
    TRACES.insert(connection)?.execute(params![
        point,
        source,
        slices,
        Count(*ops),
        Count(*task_ns),
        rate_ratio.map(|ratio| Figure(ratio, "traced.rate_ratio")),
        contentions.map(Count),
        cost_runs,
        cost_run_ns,
        List(&notes[..]),
        samples.as_ref().map(|samples| &samples.event),
        of_samples(|samples| samples.hertz),
        of_samples(|samples| samples.total),
        of_samples(|samples| samples.user),
        of_scheduling(|scheduling| Some(scheduling.voluntary)),
        of_scheduling(|scheduling| Some(scheduling.involuntary)),
        of_scheduling(|scheduling| scheduling.stalled_cpu_ns),
        of_scheduling(|scheduling| scheduling.stalled_memory_ns),
        of_scheduling(|scheduling| scheduling.stalled_io_ns),
        of_scheduling(|scheduling| Some(scheduling.steal_ns)),
    ])?;
    insert_waits(connection, point, waits)?;
    if let Some(CpuSamples { event: _, hertz: _, total: _, user: _, functions, stacks }) = samples {
        let mut insert = SAMPLED_FUNCTIONS.insert(connection)?;
        for (seq, SampledFunction { name, count }) in (0i64..).zip(functions) {
            insert.execute(params![point, seq, name, Count(*count)])?;
        }
        let mut insert = SAMPLED_STACKS.insert(connection)?;
        for (seq, SampledStack { frames, count }) in (0i64..).zip(stacks) {
            insert.execute(params![point, seq, List(&frames[..]), Count(*count)])?;
        }
    }
    let mut insert = REFUSED_SOURCES.insert(connection)?;
    for (seq, Refused { source, why, remedy }) in (0i64..).zip(refused) {
        insert.execute(params![point, seq, source, why, remedy])?;
    }
    Ok(())
}

fn insert_waits(connection: &Connection, point: i64, waits: &[KernelWait]) -> Result<()> {
    let mut insert = KERNEL_WAITS.insert(connection)?;
    let mut insert_stack = WAIT_STACKS.insert(connection)?;
    for (seq, wait) in (0i64..).zip(waits) {
        let KernelWait { lock, kind, path, count, wait_ns, wait_max_ns, stacks } = wait;
        insert.execute(params![
            point,
            seq,
            None::<i64>,
            lock,
            kind,
            List(&path[..]),
            Count(*count),
            Count(*wait_ns),
            wait_max_ns.map(Count),
        ])?;
        let wait = connection.last_insert_rowid();
        for (seq, WaitStack { frames, count, wait_ns }) in (0i64..).zip(stacks) {
            let parameters = params![wait, seq, List(&frames[..]), Count(*count), Count(*wait_ns)];
            insert_stack.execute(parameters)?;
        }
    }
    Ok(())
}

/// What was seen of a point, where somebody looked.
pub(crate) fn of_point(connection: &Connection, point: i64) -> Result<Option<Traced>> {
    let traces = TRACES.of_owner(connection, point, |fields| {
        Ok(Traced {
            source: fields.take()?,
            slices: fields.take()?,
            ops: fields.count()?,
            task_ns: fields.count()?,
            rate_ratio: fields.take()?,
            contentions: maybe(fields)?,
            waits: waits(connection, point)?,
            cost: maybe(fields)?
                .zip(maybe(fields)?)
                .map(|(runs, run_ns)| TracerCost { runs, run_ns }),
            notes: fields.list()?,
            samples: samples(connection, point, fields)?,
            scheduling: scheduling(fields)?,
            refused: refused(connection, point)?,
        })
    })?;
    Ok(traces.into_iter().next())
}

/// The next column, a count or nothing.
fn maybe(fields: &mut Fields<'_, '_>) -> Result<Option<u64>> {
    Ok(fields.take::<Option<Count>>()?.map(|Count(count)| count))
}

fn samples(
    connection: &Connection,
    point: i64,
    fields: &mut Fields<'_, '_>,
) -> Result<Option<CpuSamples>> {
    let event: Option<String> = fields.take()?;
    let (hertz, total, user) = (maybe(fields)?, maybe(fields)?, maybe(fields)?);
    let (Some(event), Some(hertz), Some(total), Some(user)) = (event, hertz, total, user) else {
        return Ok(None);
    };
    let functions = SAMPLED_FUNCTIONS.of_owner(connection, point, |fields| {
        Ok(SampledFunction { name: fields.take()?, count: fields.count()? })
    })?;
    let stacks = SAMPLED_STACKS.of_owner(connection, point, |fields| {
        Ok(SampledStack { frames: fields.list()?, count: fields.count()? })
    })?;
    Ok(Some(CpuSamples { event, hertz, total, user, functions, stacks }))
}

fn scheduling(fields: &mut Fields<'_, '_>) -> Result<Option<Scheduling>> {
    let (voluntary, involuntary) = (maybe(fields)?, maybe(fields)?);
    let (cpu, memory, io) = (maybe(fields)?, maybe(fields)?, maybe(fields)?);
    let (Some(voluntary), Some(involuntary), Some(steal_ns)) =
        (voluntary, involuntary, maybe(fields)?)
    else {
        return Ok(None);
    };
    Ok(Some(Scheduling {
        voluntary,
        involuntary,
        stalled_cpu_ns: cpu,
        stalled_memory_ns: memory,
        stalled_io_ns: io,
        steal_ns,
    }))
}

fn waits(connection: &Connection, point: i64) -> Result<Vec<KernelWait>> {
    KERNEL_WAITS.of_owner(connection, point, |fields| {
        let id = fields.take()?;
        Ok(KernelWait {
            lock: fields.take()?,
            kind: fields.take()?,
            path: fields.list()?,
            count: fields.count()?,
            wait_ns: fields.count()?,
            wait_max_ns: maybe(fields)?,
            stacks: WAIT_STACKS.of_owner(connection, id, |fields| {
                Ok(WaitStack {
                    frames: fields.list()?,
                    count: fields.count()?,
                    wait_ns: fields.count()?,
                })
            })?,
        })
    })
}

fn refused(connection: &Connection, point: i64) -> Result<Vec<Refused>> {
    REFUSED_SOURCES.of_owner(connection, point, |fields| {
        Ok(Refused { source: fields.take()?, why: fields.take()?, remedy: fields.take()? })
    })
}
