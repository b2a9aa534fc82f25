//! Curves, their points and every sample.

use super::{trace, usage};
use crate::column::{Count, Figure, List, Table, Word};
use results::{Curve, Metric, Point, Sample};
use rusqlite::{Connection, Result, params};
use std::collections::BTreeSet;

const CURVES: Table = Table {
    name: "curves",
    key: &["run", "seq"],
    columns: &["id", "workload", "target", "mode", "kind", "cpus", "unit", "lower_is_better"],
};

const POINTS: Table = Table {
    name: "points",
    key: &["curve", "seq"],
    columns: &[
        "id",
        "tasks",
        "cpus",
        "ops_per_s",
        "ci95_low",
        "ci95_high",
        "usecs_per_op",
        "usecs_per_op_task",
        "real_s",
        "user_s",
        "sys_s",
        "speedup",
        "efficiency",
        "fairness",
        "rounds",
    ],
};

const SAMPLES: Table = Table {
    name: "samples",
    key: &["point", "seq"],
    columns: &[
        "round",
        "task",
        "ops",
        "start_ns",
        "elapsed_ns",
        "user_ns",
        "sys_ns",
        "vcsw",
        "ivcsw",
        "cpu_start",
        "cpu_end",
    ],
};

/// Writes a curve, the one at place `seq` of its run.
pub(crate) fn insert(connection: &Connection, run: i64, seq: i64, curve: &Curve) -> Result<()> {
    let Curve { workload, target, mode, kind, cpus, metric, points } = curve;
    let Metric { unit, lower_is_better } = metric;
    CURVES.insert(connection)?.execute(params![
        run,
        seq,
        None::<i64>,
        workload,
        target,
        mode,
        Word(kind),
        cpus,
        unit,
        lower_is_better,
    ])?;
    let curve = connection.last_insert_rowid();
    for (seq, point) in (0i64..).zip(points) {
        insert_point(connection, curve, seq, point)?;
    }
    Ok(())
}

fn insert_point(connection: &Connection, curve: i64, seq: i64, point: &Point) -> Result<()> {
    let Point {
        tasks,
        cpus,
        ops_per_s,
        ci95,
        usecs_per_op,
        usecs_per_op_task,
        real_s,
        user_s,
        sys_s,
        speedup,
        efficiency,
        fairness,
        locks,
        traced,
        lines,
        shares,
        rcu,
        fixed,
        samples,
    } = point;
    let rounds: BTreeSet<u32> = samples.iter().map(|sample| sample.round).collect();
    POINTS.insert(connection)?.execute(params![
        curve,
        seq,
        None::<i64>,
        tasks,
        List(&cpus[..]),
        Figure(*ops_per_s, "ops_per_s"),
        ci95.map(|[low, _]| Figure(low, "ci95")),
        ci95.map(|[_, high]| Figure(high, "ci95")),
        Figure(*usecs_per_op, "usecs_per_op"),
        Figure(*usecs_per_op_task, "usecs_per_op_task"),
        Figure(*real_s, "real_s"),
        Figure(*user_s, "user_s"),
        Figure(*sys_s, "sys_s"),
        speedup.map(|speedup| Figure(speedup, "speedup")),
        efficiency.map(|efficiency| Figure(efficiency, "efficiency")),
        Figure(*fairness, "fairness"),
        rounds.len() as i64,
    ])?;
    let point = connection.last_insert_rowid();
    usage::insert_locks(connection, point, locks)?;
    if let Some(traced) = traced {
        trace::insert(connection, point, traced)?;
    }
    usage::insert_lines(connection, point, lines)?;
    if let Some(shares) = shares {
        usage::insert_shares(connection, point, shares)?;
    }
    if let Some(backlog) = rcu {
        usage::insert_backlog(connection, point, backlog)?;
    }
    if let Some(work) = fixed {
        usage::insert_fixed(connection, point, work)?;
    }
    insert_samples(connection, point, samples)
}

fn insert_samples(connection: &Connection, point: i64, samples: &[Sample]) -> Result<()> {
    let mut insert = SAMPLES.insert(connection)?;
    for (seq, sample) in (0i64..).zip(samples) {
        let Sample { round, task, ops, start_ns, elapsed_ns, user_ns, sys_ns, vcsw, ivcsw, cpu } =
            *sample;
        let [cpu_start, cpu_end] = cpu;
        insert.execute(params![
            point,
            seq,
            round,
            task,
            Count(ops),
            Count(start_ns),
            Count(elapsed_ns),
            Count(user_ns),
            Count(sys_ns),
            Count(vcsw),
            Count(ivcsw),
            cpu_start,
            cpu_end,
        ])?;
    }
    Ok(())
}

/// The curves of a run in their order.
pub(crate) fn of_run(connection: &Connection, run: i64) -> Result<Vec<Curve>> {
    CURVES.of_owner(connection, run, |fields| {
        let id = fields.take()?;
        Ok(Curve {
            workload: fields.take()?,
            target: fields.take()?,
            mode: fields.take()?,
            kind: fields.word()?,
            cpus: fields.take()?,
            metric: Metric { unit: fields.take()?, lower_is_better: fields.take()? },
            points: points(connection, id)?,
        })
    })
}

fn points(connection: &Connection, curve: i64) -> Result<Vec<Point>> {
    POINTS.of_owner(connection, curve, |fields| {
        let id = fields.take()?;
        Ok(Point {
            tasks: fields.take()?,
            cpus: fields.list()?,
            ops_per_s: fields.take()?,
            ci95: fields.interval()?,
            usecs_per_op: fields.take()?,
            usecs_per_op_task: fields.take()?,
            real_s: fields.take()?,
            user_s: fields.take()?,
            sys_s: fields.take()?,
            speedup: fields.take()?,
            efficiency: fields.take()?,
            fairness: fields.take()?,
            locks: usage::locks(connection, id)?,
            traced: trace::of_point(connection, id)?.map(Box::new),
            lines: usage::lines(connection, id)?,
            shares: usage::shares(connection, id)?,
            rcu: usage::backlog(connection, id)?,
            fixed: usage::fixed(connection, id)?.map(Box::new),
            samples: samples(connection, id)?,
        })
    })
}

fn samples(connection: &Connection, point: i64) -> Result<Vec<Sample>> {
    SAMPLES.of_owner(connection, point, |fields| {
        Ok(Sample {
            round: fields.take()?,
            task: fields.take()?,
            ops: fields.count()?,
            start_ns: fields.count()?,
            elapsed_ns: fields.count()?,
            user_ns: fields.count()?,
            sys_ns: fields.count()?,
            vcsw: fields.count()?,
            ivcsw: fields.count()?,
            cpu: [fields.take()?, fields.take()?],
        })
    })
}
