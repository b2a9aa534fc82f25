//! The command line: what may be typed, and what of it is refused.

use crate::counts::Counts;
use clap::builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use harness::Target;
use harness::machine::topology::Pin;
use reproduce::On;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;
use store::RunName;
use vfs_api::{Info, Selected, Suite, TaskMode};

/// Measure how a file system's open/close path scales with CPUs.
#[derive(Debug, Parser)]
#[command(name = "vfscale", version, about, long_about = None, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 a regression was found (--fail-on), 2 usage, 3 the run failed (nothing of it is shown), 4 refused before the start, 130 interrupted \
(what was measured is shown, marked as partial).";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure workloads and show how they scale
    Run(RunArgs),
    /// Measure two targets side by side, or compare two stored runs, and say what changed
    Compare(CompareArgs),
    /// Measure again what a stored run measured, and say whether it has changed (for CI)
    Check(CheckArgs),
    /// Say how small a change this machine can show in a given time
    Power(PowerArgs),
    /// Show stored runs in order of time, their trend and where it changed
    History(HistoryArgs),
    /// Store runs that other tools have taken
    Import(ImportArgs),
    /// Write a stored run
    Export(ExportArgs),
    /// List workloads, targets and the lab's designs
    List(ListArgs),
    /// Put published tables of five kernel threads beside what the simulator makes of them, and what is measured here
    Reproduce(ReproduceArgs),
    /// Measure how far this machine's CPUs are from each other
    Topology(TopologyArgs),
    /// Say what this machine can and cannot do
    Doctor(DoctorArgs),
    /// Remove what runs left behind that could not clean up themselves
    Clean(CleanArgs),
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct RunArgs {
    /// Workloads (see: vfscale list workloads), with parameters as NAME:KEY=VALUE,... [default: open_close]
    #[arg(value_name = "WORKLOAD", value_parser = workloads::find)]
    pub(crate) workloads: Vec<Selected>,

    /// A suite of workloads, or all; those that a target or mode has not are left out and named
    #[arg(long, value_name = "NAME")]
    #[arg(value_parser = PossibleValuesParser::new(Wanted::names()).map(Wanted::named))]
    pub(crate) suite: Vec<Wanted>,

    /// Where to run them; may be given several times
    #[arg(long = "on", value_name = "TARGET", default_value = "dir:.")]
    #[arg(value_parser = OsStringValueParser::new().try_map(|text| Target::parse(&text)))]
    pub(crate) targets: Vec<Target>,

    #[command(flatten)]
    pub(crate) measure: MeasureArgs,

    /// Count and time every lock and show who waited for which (lab: targets)
    #[arg(long)]
    pub(crate) locks: bool,

    /// How to show the result
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = format)]
    pub(crate) format: &'static report::Format,

    /// Write the result to this file, whole or not at all
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Show start skew, context switches, rounds and the conditions as well
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// Keep the run in the store under this name, with every sample
    #[arg(long, value_name = "NAME")]
    pub(crate) save: Option<RunName>,

    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// How to measure: the same for every command that does.
#[derive(Clone, Debug, Args)]
pub(crate) struct MeasureArgs {
    /// Task counts: 1,2,4 or 1..8 or max (all usable CPUs) or 50% of them [default: powers of two up to max]
    #[arg(long, value_name = "COUNTS", allow_hyphen_values = true)]
    pub(crate) tasks: Option<Counts>,

    /// How tasks are made: a process each, or threads of one process [default: process]
    #[arg(long, value_name = "MODE", value_enum, value_delimiter = ',')]
    pub(crate) mode: Vec<Mode>,

    /// How tasks are put on CPUs: one per core first, siblings side by side, round the sockets, or not at all [default: cores]
    #[arg(long, value_name = "ORDER")]
    #[arg(value_parser = PossibleValuesParser::new(Pin::ALL.map(Pin::name)).map(pin))]
    pub(crate) pin: Option<Pin>,

    /// Budget of the whole command, shared by everything that was asked for
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration, allow_hyphen_values = true)]
    pub(crate) time: Duration,

    /// Stop as soon as every 95 % interval is this narrow (to either side)
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) precision: Option<f64>,

    /// Length of one measurement of one task count [default: 10ms; longer with more tasks than CPUs]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) slice: Option<Duration>,

    /// Measure so many rounds (a round is one slice of each task count), whatever --time says; fewer only if --precision is
    /// reached before
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) rounds: Option<u32>,

    /// Seed of the random order of slices [default: random; it is in the record]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// Which store of runs.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// The store of runs [default: vfscale/runs.sqlite in $XDG_DATA_HOME]
    #[arg(long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
}

