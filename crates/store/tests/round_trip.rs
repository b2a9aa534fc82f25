//! What is loaded is what was saved, whatever a record holds.

mod common;

use common::{assert_sound, imported, name, place, raw, run, which};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use results::{
    Cpu, CpuSamples, Curve, FixedWork, Host, Import, KernelWait, Kind, Latency, LineUse, LockUse,
    Metric, Mount, Plan, Point, Quota, RcuBacklog, Refused, Run, Sample, SampledFunction,
    SampledStack, Scheduling, TimeShares, Topology, Traced, TracerCost, WaitStack, Warning,
};
use std::cell::RefCell;
use store::{Error, Store};

#[test]
fn runs_of_every_sort_come_back_equal() {
    let place = place();
    let mut store = Store::open(&place.path).unwrap();
    let mut partial = run(7);
    partial.plan.partial = true;
    partial.curves[1].points.clear();
    let mut empty = run(0);
    empty.curves.clear();
    empty.host = Host::default();
    for run in [run(20), partial, imported(), empty] {
        let label = store.save(None, &run).unwrap();
        let stored = Store::open_existing(&place.path).unwrap();
        let stored = stored.load(&which(&label.to_string())).unwrap();
        assert_eq!(stored.label, label);
        assert_eq!(stored.run, run);
    }
    assert_sound(&place.path);
}

#[test]
fn any_record_comes_back_to_the_bit() {
    let place = place();
    let store = RefCell::new(Store::open(&place.path).unwrap());
    let mut runner =
        TestRunner::new(Config { cases: 96, failure_persistence: None, ..Config::default() });
    runner
        .run(&any_run(), |run| {
            let label = store.borrow_mut().save(Some(&name("any")), &run).unwrap();
            let stored = store.borrow().load(&which("any")).unwrap();
            prop_assert_eq!(&stored.label, &label);
            // Text, because `==` takes 0 and -0 for the same; JSON tells all floats apart.
            let text = |run: &Run| serde_json::to_string(run).unwrap();
            prop_assert_eq!(text(&stored.run), text(&run));
            prop_assert_eq!(stored.run, run);
            Ok(())
        })
        .unwrap();
    assert_sound(&place.path);
    // Nothing is left of what was removed.
    for entry in store.borrow().list().unwrap() {
        let id = entry.label.id.to_string();
        Store::open_existing(&place.path).unwrap().remove(&which(&id)).unwrap();
    }
    let connection = raw(&place.path);
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table'
                  AND name NOT IN ('names', 'sqlite_sequence')";
    let tables: Vec<String> = connection
        .prepare(tables)
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert!(tables.len() > 10);
    for table in tables {
        let count = format!("SELECT count(*) FROM {table}");
        let rows: i64 = connection.query_row(&count, [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 0, "{table}");
    }
    assert_sound(&place.path);
}

#[test]
fn a_negative_zero_is_a_zero() {
    let place = place();
    let mut store = Store::open(&place.path).unwrap();
    let mut run = run(1);
    run.curves[0].points[0].speedup = Some(-0.0);
    store.save(Some(&name("zero")), &run).unwrap();
    assert_eq!(store.load(&which("zero")).unwrap().run, run);
}

#[test]
fn what_no_record_can_hold_is_refused_and_leaves_nothing() {
    type Spoil = fn(&mut Run);
    let spoilt: [(&str, Spoil); 5] = [
        ("plan.time_s", |run| run.plan.time_s = f64::NAN),
        ("ops_per_s", |run| run.curves[1].points[0].ops_per_s = f64::INFINITY),
        ("ci95", |run| run.curves[0].points[1].ci95 = Some([1.0, f64::NAN])),
        ("traced.rate_ratio", |run| {
            run.curves[0].points[1].traced.as_mut().unwrap().rate_ratio = Some(f64::NAN)
        }),
        ("host.quota.cpus", |run| run.host.quota.as_mut().unwrap().cpus = f64::NEG_INFINITY),
    ];
    let place = place();
    let mut store = Store::open(&place.path).unwrap();
    for (field, spoil) in spoilt {
        let mut run = run(3);
        spoil(&mut run);
        let error = store.save(Some(&name("bad")), &run).unwrap_err();
        assert!(matches!(error, Error::NotARecord { .. }), "{error:?}");
        assert!(error.to_string().contains(field), "{error}");
    }
    assert_eq!(store.list().unwrap(), []);
    // Not even a version was used up.
    assert_eq!(store.save(Some(&name("bad")), &run(1)).unwrap().to_string(), "bad@1");
}

#[test]
fn every_sample_of_a_long_run_is_kept() {
    let place = place();
    let mut store = Store::open(&place.path).unwrap();
    let run = run(20_000);
    store.save(Some(&name("long")), &run).unwrap();
    assert_eq!(store.load(&which("long")).unwrap().run, run);
    let samples: i64 =
        raw(&place.path).query_row("SELECT count(*) FROM samples", [], |row| row.get(0)).unwrap();
    assert_eq!(samples, 80_000);
    // The space goes back to the file system.
    let size = || std::fs::metadata(&place.path).unwrap().len();
    let before = size();
    store.remove(&which("long")).unwrap();
    assert!(size() < before / 10, "{} of {before} bytes", size());
}

// Arbitrary records. Nothing here keeps to what a real one would hold.

/// Control characters, quotes, nothing at all; now and then what is the same in another run.
fn text() -> impl Strategy<Value = String> {
    let chars = prop::collection::vec(any::<char>(), 0..8).prop_map(String::from_iter);
    prop_oneof![Just("same".to_owned()), Just("a\0b'\"\n".to_owned()), chars]
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(text(), 0..3)
}

/// Finite, of either sign, from the least to the greatest.
fn figure() -> impl Strategy<Value = f64> {
    use prop::num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL};
    prop_oneof![
        Just(0.0),
        Just(f64::MAX),
        Just(5e-324),
        any::<i32>().prop_map(f64::from),
        POSITIVE | NEGATIVE | NORMAL | SUBNORMAL,
    ]
}

