//! `vfscale compare`: two targets side by side, one target in two states, or two stored runs.

use crate::Exit;
use crate::args::{ClockArg, CompareArgs, FailOn, MeasureArgs, Usage, VerdictArgs};
use crate::fixed;
use crate::guests;
use crate::measure::{self, Done};
use crate::output::Output;
use crate::runs::{self, Runs};
use anyhow::anyhow;
use compare::Question;
use harness::{KINDS, Sides, Switch, Target};
use results::{Comparison, Pairing, Run, Verdict};
use std::ffi::OsStr;
use std::time::Instant;
use vfs_api::Selected;

/// Measures or loads, compares, shows.
pub(crate) fn compare(args: &CompareArgs, began: Instant) -> anyhow::Result<Exit> {
    let destination = Output::new(args.verdict.output.as_deref())?
        .for_format(args.verdict.format.name, args.verdict.format.medium)?;
    let bound = args.measure.precision.unwrap_or(compare::BOUND);
    let (comparison, left) = match words(args)? {
        Words::Targets { sides, labels, workloads } => {
            let mut keep = Runs::to_keep(&args.store, args.save.as_ref(), &["-before", "-after"])?;
            let measured = match fixed::compared(&workloads, args)? {
                Some(workload) => fixed::compare(args, workload, &sides, began)?,
                None => loops(args, &workloads, &sides, began)?,
            };
            let Some(Done { run, left }) = measured else { return Ok(Exit::Interrupted) };
            let (before, after) = split(run);
            let question = Question {
                pairing: Pairing::Interleaved,
                labels,
                bound,
                command: measure::command(),
            };
            let mut comparison = compare::compare(question, before, after);
            if args.measure.clock == ClockArg::Instructions {
                guests::withhold_where_cpus_disagree(&mut comparison.curves);
            }
            // What cannot be shown is not lost, if it was to be kept.
            let shown = show(&comparison, &args.verdict, &destination);
            keep.save(&comparison.before)?;
            keep.save(&comparison.after)?;
            shown?;
            (comparison, left)
        }
        Words::Stored { names, workloads } => {
            if let Some(option) = useless(args) {
                let what = format!("{option}: these runs were measured already");
                return Err(Usage(what).into());
            }
            if args.locks.wanted().is_some() {
                let what =
                    "--locks: what is stored of the locks of these runs is shown in any case";
                return Err(Usage(what.into()).into());
            }
            let [before, after] = names;
            let (before, after) =
                (runs::load(&args.store, before)?, runs::load(&args.store, after)?);
            let labels = [before.0, after.0];
            let [before, after] = [before.1, after.1].map(|run| only(run, &workloads));
            let command = measure::command();
            let question = Question { pairing: Pairing::Stored, labels, bound, command };
            let comparison = compare::compare(question, before, after);
            show(&comparison, &args.verdict, &destination)?;
            (comparison, None)
        }
    };
    end(&comparison, args.verdict.fail_on, left)
}

/// Measures loops on both sides, slice by slice.
fn loops(
    args: &CompareArgs,
    workloads: &[Selected],
    sides: &[Target; 2],
    began: Instant,
) -> anyhow::Result<Option<Done>> {
    let (workloads, modes) = (measure::workloads(workloads), measure::modes(&args.measure));
    let side = |target| {
        let targets = guests::under_all_cpus(&args.measure, std::slice::from_ref(target));
        measure::curves(&workloads, &targets, &modes)
    };
    // The second side in the same order as the first.
    let curves = [side(&sides[0])?, side(&sides[1])?].concat();
    let sides = Sides::Two { switch: switch(args) };
    measure::measure(&args.measure, curves, sides, args.locks.wanted(), began)
}

/// An option that says how to measure or that a measurement is to be kept.
fn useless(args: &CompareArgs) -> Option<&'static str> {
    let MeasureArgs { tasks, mode, pin, time: _, precision: _, slice, rounds, seed, clock, boots } =
        &args.measure;
    let given = [
        (args.save.is_some(), "--save"),
        (tasks.is_some(), "--tasks"),
        (!mode.is_empty(), "--mode"),
        (pin.is_some(), "--pin"),
        (slice.is_some(), "--slice"),
        (rounds.is_some(), "--rounds"),
        (seed.is_some(), "--seed"),
        (*clock != ClockArg::Time, "--clock"),
        (boots.is_some(), "--boots"),
    ];
    given.iter().find_map(|(is_given, option)| is_given.then_some(*option))
}

/// Writes the comparison where it was asked for.
pub(crate) fn show(
    comparison: &Comparison,
    args: &VerdictArgs,
    destination: &Output,
) -> anyhow::Result<()> {
    destination.write(|style| {
        (args.format.render)(comparison, &report::Style { verbose: args.verbose, ..style })
    })
}

