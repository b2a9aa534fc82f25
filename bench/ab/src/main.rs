//! How far the verdicts of `vfscale compare` can be trusted: equal sides must seldom be called different, known slow-downs must
//! be found, and the usual way (one run after the other, mean ± standard deviation) stands beside it.
//!
//! `cargo run --release -p bench-ab` takes two hours and wants a machine that does nothing else; `--help` has fewer.

mod burdened;

use anyhow::{Context, ensure};
use clap::Parser;
use compare::Question;
use harness::machine::topology::Pin;
use harness::{CurveRequest, Interrupt, Plan, Request, Sides, Target};
use results::{Comparison, Curve, Host, Pairing, Run, Verdict};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use vfs_api::TaskMode;

const TASKS: [usize; 2] = [1, 2];

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
    /// Comparisons of equal sides in the usual way, 5 s a side and task count
    #[arg(long, default_value_t = 50)]
    usual: u32,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let interrupt = Interrupt::listen()?;
    let bench = Bench { target: Target::Dir(args.dir.clone()), interrupt };
    println!("open_close in {}, tasks 1 and 2, process mode; bound 1 %, 95 %", args.dir.display());
    bench.equal(args.equal, Duration::from_secs(args.seconds))?;
    for (share, seconds) in [(0.02, 20), (0.05, 5)] {
        bench.slower(share, Duration::from_secs(seconds), args.slower)?;
    }
    bench.usual(args.usual)
}

struct Bench {
    target: Target,
    interrupt: Interrupt,
}

/// What came of comparisons, over all of them.
#[derive(Default)]
struct Tally {
    comparisons: u32,
    /// With a count that is called faster or slower.
    different: u32,
    /// With a count that is called faster or slower by more than 1 %.
    by_more: u32,
    /// Likewise, per task count.
    counts: u32,
    slower: [u32; TASKS.len()],
    faster: [u32; TASKS.len()],
    equal: [u32; TASKS.len()],
    changes: [Vec<f64>; TASKS.len()],
    widths: [Vec<f64>; TASKS.len()],
}

impl Tally {
    fn add(&mut self, comparison: &Comparison) {
        self.comparisons += 1;
        let points = &comparison.curves[0].points;
        let different = |v: &Verdict| matches!(v, Verdict::Faster | Verdict::Slower);
        let found = || points.iter().filter(|point| different(&point.verdict));
        self.different += u32::from(found().count() > 0);
        let more = |change: Option<f64>| change.is_some_and(|change| change.abs() > 0.01);
        self.by_more += u32::from(found().any(|point| more(point.change)));
        for (at, point) in points.iter().enumerate() {
            self.counts += 1;
            self.slower[at] += u32::from(matches!(point.verdict, Verdict::Slower));
            self.faster[at] += u32::from(matches!(point.verdict, Verdict::Faster));
            self.equal[at] += u32::from(matches!(point.verdict, Verdict::NoDifference { .. }));
            self.changes[at].extend(point.change);
            self.widths[at].extend(point.interval.map(|[low, high]| (high - low) / 2.0));
        }
    }

    fn percent(&self, number: u32) -> f64 {
        100.0 * f64::from(number) / f64::from(self.comparisons.max(1))
    }

    fn print(&self, title: &str) {
        println!("\n{title}: {} comparisons", self.comparisons);
        println!(
            "  called different at any count {:.1} %; by more than 1 % {:.1} %",
            self.percent(self.different),
            self.percent(self.by_more)
        );
        for (at, tasks) in TASKS.iter().enumerate() {
            let median = |values: &[f64]| stats::median(values).map_or(f64::NAN, |x| x * 100.0);
            println!(
                "  {tasks} task(s): slower {:.1} %, faster {:.1} %, no difference {:.1} %; median change {:+.2} %, interval ± {:.2} %",
                self.percent(self.slower[at]),
                self.percent(self.faster[at]),
                self.percent(self.equal[at]),
                median(&self.changes[at]),
                median(&self.widths[at]),
            );
        }
    }
}

impl Bench {
    fn equal(&self, comparisons: u32, time: Duration) -> anyhow::Result<()> {
        let mut tally = Tally::default();
        for number in 0..comparisons {
            tally.add(&self.compare(false, time, number)?);
        }
        tally.print(&format!("equal sides, {} s", time.as_secs()));
        Ok(())
    }

    fn slower(&self, share: f64, time: Duration, comparisons: u32) -> anyhow::Result<()> {
        let turns = burdened::set(share, self.operation()?);
        let mut tally = Tally::default();
        for number in 0..comparisons {
            tally.add(&self.compare(true, time, number)?);
        }
        let (percent, seconds) = (share * 100.0, time.as_secs());
        tally.print(&format!("slower by about {percent} % ({turns} turns), {seconds} s"));
        Ok(())
    }