fn count() -> impl Strategy<Value = u64> {
    prop_oneof![Just(u64::MAX), Just(i64::MAX as u64), 0..1000u64, any::<u64>()]
}

prop_compose! {
    fn any_sample()(
        (round, task, cpu) in any::<(u32, u32, [u32; 2])>(),
        [ops, start_ns, elapsed_ns, user_ns, sys_ns, vcsw, ivcsw] in prop::array::uniform7(count()),
    ) -> Sample {
        Sample { round, task, ops, start_ns, elapsed_ns, user_ns, sys_ns, vcsw, ivcsw, cpu }
    }
}

prop_compose! {
    fn any_lock()(
        (name, kind) in (text(), text()),
        [acquisitions, contended, wait_ns, wait_max_ns, hold_ns, hold_max_ns] in prop::array::uniform6(count()),
    ) -> LockUse {
        LockUse { name, kind, acquisitions, contended, wait_ns, wait_max_ns, hold_ns, hold_max_ns }
    }
}

prop_compose! {
    fn any_wait()(
        (lock, kind, path) in (text(), text(), texts()),
        (count, wait_ns, wait_max_ns) in (count(), count(), prop::option::of(count())),
        stacks in prop::collection::vec((texts(), count(), count()), 0..3),
    ) -> KernelWait {
        let stack = |(frames, count, wait_ns)| WaitStack { frames, count, wait_ns };
        let stacks = stacks.into_iter().map(stack).collect();
        KernelWait { lock, kind, path, count, wait_ns, wait_max_ns, stacks }
    }
}

