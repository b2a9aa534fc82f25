//! `vfscale reproduce`: published tables beside what the simulator makes of them.

use crate::Exit;
use crate::args::ReproduceArgs;
use crate::output;
use reproduce::{Published, Simulator, THREADS, page, render};
use std::time::Instant;

/// Asks for every thread.
const ALL: &str = "all";

/// What may be asked for.
pub(crate) fn names() -> Vec<&'static str> {
    THREADS.iter().map(|(name, _)| *name).chain([ALL]).collect()
}

/// Makes and prints the pages.
pub(crate) fn reproduce(args: &ReproduceArgs) -> anyhow::Result<Exit> {
    let mut pages = Vec::new();
    for (name, _) in THREADS {
        if args.thread == ALL || args.thread == name {
            let began = Instant::now();
            pages.push(page(&Published::named(name)?, &Simulator { seeds: args.seeds })?);
            output::tell(&format!("{name}: simulated in {:.1} s", began.elapsed().as_secs_f64()));
        }
    }
    output::print(&render(&pages, args.format))?;
    Ok(Exit::Done)
}
