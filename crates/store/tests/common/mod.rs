//! Runs for the tests, and a directory for their stores.

#![allow(dead_code, reason = "each test program uses its own part of it")]

use results::{
    Cpu, CpuSamples, Curve, FixedWork, Host, Import, KernelWait, Kind, Latency, LineUse, LockUse,
    Metric, Mount, Plan, Point, Quota, RcuBacklog, Refused, Run, Sample, SampledFunction,
    SampledStack, Scheduling, TimeShares, Topology, Traced, TracerCost, WaitStack, Warning,
};
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use store::{RunName, RunRef};
use tempfile::TempDir;

/// A directory that goes with the test, and a path in it.
pub(crate) struct Place {
    pub(crate) directory: TempDir,
    pub(crate) path: PathBuf,
}

pub(crate) fn place() -> Place {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.sqlite");
    Place { directory, path }
}

pub(crate) fn name(text: &str) -> RunName {
    text.parse().unwrap()
}

pub(crate) fn which(text: &str) -> RunRef {
    text.parse().unwrap()
}

/// The file as SQLite sees it, without the store in between.
pub(crate) fn raw(path: &Path) -> Connection {
    Connection::open(path).unwrap()
}

/// Fails unless every page, index and reference is sound.
#[track_caller]
pub(crate) fn assert_sound(path: &Path) {
    let connection = raw(path);
    let integrity: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(integrity, "ok");
    assert!(!connection.prepare("PRAGMA foreign_key_check").unwrap().exists([]).unwrap());
}

pub(crate) fn sample(round: u32, task: u32, ops: u64) -> Sample {
    Sample {
        round,
        task,
        ops,
        start_ns: 900 + u64::from(task),
        elapsed_ns: 10_000_000,
        user_ns: 1_500_000,
        sys_ns: 8_400_000,
        vcsw: 1,
        ivcsw: 2,
        cpu: [task, task + 1],
    }
}

pub(crate) fn point(tasks: u32, rounds: u32) -> Point {
    let samples = (0..rounds)
        .flat_map(|round| (0..tasks).map(move |task| sample(round, task, 1000 + u64::from(round))))
        .collect();
    Point::from_samples(tasks, (0..tasks).collect(), samples, None)
}

pub(crate) fn curve(workload: &str, points: Vec<Point>) -> Curve {
    Curve {
        workload: workload.into(),
        target: "dir:/mnt/a".into(),
        mode: "process".into(),
        kind: Kind::Measured,
        cpus: 2,
        metric: Metric::default(),
        points,
    }
}

pub(crate) fn host() -> Host {
    let cpu = |id| Cpu { id, socket: 0, core: id, node: 0, smt: 0, capacity: 1024 };
    Host {
        kernel: "6.18.1 #1 SMP".into(),
        arch: "x86_64".into(),
        cpu_model: Some("A CPU".into()),
        cpus: vec![0, 1],
        topology: Topology {
            sockets: 1,
            cores: 2,
            nodes: 1,
            threads_per_core: 1,
            hybrid: false,
            cpus: vec![cpu(0), cpu(1)],
        },
        quota: Some(Quota { cpus: 1.5, cgroup: "/user.slice".into() }),
        governor: vec!["performance".into()],
        turbo: Some(false),
        mitigations: BTreeMap::from([("meltdown".into(), "Mitigation: PTI".into())]),
        memory_bytes: 8 << 30,
        virtualised: true,
        fs: vec![Mount {
            target: "dir:/mnt/a".into(),
            fs_type: "tmpfs".into(),
            source: "tmpfs".into(),
            mount_point: "/mnt/a".into(),
            mount_options: vec!["rw".into(), "relatime".into()],
            super_options: vec!["rw".into(), "size=1g".into()],
        }],
    }
}

