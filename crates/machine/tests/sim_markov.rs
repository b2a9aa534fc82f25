//! The ticket lock against theory: the Markov chain of Boyd-Wickizer, Kaashoek, Morris, Zeldovich, "Non-scalable locks are
//! dangerous" (OLS 2012).

mod sim_common;

use machine::SpinKind;
use sim_common::{counters, for_ns, machine, simulate};

/// Throughput of `n` CPUs per nanosecond: `a` local work, `s` a section, `c` one answer of the home, all nanoseconds. State k is the
/// number of CPUs that hold or wait; the next holder is on average half way down the list of those that look again.
fn chain(n: usize, a: f64, s: f64, c: f64) -> f64 {
    let service = |k: usize| 1.0 / (s + c * k as f64 / 2.0);
    let arrival = |k: usize| (n - k) as f64 / a;
    let mut weights = vec![1.0];
    for k in 0..n {
        weights.push(weights[k] * arrival(k) / service(k));
    }
    let total: f64 = weights.iter().sum();
    (1..=n).map(|k| weights[k] / total * service(k - 1)).sum()
}

/// Root mean square of the logarithmic errors.
fn error(measured: &[(usize, f64)], a: f64, s: f64, c: f64) -> f64 {
    let squares = measured.iter().map(|(n, rate)| (chain(*n, a, s, c) / rate).ln().powi(2));
    (squares.sum::<f64>() / measured.len() as f64).sqrt()
}

#[test]
fn the_ticket_lock_follows_the_chain() {
    for (local_ns, lines) in [(5_000, 0), (5_000, 1), (2_000, 0), (20_000, 2)] {
        let measured: Vec<_> = [1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 64]
            .into_iter()
            .map(|cpus| {
                let tasks = counters(cpus, SpinKind::Ticket, local_ns, lines);
                let outcome = simulate(&machine(64), &for_ns(3, 3_000_000), tasks);
                (cpus, outcome.ops() as f64 / outcome.elapsed_ns as f64)
            })
            .collect();
        let mut best = (f64::INFINITY, 0.0, 0.0);
        for s in (20..1500).step_by(20) {
            for c in (2..200).step_by(2) {
                let (s, c) = (f64::from(s), f64::from(c));
                let error = error(&measured, f64::from(local_ns), s, c);
                if error < best.0 {
                    best = (error, s, c);
                }
            }
        }
        let (rms, s, c) = best;
        println!(
            "local {local_ns} ns, {lines} lines: s {s} ns, c {c} ns, rms {:.1} %",
            rms * 100.0
        );
        assert!(rms < 0.15, "{local_ns} ns, {lines} lines: rms {rms}, s {s}, c {c}: {measured:?}");
    }
}
