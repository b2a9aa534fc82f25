//! How far the verdicts of `vfscale compare` can be trusted: equal sides must seldom be called different, known slow-downs must
//! be found, and the usual way (one run after the other, mean ± standard deviation) stands beside it.
//!
//! `cargo build --release && cargo run --release -p bench-ab` takes two hours and wants a machine that does nothing else; `--help` has
//! fewer. What it prints is the section of docs/guide/noise-and-power.md; each row is written when it is done, and Ctrl-C ends with the
//! comparisons that there are.

mod burdened;
mod cost;
mod tally;

use anyhow::{Context, ensure};
use clap::Parser;
use compare::Question;
use harness::machine::topology::Pin;
use harness::{CurveRequest, Interrupt, Plan, Request, Sides, Target};
use results::{Comparison, Curve, Host, Pairing, Run};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tally::{Seen, Tally};
use vfs_api::TaskMode;

const TASKS: [usize; 2] = [1, 2];

/// Slow-downs that are to be found, and the seconds of a comparison.
const SLOWER: [(f64, u64); 2] = [(0.02, 20), (0.05, 5)];

/// Length of the comparisons that find out how large a burden is.
const CALIBRATION: Duration = Duration::from_secs(5);

/// How often a burden is corrected.
const CORRECTIONS: u32 = 3;

/// Samples of a side in the usual way, of a second each.
const USUAL: u32 = 5;

/// False alarms and missed changes of `vfscale compare`.
#[derive(Debug, Parser)]
struct Args {
    /// Directory to measure in
    #[arg(long, default_value = "/dev/shm")]
    dir: PathBuf,
    /// Comparisons of equal sides
    #[arg(long, default_value_t = 200)]
    equal: u32,
    /// Seconds of each of them, both task counts together
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Comparisons with each slow-down (2 % in 20 s, 5 % in 5 s)
    #[arg(long, default_value_t = 50)]
    slower: u32,
    /// Comparisons in the usual way, 5 s a side and task count: of equal sides and with each slow-down
    #[arg(long, default_value_t = 40)]
    usual: u32,
    /// Whole commands that are timed
    #[arg(long, default_value_t = 12)]
    commands: u32,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let program = cost::program()?;
    let interrupt = Interrupt::listen()?;
    let bench = Bench { target: Target::Dir(args.dir.clone()), interrupt };
    let equal = Duration::from_secs(args.seconds);
    say(&bench.conditions(&args)?)?;

    let mut costs = Vec::new();
    for _ in 0..args.commands {
        let cost = cost::of_compare(&program, &args.dir, equal)?;
        costs.extend(cost);
        if cost.is_none() || bench.interrupt.asked() {
            break;
        }
    }
    say(&format!(
        "A whole command by its slices: {}; with warm-up not counted among the slices: {}.\n",
        cost::in_words(&costs, |cost| cost.by_all_slices),
        cost::in_words(&costs, |cost| cost.by_samples),
    ))?;

    say(&Tally::head())?;
    let interleaved = |time: Duration| format!("interleaved, {} s", time.as_secs());
    bench.row("equal", &interleaved(equal), args.equal, |seed| bench.judged(false, equal, seed))?;
    for (share, seconds) in SLOWER {
        let (time, sides) = (Duration::from_secs(seconds), bench.burden(share, args.slower)?);
        bench
            .row(&sides, &interleaved(time), args.slower, |seed| bench.judged(true, time, seed))?;
    }
    let usual = format!("usual, 2 × {USUAL} s");
    bench.row("equal", &usual, args.usual, |seed| bench.usual(false, seed))?;
    for (share, _) in SLOWER {
        let sides = bench.burden(share, args.usual)?;
        bench.row(&sides, &usual, args.usual, |seed| bench.usual(true, seed))?;
    }
    Ok(())
}

/// A line that is there at once, whoever reads it.
fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

struct Bench {
    target: Target,
    interrupt: Interrupt,
}

impl Bench {
    /// Where and on what it was measured.
    fn conditions(&self, args: &Args) -> anyhow::Result<String> {
        let host = Plan::new(self.request(Vec::new(), Sides::One, Duration::ZERO, None, 0))?.host;
        let kernel = host.kernel.split_whitespace().next().unwrap_or("unknown");
        Ok(format!(
            "vfscale {}, {}, {} CPUs{}, Linux {kernel}; open_close in {}, process mode, both task counts in each comparison; bound 1 %, 95 %.\n",
            env!("CARGO_PKG_VERSION"),
            host.cpu_model.as_deref().unwrap_or("unknown CPU"),
            host.cpus.len(),
            if host.virtualised { " (virtual machine)" } else { "" },
            args.dir.display(),
        ))
    }