/// The exit code that a comparison deserves.
pub(crate) fn end(
    comparison: &Comparison,
    fail_on: Option<FailOn>,
    left: Option<harness::Error>,
) -> anyhow::Result<Exit> {
    let found = |verdict: &Verdict| match (fail_on, verdict) {
        (Some(FailOn::Slower | FailOn::Different), Verdict::Slower)
        | (Some(FailOn::Faster | FailOn::Different), Verdict::Faster) => true,
        (None | Some(_), _) => false,
    };
    let points = || comparison.curves.iter().flat_map(|curve| &curve.points);
    let regression = points().map(|point| &point.verdict).any(found);
    match left {
        Some(left) => Err(left.into()),
        // Or a script would take it for "no regression".
        None if points().next().is_none() => Err(anyhow!(
            "nothing was compared: the sides have no curve and task count in common\n  see what each has: vfscale export NAME --format csv"
        )),
        None if regression => Ok(Exit::Regression),
        None if comparison.before.plan.partial || comparison.after.plan.partial => {
            Ok(Exit::Interrupted)
        }
        None => Ok(Exit::Done),
    }
}

/// What the words of the command line mean.
enum Words<'a> {
    Targets { sides: Box<[Target; 2]>, labels: [String; 2], workloads: Vec<Selected> },
    Stored { names: [&'a OsStr; 2], workloads: Vec<Selected> },
}

fn words(args: &CompareArgs) -> anyhow::Result<Words<'_>> {
    let words: Vec<&OsStr> = args.words.iter().map(AsRef::as_ref).collect();
    let workloads = |words: &[&OsStr]| -> Result<Vec<Selected>, Usage> {
        let workload = |word: &&OsStr| fixed::find(&word.to_string_lossy()).map_err(Usage);
        words.iter().map(workload).collect()
    };
    let target = |word: &OsStr| Target::parse(word).map_err(|error| Usage(error.to_string()));
    if let (Some(before), Some(after)) = (&args.before_cmd, &args.after_cmd) {
        let [one, rest @ ..] = &words[..] else { unreachable!("clap asks for one word at least") };
        let target = target(one)?;
        if rest.first().is_some_and(|word| is_target(word)) {
            let what =
                "with --before-cmd and --after-cmd there is one target, measured in two states";
            return Err(Usage(what.into()).into());
        }
        if matches!(target, Target::Sim { .. }) {
            let what = "--before-cmd and --after-cmd change the state of this machine, which a simulated one does not see";
            return Err(Usage(what.into()).into());
        }
        return Ok(Words::Targets {
            sides: Box::new([target.clone(), target]),
            labels: [before.clone(), after.clone()],
            workloads: workloads(rest)?,
        });
    }
    let [before, after, rest @ ..] = &words[..] else {
        let what = "compare needs two sides: two targets (dir:/mnt/a dir:/mnt/b), two stored runs, or one target with \
                    --before-cmd and --after-cmd";
        return Err(Usage(what.into()).into());
    };
    match (is_target(before), is_target(after)) {
        (true, true) => {
            let sides = [target(before)?, target(after)?];
            let simulated = sides.each_ref().map(|side| matches!(side, Target::Sim { .. }));
            if simulated[0] != simulated[1] {
                let what = "a simulated target can only be compared with another simulated one: its time is virtual";
                return Err(Usage(what.into()).into());
            }
            let labels = sides.each_ref().map(ToString::to_string);
            Ok(Words::Targets { sides: Box::new(sides), labels, workloads: workloads(rest)? })
        }
        (false, false) => {
            Ok(Words::Stored { names: [*before, *after], workloads: workloads(rest)? })
        }
        _ => {
            let what = "one side is a target and the other one is not; to measure now and compare with a stored run, use: \
                        vfscale check --against NAME";
            Err(Usage(what.into()).into())
        }
    }
}

/// Whether it is written as a target, right or wrong.
fn is_target(word: &OsStr) -> bool {
    let word = word.to_string_lossy();
    word.split_once(':').is_some_and(|(kind, _)| KINDS.iter().any(|known| known.name == kind))
}

fn switch(args: &CompareArgs) -> Option<Switch> {
    let (before, after) = (args.before_cmd.clone()?, args.after_cmd.clone()?);
    Some(Switch { before, after })
}

/// One run of both sides as two runs of one side each.
pub(crate) fn split(mut run: Run) -> (Run, Run) {
    let after = run.curves.split_off(run.curves.len() / 2);
    let side = |curves: Vec<results::Curve>, run: &Run| {
        let mut side = Run { curves, ..run.clone() };
        let targets: Vec<&str> = side.curves.iter().map(|curve| curve.target.as_str()).collect();
        side.host.fs.retain(|mount| targets.contains(&mount.target.as_str()));
        side
    };
    let before = side(std::mem::take(&mut run.curves), &run);
    let after = side(after, &run);
    (before, after)
}

/// Of a stored run only these workloads, if any are named.
fn only(mut run: Run, workloads: &[Selected]) -> Run {
    if !workloads.is_empty() {
        run.curves.retain(|curve| {
            workloads.iter().any(|workload| fixed::is_curve_of(&curve.workload, workload))
        });
    }
    run
}
