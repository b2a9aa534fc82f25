//! Runs with fixed numbers for the tests.

use crate::Style;
use results::{
    Cpu, CpuSamples, Curve, Host, KernelWait, Kind, LineUse, LockUse, Mount, Plan, Point, Quota,
    RcuBacklog, Refused, Run, Sample, SampledFunction, SampledStack, Scheduling, TimeShares,
    Topology, Traced, TracerCost, WaitStack, Warning,
};

/// Every mix of choices, at a narrow and a usual width.
pub(crate) fn styles() -> Vec<Style> {
    let mut styles = Vec::new();
    for width in [20, 72] {
        for bits in 0..8 {
            let style = Style {
                colour: bits & 1 != 0,
                unicode: bits & 2 != 0,
                width,
                verbose: bits & 4 != 0,
            };
            styles.push(style);
        }
    }
    styles
}

/// An uneventful slice of 10 ms.
pub(crate) fn sample(round: u32, task: u32, ops: u64) -> Sample {
    Sample {
        round,
        task,
        ops,
        start_ns: 900 + 700 * u64::from(task) + 100 * u64::from(round),
        elapsed_ns: 10_000_000,
        user_ns: 1_500_000,
        sys_ns: 8_400_000,
        vcsw: 0,
        ivcsw: u64::from(task % 2),
        cpu: [task, task],
    }
}

/// A point without samples.
pub(crate) fn summary(tasks: u32, ops_per_s: f64) -> Point {
    Point {
        tasks,
        cpus: (0..tasks.min(8)).collect(),
        ops_per_s,
        ci95: Some([ops_per_s * 0.991, ops_per_s * 1.009]),
        usecs_per_op: 1e6 / ops_per_s,
        usecs_per_op_task: f64::from(tasks) * 1e6 / ops_per_s,
        real_s: 0.08,
        user_s: 0.012,
        sys_s: 0.0672,
        speedup: None,
        efficiency: None,
        fairness: 0.987,
        locks: Vec::new(),
        traced: None,
        lines: Vec::new(),
        shares: None,
        rcu: None,
        fixed: None,
        samples: Vec::new(),
    }
}

/// A curve of such points; the speed-up is against the first one.
pub(crate) fn curve(workload: &str, rates: &[(u32, f64)]) -> Curve {
    let point = |&(tasks, rate): &(u32, f64)| {
        let speedup = rates.first().filter(|(first, _)| *first == 1).map(|(_, one)| rate / one);
        let efficiency = speedup.map(|speedup| speedup / f64::from(tasks));
        let samples =
            (0..8).flat_map(|round| (0..tasks.min(8)).map(move |task| sample(round, task, 8_100)));
        Point { speedup, efficiency, samples: samples.collect(), ..summary(tasks, rate) }
    };
    Curve {
        workload: workload.to_owned(),
        target: "dir:/mnt/x".to_owned(),
        mode: "process".to_owned(),
        kind: Kind::Measured,
        metric: results::Metric::default(),
        cpus: 0,
        points: rates.iter().map(point).collect(),
    }
}

/// Two locks, one of them fought over.
pub(crate) fn locks() -> Vec<LockUse> {
    vec![
        LockUse {
            name: "files_lock".to_owned(),
            kind: "spin".to_owned(),
            acquisitions: 2_000_000,
            contended: 500_000,
            wait_ns: 250_000_000,
            wait_max_ns: 1_200_000,
            hold_ns: 80_000_000,
            hold_max_ns: 4_500,
        },
        LockUse { name: "d_lock".to_owned(), acquisitions: 6, ..LockUse::default() },
    ]
}

fn frames(names: &str) -> Vec<String> {
    names.split(' ').map(str::to_owned).collect()
}