prop_compose! {
    fn any_cpu_samples()(
        (event, [hertz, total, user]) in (text(), prop::array::uniform3(count())),
        functions in prop::collection::vec((text(), count()), 0..3),
        stacks in prop::collection::vec((texts(), count()), 0..3),
    ) -> CpuSamples {
        let function = |(name, count)| SampledFunction { name, count };
        let stack = |(frames, count)| SampledStack { frames, count };
        CpuSamples {
            event, hertz, total, user,
            functions: functions.into_iter().map(function).collect(),
            stacks: stacks.into_iter().map(stack).collect(),
        }
    }
}

prop_compose! {
    fn any_scheduling()(
        [voluntary, involuntary, steal_ns] in prop::array::uniform3(count()),
        [stalled_cpu_ns, stalled_memory_ns, stalled_io_ns] in prop::array::uniform3(prop::option::of(count())),
    ) -> Scheduling {
        Scheduling { voluntary, involuntary, stalled_cpu_ns, stalled_memory_ns, stalled_io_ns, steal_ns }
    }
}

prop_compose! {
    fn any_traced()(
        (source, slices, ops, task_ns) in (text(), any::<u32>(), count(), count()),
        (rate_ratio, contentions) in (prop::option::of(figure()), prop::option::of(count())),
        waits in prop::collection::vec(any_wait().boxed(), 0..3),
        (samples, scheduling) in (prop::option::of(any_cpu_samples().boxed()), prop::option::of(any_scheduling().boxed())),
        (cost, notes) in (prop::option::of((count(), count())), texts()),
        refused in prop::collection::vec(prop::array::uniform3(text()), 0..3),
    ) -> Traced {
        let refusal = |[source, why, remedy]: [String; 3]| Refused { source, why, remedy };
        Traced {
            source, slices, ops, task_ns, rate_ratio, contentions, waits, samples, scheduling, notes,
            cost: cost.map(|(runs, run_ns)| TracerCost { runs, run_ns }),
            refused: refused.into_iter().map(refusal).collect(),
        }
    }
}

prop_compose! {
    fn any_line()(name in text(), transfers in count(), wait_ns in count()) -> LineUse {
        LineUse { name, transfers, wait_ns }
    }
}

prop_compose! {
    fn any_shares()([work, lines, spin, sleep, ready] in prop::array::uniform5(figure())) -> TimeShares {
        TimeShares { work, lines, spin, sleep, ready }
    }
}

prop_compose! {
    fn any_backlog()([waiting, peak, peak_bytes] in prop::array::uniform3(count())) -> RcuBacklog {
        RcuBacklog { waiting, peak, peak_bytes }
    }
}

prop_compose! {
    fn any_latency()(n in prop::array::uniform8(any::<u64>()), mean_ns in figure()) -> Latency {
        let [count, max_ns, p50_ns, p90_ns, p99_ns, p999_ns, over_2s, over_10s] = n;
        Latency { count, mean_ns, max_ns, p50_ns, p90_ns, p99_ns, p999_ns, over_2s, over_10s }
    }
}

prop_compose! {
    fn any_fixed()(
        (block_bytes, file_bytes) in any::<(u64, u64)>(),
        per_op in figure(),
        latency in prop::option::of(any_latency()),
    ) -> FixedWork {
        FixedWork { per_op, block_bytes, file_bytes, latency }
    }
}

prop_compose! {
    fn any_point()(
        (tasks, cpus) in (any::<u32>(), prop::collection::vec(any::<u32>(), 0..4)),
        figures in prop::array::uniform7(figure()),
        ci95 in prop::option::of(prop::array::uniform2(figure())),
        (speedup, efficiency) in (prop::option::of(figure()), prop::option::of(figure())),
        locks in prop::collection::vec(any_lock(), 0..3),
        lines in prop::collection::vec(any_line(), 0..3),
        traced in prop::option::of(any_traced().prop_map(Box::new).boxed()),
        (shares, rcu) in (prop::option::of(any_shares()), prop::option::of(any_backlog())),
        fixed in prop::option::of(any_fixed().prop_map(Box::new)),
        samples in prop::collection::vec(any_sample(), 0..6),
    ) -> Point {
        let [ops_per_s, usecs_per_op, usecs_per_op_task, real_s, user_s, sys_s, fairness] = figures;
        Point {
            tasks, cpus, ops_per_s, ci95, usecs_per_op, usecs_per_op_task, real_s, user_s, sys_s,
            speedup, efficiency, fairness, locks, traced, lines, shares, rcu, fixed, samples,
        }
    }
}

