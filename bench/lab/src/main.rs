//! What the lab's designs cost, in interleaved slices: an fd look-up beside other crates' tables, open and close through the
//! eras, and for each of the five threads the designs before and after it. Whatever comes out is printed as it is.

mod threads;

use bench_lab::{interleave, look_ups, open_close};
use clap::{Parser, ValueEnum};
use lab::eras::ERAS;
use std::time::Duration;

/// The lab's designs side by side.
#[derive(Debug, Parser)]
struct Args {
    /// What to measure [default: all]
    what: Vec<What>,
    /// Rounds
    #[arg(long, default_value_t = 60)]
    rounds: u32,
    /// Length of a slice in milliseconds
    #[arg(long, default_value_t = 5)]
    slice: u64,
    /// Task counts of the threads' pairs
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2])]
    tasks: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// An fd look-up beside other crates' tables
    LookUps,
    /// open and close through the eras
    OpenClose,
    /// The designs before and after each mailing-list thread
    Threads,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let slice = Duration::from_millis(args.slice);
    let asked = |what| args.what.is_empty() || args.what.contains(&what);

    // First: the harness wants a process with a single thread, as this one is.
    if asked(What::Threads) {
        threads::measure(slice, args.rounds, &args.tasks)?;
    }
    if asked(What::LookUps) {
        println!("fd look-up (get and put), one thread; goal: rcu at most 1.3 times the RMWs");
        let measured = interleave::measure(&mut look_ups::contenders(), slice, args.rounds);
        measured.print(look_ups::BASE);
        println!();
    }
    if asked(What::OpenClose) {
        let oldest = ERAS.first().map_or("", |era| era.name);
        println!("open and close, one task; goal: the newest era is not slower than the oldest");
        let measured = interleave::measure(&mut open_close::contenders(), slice, args.rounds);
        measured.print(oldest);
        println!();
    }
    Ok(())
}