    /// Makes comparisons and writes the row about them: all of them, or those that there are after Ctrl-C or a failure.
    fn row(
        &self,
        sides: &str,
        way: &str,
        comparisons: u32,
        mut compare: impl FnMut(u32) -> anyhow::Result<Option<[Seen; TASKS.len()]>>,
    ) -> anyhow::Result<()> {
        let mut tally = Tally::default();
        let mut failed = None;
        for seed in 0..comparisons {
            if self.interrupt.asked() {
                break;
            }
            if io::stderr().is_terminal() {
                eprint!("\r{sides}, {way}: {seed} of {comparisons} ");
            }
            match compare(seed) {
                Ok(Some(seen)) => tally.add(seen),
                Ok(None) => break,
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        if io::stderr().is_terminal() {
            eprint!("\r\u{1b}[K");
        }
        if !tally.is_empty() {
            say(&tally.row(sides, way))?;
        }
        failed.map_or(Ok(()), Err)
    }

    /// Sets the burden for comparisons to come, if any do; answers what to call it.
    fn burden(&self, share: f64, comparisons: u32) -> anyhow::Result<String> {
        if comparisons > 0
            && let Some(operation) = self.operation()?
        {
            burdened::set(share, operation);
            // What that comes to in the loop is measured and corrected, several times: twice as many turns are not twice as dear.
            for attempt in 0..CORRECTIONS {
                let tried = self.compare(true, CALIBRATION, attempt)?;
                let change = tried.and_then(|tried| tried.curves[0].points[0].change);
                if let Some(change) = change.filter(|change| *change < 0.0) {
                    burdened::scale((share / (1.0 - share)) / (-change / (1.0 + change)));
                }
            }
        }
        Ok(format!("{} % slower", share * 100.0))
    }

    /// What one operation of one task takes where nothing disturbs it: in the fastest of many slices. None after Ctrl-C.
    fn operation(&self) -> anyhow::Result<Option<Duration>> {
        let Some(comparison) = self.compare(false, CALIBRATION, 0)? else {
            return Ok(None);
        };
        let samples = &comparison.before.curves[0].points[0].samples;
        let rate = samples.iter().map(results::Sample::rate).fold(0.0, f64::max);
        ensure!(rate > 0.0, "nothing was measured");
        Ok(Some(Duration::from_secs_f64(1.0 / rate)))
    }

    /// What `vfscale compare` says. None after Ctrl-C.
    fn judged(
        &self,
        heavy: bool,
        time: Duration,
        seed: u32,
    ) -> anyhow::Result<Option<[Seen; TASKS.len()]>> {
        let Some(comparison) = self.compare(heavy, time, seed)? else { return Ok(None) };
        tally::judged(&comparison).context("a task count has no figure").map(Some)
    }

    /// None after Ctrl-C.
    fn compare(
        &self,
        heavy: bool,
        time: Duration,
        seed: u32,
    ) -> anyhow::Result<Option<Comparison>> {
        let curves = [false, heavy].map(|heavy| self.curve(heavy)).into();
        let request = self.request(curves, Sides::Two { switch: None }, time, None, seed);
        let Some(mut run) = self.measure(request)? else { return Ok(None) };
        let after = Run { curves: run.curves.split_off(1), ..run.clone() };
        let question = Question {
            pairing: Pairing::Interleaved,
            labels: ["a".into(), "b".into()],
            bound: compare::BOUND,
            command: Vec::new(),
        };
        Ok(Some(compare::compare(question, run, after)))
    }

    fn curve(&self, heavy: bool) -> CurveRequest {
        CurveRequest::new(&burdened::INFO, self.target.clone(), TaskMode::Process)
            .with_loop(if heavy { burdened::heavy } else { burdened::light })
    }

    /// Two runs, one after the other, at each task count; different if mean ± sd do not overlap. None after Ctrl-C.
    fn usual(&self, heavy: bool, seed: u32) -> anyhow::Result<Option<[Seen; TASKS.len()]>> {
        let mut all = Vec::new();
        for tasks in TASKS {
            let Some(before) = self.mean_and_sd(false, tasks, seed)? else { return Ok(None) };
            let Some(after) = self.mean_and_sd(heavy, tasks, seed)? else { return Ok(None) };
            all.push(Seen {
                change: after.0 / before.0 - 1.0,
                half_width: None,
                different: (after.0 - before.0).abs() > before.1 + after.1,
            });
        }
        Ok(all.try_into().ok())
    }

    fn mean_and_sd(
        &self,
        heavy: bool,
        tasks: usize,
        seed: u32,
    ) -> anyhow::Result<Option<(f64, f64)>> {
        let (curves, time) = (vec![self.curve(heavy)], Duration::from_secs(6));
        let Some(run) = self.measure(self.request(curves, Sides::One, time, Some(tasks), seed))?
        else {
            return Ok(None);
        };
        let rates = run.curves.first().and_then(|curve: &Curve| curve.points.first());
        let rates = rates.context("a point was measured")?.round_rates();
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        let square = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>();
        Ok(Some((mean, (square / (rates.len() - 1) as f64).sqrt())))
    }

    /// `usual`: slices of 1 s of this task count.
    fn request(
        &self,
        curves: Vec<CurveRequest>,
        sides: Sides,
        time: Duration,
        usual: Option<usize>,
        seed: u32,
    ) -> Request {
        Request {
            curves,
            tasks: usual.map_or(TASKS.to_vec(), |tasks| vec![tasks]),
            pin: Pin::Cores,
            time,
            slice: usual.map(|_| Duration::from_secs(1)),
            precision: None,
            rounds: usual.map(|_| USUAL),
            sides,
            locks: None,
            guests: Default::default(),
            seed: u64::from(seed),
            began: Instant::now(),
        }
    }

    /// None after Ctrl-C: a comparison that was ended early is no comparison of this length.
    fn measure(&self, request: Request) -> anyhow::Result<Option<Run>> {
        let seed = request.seed;
        let plan = Plan::new(request)?;
        let measured = harness::run(&plan, &self.interrupt, &mut |_| ())?;
        if measured.plan.partial {
            return Ok(None);
        }
        Ok(Some(Run {
            schema: Run::SCHEMA.into(),
            vfscale: env!("CARGO_PKG_VERSION").into(),
            command: Vec::new(),
            started: String::new(),
            seed,
            plan: measured.plan,
            host: Host::default(),
            curves: measured.curves,
            warnings: measured.warnings,
            import: None,
        }))
    }
}