/// The two sides, and what to make of their difference.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct CompareArgs {
    /// Two targets to measure side by side (dir:/mnt/a dir:/mnt/b), or two stored runs or JSON files, and then the workloads
    /// [default: open_close]; with --before-cmd and --after-cmd one target
    #[arg(value_name = "BEFORE AFTER [WORKLOAD]...", required = true)]
    pub(crate) words: Vec<OsString>,

    /// Shell command that brings about the state to measure first; it is carried out at the end as well
    #[arg(long, value_name = "COMMAND", requires = "after_cmd")]
    pub(crate) before_cmd: Option<String>,

    /// Shell command that brings about the state to compare with
    #[arg(long, value_name = "COMMAND", requires = "before_cmd")]
    pub(crate) after_cmd: Option<String>,

    #[command(flatten)]
    pub(crate) measure: MeasureArgs,

    #[command(flatten)]
    pub(crate) verdict: VerdictArgs,

    /// Keep both sides in the store, as NAME-before and NAME-after
    #[arg(long, value_name = "NAME")]
    pub(crate) save: Option<RunName>,

    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// How a comparison is judged and shown.
#[derive(Debug, Args)]
pub(crate) struct VerdictArgs {
    /// Exit with 1 if any task count comes out like this
    #[arg(long, value_name = "VERDICT", value_enum)]
    pub(crate) fail_on: Option<FailOn>,

    /// How to show the comparison
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = comparison_format)]
    pub(crate) format: &'static report::ComparisonFormat,

    /// Write the comparison to this file, whole or not at all
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Show the conditions as well
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// `--fail-on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    Slower,
    Faster,
    /// Slower or faster
    Different,
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct CheckArgs {
    /// The stored run (or JSON file) to measure again and compare with
    #[arg(long, value_name = "NAME")]
    pub(crate) against: String,

    /// Only these of its workloads
    #[arg(value_name = "WORKLOAD", value_parser = workloads::find)]
    pub(crate) workloads: Vec<Selected>,

    /// Where to run them, instead of where the stored run did
    #[arg(long = "on", value_name = "TARGET")]
    #[arg(value_parser = OsStringValueParser::new().try_map(|text| Target::parse(&text)))]
    pub(crate) target: Option<Target>,

    #[command(flatten)]
    pub(crate) measure: MeasureArgs,

    #[command(flatten)]
    pub(crate) verdict: VerdictArgs,

    /// Keep the new run in the store under this name
    #[arg(long, value_name = "NAME")]
    pub(crate) save: Option<RunName>,

    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct PowerArgs {
    /// Workloads (see: vfscale list workloads) [default: open_close]
    #[arg(value_name = "WORKLOAD", value_parser = workloads::find)]
    pub(crate) workloads: Vec<Selected>,

    /// Where to run them; may be given several times
    #[arg(long = "on", value_name = "TARGET", default_value = "dir:.")]
    #[arg(value_parser = OsStringValueParser::new().try_map(|text| Target::parse(&text)))]
    pub(crate) targets: Vec<Target>,

    #[command(flatten)]
    pub(crate) measure: MeasureArgs,

    /// text or json
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "text")]
    pub(crate) format: ListFormat,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// Only these workloads
    #[arg(value_name = "WORKLOAD")]
    pub(crate) workloads: Vec<String>,

    /// text or json
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "text")]
    pub(crate) format: ListFormat,

    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Files of other tools, or JSON and JSON Lines of vfscale
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Their format, where it cannot be told from what is in them
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(crate::import::formats()))]
    pub(crate) from: Option<String>,

    /// Name under which to store them [default: the file's name without its extension]
    #[arg(long, value_name = "NAME")]
    pub(crate) save: Option<RunName>,

    /// Show what is in them and store nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The stored run
    pub(crate) name: String,

    /// How to write it
    #[arg(long, value_name = "FORMAT", default_value = "json", value_parser = format)]
    pub(crate) format: &'static report::Format,

    /// Write it to this file, whole or not at all
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// What to list [default: all]
    #[arg(value_enum)]
    pub(crate) what: Option<ListWhat>,

    /// Under which heads to list the workloads
    #[arg(long, value_name = "HEAD", value_enum, default_value = "origin")]
    pub(crate) by: Head,

    /// text or json
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "text")]
    pub(crate) format: ListFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListWhat {
    Workloads,
    Targets,
    /// Designs of the lab's parts, and eras that name one for each
    Designs,
    /// Simulated machines
    Machines,
}

