//! `vfscale run tiobench` and `run aim7`: options that only workloads of fixed work have, and the run of one; and two targets
//! compared with one.

use crate::Exit;
use crate::args::{CompareArgs, MeasureArgs, RunArgs, Usage};
use crate::counts::Counts;
use crate::measure;
use crate::output::{self, Output};
use crate::progress::Bar;
use crate::runs::Runs;
use anyhow::Context;
use clap::Args;
use harness::machine::affinity;
use harness::machine::topology::Pin;
use harness::{FixedPlan, FixedRequest, Interrupt, Target, Users, run_fixed};
use phased::{aim7, tiobench};
use std::time::{Instant, SystemTime};
use vfs_api::{Info, Param, Selected};

/// No machine is asked for more users than that.
const MOST: usize = 4096;
/// Threads and runs of the mail; each thread has the 100 MB that are the parameter's default.
const THREADS: usize = 48;
const TIOBENCH_RUNS: u32 = 8;
/// Enough to see whether runs agree.
const AIM7_RUNS: u32 = 3;
/// Fewer pairs give no interval.
const PAIRS: u32 = 6;
const AIM7_USERS: Users = Users::Adaptive(1, 100);

/// Options of workloads of fixed work.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Options of tiobench and aim7")]
pub(crate) struct FixedArgs {
    /// tiobench: how many threads, each with a file [default: 48, as in the mail]
    #[arg(long, value_name = "COUNTS")]
    threads: Option<Counts>,

    /// tiobench: bytes of each file, 100M or 64K [default: 100M]
    #[arg(long, value_name = "BYTES")]
    size: Option<String>,

    /// tiobench: bytes of a transfer [default: 4K]
    #[arg(long, value_name = "BYTES")]
    block: Option<String>,

    /// tiobench: operations of each thread in a random phase [default: as many as the file has blocks]
    #[arg(long, value_name = "N")]
    random_ops: Option<String>,

    /// tiobench: how a random block is reached, lseek or pread [default: lseek, as in 0.3.3]
    #[arg(long, value_name = "WORD")]
    access: Option<String>,

    /// aim7: which jobs: custom, all_tests, dbase, disk, fserver, new_dbase, new_fserver or shared [default: custom]
    #[arg(long, value_name = "NAME")]
    mix: Option<String>,

    /// aim7: how many users: 1,10,100, or 1..2000 (doubling, until the crossover), or 100..2000/100 (in steps) [default: 1..100]
    #[arg(long, value_name = "USERS", value_parser = users)]
    users: Option<Users>,

    /// How often tiobench (8) or aim7 (3) is run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    runs: Option<u32>,
}

fn users(text: &str) -> Result<Users, String> {
    let wrong = || format!("'{text}': write 100, or 1,10,100, or 1..2000, or 100..2000/100");
    let number = |text: &str| {
        let number = text.parse::<usize>().ok().filter(|number| *number > 0).ok_or_else(wrong)?;
        if number > MOST { Err(format!("at most {MOST} users")) } else { Ok(number) }
    };
    let Some((from, to)) = text.split_once("..") else {
        let mut counts = text.split(',').map(number).collect::<Result<Vec<usize>, _>>()?;
        counts.sort_unstable();
        counts.dedup();
        return Ok(Users::Counts(counts));
    };
    let (to, step) = match to.split_once('/') {
        Some((to, step)) => (to, Some(number(step)?)),
        None => (to, None),
    };
    let (from, to) = (number(from)?, number(to)?);
    if from > to {
        return Err(format!("{from}..{to} runs backwards"));
    }
    Ok(match step {
        None => Users::Adaptive(from, to),
        Some(step) => Users::Counts((from..=to).step_by(step).collect()),
    })
}

/// A workload, of either kind.
///
/// # Errors
/// There is none of that name, or it does not take the parameters.
pub(crate) fn find(text: &str) -> Result<Selected, String> {
    match phased::find(text) {
        Some(found) => found,
        None => workloads::find(text).map_err(|error| error.to_string()),
    }
}

fn is_fixed(info: &Info) -> bool {
    phased::ALL.iter().any(|fixed| fixed.name == info.name)
}

