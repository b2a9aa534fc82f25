//! The command line: what may be typed, and what of it is refused.

use crate::counts::Counts;
use crate::locks::LocksArgs;
use crate::offer::{self, offer};
use crate::values::{
    any_format, comparison_format, duration, format, page_format, percent, pin, reproduce_on,
};
use clap::builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use harness::Target;
use harness::machine::topology::Pin;
use report::Medium;
use reproduce::On;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use store::RunName;
use vfs_api::{Info, Selected, Suite, TaskMode};

/// Measure how a file system's open/close path scales with CPUs
///
/// A workload is a loop over a few system calls. It runs on a target: a directory of this machine, vfscale's own VFS with the locking
/// designs of a kernel (lab:), or that VFS on a simulated machine (sim:). Each task count is measured in short slices, which take turns, so
/// that drift of the machine hits all alike. What comes out is a curve with intervals and a sentence that says what it shows.
#[derive(Debug, Parser)]
#[command(name = "vfscale", version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure workloads and show how they scale
    ///
    /// Every workload runs on every target in every mode, at several task counts. A round is one slice of each of them, in random order;
    /// what is shown are medians over rounds. A task that fails ends the run, and nothing is shown that it was part of.
    Run(RunArgs),
    /// Measure two targets side by side, or compare two stored runs, and say what changed
    ///
    /// Two targets are measured in pairs of slices that stand side by side; so is one target in two states, which two commands bring about.
    /// Two stored runs (names, or JSON files) are compared as they are, and the output says what that costs. The verdict at each task count
    /// is faster, slower, no difference larger than a bound, or undecided; all task counts are judged together.
    Compare(CompareArgs),
    /// Measure again what a stored run measured, and say whether it has changed (for CI)
    ///
    /// Task counts, placing, length of a slice, targets and workloads are those of the stored run, where nothing else is said. Exits with 1 if
    /// any task count is slower, or as --fail-on says.
    Check(CheckArgs),
    /// Say how small a change this machine can show in a given time
    ///
    /// Compares the target with itself and tells from the spread what comparisons of several lengths would find.
    Power(PowerArgs),
    /// Show stored runs in order of time, their trend and where it changed
    ///
    /// One figure per workload, target, mode, machine and task count. A change point is where the runs before and after differ by more than
    /// runs of one level do.
    History(HistoryArgs),
    /// Store runs that other tools have taken
    ///
    /// The format is told from what is in the file. All files are read before the first is stored.
    Import(ImportArgs),
    /// Write a stored run
    Export(ExportArgs),
    /// Show stored runs and record files as a page, a picture or a text
    ///
    /// A page (html) is one file that needs no network: curves to look into, every number in a table, the conditions. A picture (svg) is for a
    /// paper or a wiki.
    Report(ReportArgs),
    /// List workloads, targets, the lab's designs and the simulated machines
    List(ListArgs),
    /// Put published tables of five kernel threads beside what the simulator makes of them, and what is measured here
    ///
    /// One parameter of a page is calibrated from the rows that it names; every other row is predicted, with its error. What comes out wrong
    /// stays on the page.
    Reproduce(ReproduceArgs),
    /// Measure how far this machine's CPUs are from each other
    ///
    /// The time that a cache line takes from one CPU to another, for each pair of CPUs.
    Topology(TopologyArgs),
    /// Say what this machine can and cannot do
    ///
    /// Each line is one condition that changes numbers: clock, cgroup limits, neighbours, mitigations, the file system, the limits of the
    /// process; with what to do about it.
    Doctor(DoctorArgs),
    /// Unpack a Debian kernel into the cache, to boot it as guest:VERSION
    FetchKernel(FetchKernelArgs),
    /// Remove what runs left behind that could not clean up themselves
    ///
    /// Only directories with vfscale's marker are removed, and only if their run has ended.
    Clean(CleanArgs),
    /// Print the completions of a shell
    Completions(CompletionsArgs),
    /// Write the manual pages
    Man(ManArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Workloads (see: vfscale list workloads), with parameters as NAME:KEY=VALUE,... [default: open_close]
    #[arg(value_name = "WORKLOAD", value_parser = offer(crate::fixed::find, offer::workloads), hide_possible_values = true)]
    pub(crate) workloads: Vec<Selected>,

    /// A suite of workloads, or all; those that a target or mode has not are left out and named
    #[arg(long, value_name = "NAME")]
    #[arg(value_parser = PossibleValuesParser::new(Wanted::names()).map(Wanted::named))]
    pub(crate) suite: Vec<Wanted>,

    /// Where to run them: dir:PATH, lab:ERA, sim:MACHINE/ERA or guest:KERNEL (see: vfscale list targets); may be given several times
    #[arg(long = "on", value_name = "TARGET", default_value = "dir:.")]
    #[arg(value_parser = OsStringValueParser::new().try_map(|text| Target::parse(&text)))]
    pub(crate) targets: Vec<Target>,

    #[command(flatten)]
    pub(crate) measure: MeasureArgs,

    #[command(flatten)]
    pub(crate) locks: LocksArgs,

    /// How to show the result
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = offer(format, offer::formats))]
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

    #[command(flatten)]
    pub(crate) fixed: crate::fixed::FixedArgs,
}

