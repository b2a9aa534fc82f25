//! `vfscale reproduce`: published tables beside what the simulator makes of them and what is measured here.

use crate::Exit;
use crate::args::{PageFormat, ReproduceArgs};
use crate::measure;
use crate::output::{self, Output};
use crate::progress::PointBar;
use crate::reproduce_page;
use anyhow::Context;
use harness::{Interrupt, Progress};
use reproduce::{Measurements, On, Page, Published, Simulation, Simulator, THREADS, page, render};
use std::time::Instant;

/// Asks for every thread.
const ALL: &str = "all";

/// What may be asked for.
pub(crate) fn names() -> Vec<&'static str> {
    THREADS.iter().map(|(name, _)| *name).chain([ALL]).collect()
}

/// Makes and prints the pages; after an interruption those that there are.
pub(crate) fn reproduce(args: &ReproduceArgs) -> anyhow::Result<Exit> {
    let destination = Output::new(args.output.as_deref())?
        .for_format(args.format.name(), args.format.medium())?;
    let interrupt = Interrupt::listen().context("cannot listen to signals")?;
    let on = distinct(&args.on);
    let mut pages = Vec::new();
    let mut left = None;
    for (name, _) in THREADS {
        if interrupt.asked() {
            break;
        }
        if args.thread == ALL || args.thread == name {
            let (page, not_removed) = one(name, args, &on, &interrupt)?;
            pages.push(page);
            left = left.or(not_removed);
        }
    }
    destination.write(|_| match args.format {
        PageFormat::Text(format) => render(&pages, format),
        PageFormat::Html => reproduce_page::html(&pages, measure::command()),
        PageFormat::Svg => reproduce_page::svg(&pages),
    })?;
    match left {
        Some(left) => Err(left.into()),
        None if interrupt.asked() => {
            output::tell("vfscale: interrupted: what is marked as partial is not complete");
            Ok(Exit::Interrupted)
        }
        None => Ok(Exit::Done),
    }
}

/// One page, and what of its run could not be removed.
fn one(
    name: &str,
    args: &ReproduceArgs,
    on: &[On],
    interrupt: &Interrupt,
) -> anyhow::Result<(Page, Option<harness::Error>)> {
    let data = Published::named(name)?;
    let began = Instant::now();
    let bar = PointBar::new(name);
    // Measured first, for the simulator makes threads and what is measured forks.
    let shown = &mut |number: usize, plans: usize, at: Progress| {
        // A hundredth of a plan is as fine as it need be.
        let share = (100 * at.done).checked_div(at.of).unwrap_or(0);
        bar.show("measuring", 100 * number + share as usize, 100 * plans);
    };
    let measured = Measurements::take(&data, on, args.time, interrupt, shown);
    let simulator = Simulator { seeds: args.seeds, interrupt: interrupt.clone() };
    let simulation = on.contains(&On::Sim).then_some(&simulator as &dyn Simulation);
    let made = measured.map_err(anyhow::Error::from).and_then(|mut measured| {
        let left = measured.left.take();
        let watch = |what, done, all| bar.show(what, done, all);
        let page = page(&data, simulation, &measured, &watch)?;
        Ok((page, left))
    });
    bar.clear();
    let made = made?;
    output::tell(&format!("{name}: made in {:.1} s", began.elapsed().as_secs_f64()));
    Ok(made)
}

/// In the order asked for, each once.
fn distinct(asked: &[On]) -> Vec<On> {
    let mut on = Vec::new();
    for one in asked {
        if !on.contains(one) {
            on.push(one.clone());
        }
    }
    on
}
