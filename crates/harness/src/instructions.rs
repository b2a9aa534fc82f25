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
    /// Operations and instructions of each of the guest's curves.
    sums: BTreeMap<usize, (u64, u64)>,
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
    let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); plan.request.curves.len()];
    let (mut mounts, mut told) = (Vec::new(), Vec::new());
    let (mut calibrated, mut done) = (Vec::new(), 0);
    'rounds: for round in 0..rounds {
        let mut these = Vec::new();
        for guest in &plan.guests {
            progress(Progress::new(Phase::Measuring, round, rounds));
            // QEMU takes 64 bits; the kernel's command line never sees it.
            let seed = plan.request.seed.wrapping_add(round.into());
            let Some(counted) = count(guest, seed, interrupt, &mut told, &mut mounts)? else {
                break 'rounds;
            };
            calibrated.push(counted.calibrated);
            these.push(counted);
        }
        for (guest, counted) in plan.guests.iter().zip(these) {
            for (at, (ops, instructions)) in counted.sums {
                samples[guest.curves[at]].push(sample(round, ops, instructions));
            }
        }
        done += 1;
    }
    let request = &plan.request;
    let curves = request.curves.iter().zip(samples).map(|(curve, samples)| Curve {
        workload: curve.workload.to_string(),
        target: curve.target.to_string(),
        mode: curve.mode.name().into(),
        kind: Kind::Measured,
        metric: Metric { unit: "instructions/op".into(), lower_is_better: true },
        cpus: 1,
        points: match samples.is_empty() {
            true => Vec::new(),
            false => vec![Point::from_samples(1, vec![0], samples, None)],
        },
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
                let (ops, instructions) = counted.sums.entry(curve).or_default();
                for sample in samples {
                    *ops += sample.ops;
                    *instructions += sample.elapsed_ns;
                }
            }
            Some(Report::End) => break,
            Some(Report::Disturbed | Report::Ready { .. } | Report::Failed { .. }) => (),
        }
    }
    guest.ended()?;
    let lacks = (0..plan.curves.len()).any(|at| counted.sums.get(&at).is_none_or(|sum| sum.0 == 0));
    if lacks {
        let what = format!("{} did no operation of one of its workloads", plan.name);
        return Err(Error::Guest(guest::Error::Failed {
            what,
            advice: "give it a longer --slice (in virtual time)".into(),
            console: Vec::new(),
        }));
    }
    Ok(Some(counted))
}

fn sample(round: u32, ops: u64, instructions: u64) -> Sample {
    Sample {
        round,
        task: 0,
        ops: instructions,
        start_ns: 0,
        elapsed_ns: ops * PER_OPERATION_NS,
        user_ns: 0,
        sys_ns: 0,
        vcsw: 0,
        ivcsw: 0,
        cpu: [0, 0],
    }
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
    fn a_samples_rate_is_instructions_for_an_operation() {
        assert_eq!(sample(0, 4000, 10_000_000).rate(), 2500.0);
    }

    #[test]
    fn a_clock_that_counts_something_else_is_named() {
        assert!(calibration(&[2.0001, 2.003]).unwrap().message.contains("counts instructions"));
        assert!(calibration(&[2.0001, 1.2]).unwrap().advice.contains("do not trust"));
        assert_eq!(calibration(&[]), None);
    }
}