/// Waits in creat and unlink, with whole stacks, and samples beside them; per operation `factor` times as many.
pub(crate) fn traced(factor: u64) -> Traced {
    let wait = |path: &str, kind: &str, count, wait_ns| KernelWait {
        lock: path.rsplit(' ').next().unwrap_or(path).to_owned(),
        kind: kind.to_owned(),
        path: frames(path),
        count: count * factor,
        wait_ns: wait_ns * factor,
        wait_max_ns: Some(wait_ns / 4),
        stacks: vec![WaitStack {
            frames: frames(&format!("do_syscall_64 {path} down_write")),
            count: count * factor,
            wait_ns: wait_ns * factor,
        }],
    };
    Traced {
        source: "bpf".to_owned(),
        slices: 20,
        ops: 90_000,
        task_ns: 400_000_000,
        rate_ratio: Some(0.934_2),
        contentions: Some(17 * factor),
        waits: vec![
            wait("sys_unlink do_unlinkat", "rwsem write", 12, 81_234_567),
            wait("lookup_fast lockref_get_not_dead", "spin", 5, 1_234_567),
        ],
        samples: Some(CpuSamples {
            event: "cpu-clock".to_owned(),
            hertz: 3989,
            total: 1500,
            user: 300,
            functions: vec![
                SampledFunction { name: "lockref_get_not_dead".to_owned(), count: 900 },
                SampledFunction { name: "do_unlinkat".to_owned(), count: 300 },
            ],
            stacks: vec![SampledStack {
                frames: frames("do_syscall_64 path_openat lockref_get_not_dead"),
                count: 900,
            }],
        }),
        scheduling: None,
        cost: Some(TracerCost { runs: 34 * factor, run_ns: 45_678 * factor }),
        notes: vec!["the kernel traces no spinning for a reader-writer semaphore".to_owned()],
        refused: vec![Refused {
            source: "cycles".to_owned(),
            why: "this machine does not count cycles".to_owned(),
            remedy: "give it a virtual PMU".to_owned(),
        }],
    }
}

/// What an ordinary user sees of a kernel that lets nobody look.
pub(crate) fn watched() -> Traced {
    Traced {
        source: "scheduling".to_owned(),
        contentions: None,
        waits: Vec::new(),
        samples: None,
        cost: None,
        rate_ratio: None,
        scheduling: Some(Scheduling {
            voluntary: 4500,
            involuntary: 90,
            stalled_cpu_ns: Some(2_000_000),
            stalled_memory_ns: None,
            stalled_io_ns: Some(0),
            steal_ns: 10_000_000,
        }),
        refused: ["bpf", "tracepoints"]
            .map(|source| Refused {
                source: source.to_owned(),
                why: "not permitted".to_owned(),
                remedy: "run as root".to_owned(),
            })
            .to_vec(),
        ..traced(1)
    }
}

/// [`run`], with what was seen of its locks at two task counts.
pub(crate) fn traced_run() -> Run {
    let mut run = run();
    let points = &mut run.curves[0].points;
    points[0].traced = Some(Box::new(watched()));
    points[1].traced = Some(Box::new(traced(1)));
    run
}

/// One curve up to twice as many tasks as there are CPUs.
pub(crate) fn run() -> Run {
    let cpu = |id| Cpu { id, socket: 0, core: id, node: 0, smt: 0, capacity: 1024 };
    Run {
        schema: Run::SCHEMA.to_owned(),
        vfscale: "0.1.0".to_owned(),
        command: ["vfscale", "run", "open_close", "--on", "dir:/mnt/x"].map(str::to_owned).to_vec(),
        started: "2026-11-30T15:46:00Z".to_owned(),
        seed: 18_446_744_073_709_551_615,
        plan: Plan {
            time_s: 10.0,
            slice_s: 0.01,
            rounds: 8,
            warmup_rounds: 3,
            planned_rounds: 8,
            pin: "cores".to_owned(),
            partial: false,
        },
        host: Host {
            kernel: "6.18.44 #1 SMP PREEMPT_DYNAMIC".to_owned(),
            arch: "x86_64".to_owned(),
            cpu_model: Some("Intel(R) Xeon(R) Platinum".to_owned()),
            cpus: vec![0, 1],
            topology: Topology {
                sockets: 1,
                cores: 2,
                nodes: 1,
                threads_per_core: 1,
                hybrid: false,
                cpus: vec![cpu(0), cpu(1)],
            },
            quota: Some(Quota { cpus: 1.5, cgroup: "/user.slice".to_owned() }),
            governor: vec!["performance".to_owned()],
            turbo: Some(true),
            mitigations: [("l1tf", "Not affected"), ("spectre_v2", "Mitigation: Retpolines")]
                .map(|(name, state)| (name.to_owned(), state.to_owned()))
                .into(),
            memory_bytes: 25_200_000_000,
            virtualised: true,
            fs: vec![Mount {
                target: "dir:/mnt/x".to_owned(),
                fs_type: "ext4".to_owned(),
                source: "/dev/vdb".to_owned(),
                mount_point: "/mnt/x".to_owned(),
                mount_options: vec!["rw".to_owned(), "relatime".to_owned()],
                super_options: vec!["rw".to_owned(), "data=ordered".to_owned()],
            }],
        },
        curves: vec![curve("open_close", &[(1, 812_345.6), (2, 1_534_210.0), (4, 1_498_733.0)])],
        warnings: vec![Warning {
            code: "cfs-quota".to_owned(),
            message: "the cgroup /user.slice limits this run to 1.5 CPUs".to_owned(),
            advice: "raise cpu.max, or ask for one task only".to_owned(),
        }],
        import: None,
    }
}

