CREATE TABLE names (
    name TEXT PRIMARY KEY,         -- given with --save
    last INTEGER NOT NULL          -- newest version; it is not given again when that run is removed
) STRICT, WITHOUT ROWID;

CREATE TABLE hosts (
    id INTEGER PRIMARY KEY,
    kernel TEXT NOT NULL,          -- uname: release and version
    arch TEXT NOT NULL,            -- uname: machine
    cpu_model TEXT,
    cpus TEXT NOT NULL,            -- JSON array: usable CPUs
    sockets INTEGER NOT NULL,
    cores INTEGER NOT NULL,
    nodes INTEGER NOT NULL,
    threads_per_core INTEGER NOT NULL,
    hybrid INTEGER NOT NULL,       -- 0 or 1
    quota_cpus REAL,               -- CPUs' worth of time
    quota_cgroup TEXT,             -- the cgroup that sets the quota
    governor TEXT NOT NULL,        -- JSON array
    turbo INTEGER,                 -- 0, 1 or unknown
    memory_bytes ANY NOT NULL,
    virtualised INTEGER NOT NULL,  -- 0 or 1
    CHECK ((quota_cpus IS NULL) = (quota_cgroup IS NULL))
) STRICT;

CREATE INDEX hosts_kernel ON hosts (kernel);

