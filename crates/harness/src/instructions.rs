//! `--clock instructions`: how many instructions an operation takes in a guest, as QEMU counts them.
//!
//! With -icount a guest's nanosecond is an instruction, whatever the host does meanwhile: two boots with the same seed are alike,
//! often to the last digit, and to about 0.1 % on a busy host (bench/guest). What is random in a kernel follows the seed, so a boot
//! with its seed is a round. Nothing from outside may reach the guest while it counts, so it has its orders and is only listened to.

use crate::error::Error;
use crate::guest_target::{self, GuestPlan};
use crate::interrupt::Interrupt;
use crate::plan::Plan;
use crate::run::{Measured, Phase, Progress};
use guest::protocol::Report;
use results::{Curve, Kind, Metric, Point, Sample, Warning};
use std::collections::BTreeMap;
use std::time::Duration;

/// Until a guest has said its next word. A slice of ten million instructions takes a fraction of a second.
const PATIENCE: Duration = Duration::from_secs(120);
/// What the loop of two instructions should take, and the share that the kernel's timer may add to it.
const CALIBRATED: f64 = 2.0;
const TOLERANCE: f64 = 0.02;
/// A value's `elapsed_ns` for each operation, so that a sample's rate is instructions for an operation.
const PER_OPERATION_NS: u64 = 1_000_000_000;

/// One boot's counts.
struct Counted {
    /// ns of an iteration of the loop of two instructions.
    calibrated: f64,
    /// Operations and instructions by the guest's curve and number of tasks.
    sums: BTreeMap<(usize, usize), (u64, u64)>,
}

/// Boots every guest once per round, one after the other.
///
/// # Errors
/// A guest does not boot, says that something failed, or does not end well.
pub(crate) fn run(
    plan: &Plan,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Progress),
) -> Result<Measured, Error> {
    let rounds = plan.request.guests.boots;
    let mut samples: BTreeMap<(usize, usize), Vec<Sample>> = BTreeMap::new();
    let (mut mounts, mut told) = (Vec::new(), Vec::new());
    let (mut calibrated, mut done) = (Vec::new(), 0);
    'rounds: for round in 0..rounds {
        let mut these = Vec::new();
        for guest in &plan.guests {
            progress(Progress::new(Phase::Measuring, round, rounds));
            // QEMU takes 64 bits; the kernel's command line never sees it.
            let seed = plan.request.seed.wrapping_add(round.into());
            let Some(counted) =
                count(guest, &plan.request.tasks, seed, interrupt, &mut told, &mut mounts)?
            else {
                break 'rounds;
            };
            calibrated.push(counted.calibrated);
            these.push(counted);
        }
        for (guest, counted) in plan.guests.iter().zip(these) {
            for ((at, tasks), (ops, instructions)) in counted.sums {
                let of_point = samples.entry((guest.curves[at], tasks)).or_default();
                of_point.extend(shares(round, tasks, ops, instructions));
            }
        }
        done += 1;
    }
    let request = &plan.request;
    let point = |number: usize, tasks: usize| {
        let samples = samples.get(&(number, tasks))?.clone();
        Some(Point::from_samples(tasks as u32, (0..tasks as u32).collect(), samples, None))
    };
    let curves = request.curves.iter().enumerate().map(|(number, curve)| Curve {
        workload: curve.workload.to_string(),
        target: curve.target.to_string(),
        mode: curve.mode.name().into(),
        kind: Kind::Measured,
        metric: Metric { unit: "instructions/op".into(), lower_is_better: true },
        cpus: plan
            .guests
            .iter()
            .find(|guest| guest.curves.contains(&number))
            .map_or(1, |guest| guest.prepared.cpus()),
        points: request.tasks.iter().filter_map(|tasks| point(number, *tasks)).collect(),
    });
    let curves = curves.collect();
    let mut warnings = plan.warnings.clone();
    warnings.extend(calibration(&calibrated));
    warnings.extend(guest_target::failed_boots(told));
    let plan = results::Plan {
        time_s: request.time.as_secs_f64(),
        slice_s: request.slice.unwrap_or(guest_target::COUNT_SLICE).as_secs_f64(),
        rounds: done,
        warmup_rounds: 0,
        planned_rounds: rounds,
        pin: request.pin.to_string(),
        partial: interrupt.asked(),
    };
    Ok(Measured { curves, plan, warnings, mounts, left: None })
}

