//! `vfscale check`: measures again what a stored run measured and says whether it has changed. For CI.

use crate::Exit;
use crate::args::{CheckArgs, FailOn, MeasureArgs, Usage};
use crate::compare::{end, show};
use crate::counts::Counts;
use crate::fixed;
use crate::measure::{self, Done};
use crate::output::Output;
use crate::runs::{self, Runs};
use compare::Question;
use harness::{CurveRequest, Sides, Target};
use results::{Curve, Pairing, Run};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};
use vfs_api::TaskMode;

/// Lengths of a slice that --slice can have too, in seconds.
const SLICES: RangeInclusive<f64> = 0.001..=604_800.0;

/// Loads, measures, compares, shows.
pub(crate) fn check(args: &CheckArgs, began: Instant) -> anyhow::Result<Exit> {
    let destination = Output::new(args.verdict.output.as_deref())?
        .for_format(args.verdict.format.name, args.verdict.format.medium)?;
    let mut keep = Runs::to_keep(&args.store, args.save.as_ref(), &[""])?;
    let (label, mut stored) = runs::load(&args.store, OsStr::new(&args.against))?;
    if !args.workloads.is_empty() {
        let wanted = |curve: &Curve| {
            args.workloads.iter().any(|workload| fixed::is_curve_of(&curve.workload, workload))
        };
        stored.curves.retain(wanted);
    }
    if !args.measure.mode.is_empty() {
        let modes = measure::modes(&args.measure);
        stored.curves.retain(|curve| modes.iter().any(|mode| mode.name() == curve.mode));
    }
    if stored.curves.is_empty() {
        return Err(Usage(format!("{label} has no curve of these workloads and modes")).into());
    }
    let curves: Vec<CurveRequest> =
        stored.curves.iter().map(|curve| again(curve, args)).collect::<Result<_, _>>()?;
    let how = as_before(&args.measure, &stored)?;
    let Some(Done { run, left }) = measure::measure(&how, curves, Sides::One, None, began)? else {
        return Ok(Exit::Interrupted);
    };
    let bound = args.measure.precision.unwrap_or(compare::BOUND);
    let labels = [label, "now".to_owned()];
    let command = measure::command();
    let question = Question { pairing: Pairing::Stored, labels, bound, command };
    let comparison = compare::compare(question, stored, run);
    // What cannot be shown is not lost, if it was to be kept.
    let shown = show(&comparison, &args.verdict, &destination);
    keep.save(&comparison.after)?;
    shown?;
    end(&comparison, Some(args.verdict.fail_on.unwrap_or(FailOn::Slower)), left)
}

/// The curve, to be measured now.
fn again(curve: &Curve, args: &CheckArgs) -> Result<CurveRequest, Usage> {
    let cannot = |why: String| {
        Usage(format!("cannot measure {} on {} again: {why}", curve.workload, curve.target))
    };
    if let Some(name) = fixed::of_curve(&curve.workload) {
        return Err(cannot(format!(
            "{name} is fixed work, not a loop with a time; run it again with vfscale run {name} ... --save NAME, and then \
             vfscale compare {} NAME",
            args.against
        )));
    }
    let workload = workloads::find(&curve.workload)
        .map_err(|error| cannot(format!("{error}; compare two stored runs instead")))?;
    let target = match &args.target {
        Some(target) => target.clone(),
        // Whatever is there now may be another directory than what was measured.
        None if runs::relative(&curve.target).is_some() => {
            let why = "the record does not tell where that was; say where with --on dir:PATH";
            return Err(cannot(why.into()));
        }
        None => Target::parse(OsStr::new(&curve.target))
            .map_err(|error| cannot(format!("{error}; say where with --on")))?,
    };
    let mode = match curve.mode.as_str() {
        "thread" => TaskMode::Thread,
        _ => TaskMode::Process,
    };
    measure::has_mode(&workload, mode)?;
    Ok(CurveRequest::new(workload, target, mode))
}

/// As the stored run was measured, where the command line says nothing else.
///
/// # Errors
/// It says something that cannot be done.
fn as_before(args: &MeasureArgs, stored: &Run) -> Result<MeasureArgs, Usage> {
    // An imported run may not know how many tasks there were; it says 0.
    let counts: BTreeSet<usize> = stored
        .curves
        .iter()
        .flat_map(|curve| &curve.points)
        .map(|point| point.tasks as usize)
        .filter(|tasks| *tasks > 0)
        .collect();
    let slice = match stored.plan.slice_s {
        // Simulated and imported runs have none.
        0.0 => None,
        slice if args.slice.is_none() && !SLICES.contains(&slice) => {
            let what = format!(
                "the stored run says that its slices took {slice} s; say how long they are to be: --slice"
            );
            return Err(Usage(what));
        }
        slice => Duration::try_from_secs_f64(slice).ok(),
    };
    Ok(MeasureArgs {
        tasks: args.tasks.clone().or_else(|| (!counts.is_empty()).then(|| Counts::of(counts))),
        pin: args.pin.or_else(|| stored.plan.pin.parse().ok()),
        slice: args.slice.or(slice),
        ..args.clone()
    })
}
