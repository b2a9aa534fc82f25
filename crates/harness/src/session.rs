//! The measurement itself: warm-up, rounds, and what becomes of the samples.

use crate::crew::{Ended, Told};
use crate::crews::Crews;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::lock_trace::{self, Seen, Within};
use crate::machine::topology::Pin;
use crate::order::Order;
use crate::plan::{Plan, PlannedPoint, ROUNDS_MIN, Sides, round, setup};
use crate::run::{Estimate, Measured, Phase, Progress};
use crate::switch::StateSwitch;
use results::{Curve, Point, Sample, Traced, Warning};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Warm-up ends after so many rounds, however the rates look, ...
const WARMUP_ROUNDS: u32 = 20;
/// ... or after this share of the time.
const WARMUP_SHARE: f64 = 0.2;
/// So many times the budget, and a little more, is worth a word.
const OVER_BUDGET: f64 = 1.2;
const OVER: Duration = Duration::from_secs(1);
/// With so many disturbed rounds and not one good one, and the time spent, the run is given up.
const DISTURBED: u32 = 10;

/// Between two estimates for those who watch: the medians of a long run take longer than nothing.
const ESTIMATES: Duration = Duration::from_millis(200);

/// What came of one round, per point; empty if it was disturbed.
type Round = Vec<(Vec<Sample>, Told)>;