    /// What one operation of one task takes where nothing disturbs it: in the fastest of many slices.
    fn operation(&self) -> anyhow::Result<Duration> {
        let comparison = self.compare(false, Duration::from_secs(2), 0)?;
        let samples = &comparison.before.curves[0].points[0].samples;
        let rate = samples.iter().map(results::Sample::rate).fold(0.0, f64::max);
        ensure!(rate > 0.0, "nothing was measured");
        Ok(Duration::from_secs_f64(1.0 / rate))
    }

    fn compare(&self, heavy: bool, time: Duration, seed: u32) -> anyhow::Result<Comparison> {
        let light = CurveRequest::new(&burdened::INFO, self.target.clone(), TaskMode::Process);
        let other = if heavy { burdened::heavy } else { burdened::light };
        let curves = vec![light.clone().with_loop(burdened::light), light.with_loop(other)];
        let mut run = self.measure(curves, Sides::Two { switch: None }, time, None, seed)?;
        let after = Run { curves: run.curves.split_off(1), ..run.clone() };
        let question = Question {
            pairing: Pairing::Interleaved,
            labels: ["a".into(), "b".into()],
            bound: compare::BOUND,
            command: Vec::new(),
        };
        Ok(compare::compare(question, run, after))
    }

    /// Two runs of equal sides, one after the other: 5 samples of 1 s each; different if mean ± sd do not overlap.
    fn usual(&self, comparisons: u32) -> anyhow::Result<()> {
        let mut different = [0; TASKS.len()];
        let mut by_more = [0; TASKS.len()];
        let mut changes: [Vec<f64>; TASKS.len()] = Default::default();
        for seed in 0..comparisons {
            for (at, tasks) in TASKS.iter().enumerate() {
                let [before, after] =
                    [self.mean_and_sd(*tasks, seed)?, self.mean_and_sd(*tasks, seed)?];
                let change = after.0 / before.0 - 1.0;
                let apart = (after.0 - before.0).abs() > before.1 + after.1;
                different[at] += u32::from(apart);
                by_more[at] += u32::from(apart && change.abs() > 0.01);
                changes[at].push(change.abs());
            }
        }
        println!(
            "\nthe usual way, equal sides, 5 samples of 1 s a side: {comparisons} comparisons"
        );
        for (at, tasks) in TASKS.iter().enumerate() {
            let percent = |number: u32| 100.0 * f64::from(number) / f64::from(comparisons.max(1));
            println!(
                "  {tasks} task(s): mean ± sd apart {:.1} %, by more than 1 % {:.1} %; median size of the change {:.2} %",
                percent(different[at]),
                percent(by_more[at]),
                stats::median(&changes[at]).map_or(f64::NAN, |x| x * 100.0)
            );
        }
        Ok(())
    }

    fn mean_and_sd(&self, tasks: usize, seed: u32) -> anyhow::Result<(f64, f64)> {
        let curve = CurveRequest::new(&burdened::INFO, self.target.clone(), TaskMode::Process)
            .with_loop(burdened::light);
        let rounds = Some((5, tasks));
        let run = self.measure(vec![curve], Sides::One, Duration::from_secs(6), rounds, seed)?;
        let rates = run.curves.first().and_then(|curve: &Curve| curve.points.first());
        let rates = rates.context("a point was measured")?.round_rates();
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        let square = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>();
        Ok((mean, (square / (rates.len() - 1) as f64).sqrt()))
    }

    /// `usual`: rounds of 1 s of this task count.
    fn measure(
        &self,
        curves: Vec<CurveRequest>,
        sides: Sides,
        time: Duration,
        usual: Option<(u32, usize)>,
        seed: u32,
    ) -> anyhow::Result<Run> {
        let plan = Plan::new(Request {
            curves,
            tasks: usual.map_or(TASKS.to_vec(), |(_, tasks)| vec![tasks]),
            pin: Pin::Cores,
            time,
            slice: usual.map(|_| Duration::from_secs(1)),
            precision: None,
            rounds: usual.map(|(rounds, _)| rounds),
            sides,
            locks: None,
            guests: Default::default(),
            seed: u64::from(seed),
            began: Instant::now(),
        })?;
        let measured = harness::run(&plan, &self.interrupt, &mut |_| ())?;
        ensure!(!measured.plan.partial, "interrupted: nothing to show");
        Ok(Run {
            schema: Run::SCHEMA.into(),
            vfscale: env!("CARGO_PKG_VERSION").into(),
            command: Vec::new(),
            started: String::new(),
            seed: u64::from(seed),
            plan: measured.plan,
            host: Host::default(),
            curves: measured.curves,
            warnings: measured.warnings,
            import: None,
        })
    }
}
