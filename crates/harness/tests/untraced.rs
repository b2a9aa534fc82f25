//! With `--locks` nothing is attached while samples are taken: no descriptor of a tracer exists between any two of their slices,
//! though a tracer has been at work when the run is over.

use harness::machine::topology::Pin;
use harness::{CurveRequest, Interrupt, Locks, Phase, Plan, Progress, Request, Sides, Target};
use std::time::{Duration, Instant};
use std::{fs, process};
use vfs_api::TaskMode;

const ROUNDS: u32 = 8;
const TASKS: [usize; 2] = [1, 2];

/// Descriptors of this process that belong to BPF or to perf events.
fn tracers() -> Vec<String> {
    let entries = fs::read_dir("/proc/self/fd").expect("list descriptors").flatten();
    let links = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    let names = links.map(|link| link.display().to_string());
    names.filter(|name| name.contains("bpf") || name.contains("perf_event")).collect()
}

fn main() {
    let dir = tempfile::tempdir().expect("make a directory");
    let target = Target::Dir(dir.path().to_owned());
    let workload = workloads::find("unlink_open").expect("in the registry");
    let plan = Plan::new(Request {
        curves: vec![CurveRequest::new(workload, target, TaskMode::Process)],
        tasks: TASKS.to_vec(),
        pin: Pin::Cores,
        time: Duration::from_secs(60),
        slice: Some(Duration::from_millis(5)),
        precision: None,
        rounds: Some(ROUNDS),
        sides: Sides::One,
        locks: Some(Locks::default()),
        guests: Default::default(),
        seed: 1,
        began: Instant::now(),
    })
    .expect("a plan");
    let interrupt = Interrupt::listen().expect("listen to signals");
    let (mut looks, mut traced) = (0, 0);
    let mut look = |progress: Progress| match progress.phase {
        Phase::WarmingUp | Phase::Measuring => {
            assert_eq!(traced, 0, "samples come first");
            assert_eq!(tracers(), [""; 0], "while samples are taken: {progress:?}");
            looks += 1;
        }
        // Between two points nobody is traced either.
        Phase::Tracing => {
            assert_eq!(tracers(), [""; 0], "between points: {progress:?}");
            traced += 1;
        }
    };
    let measured = harness::run(&plan, &interrupt, &mut look).expect("a run");
    assert!(looks >= ROUNDS as usize * TASKS.len(), "after each slice: {looks}");
    assert_eq!(traced, TASKS.len(), "each point is traced");
    assert_eq!(tracers(), [""; 0], "after the run");
    for point in &measured.curves[0].points {
        assert_eq!(point.samples.len(), ROUNDS as usize * point.tasks as usize);
        let seen = point.traced.as_ref().expect("somebody looked");
        let bpf_refused = seen.refused.iter().any(|refused| refused.source == "bpf");
        assert!(seen.source == "bpf" || bpf_refused, "{seen:?}");
        if bpf_refused {
            println!(
                "SKIPPED: untraced, process {}: BPF is refused: {:?}",
                process::id(),
                seen.refused
            );
        }
    }
    println!("nothing was attached in {looks} looks between slices");
}