/// One boot. None if the user asked to end.
fn count(
    plan: &GuestPlan,
    tasks: &[usize],
    seed: u64,
    interrupt: &Interrupt,
    told: &mut Vec<String>,
    mounts: &mut Vec<results::Mount>,
) -> Result<Option<Counted>, Error> {
    let clock = guest::Clock::Instructions { seed };
    let Some(mut guest) = guest_target::ready(plan, clock, interrupt, told)? else {
        return Ok(None);
    };
    if let Some(mount) = guest_target::mount(plan, &guest)
        && mounts.iter().all(|known| known.target != mount.target)
    {
        mounts.push(mount);
    }
    let mut counted = Counted { calibrated: 0.0, sums: BTreeMap::new() };
    loop {
        match guest.report(PATIENCE, &|| interrupt.asked())? {
            None => return Ok(None),
            Some(Report::Calibrated { ns }) => counted.calibrated = ns,
            Some(Report::Samples { curve, samples }) => {
                let (ops, instructions) = counted.sums.entry((curve, samples.len())).or_default();
                *ops += samples.iter().map(|sample| sample.ops).sum::<u64>();
                // One clock counts the instructions of all CPUs.
                *instructions += samples.iter().map(|s| s.elapsed_ns).max().unwrap_or(0);
            }
            Some(Report::End) => break,
            Some(
                Report::Disturbed
                | Report::Traced { .. }
                | Report::TraceLost { .. }
                | Report::Ready { .. }
                | Report::Failed { .. },
            ) => (),
        }
    }
    guest.ended()?;
    let points = (0..plan.curves.len()).flat_map(|at| tasks.iter().map(move |tasks| (at, *tasks)));
    if points.into_iter().any(|point| counted.sums.get(&point).is_none_or(|sum| sum.0 == 0)) {
        let what = format!("{} did no operation of one of its workloads", plan.name);
        return Err(Error::Guest(guest::Error::Failed {
            what,
            advice: "give it a longer --slice (in virtual time)".into(),
            console: Vec::new(),
        }));
    }
    Ok(Some(counted))
}

/// A sample for each task, the sum of whose rates is instructions for an operation.
fn shares(round: u32, tasks: usize, ops: u64, instructions: u64) -> impl Iterator<Item = Sample> {
    let share = move |task: usize| Sample {
        round,
        task: task as u32,
        ops: instructions,
        start_ns: 0,
        elapsed_ns: ops * PER_OPERATION_NS * tasks as u64,
        user_ns: 0,
        sys_ns: 0,
        vcsw: 0,
        ivcsw: 0,
        cpu: [task as u32; 2],
    };
    (0..tasks).map(share)
}

/// What the loop of known length says of the clock: printed always, for it is the evidence that a nanosecond is an instruction.
fn calibration(measured: &[f64]) -> Option<Warning> {
    let low = measured.iter().copied().reduce(f64::min)?;
    let high = measured.iter().copied().reduce(f64::max)?;
    let good = low >= CALIBRATED * (1.0 - TOLERANCE) && high <= CALIBRATED * (1.0 + TOLERANCE);
    let message = format!(
        "a loop of 2 instructions took {low:.4} to {high:.4} virtual ns an iteration: {}",
        if good {
            "the clock counts instructions"
        } else {
            "the clock counts something else, or something else ran"
        }
    );
    let advice = match good {
        true => "nothing; every figure is in this unit",
        false => {
            "do not trust the figures; try another CPU model (cpu=) or append=clocksource=hpet"
        }
    };
    Some(Warning { code: "calibration".into(), message, advice: advice.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_instructions_for_an_operation() {
        for tasks in [1, 2, 8] {
            let rates: f64 = shares(0, tasks, 4000, 10_000_000).map(|share| share.rate()).sum();
            assert_eq!(rates, 2500.0, "{tasks}");
        }
    }

    #[test]
    fn a_clock_that_counts_something_else_is_named() {
        assert!(calibration(&[2.0001, 2.003]).unwrap().message.contains("counts instructions"));
        assert!(calibration(&[2.0001, 1.2]).unwrap().advice.contains("do not trust"));
        assert_eq!(calibration(&[]), None);
    }
}
