//! Machine files: the built-in ones, and what is said of a wrong one.

use machine::SpinKind;
use machine::sim::{Error, Limit, MACHINES, Machine, Options, run_with};

mod sim_common;

#[test]
fn built_in_machines_are_complete() {
    for (name, summary) in MACHINES {
        let machine = Machine::named(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(machine.name, *name);
        assert!(!summary.is_empty() && !machine.summary.is_empty());
        let from_name: usize =
            name.split('-').find_map(|part| part.parse().ok()).unwrap_or(machine.cpus());
        if name.contains("dual") {
            assert_eq!(machine.cpus(), 2);
        } else {
            assert_eq!(machine.cpus(), from_name, "{name}");
        }
    }
}

#[test]
fn nodes_are_sockets_or_what_the_file_says() {
    let nodes = |name: &str| Machine::named(name).expect("it is built in").nodes();
    let several = [
        ("8-socket-2007", 8),
        ("numa-32-2007", 8),
        ("power5-64-2009", 32),
        ("xeon-16-2014", 2),
        ("xeon-160-2014", 8),
        ("epyc-256-2024", 2),
        ("numa-1024", 16),
        ("numa-4096", 64),
    ];
    for (name, _) in MACHINES {
        let expected =
            several.iter().find(|(known, _)| known == name).map_or(1, |(_, nodes)| *nodes);
        assert_eq!(nodes(name), expected, "{name}");
    }
}

#[test]
fn every_machine_runs() {
    for (name, _) in MACHINES {
        let machine = Machine::named(name).expect("it is built in");
        let tasks = sim_common::counters(machine.cpus().min(64), SpinKind::TestAndSet, 2000, 1);
        let options = Options::new(1, Limit::ops(200, 1_000_000_000));
        let outcome = run_with(&machine, &options, tasks).expect("nobody waits for ever");
        assert!(outcome.ops() >= 200, "{name}");
    }
}

/// What is said of the 8-socket machine with `from` replaced.
fn complaint(from: &str, to: &str) -> String {
    let text = include_str!("../../../machines/8-socket-2007.toml");
    assert!(text.contains(from), "{from}");
    Machine::from_toml(&text.replacen(from, to, 1)).expect_err("it is wrong").to_string()
}

#[test]
fn errors_name_the_key_and_what_was_expected() {
    let missing = complaint("hold_ns", "hodl_ns");
    assert!(missing.contains("hodl_ns") && missing.contains("hold_ns"), "{missing}");
    let text = complaint("value = 95", "value = \"95\"");
    assert!(text.contains("memory_ns") && text.contains("expected"), "{text}");
    let share = complaint("home_share = { value = 0.65", "home_share = { value = 1.5");
    assert_eq!(share, "`home_share`: expected a number from 0 to 1, found 1.5");
    let size = complaint("size = 2", "size = 0");
    assert_eq!(size, "`level.size of `hop1``: expected a number from 1 to 4096, found 0");
    let source = complaint("source = \"assumed: as hop2, farthest socket\"", "source = \"\"");
    assert!(source.contains("expected a source"), "{source}");
    let node = complaint("[node]\nlevel = \"hop1\"", "[node]\nlevel = \"socket\"");
    assert_eq!(node, "`node.level`: expected the name of a level, found `socket`");
}

#[test]
fn an_unknown_machine_is_answered_with_the_known_ones() {
    let error = Machine::named("cray-1").expect_err("not built in");
    assert_eq!(error, Error::Unknown("cray-1".to_owned()));
    let text = error.to_string();
    assert!(MACHINES.iter().all(|(name, _)| text.contains(name)), "{text}");
}

#[test]
fn latencies_can_be_scaled() {
    let machine = Machine::named("8-socket-2007").expect("it is built in");
    let slower = machine.with_latencies(1.1);
    assert!((slower.levels[0].transfer_ns - machine.levels[0].transfer_ns * 1.1).abs() < 1e-9);
    assert_eq!(slower.hit_ns, machine.hit_ns);
}