impl FixedArgs {
    /// Options that were given, and the workload that they belong to; none if to each.
    fn given(&self) -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
        [
            ("--threads", Some("tiobench"), self.threads.is_some()),
            ("--size", Some("tiobench"), self.size.is_some()),
            ("--block", Some("tiobench"), self.block.is_some()),
            ("--random-ops", Some("tiobench"), self.random_ops.is_some()),
            ("--access", Some("tiobench"), self.access.is_some()),
            ("--mix", Some("aim7"), self.mix.is_some()),
            ("--users", Some("aim7"), self.users.is_some()),
            ("--runs", None, self.runs.is_some()),
        ]
        .into_iter()
        .filter_map(|(option, of, is_given)| is_given.then_some((option, of)))
    }

    /// The parameters that stand in options, put into the workload.
    fn put_into(&self, workload: &Selected) -> Result<Selected, Usage> {
        let options: [(&Param, &Option<String>, &str); 5] = [
            (&tiobench::SIZE, &self.size, "--size"),
            (&tiobench::BLOCK, &self.block, "--block"),
            (&tiobench::RANDOM_OPS, &self.random_ops, "--random-ops"),
            (&tiobench::ACCESS, &self.access, "--access"),
            (&aim7::MIX, &self.mix, "--mix"),
        ];
        let mut params = workload.params().clone();
        for (param, value, option) in options {
            if let Some(value) = value {
                let wrong = |problem| Usage(format!("{option}: {problem}"));
                params = params.with(param, value).map_err(wrong)?;
            }
        }
        let selected = Selected::new(workload.info(), params);
        let name = selected.info().name;
        phased::check(&selected).map_err(|problem| Usage(format!("{name}: {problem}")))?;
        Ok(selected)
    }
}

/// The workload of fixed work that `args` ask for; none if they ask for loops.
///
/// # Errors
/// One beside others, or options that it has not.
pub(crate) fn asked(args: &RunArgs) -> Result<Option<Selected>, Usage> {
    let fixed = args.workloads.iter().find(|workload| is_fixed(workload.info()));
    let Some(workload) = fixed else {
        let words = |(option, of): (&str, Option<&str>)| match of {
            Some(of) => format!("{option} is an option of {of}: vfscale run {of} {option} ..."),
            None => format!("{option} is an option of tiobench and aim7; for others see --rounds"),
        };
        return args.fixed.given().next().map_or(Ok(None), |option| Err(Usage(words(option))));
    };
    let name = workload.info().name;
    if args.workloads.len() > 1 || !args.suite.is_empty() {
        return Err(Usage(format!("{name} is run alone: it takes what time it takes")));
    }
    for (option, of) in args.fixed.given() {
        if let Some(of) = of.filter(|of| *of != name) {
            return Err(Usage(format!("{option} is an option of {of}, not of {name}")));
        }
    }
    let measure = &args.measure;
    refuse_times(measure, name)?;
    if measure.precision.is_some() {
        let what = format!("--precision does not apply to {name}: give it more --runs");
        return Err(Usage(what));
    }
    let counts =
        [measure.tasks.is_some(), args.fixed.threads.is_some(), args.fixed.users.is_some()];
    if counts.iter().filter(|is_given| **is_given).count() > 1 {
        return Err(Usage(
            "--tasks and --threads or --users say the same: give one of them".into(),
        ));
    }
    if args.fixed.runs.is_some() && measure.rounds.is_some() {
        return Err(Usage("--runs and --rounds say the same: give one of them".into()));
    }
    args.fixed.put_into(workload).map(Some)
}

/// # Errors
/// How long it is to take was given.
fn refuse_times(measure: &MeasureArgs, name: &str) -> Result<(), Usage> {
    let given = [("--slice", measure.slice.is_some()), ("--time", measure.time.is_some())];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(Usage(format!(
            "{option} does not apply to {name}: its work is fixed, not its time; fewer runs or tasks, or less work, make it shorter"
        ))),
        None => Ok(()),
    }
}

/// What runs of fixed work have in common, whoever asks for them.
struct Asked<'a> {
    measure: &'a MeasureArgs,
    /// Task counts by another name.
    threads: Option<&'a Counts>,
    users: Option<&'a Users>,
    runs: u32,
    paired: bool,
    locks: bool,
}

