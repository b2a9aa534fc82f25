//! `vfscale topology`: the shape of what it prints, and a machine file that is then simulated. No latency is judged.

use crate::limits::begin_with;
use crate::support::{run, skip, temp_dir, vfscale};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::path::Path;
use std::process::Command;

/// The program with `config` as the user's folder of configuration.
fn with_config(config: &Path, args: &[&str]) -> Command {
    let mut command = vfscale(args);
    command.env("XDG_CONFIG_HOME", config);
    command
}

fn usable() -> Vec<usize> {
    let allowed = sched_getaffinity(None).expect("read the affinity");
    (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect()
}

#[test]
fn a_host_is_measured_kept_listed_and_simulated() {
    let cpus = usable();
    if cpus.len() < 2 {
        return skip("needs two CPUs");
    }
    let config = temp_dir();
    let ran = run(&mut with_config(config.path(), &["topology", "--save", "mine"])).exits(0);
    assert!(ran.stderr.contains("sim:mine/ERA"), "{ran}");
    let rows: Vec<Vec<&str>> =
        ran.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    let head = rows.iter().position(|row| row.first() == Some(&"CPU")).expect("a matrix");
    let ids: Vec<String> = cpus.iter().map(usize::to_string).collect();
    assert_eq!(rows[head][1..], ids.iter().map(String::as_str).collect::<Vec<_>>());
    for (at, id) in ids.iter().enumerate() {
        let row = &rows[head + 1 + at];
        assert_eq!((row[0], row[1 + at], row.len()), (id.as_str(), "-", 1 + ids.len()), "{ran}");
        let other = (at + 1) % ids.len();
        assert_eq!(row[1 + other], rows[head + 1 + other][1 + at], "symmetric: {ran}");
        assert!(row[1 + other].parse::<u32>().is_ok_and(|ns| ns > 0), "{ran}");
    }
    for part in ["between", "load and store", "locked operation", "switch from one task"] {
        assert!(ran.stdout.contains(part), "{part}: {ran}");
    }

    let file = config.path().join("vfscale/machines/mine.toml");
    let text = std::fs::read_to_string(&file).expect("kept there");
    let values = text.lines().filter(|line| line.contains("source = "));
    for line in values.clone() {
        let known = ["\"measured on ", "\"assumed: ", "\"calibrated", "\"fitted"];
        assert!(known.iter().any(|word| line.contains(word)), "{line}");
    }
    assert!(values.count() > 14, "{text}");

    let list = run(&mut with_config(config.path(), &["list", "machines"])).exits(0).stdout;
    let (_, own) = list.split_once("your own machines").expect("the user's machines");
    assert!(own.contains("mine "), "{list}");
    let list = ["list", "machines", "--format", "json"];
    let list = run(&mut with_config(config.path(), &list)).exits(0).json();
    let own = list["machines"].as_array().expect("machines").last().expect("one").clone();
    assert_eq!((&own["name"], &own["file"]), (&"mine".into(), &file.to_string_lossy().into()));

    let simulate = |on: &str| {
        let args =
            ["run", "open_close", "--on", on, "--rounds", "1", "--seed", "1", "--format", "json"];
        run(&mut with_config(config.path(), &args)).exits(0).record().curves.remove(0)
    };
    let by_name = simulate("sim:mine/linux-6.18");
    assert!(by_name.points.last().is_some_and(|point| point.ops_per_s > 0.0));
    assert!(by_name.cpus as usize <= cpus.len());
    let by_file = simulate(&format!("sim:{}/linux-6.18", file.display()));
    assert_eq!(by_file.points, by_name.points, "the same machine");

    let again = run(&mut with_config(config.path(), &["topology", "--save", "mine"])).exits(4);
    assert!(again.stderr.contains("remove that file"), "{again}");
    assert_eq!(std::fs::read_to_string(&file).expect("still there"), text);
}

#[test]
fn one_cpu_is_refused() {
    let mut one = CpuSet::new();
    one.set(usable()[0]);
    let mut command = vfscale(&["topology"]);
    begin_with(&mut command, move || Ok(sched_setaffinity(None, &one)?));
    let ran = run(&mut command).exits(4);
    assert_eq!(ran.stdout, "", "{ran}");
    assert!(ran.stderr.contains("two CPUs or more"), "{ran}");
}

#[test]
fn names_that_cannot_be_kept_are_refused_before_anything_is_measured() {
    let config = temp_dir();
    for name in ["numa-4096", "a/b", "x.toml", ""] {
        let ran = run(&mut with_config(config.path(), &["topology", "--save", name])).exits(2);
        assert_eq!(ran.stdout, "", "{ran}");
        assert!(ran.stderr.contains("--save"), "{ran}");
    }
    assert!(!config.path().join("vfscale").exists());
    let mut command = vfscale(&["topology", "--save", "mine"]);
    let ran = run(command.env_remove("HOME").env_remove("XDG_CONFIG_HOME")).exits(2);
    assert!(ran.stderr.contains("XDG_CONFIG_HOME"), "{ran}");
}

#[test]
fn an_own_machine_never_stands_in_for_a_built_in_one() {
    let config = temp_dir();
    let folder = config.path().join("vfscale/machines");
    std::fs::create_dir_all(&folder).expect("a folder");
    let built_in = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines/dual-core-2007.toml");
    std::fs::copy(built_in, folder.join("numa-1024.toml")).expect("a copy");
    std::fs::write(folder.join("broken.toml"), "name = 1").expect("written");
    for (machine, part) in [("numa-1024", "built-in machine: rename it"), ("broken", "broken.toml")]
    {
        let on = format!("sim:{machine}/linux-6.18");
        let ran = run(&mut with_config(config.path(), &["run", "--on", &on])).exits(2);
        assert!(ran.stderr.contains(part), "{ran}");
    }
    let list = run(&mut with_config(config.path(), &["list", "machines"])).exits(0).stdout;
    assert_eq!(list.matches("cannot be used").count(), 2, "{list}");
    let unknown = ["run", "--on", "sim:pdp-11/linux-6.18"];
    let ran = run(&mut with_config(config.path(), &unknown)).exits(2);
    assert!(ran.stderr.contains("numa-4096") && ran.stderr.contains("of your own"), "{ran}");
}