prop_compose! {
    fn any_curve()(
        [workload, target, mode, unit] in prop::array::uniform4(text()),
        kind in prop_oneof![Just(Kind::Measured), Just(Kind::Simulated), Just(Kind::Imported)],
        (cpus, lower_is_better) in any::<(u32, bool)>(),
        points in prop::collection::vec(any_point(), 0..4),
    ) -> Curve {
        Curve { workload, target, mode, kind, cpus, metric: Metric { unit, lower_is_better }, points }
    }
}

prop_compose! {
    fn any_mount()(
        [target, fs_type, source, mount_point] in prop::array::uniform4(text()),
        (mount_options, super_options) in (texts(), texts()),
    ) -> Mount {
        Mount { target, fs_type, source, mount_point, mount_options, super_options }
    }
}

prop_compose! {
    fn any_topology()(
        (sockets, cores, nodes, threads_per_core, hybrid) in any::<(u32, u32, u32, u32, bool)>(),
        cpus in prop::collection::vec(any::<[u32; 6]>(), 0..3),
    ) -> Topology {
        let cpu = |[id, socket, core, node, smt, capacity]: [u32; 6]| Cpu { id, socket, core, node, smt, capacity };
        Topology { sockets, cores, nodes, threads_per_core, hybrid, cpus: cpus.into_iter().map(cpu).collect() }
    }
}

prop_compose! {
    fn any_host()(
        (kernel, arch, cpu_model) in (text(), text(), prop::option::of(text())),
        cpus in prop::collection::vec(any::<u32>(), 0..4),
        topology in any_topology(),
        quota in prop::option::of((figure(), text()).prop_map(|(cpus, cgroup)| Quota { cpus, cgroup })),
        (governor, turbo) in (texts(), any::<Option<bool>>()),
        mitigations in prop::collection::btree_map(text(), text(), 0..3),
        (memory_bytes, virtualised) in (count(), any::<bool>()),
        fs in prop::collection::vec(any_mount(), 0..3),
    ) -> Host {
        Host {
            kernel, arch, cpu_model, cpus, topology, quota, governor, turbo, mitigations,
            memory_bytes, virtualised, fs,
        }
    }
}

prop_compose! {
    fn any_plan()(
        (time_s, slice_s, pin) in (figure(), figure(), text()),
        (rounds, warmup_rounds, planned_rounds, partial) in any::<(u32, u32, u32, bool)>(),
    ) -> Plan {
        Plan { time_s, slice_s, rounds, warmup_rounds, planned_rounds, pin, partial }
    }
}

prop_compose! {
    fn any_run()(
        ([schema, vfscale, started], command, seed) in (prop::array::uniform3(text()), texts(), count()),
        (plan, host) in (any_plan(), prop_oneof![any_host(), Just(Host::default()), Just(common::host())]),
        curves in prop::collection::vec(any_curve(), 0..4),
        warnings in prop::collection::vec(prop::array::uniform3(text()), 0..3),
        import in prop::option::of((text(), text(), any::<bool>())),
    ) -> Run {
        let warning = |[code, message, advice]: [String; 3]| Warning { code, message, advice };
        let import = import.map(|(tool, file, summary_only)| Import { tool, file, summary_only });
        let warnings = warnings.into_iter().map(warning).collect();
        Run { schema, vfscale, command, started, seed, plan, host, curves, warnings, import }
    }
}