/// What no single source sees: everything.
pub(crate) fn traced() -> Traced {
    let frames = || vec!["do_syscall_64".into(), "path_openat".into(), "down_write".into()];
    Traced {
        source: "bpf".into(),
        slices: 20,
        ops: 9000,
        task_ns: 400_000_000,
        rate_ratio: Some(0.9375),
        contentions: Some(12),
        waits: vec![KernelWait {
            lock: "path_openat".into(),
            kind: "rwsem write".into(),
            path: vec!["sys_openat".into(), "path_openat".into()],
            count: 12,
            wait_ns: 34_000,
            wait_max_ns: Some(5000),
            stacks: vec![WaitStack { frames: frames(), count: 12, wait_ns: 34_000 }],
        }],
        samples: Some(CpuSamples {
            event: "cpu-clock".into(),
            hertz: 3989,
            total: 150,
            user: 30,
            functions: vec![SampledFunction { name: "lockref_get".into(), count: 120 }],
            stacks: vec![SampledStack { frames: frames(), count: 120 }],
        }),
        scheduling: Some(Scheduling {
            voluntary: 7,
            involuntary: 1,
            stalled_cpu_ns: Some(20_000),
            stalled_memory_ns: None,
            stalled_io_ns: Some(0),
            steal_ns: 10_000_000,
        }),
        cost: Some(TracerCost { runs: 24, run_ns: 30_000 }),
        notes: vec!["functions are shown as addresses".into()],
        refused: vec![Refused {
            source: "cycles".into(),
            why: "this machine does not count cycles".into(),
            remedy: "give it a virtual PMU".into(),
        }],
    }
}

/// A run with `rounds` rounds of two workloads, which has something in every table but `imports`.
pub(crate) fn run(rounds: u32) -> Run {
    let mut with_everything = point(2, rounds);
    with_everything.ci95 = Some([1e5, 3e5]);
    with_everything.locks = vec![LockUse {
        name: "files_lock".into(),
        kind: "spin".into(),
        acquisitions: 2000,
        contended: 300,
        wait_ns: 45_000,
        wait_max_ns: 900,
        hold_ns: 80_000,
        hold_max_ns: 700,
    }];
    with_everything.traced = Some(Box::new(traced()));
    with_everything.lines =
        vec![LineUse { name: "dentry.d_count".into(), transfers: 77, wait_ns: 8000 }];
    with_everything.shares =
        Some(TimeShares { work: 0.5, lines: 0.25, spin: 0.125, sleep: 0.125, ready: 0.0 });
    with_everything.rcu = Some(RcuBacklog { waiting: 3, peak: 40, peak_bytes: 10_240 });
    let latency = Latency { count: 12, mean_ns: 1500.5, max_ns: 9000, ..Latency::default() };
    with_everything.fixed = Some(Box::new(FixedWork {
        per_op: 60.0,
        block_bytes: 4096,
        file_bytes: 8192,
        latency: Some(latency),
    }));
    Run {
        schema: Run::SCHEMA.into(),
        vfscale: "0.1.0".into(),
        command: vec!["vfscale".into(), "run".into()],
        started: "2026-03-01T12:00:00Z".into(),
        seed: u64::MAX - 5,
        plan: Plan {
            time_s: 10.0,
            slice_s: 0.01,
            rounds,
            warmup_rounds: 3,
            planned_rounds: rounds,
            pin: "cores".into(),
            partial: false,
        },
        host: host(),
        curves: vec![
            curve("open_close", vec![point(1, rounds), with_everything]),
            curve("stat", vec![point(1, rounds)]),
        ],
        warnings: vec![Warning {
            code: "steal".into(),
            message: "2 % of the time".into(),
            advice: "use another machine".into(),
        }],
        import: None,
    }
}

/// What another tool summarised: no samples, another unit.
pub(crate) fn imported() -> Run {
    let mut run = run(0);
    let import = Import { tool: "fio".into(), file: "result.json".into(), summary_only: true };
    run.import = Some(import);
    run.started = "2025-11-11T00:00:00Z".into();
    for curve in &mut run.curves {
        curve.kind = Kind::Imported;
        curve.metric = Metric { unit: "MB/s".into(), lower_is_better: false };
        for point in &mut curve.points {
            point.ops_per_s = 512.5;
        }
    }
    run
}
