//! What commands do for guests: how often they are booted, under which CPU models, and which verdicts are withheld.

use crate::args::{ClockArg, MeasureArgs};
use harness::machine::doctor::{Finding, State};
use harness::{Clock, CurveRequest, Guests, Sides, Target};
use results::{ComparedCurve, Comparison, Verdict};

/// Boots where each is a round: the fewest that give an interval.
const BOOTS: u32 = 6;
/// The CPU model that instructions are counted under beside the first one: with all that QEMU can emulate.
const OTHER_CPU: &str = "max";

/// How the guests of a request are booted.
pub(crate) fn options(args: &MeasureArgs, curves: &[CurveRequest], sides: &Sides) -> Guests {
    let clock = match args.clock {
        ClockArg::Time => Clock::Time,
        ClockArg::Instructions => Clock::Instructions,
    };
    let all = curves.iter().all(|curve| matches!(curve.target, Target::Guest(_)));
    // Two boots of one kernel differ by more than the rounds of one boot show.
    let replicate = clock == Clock::Instructions || (all && *sides != Sides::One);
    Guests { boots: args.boots.unwrap_or(if replicate { BOOTS } else { 1 }), clock }
}

/// The targets; where instructions are counted, each guest under two CPU models.
pub(crate) fn under_all_cpus(args: &MeasureArgs, targets: &[Target]) -> Vec<Target> {
    let models = |target: &Target| match (target, args.clock) {
        (Target::Guest(spec), ClockArg::Instructions) => match spec.cpu.as_deref() {
            None => {
                let with = |cpu| Target::Guest(Box::new(spec.with_cpu(cpu)));
                vec![with(guest::TCG_CPU), with(OTHER_CPU)]
            }
            // Who names one gets that one alone, and no verdict.
            Some(_) => vec![target.clone()],
        },
        _ => vec![target.clone()],
    };
    targets.iter().flat_map(models).collect()
}

/// Takes back every verdict that is not the same under all CPU models: then it is QEMU that decides, not the kernel.
pub(crate) fn withhold_where_cpus_disagree(comparison: &mut Comparison) {
    let curves = comparison.curves.clone();
    for curve in &mut comparison.curves {
        let same = |other: &&ComparedCurve| {
            (&other.workload, &other.mode) == (&curve.workload, &curve.mode)
        };
        let models: Vec<&ComparedCurve> = curves.iter().filter(same).collect();
        for point in &mut curve.points {
            let verdicts = models.iter().flat_map(|model| &model.points);
            let verdicts: Vec<&Verdict> = verdicts
                .filter(|other| other.tasks == point.tasks)
                .map(|other| &other.verdict)
                .collect();
            let note = if verdicts.len() < 2 {
                "no verdict: it was counted under one CPU model only; leave out cpu= to have two"
            } else if verdicts.iter().any(|verdict| !alike(verdict, &point.verdict)) {
                "no verdict: it depends on CPU features, for the CPU models disagree"
            } else {
                continue;
            };
            point.verdict = Verdict::Undecided { more_rounds: None };
            point.notes.push(note.into());
        }
    }
}

fn alike(a: &Verdict, b: &Verdict) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b)
}

/// What guests need, as `doctor` shows it.
pub(crate) fn findings() -> Vec<Finding> {
    let finding = |finding: guest::Finding| Finding {
        name: finding.name,
        state: match finding.good {
            Some(true) => State::Ok,
            None => State::Note,
            Some(false) => State::Problem,
        },
        what: finding.what,
        remedy: finding.remedy,
    };
    guest::examine().into_iter().map(finding).collect()
}