/// How to measure: the same for every command that does.
#[derive(Clone, Debug, Args)]
pub(crate) struct MeasureArgs {
    /// Task counts: 1,2,4 or 1..8 or max (all usable CPUs) or 50% of them [default: powers of two up to max]
    #[arg(long, value_name = "COUNTS", allow_hyphen_values = true)]
    pub(crate) tasks: Option<Counts>,

    /// How tasks are made; both, if separated by a comma [default: process]
    #[arg(long, value_name = "MODE", value_enum, value_delimiter = ',')]
    pub(crate) mode: Vec<Mode>,

    /// How tasks are put on CPUs: one per core first, siblings side by side, round the sockets, or not at all [default: cores]
    #[arg(long, value_name = "ORDER")]
    #[arg(value_parser = PossibleValuesParser::new(Pin::ALL.map(Pin::name)).map(pin))]
    pub(crate) pin: Option<Pin>,

    /// Budget of the whole command, shared by everything that was asked for [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = duration, allow_hyphen_values = true)]
    pub(crate) time: Option<Duration>,

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

    /// What guests count: operations in time, or instructions for an operation (little noise, but no cache, cycle or contention either)
    #[arg(long, value_name = "CLOCK", value_enum, default_value_t = ClockArg::Time)]
    pub(crate) clock: ClockArg,

    /// Boot each guest so often; each boot then counts as one round [default: 1; 6 when guests are compared or count
    /// instructions]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) boots: Option<u32>,
}

/// `--clock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClockArg {
    Time,
    Instructions,
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
pub(crate) struct CompareArgs {
    /// Two targets to measure side by side (dir:/mnt/a dir:/mnt/b), or two stored runs or JSON files, and then the workloads
    /// [default: open_close]; with --before-cmd and --after-cmd one target
    #[arg(value_name = "BEFORE AFTER [WORKLOAD]...", required = true)]
    pub(crate) words: Vec<OsString>,

    /// Shell command that brings about the state to measure first; it is carried out at the end as well, but not after SIGKILL.
    /// Ctrl-C waits for a command that is running; again, it kills it
    #[arg(long, value_name = "COMMAND", requires = "after_cmd")]
    pub(crate) before_cmd: Option<String>,

    /// Shell command that brings about the state to compare with
    #[arg(long, value_name = "COMMAND", requires = "before_cmd")]
    pub(crate) after_cmd: Option<String>,

    #[command(flatten)]
    pub(crate) measure: MeasureArgs,

    #[command(flatten)]
    pub(crate) locks: LocksArgs,

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
    /// Exit with 1 if any task count comes out like this [default of check: slower]
    #[arg(long, value_name = "VERDICT", value_enum)]
    pub(crate) fail_on: Option<FailOn>,

    /// How to show the comparison
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    #[arg(value_parser = offer(comparison_format, offer::comparison_formats))]
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
    /// Slower at one task count or more
    Slower,
    /// Faster at one task count or more
    Faster,
    /// Slower or faster
    Different,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The stored run (NAME, NAME@VERSION or @NUMBER) or JSON file to measure again and compare with
    #[arg(long, value_name = "NAME")]
    pub(crate) against: String,

    /// Only these of its workloads [default: all]
    #[arg(value_name = "WORKLOAD", value_parser = offer(crate::fixed::find, offer::workloads), hide_possible_values = true)]
    pub(crate) workloads: Vec<Selected>,

    /// Where to run them, instead of where the stored run did (a relative directory of it is looked for below this one)
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
pub(crate) struct PowerArgs {
    /// Workloads (see: vfscale list workloads) [default: open_close]
    #[arg(value_name = "WORKLOAD", value_parser = offer(workloads::find, offer::workloads), hide_possible_values = true)]
    pub(crate) workloads: Vec<Selected>,

