//! What commands do for guests: how often they are booted, under which CPU models, and which verdicts are withheld.

use crate::args::{ClockArg, MeasureArgs};
use harness::machine::doctor::{Finding, State};
use harness::{Clock, CurveRequest, Guests, Sides, Target};
use results::{ComparedCurve, ComparedPoint, Verdict};

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

/// Takes back every verdict that is not the same under all CPU models: then it is QEMU that decides, not the kernel. Where only the
/// size of a change differs, that is said.
pub(crate) fn withhold_where_cpus_disagree(compared: &mut [ComparedCurve]) {
    let curves = compared.to_vec();
    for curve in compared {
        let same = |other: &&ComparedCurve| {
            (&other.workload, &other.mode) == (&curve.workload, &curve.mode)
        };
        let models: Vec<&ComparedCurve> = curves.iter().filter(same).collect();
        for point in &mut curve.points {
            let points = models.iter().flat_map(|model| &model.points);
            let points: Vec<&ComparedPoint> =
                points.filter(|other| other.tasks == point.tasks).collect();
            let withheld = if points.len() < 2 {
                "no verdict: it was counted under one CPU model only; leave out cpu= to have two"
            } else if points.iter().any(|other| !alike(&other.verdict, &point.verdict)) {
                "no verdict: it depends on CPU features, for the CPU models disagree"
            } else {
                if points.iter().any(|other| apart(other, point)) {
                    point.notes.push("the size of the change depends on CPU features: only its direction is sure".into());
                }
                continue;
            };
            point.verdict = Verdict::Undecided { more_rounds: None };
            point.notes.push(withheld.into());
        }
    }
}

/// Whether the intervals of two changes have nothing in common, by more than a per cent.
fn apart(a: &ComparedPoint, b: &ComparedPoint) -> bool {
    match (a.interval, b.interval) {
        (Some([a_low, a_high]), Some([b_low, b_high])) => {
            a_low - b_high > 0.01 || b_low - a_high > 0.01
        }
        _ => false,
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

#[cfg(test)]
mod tests {
    use super::*;
    use results::Metric;

    fn curve(workload: &str, cpu: &str, change: f64, verdict: Verdict) -> ComparedCurve {
        let point = ComparedPoint {
            tasks: 1,
            before: 1000.0,
            after: 1000.0 * (1.0 + change),
            change: Some(change),
            interval: Some([change - 0.001, change + 0.001]),
            p: Some(0.001),
            verdict,
            rounds: 6,
            method: None,
            notes: Vec::new(),
        };
        ComparedCurve {
            workload: workload.into(),
            mode: "process".into(),
            targets: ["a", "b"].map(|kernel| format!("guest:{kernel},cpu={cpu}")),
            metric: Metric { unit: "instructions/op".into(), lower_is_better: true },
            points: vec![point],
            shape: None,
        }
    }

    #[test]
    fn a_verdict_stands_only_where_all_cpu_models_agree() {
        let mut compared = [
            curve("agrees", "max", -0.05, Verdict::Faster),
            curve("disagrees", "max", -0.05, Verdict::Faster),
            curve("larger", "max", -0.40, Verdict::Faster),
            curve("alone", "max", -0.05, Verdict::Faster),
            curve("agrees", "max,-erms", -0.051, Verdict::Faster),
            curve("disagrees", "max,-erms", 0.05, Verdict::Slower),
            curve("larger", "max,-erms", -0.04, Verdict::Faster),
        ];
        withhold_where_cpus_disagree(&mut compared);
        for (name, stands, note) in [
            ("agrees", true, ""),
            ("disagrees", false, "depends on CPU features"),
            ("larger", true, "only its direction is sure"),
            ("alone", false, "one CPU model only"),
        ] {
            for curve in compared.iter().filter(|curve| curve.workload == name) {
                let point = &curve.points[0];
                assert_eq!(point.verdict == Verdict::Faster, stands, "{name}: {point:?}");
                assert!(point.notes.concat().contains(note), "{name}: {point:?}");
                assert_eq!(point.notes.is_empty(), note.is_empty(), "{name}");
            }
        }
    }
}