/// `list --by`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Head {
    /// What the measured calls are about
    Call,
    /// What the tasks share
    Sharing,
    /// The suite: mail, peer or own
    Origin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    Text,
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct ReproduceArgs {
    /// openbench, fd-lookup, orphan, vfs-scale, file-list, others (published elsewhere), or all
    #[arg(value_name = "THREAD", default_value = "all")]
    #[arg(value_parser = PossibleValuesParser::new(crate::reproduce::names()))]
    pub(crate) thread: String,

    /// Whom to ask: sim (simulated machines like the mails'), lab (the same designs on this machine), dir:PATH (this kernel);
    /// may be given several times
    #[arg(long = "on", value_name = "WHERE", default_value = "sim")]
    #[arg(value_parser = OsStringValueParser::new().try_map(|text| reproduce_on(&text)))]
    pub(crate) on: Vec<On>,

    /// Budget of what is measured (lab, dir:), for each thread
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration, allow_hyphen_values = true)]
    pub(crate) time: Duration,

    /// Runs of each simulated point with different seeds; with more than 128 tasks no more than two, with more than 1500 one
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub(crate) seeds: u64,

    /// How to show the pages
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    #[arg(value_parser = PossibleValuesParser::new(reproduce::Format::ALL.map(reproduce::Format::name)).map(page_format))]
    pub(crate) format: reproduce::Format,
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct TopologyArgs {
    /// Keep it as a machine to simulate on: sim:NAME/ERA
    #[arg(long, value_name = "NAME")]
    pub(crate) save: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// A directory that is to be measured
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    /// The directory that was measured (PATH of dir:PATH)
    pub(crate) dir: PathBuf,

    /// Remove also what a run on another machine or in another container has marked; be sure that it has ended
    #[arg(long)]
    pub(crate) force: bool,
}

/// `--mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    Process,
    Thread,
}

impl From<Mode> for TaskMode {
    fn from(mode: Mode) -> TaskMode {
        match mode {
            Mode::Process => TaskMode::Process,
            Mode::Thread => TaskMode::Thread,
        }
    }
}

/// `--suite`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    All,
    Suite(Suite),
}

impl Wanted {
    fn names() -> impl Iterator<Item = &'static str> {
        Suite::ALL.iter().map(|suite| suite.name()).chain(["all"])
    }

    fn named(name: String) -> Wanted {
        let suite = Suite::ALL.iter().find(|suite| suite.name() == name);
        suite.map_or(Wanted::All, |suite| Wanted::Suite(*suite))
    }

    /// Its workloads, in the order of the registry.
    pub(crate) fn workloads(self) -> impl Iterator<Item = &'static Info> {
        let is_wanted = move |info: &&Info| match self {
            Wanted::All => true,
            Wanted::Suite(suite) => info.suites.contains(&suite),
        };
        workloads::ALL.iter().filter(is_wanted)
    }
}

/// A mistake that clap cannot see, for it takes the machine or two arguments together to see it.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

fn format(name: &str) -> Result<&'static report::Format, String> {
    report::Format::by_name(name).ok_or_else(|| {
        let names: Vec<&str> = report::FORMATS.iter().map(|format| format.name).collect();
        format!("there are: {}", names.join(", "))
    })
}

fn comparison_format(name: &str) -> Result<&'static report::ComparisonFormat, String> {
    report::ComparisonFormat::by_name(name).ok_or_else(|| {
        let names: Vec<&str> =
            report::COMPARISON_FORMATS.iter().map(|format| format.name).collect();
        format!("there are: {}", names.join(", "))
    })
}

fn reproduce_on(text: &OsStr) -> Result<On, String> {
    match text.as_bytes() {
        b"sim" => Ok(On::Sim),
        b"lab" => Ok(On::Lab),
        bytes if bytes.starts_with(b"dir:") && bytes.len() > 4 => {
            Ok(On::Dir(OsStr::from_bytes(&bytes[4..]).into()))
        }
        _ => Err("write sim, lab or dir:PATH".into()),
    }
}

fn page_format(name: String) -> reproduce::Format {
    let mut all = reproduce::Format::ALL.into_iter();
    all.find(|format| format.name() == name)
        .expect("clap lets only the names of Format::ALL through")
}

fn pin(name: String) -> Pin {
    name.parse().expect("clap lets only the names of Pin::ALL through")
}

fn duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(time) if time < Duration::from_millis(1) => Err("at least 1ms".into()),
        Ok(time) if time > Duration::from_secs(7 * 24 * 3600) => Err("at most 7days".into()),
        Ok(time) => Ok(time),
        Err(error) => Err(format!("{error}; write 10s, 500ms or 2m")),
    }
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    match number.parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent < 100.0 => Ok(percent / 100.0),
        _ => Err("write a share between 0 and 100, like 1%".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn reproduce_asks_three_kinds_of_places() {
        let on = |text: &str| reproduce_on(OsStr::new(text));
        assert_eq!(on("sim"), Ok(On::Sim));
        assert_eq!(on("lab"), Ok(On::Lab));
        assert_eq!(on("dir:/mnt/x"), Ok(On::Dir("/mnt/x".into())));
        for wrong in ["", "dir:", "/mnt/x", "lab:linux-6.18", "sim:x"] {
            assert!(on(wrong).unwrap_err().contains("dir:PATH"), "{wrong}");
        }
    }

    #[test]
    fn durations_and_shares_are_read_or_explained() {
        assert_eq!(duration("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("100ms"), Ok(Duration::from_millis(100)));
        assert!(duration("10").unwrap_err().contains("write 10s"));
        assert!(duration("0s").is_err());
        assert!(duration("-1s").is_err());
        assert_eq!(percent("1%"), Ok(0.01));
        assert_eq!(percent("0.5"), Ok(0.005));
        for wrong in ["0%", "-1%", "x", "100%", "nan", "inf%"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }
}