fn request(
    asked: &Asked<'_>,
    workload: Selected,
    targets: Vec<Target>,
    began: Instant,
) -> anyhow::Result<FixedRequest> {
    let Asked { measure, threads, users, runs, paired, locks } = *asked;
    let mode = match measure::asked_modes(measure)[..] {
        [] => workload.info().modes[0],
        [mode] => mode,
        _ => {
            return Err(
                Usage(format!("{} is run in one --mode at a time", workload.info().name)).into()
            );
        }
    };
    measure::has_mode(&workload, mode)?;
    let usable = affinity::usable().context("cannot read the CPU affinity")?.len();
    let cpus = targets.iter().map(|target| target.cpus(usable)).min().unwrap_or(usable);
    let users = match (threads.or(measure.tasks.as_ref()), users) {
        (Some(counts), _) => Users::Counts(counts.resolve(cpus).map_err(Usage)?),
        (None, Some(users)) => users.clone(),
        (None, None) if is_tiobench(&workload) => Users::Counts(vec![THREADS]),
        (None, None) => AIM7_USERS,
    };
    Ok(FixedRequest {
        workload,
        targets,
        mode,
        users,
        runs,
        paired,
        // Neither of the programs pins.
        pin: measure.pin.unwrap_or(Pin::None),
        locks,
        seed: measure.seed.unwrap_or_else(|| fastrand::u64(..)),
        began,
    })
}

fn is_tiobench(workload: &Selected) -> bool {
    workload.info().name == "tiobench"
}

/// Plans and measures. None if it was interrupted before the first run was complete; the user has been told.
fn measured(request: FixedRequest) -> anyhow::Result<Option<measure::Done>> {
    let seed = request.seed;
    let interrupt = Interrupt::listen().context("cannot listen to signals")?;
    let plan = FixedPlan::new(request)?;
    output::tell_line(&plan.to_string());
    let started = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let mut bar = Bar::new(Vec::new());
    let measured = run_fixed(&plan, &interrupt, &mut |progress| bar.show(progress));
    bar.clear();
    measure::done(measured?, started, seed, plan.host().clone())
}

/// Plans, measures, shows.
///
/// # Errors
/// What [`FixedPlan::new`] and [`run_fixed`] say.
pub(crate) fn run(args: &RunArgs, workload: Selected, began: Instant) -> anyhow::Result<Exit> {
    let destination = Output::new(args.output.as_deref())?;
    let mut keep = Runs::to_keep(&args.store, args.save.as_ref(), &[""])?;
    let runs = if is_tiobench(&workload) { TIOBENCH_RUNS } else { AIM7_RUNS };
    let asked = Asked {
        measure: &args.measure,
        threads: args.fixed.threads.as_ref(),
        users: args.fixed.users.as_ref(),
        runs: args.fixed.runs.or(args.measure.rounds).unwrap_or(runs),
        paired: false,
        locks: args.locks.wanted().is_some(),
    };
    let mut targets: Vec<Target> = Vec::new();
    for target in &args.targets {
        if !targets.contains(target) {
            targets.push(target.clone());
        }
    }
    let measured = measured(request(&asked, workload, targets, began)?)?;
    let Some(measure::Done { run, left }) = measured else { return Ok(Exit::Interrupted) };
    destination.write(|style| {
        (args.format.render)(&run, &report::Style { verbose: args.verbose, ..style })
    })?;
    keep.save(&run)?;
    match left {
        Some(left) => Err(left.into()),
        None if run.plan.partial => Ok(Exit::Interrupted),
        None => Ok(Exit::Done),
    }
}

/// The workload of fixed work that two targets are to be compared with; none if it is loops.
///
/// # Errors
/// One beside others, or with options that it cannot be compared with.
pub(crate) fn compared(
    workloads: &[Selected],
    args: &CompareArgs,
) -> Result<Option<Selected>, Usage> {
    let Some(workload) = workloads.iter().find(|workload| is_fixed(workload.info())) else {
        return Ok(None);
    };
    let name = workload.info().name;
    if workloads.len() > 1 {
        return Err(Usage(format!("{name} is compared alone: it takes what time it takes")));
    }
    if args.before_cmd.is_some() {
        return Err(Usage(format!(
            "--before-cmd and --after-cmd switch the state for each slice, and {name} has none: run it in each state with \
             --save NAME, and compare the two names"
        )));
    }
    refuse_times(&args.measure, name)?;
    phased::check(workload).map_err(|problem| Usage(format!("{name}: {problem}")))?;
    Ok(Some(workload.clone()))
}

