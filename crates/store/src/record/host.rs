//! The machine a run was taken on, kept once for all its runs, and the run's own mounts.

use crate::column::{Count, Figure, List, Table, rows};
use results::{Cpu, Host, Mount, Quota, Topology};
use rusqlite::{Connection, Result, params};

const HOSTS: Table = Table {
    name: "hosts",
    key: &["id"],
    columns: &[
        "kernel",
        "arch",
        "cpu_model",
        "cpus",
        "sockets",
        "cores",
        "nodes",
        "threads_per_core",
        "hybrid",
        "quota_cpus",
        "quota_cgroup",
        "governor",
        "turbo",
        "memory_bytes",
        "virtualised",
    ],
};

const HOST_CPUS: Table = Table {
    name: "host_cpus",
    key: &["host", "seq"],
    columns: &["cpu", "socket", "core", "node", "smt", "capacity"],
};

const MITIGATIONS: Table =
    Table { name: "mitigations", key: &["host"], columns: &["name", "state"] };

const MOUNTS: Table = Table {
    name: "mounts",
    key: &["run", "seq"],
    columns: &["target", "fs_type", "source", "mount_point", "mount_options", "super_options"],
};

/// The number of a host that is equal but for its mounts; makes it if there is none.
pub(crate) fn find_or_insert(connection: &Connection, host: &Host) -> Result<i64> {
    let machine = Host { fs: Vec::new(), ..host.clone() };
    let sql = "SELECT id FROM hosts WHERE kernel = ? ORDER BY id";
    for id in rows(connection, sql, [&machine.kernel], |fields| fields.take())? {
        if machine_of(connection, id)? == machine {
            return Ok(id);
        }
    }
    insert(connection, &machine)
}

fn insert(connection: &Connection, host: &Host) -> Result<i64> {
    let Host {
        kernel,
        arch,
        cpu_model,
        cpus,
        topology,
        quota,
        governor,
        turbo,
        mitigations,
        memory_bytes,
        virtualised,
        fs: _,
    } = host;
    let Topology { sockets, cores, nodes, threads_per_core, hybrid, cpus: places } = topology;
    let (quota_cpus, quota_cgroup) = match quota {
        Some(Quota { cpus, cgroup }) => (Some(Figure(*cpus, "host.quota.cpus")), Some(cgroup)),
        None => (None, None),
    };
    HOSTS.insert(connection)?.execute(params![
        None::<i64>,
        kernel,
        arch,
        cpu_model,
        List(&cpus[..]),
        sockets,
        cores,
        nodes,
        threads_per_core,
        hybrid,
        quota_cpus,
        quota_cgroup,
        List(&governor[..]),
        turbo,
        Count(*memory_bytes),
        virtualised,
    ])?;
    let host = connection.last_insert_rowid();
    let mut insert = HOST_CPUS.insert(connection)?;
    for (seq, cpu) in (0i64..).zip(places) {
        let Cpu { id, socket, core, node, smt, capacity } = cpu;
        insert.execute(params![host, seq, id, socket, core, node, smt, capacity])?;
    }
    let mut insert = MITIGATIONS.insert(connection)?;
    for (name, state) in mitigations {
        insert.execute(params![host, name, state])?;
    }
    Ok(host)
}

/// Writes the mounts of a run, which has other targets than the next one on the same host.
pub(crate) fn insert_mounts(connection: &Connection, run: i64, mounts: &[Mount]) -> Result<()> {
    let mut insert = MOUNTS.insert(connection)?;
    for (seq, mount) in (0i64..).zip(mounts) {
        let Mount { target, fs_type, source, mount_point, mount_options, super_options } = mount;
        insert.execute(params![
            run,
            seq,
            target,
            fs_type,
            source,
            mount_point,
            List(&mount_options[..]),
            List(&super_options[..]),
        ])?;
    }
    Ok(())
}

/// The host of this number with the mounts of a run.
pub(crate) fn select(connection: &Connection, host: i64, run: i64) -> Result<Host> {
    let fs = MOUNTS.of_owner(connection, run, |fields| {
        Ok(Mount {
            target: fields.take()?,
            fs_type: fields.take()?,
            source: fields.take()?,
            mount_point: fields.take()?,
            mount_options: fields.list()?,
            super_options: fields.list()?,
        })
    })?;
    Ok(Host { fs, ..machine_of(connection, host)? })
}

pub(crate) fn machine_of(connection: &Connection, id: i64) -> Result<Host> {
    let hosts = HOSTS.of_owner(connection, id, |fields| {
        Ok(Host {
            kernel: fields.take()?,
            arch: fields.take()?,
            cpu_model: fields.take()?,
            cpus: fields.list()?,
            topology: Topology {
                sockets: fields.take()?,
                cores: fields.take()?,
                nodes: fields.take()?,
                threads_per_core: fields.take()?,
                hybrid: fields.take()?,
                cpus: places(connection, id)?,
            },
            quota: match (fields.take()?, fields.take()?) {
                (Some(cpus), Some(cgroup)) => Some(Quota { cpus, cgroup }),
                _ => None,
            },
            governor: fields.list()?,
            turbo: fields.take()?,
            mitigations: MITIGATIONS
                .of_owner(connection, id, |fields| Ok((fields.take()?, fields.take()?)))?
                .into_iter()
                .collect(),
            memory_bytes: fields.count()?,
            virtualised: fields.take()?,
            fs: Vec::new(),
        })
    })?;
    hosts.into_iter().next().ok_or(rusqlite::Error::QueryReturnedNoRows)
}

fn places(connection: &Connection, host: i64) -> Result<Vec<Cpu>> {
    HOST_CPUS.of_owner(connection, host, |fields| {
        Ok(Cpu {
            id: fields.take()?,
            socket: fields.take()?,
            core: fields.take()?,
            node: fields.take()?,
            smt: fields.take()?,
            capacity: fields.take()?,
        })
    })
}
