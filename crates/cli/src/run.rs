//! `vfscale run`: measures curves and shows them.

use crate::Exit;
use crate::args::{RunArgs, Usage};
use crate::fixed;
use crate::guests;
use crate::measure::{self, Done};
use crate::output::{self, Output};
use crate::runs::Runs;
use harness::{CurveRequest, Sides};
use std::time::Instant;
use vfs_api::{Info, Selected};

/// Plans, measures, shows.
pub(crate) fn run(args: &RunArgs, began: Instant) -> anyhow::Result<Exit> {
    if let Some(workload) = fixed::asked(args)? {
        return fixed::run(args, workload, began);
    }
    args.locks.suffice_for(args.format)?;
    let destination =
        Output::new(args.output.as_deref())?.for_format(args.format.name, args.format.medium)?;
    let mut keep = Runs::to_keep(&args.store, args.save.as_ref())?;
    let locks = args.locks.wanted();
    let measured = measure::measure(&args.measure, curves(args)?, Sides::One, locks, began)?;
    let Some(Done { run, left }) = measured else { return Ok(Exit::Interrupted) };
    destination.write(|style| {
        (args.format.render)(&run, &report::Style { verbose: args.verbose, ..style })
    })?;
    keep.save("", &run)?;
    match left {
        Some(left) => Err(left.into()),
        None if run.plan.partial => Ok(Exit::Interrupted),
        None => Ok(Exit::Done),
    }
}

/// workload × target × mode, each once, in the order asked for: what was named first, then the suites. Of a suite, what a target
/// or a mode has not is left out, and said.
fn curves(args: &RunArgs) -> anyhow::Result<Vec<CurveRequest>> {
    let modes = measure::modes(&args.measure);
    let named = match (args.workloads.as_slice(), args.suite.as_slice()) {
        ([], [_, ..]) => Vec::new(),
        (named, _) => measure::workloads(named),
    };
    let targets = guests::under_all_cpus(&args.measure, &args.targets);
    let mut curves = measure::curves(&named, &targets, &modes)?;
    let mut left_out = LeftOut::default();
    for workload in args.suite.iter().flat_map(|suite| suite.workloads()).map(Selected::from) {
        for target in &targets {
            if let Err(refusal) = harness::can_run(&workload, target) {
                left_out.add(&workload, &refusal.to_string());
                continue;
            }
            for mode in &modes {
                match measure::has_mode(&workload, *mode) {
                    Ok(()) => measure::add(&mut curves, &workload, target, *mode),
                    Err(why) => left_out.add(&workload, &why.to_string()),
                }
            }
        }
    }
    let is_wanted = |info: &Info| args.suite.iter().any(|suite| suite.has(info));
    for reason in fixed::left_out(is_wanted) {
        output::tell(&format!("left out of the suite: {reason}"));
    }
    left_out.tell();
    if curves.is_empty() {
        return Err(Usage("nothing of the suite can run there".into()).into());
    }
    Ok(curves)
}

/// What of a suite is not run, by reason.
#[derive(Default)]
struct LeftOut(Vec<(String, Vec<String>)>);

impl LeftOut {
    /// `why` begins with the workload's name; its first line is the reason.
    fn add(&mut self, workload: &Selected, why: &str) {
        let name = workload.to_string();
        let reason = why.lines().next().unwrap_or_default();
        let reason = reason.strip_prefix(&name).unwrap_or(reason).trim_start();
        match self.0.iter_mut().find(|(known, _)| known == reason) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => self.0.push((reason.to_owned(), vec![name])),
        }
    }

    fn tell(&self) {
        for (reason, names) in &self.0 {
            output::tell(&format!("left out of the suite: {} ({reason})", names.join(", ")));
        }
    }
}