/// [`run`] with other curves.
pub(crate) fn run_of(curves: Vec<Curve>) -> Run {
    Run { curves, ..run() }
}

/// A run on the largest machine and the fastest loop that the tables are made for.
pub(crate) fn large() -> Run {
    let rates = |n: u32| (1 << n, 4.1e6 * 1.57f64.powi(n as i32));
    let mut run = run_of(vec![curve("open_close", &(0..=12).map(rates).collect::<Vec<_>>())]);
    run.host.cpus = (0..2048).collect();
    run
}

/// Three curves in one plot, one of them with wide intervals, two of them with one and the same first point.
pub(crate) fn several() -> Run {
    let own = curve("open_close", &[(1, 9e5), (2, 1.7e6), (4, 2.9e6), (8, 3.1e6)]);
    let truncate = curve("truncate_by_byte", &[(1, 2e5), (2, 1.9e5), (4, 1.1e5), (8, 0.9e5)]);
    let mut shared = curve("open_close", &[(1, 9e5), (2, 1.2e6), (4, 1.3e6), (8, 1.0e6)]);
    shared.mode = "thread".to_owned();
    for point in &mut shared.points {
        point.ci95 = Some([0.7 * point.ops_per_s, 1.35 * point.ops_per_s]);
    }
    let mut run = run_of(vec![own, truncate, shared]);
    run.host.cpus = (0..8).collect();
    run
}

/// Runs that are easy to forget.
pub(crate) fn odd_runs() -> Vec<Run> {
    let mut interrupted = run_of(vec![curve("open_close", &[])]);
    interrupted.plan.partial = true;
    interrupted.plan.rounds = 0;
    let mut bare = run_of(vec![]);
    bare.host = Host::default();
    bare.warnings.clear();
    let idle = Point {
        ops_per_s: 0.0,
        ci95: Some([0.0, 0.0]),
        usecs_per_op: 0.0,
        fairness: 0.0,
        ..summary(1, 1.0)
    };
    let mut idle_run = run();
    idle_run.curves[0].points = vec![idle.clone(), Point { tasks: 2, ..idle }];
    let mut counted = run();
    counted.curves[0].points[0].locks = locks();
    counted.curves[0].points[0].lines =
        vec![LineUse { name: "files_lock".to_owned(), transfers: 7, wait_ns: 900 }];
    counted.curves[0].points[0].shares = Some(TimeShares { work: 1.0, ..TimeShares::default() });
    counted.curves[0].kind = Kind::Simulated;
    counted.curves[0].points[0].rcu =
        Some(RcuBacklog { waiting: 3, peak: 12_000, peak_bytes: 3 << 20 });
    let mut idle_traced = traced_run();
    let traced = idle_traced.curves[0].points[1].traced.as_mut().expect("it was put there");
    (traced.ops, traced.task_ns, traced.slices) = (0, 0, 0);
    vec![
        counted,
        traced_run(),
        idle_traced,
        run(),
        large(),
        interrupted,
        bare,
        idle_run,
        run_of(vec![curve("fstat", &[(3, 1e3)])]),
        run_of(vec![
            curve("fstat", &[(1, 9e5), (2, 1.7e6)]),
            curve("truncate", &[(1, 2e5), (2, 1.9e5)]),
        ]),
    ]
}