/// Runs a workload of fixed work on one side and the other by turns: a run of each, in random order, is a round.
///
/// # Errors
/// What [`FixedPlan::new`] and [`run_fixed`] say.
pub(crate) fn compare(
    args: &CompareArgs,
    workload: Selected,
    sides: &[Target; 2],
    began: Instant,
) -> anyhow::Result<Option<measure::Done>> {
    let runs = if is_tiobench(&workload) { TIOBENCH_RUNS } else { PAIRS };
    let asked = Asked {
        measure: &args.measure,
        threads: None,
        users: None,
        runs: args.measure.rounds.unwrap_or(runs),
        paired: true,
        locks: args.locks.wanted().is_some(),
    };
    measured(request(&asked, workload, sides.to_vec(), began)?)
}

/// The workload of fixed work that a curve is of, or a phase of; none if it is a loop.
pub(crate) fn of_curve(workload: &str) -> Option<&'static str> {
    let name = workload.split(':').next().unwrap_or_default();
    let is_of = |info: &&Info| {
        let rest = name.strip_prefix(info.name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    phased::ALL.iter().find(is_of).map(|info| info.name)
}

/// Whether a curve is the workload's: its own, or a phase's with the same parameters.
pub(crate) fn is_curve_of(curve: &str, workload: &Selected) -> bool {
    let params = |text: &str| text.split_once(':').map(|(_, params)| params.to_owned());
    let shown = workload.to_string();
    curve == shown
        || (of_curve(curve) == Some(workload.info().name) && params(curve) == params(&shown))
}

/// That a suite's workloads of fixed work are left out, and how they are run.
pub(crate) fn left_out(suites: impl Fn(&Info) -> bool) -> impl Iterator<Item = String> {
    phased::ALL
        .iter()
        .filter(move |info| suites(info))
        .map(|info| format!("{} takes what time it takes: vfscale run {}", info.name, info.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_counts_steps_or_doubled() {
        let table = [
            ("100", Users::Counts(vec![100])),
            ("100,1,10,1", Users::Counts(vec![1, 10, 100])),
            ("1..2000", Users::Adaptive(1, 2000)),
            ("100..350/100", Users::Counts(vec![100, 200, 300])),
        ];
        for (text, wanted) in table {
            assert_eq!(users(text), Ok(wanted), "{text}");
        }
        for (text, says) in [
            ("", "write 100"),
            ("0", "write 100"),
            ("1..", "write 100"),
            ("1..10/0", "write 100"),
            ("x,2", "write 100"),
            ("10..1", "backwards"),
            ("1..5000", "at most 4096"),
        ] {
            let error = users(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn curves_of_phases_are_their_workload_s() {
        let tiobench = find("tiobench:size=1M").unwrap();
        for (curve, is_its) in [
            ("tiobench_seq_write:size=1M", true),
            ("tiobench_rand_read:size=2M", false),
            ("tiobench_rand_read", false),
            ("tiobenchmark:size=1M", false),
            ("aim7:size=1M", false),
        ] {
            assert_eq!(is_curve_of(curve, &tiobench), is_its, "{curve}");
        }
        assert!(is_curve_of("aim7", &find("aim7").unwrap()));
        assert!(!is_curve_of("aim7:mix=disk", &find("aim7").unwrap()));
        assert!(is_curve_of("open_close", &find("wis:open1").unwrap()));
        assert_eq!((of_curve("aim7:mix=disk"), of_curve("open_close")), (Some("aim7"), None));
    }

    #[test]
    fn options_become_parameters_or_say_what_is_wrong() {
        let tiobench = find("tiobench:size=1M").unwrap();
        let args = FixedArgs {
            block: Some("8k".into()),
            access: Some("pread".into()),
            ..FixedArgs::default()
        };
        let selected = args.put_into(&tiobench).unwrap();
        assert_eq!(selected.to_string(), "tiobench:size=1M,block=8K,access=pread");
        let wrong = |args: FixedArgs| args.put_into(&tiobench).unwrap_err().0;
        let size = FixedArgs { size: Some("many".into()), ..FixedArgs::default() };
        assert!(wrong(size).contains("--size: size=many"));
        let less =
            FixedArgs { block: Some("1M".into()), size: Some("2K".into()), ..FixedArgs::default() };
        assert!(wrong(less).contains("less than one block"));
        assert!(find("open_close").is_ok() && find("nothing").is_err());
    }
}