    /// Where to run them: dir:PATH, lab:ERA, sim:MACHINE/ERA or guest:KERNEL (see: vfscale list targets); may be given several times
    #[arg(long = "on", value_name = "TARGET", default_value = "dir:.")]
    #[arg(value_parser = OsStringValueParser::new().try_map(|text| Target::parse(&text)))]
    pub(crate) targets: Vec<Target>,

    #[command(flatten)]
    pub(crate) measure: MeasureArgs,

    /// text, json, html or svg
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "text")]
    pub(crate) format: PowerFormat,

    /// Write it to this file, whole or not at all
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// `--format` of `vfscale power`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PowerFormat {
    Text,
    Json,
    /// A page, for a browser
    Html,
    /// A picture
    Svg,
}

impl PowerFormat {
    /// As on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            PowerFormat::Text => "text",
            PowerFormat::Json => "json",
            PowerFormat::Html => "html",
            PowerFormat::Svg => "svg",
        }
    }

    /// Where it makes sense to write it to.
    pub(crate) fn medium(self) -> Medium {
        match self {
            PowerFormat::Text | PowerFormat::Json => Medium::Terminal,
            PowerFormat::Html | PowerFormat::Svg => Medium::File,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// Only these workloads [default: all]
    #[arg(value_name = "WORKLOAD")]
    pub(crate) workloads: Vec<String>,

    /// How to show it
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
    /// The stored run: NAME, NAME@VERSION or @NUMBER
    pub(crate) name: String,

    /// How to write it
    #[arg(long, value_name = "FORMAT", default_value = "json", value_parser = offer(format, offer::formats))]
    pub(crate) format: &'static report::Format,

    /// Write it to this file, whole or not at all
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Stored runs, or files with a run, a comparison or an outcome of power; several runs go into one page or picture
    #[arg(value_name = "NAME|FILE", required = true)]
    pub(crate) sources: Vec<OsString>,

    /// How to show it [default: as the name of the --output file ends, else text]
    #[arg(long, value_name = "FORMAT", value_parser = offer(any_format, offer::any_formats))]
    pub(crate) format: Option<String>,

    /// Write it to this file, whole or not at all
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Show the conditions as well
    #[arg(short, long)]
    pub(crate) verbose: bool,

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

    /// How to show it
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "text")]
    pub(crate) format: ListFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListWhat {
    /// What is measured, with parameters and suites
    Workloads,
    /// Where it is measured
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
    /// For people
    Text,
    /// For programs
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
    #[arg(value_parser = PossibleValuesParser::new(PageFormat::all().map(PageFormat::name)).map(page_format))]
    pub(crate) format: PageFormat,

    /// Write them to this file, whole or not at all
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// `--format` of `vfscale reproduce`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageFormat {
    /// What the crate `reproduce` writes by itself.
    Text(reproduce::Format),
    /// One page, for a browser.
    Html,
    /// One picture.
    Svg,
}

impl PageFormat {
    pub(crate) fn all() -> impl Iterator<Item = PageFormat> {
        let texts = reproduce::Format::ALL.into_iter().map(PageFormat::Text);
        texts.chain([PageFormat::Html, PageFormat::Svg])
    }

    /// As on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            PageFormat::Text(format) => format.name(),
            PageFormat::Html => "html",
            PageFormat::Svg => "svg",
        }
    }

    /// Where it makes sense to write it to.
    pub(crate) fn medium(self) -> Medium {
        match self {
            PageFormat::Text(_) => Medium::Terminal,
            PageFormat::Html | PageFormat::Svg => Medium::File,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct TopologyArgs {
    /// Keep it as a machine to simulate on: sim:NAME/ERA
    #[arg(long, value_name = "NAME")]
    pub(crate) save: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// A directory that is to be measured, or the word guest: what guests need (a directory of that name: ./guest)
    #[arg(default_value = ".", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct FetchKernelArgs {
    /// Two numbers, like 6.1 or 6.12; of several the newest cloud kernel that apt knows
    #[arg(required = true)]
    pub(crate) versions: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    /// The directory that was measured (PATH of dir:PATH)
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,

    /// Remove also what a run on another machine or in another container has marked; be sure that it has ended
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Whose
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// An existing directory to write them to: vfscale.1 and a page for each command
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
}

/// `--mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// A process each: own fd table, own working directory
    Process,
    /// Threads of one process: one fd table
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
        workloads::ALL.iter().filter(move |info| self.has(info))
    }

    /// Whether a workload is in it.
    pub(crate) fn has(self, info: &Info) -> bool {
        match self {
            Wanted::All => true,
            Wanted::Suite(suite) => info.suites.contains(&suite),
        }
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