CREATE TABLE host_cpus (
    host INTEGER NOT NULL REFERENCES hosts ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    cpu INTEGER NOT NULL,          -- the kernel's number
    socket INTEGER NOT NULL,
    core INTEGER NOT NULL,
    node INTEGER NOT NULL,         -- NUMA node
    smt INTEGER NOT NULL,          -- 0 for the first hardware thread of its core
    capacity INTEGER NOT NULL,     -- 1024 for the strongest kind
    PRIMARY KEY (host, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE mitigations (
    host INTEGER NOT NULL REFERENCES hosts ON DELETE CASCADE,
    name TEXT NOT NULL,            -- of a vulnerability
    state TEXT NOT NULL,           -- what the kernel does about it
    PRIMARY KEY (host, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT REFERENCES names,
    version INTEGER,               -- 1 for the first run of that name
    host INTEGER NOT NULL REFERENCES hosts,
    schema TEXT NOT NULL,          -- of the record: vfscale.run/1
    vfscale TEXT NOT NULL,         -- version of the program
    command TEXT NOT NULL,         -- JSON array: argv
    started TEXT NOT NULL,         -- UTC, RFC 3339
    seed TEXT NOT NULL,            -- decimal; 64 bits, one more than an INTEGER has
    time_s REAL NOT NULL,          -- budget
    slice_s REAL NOT NULL,
    rounds INTEGER NOT NULL,       -- measured
    warmup_rounds INTEGER NOT NULL,
    planned_rounds INTEGER NOT NULL,
    pin TEXT NOT NULL,             -- cores, smt, sockets or none
    partial INTEGER NOT NULL,      -- 1 if it was interrupted
    UNIQUE (name, version),
    CHECK ((name IS NULL) = (version IS NULL))
) STRICT;

CREATE INDEX runs_host ON runs (host);

CREATE TABLE imports (
    run INTEGER PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
    tool TEXT NOT NULL,            -- will-it-scale, fio, ...
    file TEXT NOT NULL,            -- as given
    summary_only INTEGER NOT NULL  -- 1 if it has no samples
) STRICT;

CREATE TABLE warnings (
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    code TEXT NOT NULL,
    message TEXT NOT NULL,
    advice TEXT NOT NULL,
    PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE mounts (
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    target TEXT NOT NULL,          -- dir:PATH
    fs_type TEXT NOT NULL,         -- ext4, tmpfs, ...
    source TEXT NOT NULL,          -- a device, or a name
    mount_point TEXT NOT NULL,
    mount_options TEXT NOT NULL,   -- JSON array
    super_options TEXT NOT NULL,   -- JSON array
    PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE curves (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    workload TEXT NOT NULL,
    target TEXT NOT NULL,
    mode TEXT NOT NULL,            -- process or thread
    kind TEXT NOT NULL,            -- measured, simulated or imported
    cpus INTEGER NOT NULL,         -- that tasks can run on
    unit TEXT NOT NULL,            -- of points.ops_per_s: ops/s, but for imports
    lower_is_better INTEGER NOT NULL,
    UNIQUE (run, seq)
) STRICT;

CREATE INDEX curves_workload ON curves (workload);

CREATE TABLE points (
    id INTEGER PRIMARY KEY,
    curve INTEGER NOT NULL REFERENCES curves ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    tasks INTEGER NOT NULL,
    cpus TEXT NOT NULL,            -- JSON array: CPU of task 0, 1, ...
    ops_per_s REAL NOT NULL,       -- median over rounds
    ci95_low REAL,
    ci95_high REAL,
    usecs_per_op REAL NOT NULL,
    usecs_per_op_task REAL NOT NULL,
    real_s REAL NOT NULL,
    user_s REAL NOT NULL,
    sys_s REAL NOT NULL,
    speedup REAL,
    efficiency REAL,
    fairness REAL NOT NULL,
    rounds INTEGER NOT NULL,       -- distinct rounds of its samples
    UNIQUE (curve, seq),
    CHECK ((ci95_low IS NULL) = (ci95_high IS NULL))
) STRICT;

CREATE TABLE locks (
    point INTEGER NOT NULL REFERENCES points ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    name TEXT NOT NULL,            -- the kernel's
    kind TEXT NOT NULL,            -- spin, mutex, ...; empty if not known
    acquisitions ANY NOT NULL,
    contended ANY NOT NULL,
    wait_ns ANY NOT NULL,
    wait_max_ns ANY NOT NULL,
    hold_ns ANY NOT NULL,
    hold_max_ns ANY NOT NULL,
    PRIMARY KEY (point, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE traces (
    point INTEGER PRIMARY KEY REFERENCES points ON DELETE CASCADE,
    source TEXT NOT NULL,          -- bpf, tracepoints, cycles, ...
    slices INTEGER NOT NULL,
    ops ANY NOT NULL,
    task_ns ANY NOT NULL,
    rate_ratio REAL,               -- traced / untraced
    contentions ANY,
    cost_runs ANY,
    cost_run_ns ANY,
    notes TEXT NOT NULL,           -- JSON array
    sample_event TEXT,             -- cycles or cpu-clock
    sample_hertz ANY,
    sample_total ANY,
    sample_user ANY,
    voluntary ANY,
    involuntary ANY,
    stalled_cpu_ns ANY,
    stalled_memory_ns ANY,
    stalled_io_ns ANY,
    steal_ns ANY,
    CHECK ((cost_runs IS NULL) = (cost_run_ns IS NULL)),
    CHECK ((sample_event IS NULL) = (sample_hertz IS NULL)),
    CHECK ((sample_event IS NULL) = (sample_total IS NULL)),
    CHECK ((sample_event IS NULL) = (sample_user IS NULL)),
    CHECK ((voluntary IS NULL) = (involuntary IS NULL)),
    CHECK ((voluntary IS NULL) = (steal_ns IS NULL))
) STRICT;

CREATE TABLE kernel_waits (
    id INTEGER PRIMARY KEY,
    point INTEGER NOT NULL REFERENCES traces ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    lock TEXT NOT NULL,            -- symbol, or the function that waited
    kind TEXT NOT NULL,            -- spin, mutex, rwsem write, ...
    path TEXT NOT NULL,            -- JSON array: caller, waiting function
    count ANY NOT NULL,
    wait_ns ANY NOT NULL,
    wait_max_ns ANY,
    UNIQUE (point, seq)
) STRICT;

CREATE TABLE wait_stacks (
    wait INTEGER NOT NULL REFERENCES kernel_waits ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    frames TEXT NOT NULL,          -- JSON array: the outermost first
    count ANY NOT NULL,
    wait_ns ANY NOT NULL,
    PRIMARY KEY (wait, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE sampled_functions (
    point INTEGER NOT NULL REFERENCES traces ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    name TEXT NOT NULL,
    count ANY NOT NULL,
    PRIMARY KEY (point, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE sampled_stacks (
    point INTEGER NOT NULL REFERENCES traces ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    frames TEXT NOT NULL,          -- JSON array: the outermost first
    count ANY NOT NULL,
    PRIMARY KEY (point, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE refused_sources (
    point INTEGER NOT NULL REFERENCES traces ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    source TEXT NOT NULL,
    why TEXT NOT NULL,
    remedy TEXT NOT NULL,
    PRIMARY KEY (point, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE lines (
    point INTEGER NOT NULL REFERENCES points ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    name TEXT NOT NULL,            -- structure.field
    transfers ANY NOT NULL,
    wait_ns ANY NOT NULL,
    PRIMARY KEY (point, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE time_shares (
    point INTEGER PRIMARY KEY REFERENCES points ON DELETE CASCADE,
    work REAL NOT NULL,
    lines REAL NOT NULL,
    spin REAL NOT NULL,
    sleep REAL NOT NULL,
    ready REAL NOT NULL
) STRICT;

CREATE TABLE rcu_backlogs (
    point INTEGER PRIMARY KEY REFERENCES points ON DELETE CASCADE,
    waiting ANY NOT NULL,
    peak ANY NOT NULL,
    peak_bytes ANY NOT NULL
) STRICT;

CREATE TABLE fixed_work (
    point INTEGER PRIMARY KEY REFERENCES points ON DELETE CASCADE,
    per_op REAL NOT NULL,          -- one operation a second, in the curve's unit
    block_bytes ANY NOT NULL,      -- that an operation moves
    file_bytes ANY NOT NULL        -- files of all tasks
) STRICT;

CREATE TABLE latencies (
    point INTEGER PRIMARY KEY REFERENCES fixed_work ON DELETE CASCADE,
    count ANY NOT NULL,
    mean_ns REAL NOT NULL,
    max_ns ANY NOT NULL,
    p50_ns ANY NOT NULL,
    p90_ns ANY NOT NULL,
    p99_ns ANY NOT NULL,
    p999_ns ANY NOT NULL,
    over_2s ANY NOT NULL,          -- operations
    over_10s ANY NOT NULL
) STRICT;

CREATE TABLE samples (
    point INTEGER NOT NULL REFERENCES points ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    round INTEGER NOT NULL,
    task INTEGER NOT NULL,
    ops ANY NOT NULL,
    start_ns ANY NOT NULL,
    elapsed_ns ANY NOT NULL,
    user_ns ANY NOT NULL,
    sys_ns ANY NOT NULL,
    vcsw ANY NOT NULL,             -- voluntary context switches
    ivcsw ANY NOT NULL,            -- involuntary ones
    cpu_start INTEGER NOT NULL,
    cpu_end INTEGER NOT NULL,
    PRIMARY KEY (point, seq)
) STRICT, WITHOUT ROWID;

CREATE VIEW history AS
SELECT
    runs.id AS run,
    runs.name,
    runs.version,
    runs.started,
    hosts.kernel,
    runs.host,
    runs.partial,
    curves.workload,
    curves.target,
    curves.mode,
    curves.kind,
    curves.unit,
    curves.lower_is_better,
    points.tasks,
    points.ops_per_s,
    points.ci95_low,
    points.ci95_high,
    points.rounds
FROM runs
JOIN hosts ON hosts.id = runs.host
JOIN curves ON curves.run = runs.id
JOIN points ON points.curve = curves.id;
