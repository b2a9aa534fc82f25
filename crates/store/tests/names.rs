//! Names, versions, the list and the history.

mod common;

use common::{imported, name, place, raw, run, which};
use results::Kind;
use store::{Error, Store};

#[test]
fn a_name_means_its_newest_run_and_no_number_is_given_twice() {
    let place = place();
    let mut store = Store::open(&place.path).unwrap();
    let base = name("base");
    let mut save = |rounds| store.save(Some(&base), &run(rounds)).unwrap().to_string();
    assert_eq!([save(1), save(2), save(3)], ["base@1", "base@2", "base@3"]);
    assert_eq!(store.save(None, &run(4)).unwrap().to_string(), "@4");
    assert_eq!(store.save(Some(&name("other")), &run(5)).unwrap().to_string(), "other@1");

    let rounds = |store: &Store, text: &str| store.load(&which(text)).map(|s| s.run.plan.rounds);
    for (text, expected) in
        [("base", 3), ("base@1", 1), ("base@2", 2), ("@3", 3), ("@4", 4), ("#5", 5), ("other", 5)]
    {
        assert_eq!(rounds(&store, text).unwrap(), expected, "{text}");
    }
    for missing in ["nobody", "base@0", "base@4", "@6", "@0"] {
        let error = rounds(&store, missing).unwrap_err();
        assert!(matches!(error, Error::NoRun { .. }), "{error:?}");
        assert!(error.to_string().contains(&format!("no run {missing} ")), "{error}");
    }

    assert_eq!(store.remove(&which("base")).unwrap().to_string(), "base@3");
    assert_eq!(store.find(&which("base")).unwrap().to_string(), "base@2");
    assert_eq!(store.remove(&which("@5")).unwrap().to_string(), "other@1");
    assert!(matches!(store.remove(&which("@5")), Err(Error::NoRun { .. })));
    let label = store.save(Some(&base), &run(6)).unwrap();
    assert_eq!((label.to_string(), label.id.to_string()), ("base@4".into(), "@6".into()));
    assert_eq!(store.save(Some(&name("other")), &run(7)).unwrap().to_string(), "other@2");
}

#[test]
fn equal_hosts_are_kept_once_and_go_with_their_last_run() {
    let place = place();
    let mut store = Store::open(&place.path).unwrap();
    let mut elsewhere = run(1);
    elsewhere.host.fs.clear();
    let mut other = run(1);
    other.host.topology.cpus[1].node = 1;
    for run in [&run(1), &elsewhere, &other, &run(2)] {
        store.save(None, run).unwrap();
    }
    let hosts: Vec<i64> = store.list().unwrap().iter().map(|e| e.host.number()).collect();
    assert_eq!(hosts, [1, 1, 2, 1]);
    let count = || -> [i64; 2] {
        let of = |sql: &str| raw(&place.path).query_row(sql, [], |row| row.get(0)).unwrap();
        [of("SELECT count(*) FROM hosts"), of("SELECT count(*) FROM host_cpus")]
    };
    assert_eq!(count(), [2, 4]);
    store.remove(&which("@3")).unwrap();
    assert_eq!(count(), [1, 2]);
    assert_eq!(store.load(&which("@2")).unwrap().run, elsewhere);
}

#[test]
fn the_list_says_what_each_run_is() {
    let place = place();
    let mut store = Store::open(&place.path).unwrap();
    assert_eq!(store.list().unwrap(), []);
    let mut partial = run(2);
    partial.plan.partial = true;
    partial.curves.reverse();
    partial.curves.push(partial.curves[0].clone());
    store.save(Some(&name("a")), &partial).unwrap();
    store.save(None, &imported()).unwrap();

    let list = store.list().unwrap();
    let labels: Vec<_> = list.iter().map(|entry| entry.label.to_string()).collect();
    assert_eq!(labels, ["a@1", "@2"]);
    assert_eq!(list[0].workloads, ["stat", "open_close"]);
    assert_eq!(list[0].targets, ["dir:/mnt/a"]);
    assert_eq!((list[0].partial, list[1].partial), (true, false));
    assert_eq!((list[0].tool.as_deref(), list[1].tool.as_deref()), (None, Some("fio")));
    assert_eq!(list[0].kernel, partial.host.kernel);
    assert_eq!(list[0].started, partial.started);
    assert_eq!(list[0].vfscale, partial.vfscale);
}

#[test]
fn the_history_has_the_points_of_a_workload_in_order_of_time() {
    let place = place();
    let mut store = Store::open(&place.path).unwrap();
    for (day, rounds) in [(3, 8), (1, 7), (2, 9)] {
        let mut run = run(rounds);
        run.started = format!("2026-03-0{day}T00:00:00Z");
        store.save(Some(&name("nightly")), &run).unwrap();
    }
    store.save(None, &imported()).unwrap();

    let rows = store.history(Some("open_close")).unwrap();
    let measured: Vec<_> = rows.iter().filter(|row| row.kind == Kind::Measured).collect();
    let seen: Vec<_> =
        measured.iter().map(|row| (row.tasks, row.label.to_string(), row.rounds)).collect();
    let expected = [
        (1, "nightly@2", 7),
        (1, "nightly@3", 9),
        (1, "nightly@1", 8),
        (2, "nightly@2", 7),
        (2, "nightly@3", 9),
        (2, "nightly@1", 8),
    ];
    assert_eq!(seen, expected.map(|(tasks, label, rounds)| (tasks, label.to_owned(), rounds)));
    let (row, original) = (measured[5], &run(8).curves[0].points[1]);
    assert_eq!((row.rate, row.ci95), (original.ops_per_s, original.ci95));
    assert_eq!((row.mode.as_str(), row.target.as_str()), ("process", "dir:/mnt/a"));
    assert_eq!(row.metric.unit, "ops/s");
    assert!(row.kernel.starts_with("6.18.1"));

    let imported: Vec<_> = rows.iter().filter(|row| row.kind == Kind::Imported).collect();
    assert_eq!(imported.len(), 2);
    assert!(imported.iter().all(|row| row.rounds == 0 && row.metric.unit == "MB/s"));

    assert_eq!(store.history(None).unwrap().len(), rows.len() + 4);
    assert_eq!(store.history(Some("nothing")).unwrap(), []);
}