/// A run while it measures.
pub(crate) struct Session<'a> {
    plan: &'a Plan,
    random: fastrand::Rng,
    order: Order,
    switch: Option<StateSwitch>,
    /// Per point, in the order of `plan.points`.
    samples: Vec<Vec<Sample>>,
    /// What else targets told, likewise; of rounds that count.
    told: Vec<Told>,
    /// What a tracer saw, likewise; empty if none looked.
    traced: Vec<Option<Traced>>,
    warmup_rounds: u32,
    rounds: u32,
    /// When the intervals of pairs are looked at next.
    next_look: u32,
    disturbed: u32,
    pub(crate) warnings: Vec<Warning>,
    /// Time that does not count against the budget: that of boots.
    free: Duration,
    /// When the tasks and their files had been made, since the command began.
    ready: Duration,
    /// Where boots are the unit: per point the median round of each that is over.
    boots: Vec<Vec<Sample>>,
    boots_over: u32,
    /// Per point the rate of each round so far, for those who watch.
    seen: Vec<Vec<f64>>,
    /// When the last estimate was made.
    estimated: Option<Instant>,
    /// When rounds that count began.
    measuring: Option<Instant>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(plan: &'a Plan) -> Session<'a> {
        Session {
            plan,
            random: fastrand::Rng::with_seed(plan.request.seed),
            order: Order::new(&plan.request.sides, plan.points.len()),
            switch: StateSwitch::of(&plan.request.sides),
            samples: vec![Vec::new(); plan.points.len()],
            told: vec![Told::default(); plan.points.len()],
            traced: Vec::new(),
            warmup_rounds: 0,
            rounds: 0,
            next_look: stats::next_look(0),
            disturbed: 0,
            warnings: plan.warnings.clone(),
            free: Duration::ZERO,
            ready: Duration::ZERO,
            boots: vec![Vec::new(); plan.points.len()],
            boots_over: 0,
            seen: vec![Vec::new(); plan.points.len()],
            estimated: None,
            measuring: None,
        }
    }

    /// One slice of every point in random order. None if the user asked to end: an incomplete round is no round.
    fn round(
        &mut self,
        crews: &mut Crews,
        interrupt: &Interrupt,
        progress: &mut dyn FnMut(Progress),
        phase: Phase,
    ) -> Result<Option<Round>, Error> {
        let plan = self.plan;
        let mut round = vec![(Vec::new(), Told::default()); plan.points.len()];
        for at in self.order.next(&mut self.random) {
            if let Some(switch) = &mut self.switch {
                match switch.to(self.order.side(at), interrupt) {
                    // It may be that it hung until the user lost patience; what was measured before is good.
                    Err(_) if interrupt.times_asked() > 1 => return Ok(None),
                    switched => switched?,
                }
            }
            match crews.run(&plan.points[at], interrupt)? {
                Ended::Measured(samples, told) => {
                    if phase == Phase::Measuring {
                        self.seen[at].push(samples.iter().map(Sample::rate).sum());
                    }
                    round[at] = (samples, told);
                }
                Ended::Disturbed => {
                    self.disturbed += 1;
                    return Ok(Some(Vec::new()));
                }
                Ended::Interrupted => return Ok(None),
            }
            progress(Progress {
                left: self.to_come(),
                estimate: self.estimate(at),
                ..Progress::new(phase, self.rounds, plan.rounds)
            });
        }
        Ok(Some(round))
    }

    /// Time until the last round is over: what the budget leaves, or as long for each of the rounds asked for as those that are over
    /// took.
    fn to_come(&self) -> Option<Duration> {
        let Some(rounds) = self.plan.request.rounds else { return Some(self.left()) };
        let each = self.measuring?.elapsed().checked_div(self.rounds)?;
        Some(each * rounds.saturating_sub(self.rounds))
    }

    /// What is known so far of a point; none before the first round that counts, nor shortly after another estimate.
    fn estimate(&mut self, at: usize) -> Option<Estimate> {
        if self.estimated.is_some_and(|last| last.elapsed() < ESTIMATES) {
            return None;
        }
        let (rates, PlannedPoint { curve, tasks, .. }) = (&self.seen[at], &self.plan.points[at]);
        let ops_per_s = stats::median(rates).filter(|median| *median > 0.0)?;
        let half = stats::median_ci95(rates).map(|[low, high]| (high - low) / 2.0 / ops_per_s);
        self.estimated = Some(Instant::now());
        Some(Estimate { curve: *curve, tasks: *tasks, ops_per_s, half })
    }

    /// Brings about the first side's state, in which the tasks are made.
    ///
    /// # Errors
    /// The command for it failed.
    pub(crate) fn begin(&mut self, interrupt: &Interrupt) -> Result<(), Error> {
        self.switch.as_mut().map_or(Ok(()), |switch| switch.to(0, interrupt))
    }

    /// Brings back the first side's state, however the run ended.
    ///
    /// # Errors
    /// The command for it failed.
    pub(crate) fn put_back(&mut self, interrupt: &Interrupt) -> Result<(), Error> {
        self.switch.as_mut().map_or(Ok(()), |switch| switch.put_back(interrupt))
    }

    /// Guests have booted since `since`: that costs nothing of the budget.
    pub(crate) fn booted(&mut self, since: Instant) {
        self.free += since.elapsed();
    }

    /// Time the budget leaves; where boots are the unit, to the one that is under way.
    fn left(&self) -> Duration {
        let boots = self.plan.request.guests.boots;
        let to_come = boots.saturating_sub(self.boots_over + 1);
        let theirs = self.plan.request.time * to_come / boots.max(1);
        self.plan.left_after(self.free).saturating_sub(theirs)
    }

    /// A boot is over. With several of them each counts as one round: its median one, for rounds of one boot resemble each other
    /// more than those of two.
    pub(crate) fn boot_over(&mut self) {
        if self.plan.request.guests.boots <= 1 || self.rounds == 0 {
            return;
        }
        for at in 0..self.plan.points.len() {
            let rates = self.rates(&self.samples[at]);
            let mut order: Vec<u32> = (0..self.rounds).collect();
            order.sort_by(|a, b| rates[*a as usize].total_cmp(&rates[*b as usize]));
            let median = order[(order.len() - 1) / 2];
            let round = self.boots_over;
            let samples = std::mem::take(&mut self.samples[at]).into_iter();
            let of_it = samples.filter(|sample| sample.round == median);
            self.boots[at].extend(of_it.map(|sample| Sample { round, ..sample }));
        }
        self.boots_over += 1;
        self.rounds = 0;
    }

    /// Rounds that are thrown away, until they get no faster.
    pub(crate) fn warm_up(
        &mut self,
        crews: &mut Crews,
        interrupt: &Interrupt,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), Error> {
        let began = Instant::now();
        self.ready = self.plan.request.began.elapsed();
        let left = self.left();
        if self.plan.request.rounds.is_none() && round(&self.plan.points) * 2 > left {
            // There is time for one round: better a cold one than none in time.
            return Ok(());
        }
        let limit = left.mul_f64(WARMUP_SHARE);
        let mut rule = stats::WarmUp::new();
        while self.warmup_rounds < WARMUP_ROUNDS && !interrupt.asked() {
            let Some(round) = self.round(crews, interrupt, progress, Phase::WarmingUp)? else {
                return Ok(());
            };
            self.warmup_rounds += 1;
            let rates: Vec<f64> =
                round.iter().map(|(samples, _)| samples.iter().map(Sample::rate).sum()).collect();
            let over = stats::geometric_mean(&rates).is_some_and(|rate| rule.push(rate));
            if over || began.elapsed() > limit {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Rounds that count.
    pub(crate) fn measure(
        &mut self,
        crews: &mut Crews,
        interrupt: &Interrupt,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), Error> {
        let request = &self.plan.request;
        let mut longest = Duration::ZERO;
        // What ending takes comes out of the budget too.
        let ending = setup(request) / 2;
        self.measuring.get_or_insert_with(Instant::now);
        while !interrupt.asked() {
            let enough = match request.rounds {
                Some(rounds) => self.rounds >= rounds,
                None => self.rounds > 0 && self.left() < longest + ending,
            };
            if enough || self.precise() {
                return Ok(());
            }
            let began = Instant::now();
            let Some(round) = self.round(crews, interrupt, progress, Phase::Measuring)? else {
                return Ok(());
            };
            longest = longest.max(began.elapsed());
            if round.is_empty() {
                // However long the user wants it, this does not get better.
                if self.rounds == 0 && self.disturbed > DISTURBED && self.plan.left().is_zero() {
                    return Err(Error::Disturbed);
                }
                continue;
            }
            for (at, (samples, told)) in round.into_iter().enumerate() {
                let samples = samples.into_iter().map(|s| Sample { round: self.rounds, ..s });
                self.samples[at].extend(samples);
                results::LockUse::merge(&mut self.told[at].locks, told.locks);
                self.told[at].rcu = told.rcu.or(self.told[at].rcu);
            }
            self.rounds += 1;
        }
        Ok(())
    }

    /// Slices apart from all samples in which a tracer looks for locks that are waited for, if that was asked for.
    pub(crate) fn trace(
        &mut self,
        crews: &mut Crews,
        interrupt: &Interrupt,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), Error> {
        let Some(trace) = &self.plan.trace else { return Ok(()) };
        let mut within = Within { crews, switch: &mut self.switch, interrupt };
        let progress = &mut |done, of| progress(Progress::new(Phase::Tracing, done, of));
        let Plan { request, points, .. } = self.plan;
        let Seen { mut traced, warnings } =
            lock_trace::trace(request, points, trace, &mut within, progress)?;
        if request.guests.boots > 1 {
            let note = format!("seen in the last of {} boots", request.guests.boots);
            traced.iter_mut().flatten().for_each(|traced| traced.notes.push(note.clone()));
        }
        self.traced = traced;
        self.warnings.extend(warnings);
        Ok(())
    }

    /// Whether it is time to look, and every interval is as narrow as was asked for.
    fn precise(&mut self) -> bool {
        // Rounds of one boot say nothing of how far the next one will be from it.
        if self.plan.request.guests.boots > 1 {
            return false;
        }
        let Some(precision) = self.plan.request.precision else { return false };
        match self.plan.request.sides {
            Sides::One => {
                let time = self.rounds >= ROUNDS_MIN && self.rounds.is_multiple_of(10);
                time && self.samples.iter().all(|point| self.narrow(point, precision))
            }
            // Each look at paired rounds is a temptation to stop where chance has just made them agree: there are few of them.
            Sides::Two { .. } if self.rounds < self.next_look => false,
            Sides::Two { .. } => {
                self.next_look = stats::next_look(self.rounds);
                let half = self.plan.points.len() / 2;
                let mut curves: BTreeMap<usize, Vec<_>> = BTreeMap::new();
                for at in 0..half {
                    let ratios = stats::log_ratios(
                        &self.rates(&self.samples[at]),
                        &self.rates(&self.samples[at + half]),
                    );
                    let estimate = ratios.and_then(|r| stats::estimate(&r, stats::Confidence::P95));
                    curves.entry(self.plan.points[at].curve).or_default().push(estimate);
                }
                curves.values().all(|estimates| {
                    let (precision, confidence) = (precision.ln_1p(), stats::Confidence::P95);
                    stats::precise_enough(estimates, precision, confidence)
                })
            }
        }
    }

    fn narrow(&self, point: &[Sample], precision: f64) -> bool {
        let rates = self.rates(point);
        match (stats::median(&rates), stats::median_ci95(&rates)) {
            (Some(value), Some([low, high])) => (high - low) / 2.0 <= precision * value,
            _ => false,
        }
    }

    /// Operations per second of each round.
    fn rates(&self, point: &[Sample]) -> Vec<f64> {
        let mut rates = vec![0.0; self.rounds as usize];
        for sample in point {
            rates[sample.round as usize] += sample.rate();
        }
        rates
    }

    pub(crate) fn finish(mut self, crews: &Crews, interrupt: &Interrupt) -> Measured {
        let plan = self.plan;
        let request = &plan.request;
        if request.guests.boots > 1 {
            (self.samples, self.rounds) = (std::mem::take(&mut self.boots), self.boots_over);
        }
        self.look_at_samples();
        let mut curves = Vec::new();
        for (number, curve) in request.curves.iter().enumerate() {
            let mine = |(at, point): (usize, &PlannedPoint)| (point.curve == number).then_some(at);
            let at: Vec<usize> = plan.points.iter().enumerate().filter_map(mine).collect();
            let one = at.iter().find(|at| plan.points[**at].tasks == 1);
            let one = one.map(|at| self.samples[*at].clone());
            let mut points = Vec::new();
            for at in at.into_iter().filter(|_| self.rounds > 0) {
                let point = &plan.points[at];
                let samples = std::mem::take(&mut self.samples[at]);
                let Told { mut locks, rcu, .. } = std::mem::take(&mut self.told[at]);
                locks.sort_by_key(|lock| std::cmp::Reverse((lock.wait_ns, lock.acquisitions)));
                let (tasks, cpus) = (point.tasks as u32, crews.cpus(point));
                let measured = Point::from_samples(tasks, cpus, samples, one.as_deref());
                let traced = self.traced.get_mut(at).and_then(Option::take).map(Box::new);
                points.push(Point { locks, rcu, traced, ..measured });
            }
            curves.push(Curve {
                workload: curve.workload.to_string(),
                target: curve.target.to_string(),
                mode: curve.mode.name().into(),
                kind: results::Kind::Measured,
                metric: results::Metric::default(),
                cpus: curve.target.cpus(plan.host.cpus.len()) as u32,
                points,
            });
        }
        let slice = plan.points.iter().map(|p| p.length).min().unwrap_or_default();
        let plan = results::Plan {
            time_s: request.time.as_secs_f64(),
            slice_s: slice.as_secs_f64(),
            rounds: self.rounds,
            warmup_rounds: self.warmup_rounds,
            planned_rounds: if request.guests.boots > 1 {
                request.guests.boots
            } else {
                plan.rounds
            },
            pin: request.pin.to_string(),
            partial: interrupt.asked(),
        };
        Measured { curves, plan, warnings: self.warnings, mounts: Vec::new(), left: None }
    }

    /// That the run has taken much longer than it was given, and what for; in words.
    fn over_budget(&self) -> Option<String> {
        let request = &self.plan.request;
        let took = request.began.elapsed();
        let budget = request.time + self.free;
        // Where the end is another one's decision there is no budget.
        if request.rounds.is_some() || took <= budget.mul_f64(OVER_BUDGET) + OVER {
            return None;
        }
        let [took, time, ready] =
            [took, request.time, self.ready].map(|time| format!("{:.0} s", time.as_secs_f64()));
        Some(format!(
            "the run took {took} instead of {time}: one round is measured in any case, and to make the tasks and their files alone \
             took {ready}"
        ))
    }

    /// Warnings that only the samples give.
    fn look_at_samples(&mut self) {
        let boots = self.plan.request.guests.boots > 1;
        let over = self.over_budget();
        let mut warn = |code: &str, message: String, advice: &str| {
            self.warnings.push(Warning { code: code.into(), message, advice: advice.into() });
        };
        if self.rounds > 0 && self.rounds < ROUNDS_MIN {
            warn(
                "few-rounds",
                format!(
                    "only {} {}: too few for an interval",
                    self.rounds,
                    if boots { "boots" } else { "rounds" }
                ),
                if boots {
                    "give it more --boots"
                } else {
                    "give it more --time, or ask for fewer workloads, targets or task counts"
                },
            );
        }
        if let Some(message) = over {
            warn(
                "over-budget",
                message,
                "give it more --time, or ask for fewer workloads, targets or task counts",
            );
        }
        if self.disturbed > 0 {
            warn(
                "disturbed",
                format!(
                    "{} rounds were thrown away: tasks were stopped and continued meanwhile",
                    self.disturbed
                ),
                "do not stop the tasks of a run",
            );
        }
        let all = || self.samples.iter().flatten();
        let pinned = self.plan.request.pin != Pin::None;
        let moved = all().filter(|s| s.cpu[0] != s.cpu[1]).count();
        if pinned && moved > 0 {
            warn(
                "migrations",
                format!("tasks changed CPU in {moved} slices although they are pinned"),
                "a CPU went offline or the cpuset changed during the run: measure again",
            );
        }
        let idle = all().filter(|s| s.ops == 0).count();
        if idle > 0 {
            warn(
                "starved",
                format!(
                    "in {idle} of {} slices a task did not get to do a single operation",
                    all().count()
                ),
                "the slice is too short for so many tasks or so slow an operation: use a longer --slice (and --time)",
            );
        }
    }
}
