//! Runs to compare, made of given rates.

use results::{Curve, Host, Kind, Metric, Plan, Point, Run, Sample};

/// A point with one sample per round; `rates` in operations per second.
pub(crate) fn point(tasks: u32, rates: &[f64]) -> Point {
    let sample = |(round, rate): (usize, &f64)| Sample {
        round: round as u32,
        task: 0,
        ops: *rate as u64,
        start_ns: 0,
        elapsed_ns: 1_000_000_000,
        user_ns: 0,
        sys_ns: 0,
        vcsw: 0,
        ivcsw: 0,
        cpu: [0, 0],
    };
    Point::from_samples(tasks, Vec::new(), rates.iter().enumerate().map(sample).collect(), None)
}

/// A curve of such points.
pub(crate) fn curve(workload: &str, target: &str, points: &[(u32, Vec<f64>)]) -> Curve {
    Curve {
        workload: workload.into(),
        target: target.into(),
        mode: "process".into(),
        kind: Kind::Measured,
        cpus: 2,
        metric: Metric::default(),
        points: points.iter().map(|(tasks, rates)| point(*tasks, rates)).collect(),
    }
}

/// A run of such curves.
pub(crate) fn run(curves: Vec<Curve>) -> Run {
    Run {
        schema: Run::SCHEMA.into(),
        vfscale: "0.1.0".into(),
        command: Vec::new(),
        started: "2026-11-30T15:46:00Z".into(),
        seed: 1,
        plan: Plan {
            time_s: 1.0,
            slice_s: 0.01,
            rounds: 40,
            warmup_rounds: 1,
            planned_rounds: 40,
            pin: "cores".into(),
            partial: false,
        },
        host: Host { kernel: "6.18".into(), ..Host::default() },
        curves,
        warnings: Vec::new(),
        import: None,
    }
}

/// Rates around `mean` with a few per cent of noise, the same for the same `seed`.
pub(crate) fn noisy(mean: f64, seed: u64, rounds: usize) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..rounds).map(|_| mean * (1.0 + 0.02 * (uniform() + uniform() - 1.0))).collect()
}
