//! The `vfscale` program: arguments → plan → run → show.
//!
//! Exit codes: 0 done, 1 a regression was found, 2 usage, 3 the run failed, 4 refused by the preflight, 130 interrupted.

mod args;
mod check;
mod clean;
mod compare;
mod completions;
mod config;
mod counts;
mod doctor;
mod examples;
mod export;
mod fetch_kernel;
mod fixed;
mod guests;
mod help;
mod history;
mod import;
mod list;
mod locks;
mod man;
mod measure;
mod offer;
mod output;
mod power;
mod progress;
mod report;
mod reproduce;
mod reproduce_page;
mod run;
mod runs;
mod topology;
mod values;

use args::{Cli, Command};
use clap::FromArgMatches;
use std::process::ExitCode;

/// What a simulated kernel allocates lies in the simulator's arena, so that a run repeats bit for bit; all else is malloc's.
#[global_allocator]
static ALLOCATOR: machine::sim::Allocator = machine::sim::Allocator;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    Done = 0,
    /// A comparison came out as --fail-on does not want it.
    Regression = 1,
    Usage = 2,
    Failed = 3,
    Refused = 4,
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

fn main() -> ExitCode {
    // The budget of a run counts from here.
    let began = std::time::Instant::now();
    if harness::agent::is_agent() {
        harness::agent::serve();
    }
    // clap exits with 2 by itself when it does not understand.
    let understood = Cli::from_arg_matches(&help::command().get_matches());
    let cli = understood.unwrap_or_else(|error| error.exit());
    let exit = match cli.command {
        Command::Run(args) => run::run(&args, began),
        Command::Compare(args) => compare::compare(&args, began),
        Command::Check(args) => check::check(&args, began),
        Command::Power(args) => power::power(&args, began),
        Command::History(args) => history::history(&args),
        Command::Import(args) => import::import(&args),
        Command::Export(args) => export::export(&args),
        Command::Report(args) => report::report(&args),
        Command::List(args) => list::list(&args),
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::Topology(args) => topology::topology(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::FetchKernel(args) => fetch_kernel::fetch_kernel(&args),
        Command::Clean(args) => clean::clean(&args),
        Command::Completions(args) => completions::completions(&args),
        Command::Man(args) => man::man(&args),
    };
    match exit {
        Ok(exit) => exit.into(),
        Err(error) => {
            output::tell(&format!("vfscale: {error:#}"));
            exit_of(&error).into()
        }
    }
}

/// A refusal has its own exit code; every other error means that there is no result.
fn exit_of(error: &anyhow::Error) -> Exit {
    if error.is::<args::Usage>() {
        Exit::Usage
    } else if error.downcast_ref::<harness::Error>().is_some_and(harness::Error::is_refusal)
        || matches!(error.downcast_ref(), Some(guest::Error::Refused { .. }))
    {
        Exit::Refused
    } else {
        Exit::Failed
    }
}
