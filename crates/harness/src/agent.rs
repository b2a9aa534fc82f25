//! The harness as the first process of a guest: it obeys its orders, makes the same crews as for a directory, and runs the slices
//! that the host asks for. So all numbers of a guest are taken by the code that takes those of this kernel.

use crate::crew::Ended;
use crate::crews::Crews;
use crate::interrupt::Interrupt;
use crate::lock_trace::{Outcome, TracePlan, Within};
use crate::plan::{CurveRequest, Plan, PlannedPoint, Request, Sides};
use crate::target::Target;
use guest::init::{self, Line};
use guest::protocol::{Command, CountOrder, CurveOrder, Orders, Report, TraceOrder, VERSION};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use vfs_api::TaskMode;

pub use guest::init::is_agent;

/// Serves the host until it says goodbye, and ends the machine.
pub fn serve() -> ! {
    let mut line = match init::open_line() {
        Ok(line) => line,
        Err(what) => {
            // The console is all there is.
            eprintln!("vfscale: {what}");
            init::end(false)
        }
    };
    match obey(&mut line) {
        Ok(()) => {
            line.say(&Report::End);
            init::end(true)
        }
        Err(what) => {
            line.say(&Report::Failed { what });
            init::end(false)
        }
    }
}

fn obey(line: &mut Line) -> Result<(), String> {
    let orders = init::obey()?;
    let interrupt = Interrupt::listen().map_err(|error| format!("sigaction: {error}"))?;
    let (plan, dirs) = plan(&orders)?;
    let crews = Crews::start(&plan, dirs, &interrupt).map_err(|error| error.to_string())?;
    let mut crews = crews.ok_or("it was interrupted")?;
    init::wait_until_idle();
    let most = orders.tasks.iter().copied().max().unwrap_or(1);
    let cpus = crews.cpus(&point(0, most, Duration::ZERO));
    line.say(&Report::Ready { version: VERSION, host: Box::new(plan.host.clone()), cpus });
    match orders.count {
        Some(count) => run_unasked(line, &mut crews, &orders, count, &interrupt)?,
        None => run_on_command(line, &mut crews, &interrupt)?,
    }
    crews.end().map_err(|error| error.to_string())
}

fn run_on_command(line: &mut Line, crews: &mut Crews, interrupt: &Interrupt) -> Result<(), String> {
    loop {
        match line.command()? {
            Command::End => return Ok(()),
            Command::Slice { curve, tasks, length_ns } => {
                let report =
                    slice(crews, curve, tasks, Duration::from_nanos(length_ns), interrupt)?;
                line.say(&report);
            }
            Command::Trace(order) => line.say(&trace(crews, &order, interrupt)?),
        }
    }
}

fn run_unasked(
    line: &mut Line,
    crews: &mut Crews,
    orders: &Orders,
    count: CountOrder,
    interrupt: &Interrupt,
) -> Result<(), String> {
    line.say(&Report::Calibrated { ns: calibrate() });
    let length = Duration::from_nanos(count.slice_ns);
    for curve in 0..orders.curves.len() {
        for tasks in &orders.tasks {
            // The first one fills caches and free lists, and sizes the batches.
            slice(crews, curve, *tasks, length, interrupt)?;
            for _ in 0..count.slices {
                let report = slice(crews, curve, *tasks, length, interrupt)?;
                line.say(&report);
            }
        }
    }
    Ok(())
}

fn slice(
    crews: &mut Crews,
    curve: usize,
    tasks: usize,
    length: Duration,
    interrupt: &Interrupt,
) -> Result<Report, String> {
    match crews.run(&point(curve, tasks, length), interrupt) {
        Ok(Ended::Measured(samples, _)) => Ok(Report::Samples { curve, samples }),
        Ok(Ended::Disturbed | Ended::Interrupted) => Ok(Report::Disturbed),
        Err(error) => Err(error.to_string()),
    }
}

fn trace(crews: &mut Crews, order: &TraceOrder, interrupt: &Interrupt) -> Result<Report, String> {
    let plan = TracePlan::ordered(order)?;
    let point = point(order.curve, order.tasks, Duration::from_nanos(order.length_ns));
    let mut within = Within { crews, switch: &mut None, interrupt };
    match within.watch(&point, &plan) {
        Ok(Outcome::Seen(traced)) => Ok(Report::Traced { traced }),
        Ok(Outcome::Nothing) => Ok(Report::Disturbed),
        Ok(Outcome::Lost(why)) => Ok(Report::TraceLost { why }),
        Err(error) => Err(error.to_string()),
    }
}

fn point(curve: usize, tasks: usize, length: Duration) -> PlannedPoint {
    PlannedPoint { curve, tasks, length, phase: None, tells: false }
}

/// What was ordered as a plan for this machine, and a directory for each curve.
fn plan(orders: &Orders) -> Result<(Plan, Vec<Option<PathBuf>>), String> {
    let (mut curves, mut dirs) = (Vec::new(), Vec::new());
    for (number, CurveOrder { workload, mode }) in orders.curves.iter().enumerate() {
        let selected = workloads::find(workload).map_err(|error| {
            format!("its static vfscale says: {error}; build it again with scripts/static-build")
        })?;
        let mode = match mode.as_str() {
            "thread" => TaskMode::Thread,
            _ => TaskMode::Process,
        };
        let dir = init::make_directory(number)?;
        curves.push(CurveRequest::new(selected, Target::Dir(dir.clone()), mode));
        dirs.push(Some(dir));
    }
    let request = Request {
        curves,
        tasks: orders.tasks.clone(),
        pin: orders.pin.parse().map_err(|error| format!("{error}"))?,
        // The host counts the time and the rounds.
        time: Duration::from_secs(1),
        slice: None,
        precision: None,
        rounds: Some(1),
        sides: Sides::One,
        locks: None,
        seed: 0,
        guests: Default::default(),
        began: Instant::now(),
    };
    Ok((Plan::new(request).map_err(|error| error.to_string())?, dirs))
}

/// Nanoseconds of an iteration of a loop of two instructions.
fn calibrate() -> f64 {
    const ITERATIONS: u64 = 5_000_000;
    let start = crate::clock::now_ns();
    #[cfg(target_arch = "x86_64")]
    // SAFETY: counts a register of its own down to 0 and touches nothing else.
    unsafe {
        std::arch::asm!("2:", "dec {n}", "jnz 2b", n = inout(reg) ITERATIONS => _, options(nomem, nostack));
    }
    #[cfg(not(target_arch = "x86_64"))]
    for n in 0..ITERATIONS {
        std::hint::black_box(n);
    }
    (crate::clock::now_ns() - start) as f64 / ITERATIONS as f64
}
