//! Runs of fixed work: tasks that do what was laid down before, in phases, a number of times.
//!
//! Tasks, directories, janitor, limits and Ctrl-C are those of every run; what differs is the course of it. There is no warm-up and
//! no budget of time, for the programs that such workloads are taken from have none: a round is a run of the whole, from fresh files
//! to the last phase, at each task count.

use crate::capabilities;
use crate::clock;
use crate::crew::Ended;
use crate::crews::Crews;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::janitor::Janitor;
use crate::latency::Latencies;
use crate::lock_trace::Locks;
use crate::machine::conditions::{Snapshot, diff};
use crate::machine::topology::Pin;
use crate::machine::warnings;
use crate::phases::Facts;
use crate::plan::{CurveRequest, Plan, PlannedPoint, Request, Sides, inodes};
use crate::run::{Measured, Phase, Progress, make_dirs, random, when_clean};
use crate::sim_phases::{self, SimPhase, SimulatedPhase};
use crate::sim_target::{self, SimTarget, in_parallel};
use crate::target::Target;
use results::{Curve, FixedWork, Kind, LockUse, Metric, Point, RcuBacklog, Sample, Warning};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::{Duration, Instant};
use vfs_api::{Bytes, Selected, TaskMode};

/// Where a user gets no more jobs a minute than this, reaim sees the crossover and stops.
const CROSSOVER_PER_MINUTE: f64 = 10.0;
/// A conductor looks so often after its tasks; of a phase this is no limit.
const LOOK: Duration = Duration::from_millis(50);

/// How many tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Users {
    /// These counts, ascending.
    Counts(Vec<usize>),
    /// From the first, twice as many each time, up to the last, or until the crossover: each gets ten operations a minute or fewer.
    Adaptive(usize, usize),
}

impl Users {
    fn most(&self) -> usize {
        match self {
            Users::Counts(counts) => counts.iter().copied().max().unwrap_or(1),
            Users::Adaptive(_, to) => *to,
        }
    }

    /// All that may come.
    fn counts(&self) -> Vec<usize> {
        match self {
            Users::Counts(counts) => counts.clone(),
            Users::Adaptive(from, to) => {
                let doubled = std::iter::successors(Some((*from).max(1)), |count| Some(count * 2));
                doubled.take_while(|count| count < to).chain([*to]).collect()
            }
        }
    }
}

impl fmt::Display for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Users::Counts(counts) => {
                let counts: Vec<String> = counts.iter().map(ToString::to_string).collect();
                f.write_str(&counts.join(","))
            }
            Users::Adaptive(from, to) => write!(f, "{from} to {to}, doubling"),
        }
    }
}

/// Everything that decides a run of fixed work.
#[derive(Clone, Debug)]
pub struct FixedRequest {
    /// A workload of the `phased` crate.
    pub workload: Selected,
    /// Where; each becomes a curve per phase.
    pub targets: Vec<Target>,
    /// How the tasks are made.
    pub mode: TaskMode,
    /// How many.
    pub users: Users,
    /// How often all is done.
    pub runs: u32,
    /// The targets are sides that are compared: only runs that each of them has completed count.
    pub paired: bool,
    /// How tasks are put on CPUs.
    pub pin: Pin,
    /// Count and time every lock, where the target can.
    pub locks: bool,
    /// Of the order of targets, and of simulated machines.
    pub seed: u64,
    /// When the command began.
    pub began: Instant,
}

/// A run of fixed work, checked against the machine.
#[derive(Clone, Debug)]
pub struct FixedPlan {
    /// Of curves without phases; its slices are not used.
    plan: Plan,
    facts: Facts,
    users: Users,
    runs: u32,
    paired: bool,
}

impl FixedPlan {
    /// Looks at the machine and the targets and decides. Nothing is changed but the soft limit of open files.
    ///
    /// # Errors
    /// [`Error::Refused`] if it cannot work.
    pub fn new(request: FixedRequest) -> Result<FixedPlan, Error> {
        let FixedRequest { workload, targets, mode, users, runs, paired, pin, locks, seed, began } =
            request;
        let facts = Facts::of(&workload);
        let curve =
            |target: &Target| CurveRequest::of_fixed_work(workload.clone(), target.clone(), mode);
        let plan = Plan::new(Request {
            curves: targets.iter().map(curve).collect(),
            tasks: vec![users.most()],
            pin,
            time: Duration::ZERO,
            slice: Some(LOOK),
            precision: None,
            rounds: Some(runs),
            sides: Sides::One,
            locks: locks.then(Locks::default),
            seed,
            guests: Default::default(),
            began,
        })?;
        for curve in &plan.request.curves {
            if curve.guest().is_some() {
                return Err(Error::Refused {
                    what: format!("{workload} does not run on {}", curve.target),
                    advice: "a guest is given slices of time, not fixed work: use a dir:, lab: or sim: target"
                        .into(),
                });
            }
            if locks && curve.dir.is_some() {
                return Err(Error::Refused {
                    what: format!("the locks of {workload} on {} cannot be looked at", curve.target),
                    advice: "fixed work has no slices to trace apart from the measured ones; --locks works on lab: and sim: targets"
                        .into(),
                });
            }
            let dir = curve.dir.as_deref();
            capabilities::check_needs(&workload, &facts.needs, &curve.target, dir)?;
        }
        Ok(FixedPlan { plan, facts, users, runs, paired })
    }

    /// The machine.
    pub fn host(&self) -> &results::Host {
        &self.plan.host
    }

    fn curves(&self) -> &[CurveRequest] {
        &self.plan.request.curves
    }

    fn metric(&self) -> Metric {
        Metric { unit: self.facts.rate.unit.into(), lower_is_better: false }
    }

    /// What there is to know of a point but its samples.
    fn work(&self, rate: vfs_api::Rate, tasks: usize, latencies: &Latencies) -> FixedWork {
        FixedWork {
            per_op: rate.per_op,
            block_bytes: rate.block_bytes,
            file_bytes: rate.file_bytes * tasks as u64,
            latency: latencies.summary(),
        }
    }

    /// The curve of a phase.
    fn curve(&self, curve: &CurveRequest, phase: usize, kind: Kind, points: Vec<Point>) -> Curve {
        let cpus = match curve.sim() {
            Some(target) => target.machine.cpus(),
            None => self.plan.host.cpus.len(),
        };
        let (name, suffix) = (curve.workload.info().name, self.facts.phases[phase].suffix);
        let params = curve.workload.params().to_string();
        let colon = if params.is_empty() { "" } else { ":" };
        Curve {
            workload: format!("{name}{suffix}{colon}{params}"),
            target: curve.target.to_string(),
            mode: curve.mode.name().into(),
            kind,
            metric: self.metric(),
            cpus: cpus as u32,
            points,
        }
    }
}

impl fmt::Display for FixedPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Request { pin, tasks, .. } = &self.plan.request;
        let names: Vec<String> =
            self.curves().iter().map(|c| format!("{}, {} mode", c.name(), c.mode)).collect();
        let phases = self.facts.phases.len();
        write!(f, "plan: {}; tasks {}", names.join("; "), self.users)?;
        if *pin == Pin::None {
            write!(f, ", not pinned")?;
        } else {
            write!(f, ", pinned by {pin}")?;
        }
        write!(f, "; {} runs", self.runs)?;
        if phases > 1 {
            write!(f, " of {phases} phases")?;
        }
        let bytes = self.facts.rate.file_bytes * tasks.iter().copied().max().unwrap_or(1) as u64;
        let stored = self.curves().iter().any(|curve| curve.sim().is_none());
        if bytes > 0 && stored { write!(f, "; files of {} bytes", Bytes(bytes)) } else { Ok(()) }
    }
}

/// Where samples belong: curve, phase, tasks.
type At = (usize, usize, usize);

/// What came of a point so far.
struct Gathered {
    samples: Vec<Sample>,
    latencies: Latencies,
    locks: Vec<LockUse>,
    rcu: Option<RcuBacklog>,
    cpus: Vec<u32>,
}

impl Gathered {
    fn new(cpus: Vec<u32>) -> Gathered {
        let latencies = Latencies::new();
        Gathered { samples: Vec::new(), latencies, locks: Vec::new(), rcu: None, cpus }
    }
}

/// Whether a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Onward {
    Yes,
    /// Enough: the crossover is reached, or the user asked to end.
    No,
}

/// A run while it measures.
struct Course<'a> {
    plan: &'a FixedPlan,
    random: fastrand::Rng,
    gathered: BTreeMap<At, Gathered>,
    /// Runs of each curve and task count that are complete.
    complete: BTreeMap<(usize, usize), u32>,
    rounds: u32,
    disturbed: u32,
    warnings: Vec<Warning>,
}

impl Course<'_> {
    /// All runs. Those that were broken off do not count.
    fn measure(
        &mut self,
        crews: &mut Crews,
        interrupt: &Interrupt,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), Error> {
        let measured = |at: &usize| self.plan.curves()[*at].sim().is_none();
        let mut order: Vec<usize> = (0..self.plan.curves().len()).filter(measured).collect();
        let mut counts = vec![self.plan.users.counts(); self.plan.curves().len()];
        for round in 0..self.plan.runs {
            self.random.shuffle(&mut order);
            for &curve in &order {
                let mut done = 0;
                for &tasks in &counts[curve] {
                    done += 1;
                    if self.once(crews, interrupt, progress, (curve, tasks), round)? == Onward::No {
                        break;
                    }
                }
                if interrupt.asked() {
                    return Ok(());
                }
                // What the first run has found out holds for the others.
                counts[curve].truncate(done);
            }
            self.rounds = round + 1;
        }
        Ok(())
    }

    /// All phases at one task count.
    fn once(
        &mut self,
        crews: &mut Crews,
        interrupt: &Interrupt,
        progress: &mut dyn FnMut(Progress),
        (curve, tasks): (usize, usize),
        round: u32,
    ) -> Result<Onward, Error> {
        let mut phases = Vec::new();
        for phase in 0..self.plan.facts.phases.len() {
            let point = PlannedPoint {
                curve,
                tasks,
                length: LOOK,
                phase: Some(phase),
                tells: matches!(self.plan.curves()[curve].target, Target::Lab { .. }),
            };
            match crews.run(&point, interrupt)? {
                Ended::Measured(samples, told) => phases.push((samples, told)),
                Ended::Disturbed => {
                    self.disturbed += 1;
                    return Ok(Onward::Yes);
                }
                Ended::Interrupted => return Ok(Onward::No),
            }
            progress(Progress::new(Phase::Measuring, round, self.plan.runs));
        }
        let adaptive = matches!(self.plan.users, Users::Adaptive(..)) && round == 0;
        let crossed = adaptive && phases.iter().any(|(samples, _)| is_crossed(samples));
        for (phase, (samples, told)) in phases.into_iter().enumerate() {
            let cpus = || {
                crews.cpus(&PlannedPoint {
                    curve,
                    tasks,
                    length: LOOK,
                    phase: Some(phase),
                    tells: false,
                })
            };
            let at = self.gathered.entry((curve, phase, tasks));
            let gathered = at.or_insert_with(|| Gathered::new(cpus()));
            gathered.samples.extend(samples.into_iter().map(|sample| Sample { round, ..sample }));
            if let Some(latencies) = told.latencies {
                gathered.latencies.add(&latencies);
            }
            LockUse::merge(&mut gathered.locks, told.locks);
            gathered.rcu = told.rcu.or(gathered.rcu);
        }
        *self.complete.entry((curve, tasks)).or_default() += 1;
        Ok(if crossed { Onward::No } else { Onward::Yes })
    }

    fn finish(mut self, interrupt: &Interrupt) -> Measured {
        let plan = self.plan;
        if plan.paired {
            self.keep_pairs();
        }
        let mut curves = Vec::new();
        for (number, curve) in plan.curves().iter().enumerate() {
            for phase in 0..plan.facts.phases.len() {
                let points = self.points(number, phase);
                curves.push(plan.curve(curve, phase, Kind::Measured, points));
            }
        }
        if self.disturbed > 0 {
            self.warnings.push(Warning {
                code: "disturbed".into(),
                message: format!(
                    "{} runs were thrown away: tasks were stopped and continued meanwhile",
                    self.disturbed
                ),
                advice: "do not stop the tasks of a run".into(),
            });
        }
        let most = self.complete.values().copied().max().unwrap_or(0);
        let done = results::Plan {
            time_s: 0.0,
            slice_s: 0.0,
            rounds: most,
            warmup_rounds: 0,
            planned_rounds: plan.runs,
            pin: plan.plan.request.pin.to_string(),
            partial: interrupt.asked(),
        };
        Measured { curves, plan: done, warnings: self.warnings, mounts: Vec::new(), left: None }
    }

    /// Of a run that one side was disturbed in, or that ended before the other side's turn, the samples of neither side stay: a
    /// round is a pair.
    fn keep_pairs(&mut self) {
        let sides = self.plan.curves().iter().filter(|curve| curve.sim().is_none()).count();
        let mut seen: BTreeMap<(usize, usize, u32), BTreeSet<usize>> = BTreeMap::new();
        for (&(curve, phase, tasks), gathered) in &self.gathered {
            for sample in &gathered.samples {
                seen.entry((phase, tasks, sample.round)).or_default().insert(curve);
            }
        }
        for (&(_, phase, tasks), gathered) in &mut self.gathered {
            gathered.samples.retain(|s| seen[&(phase, tasks, s.round)].len() == sides);
        }
        self.gathered.retain(|_, gathered| !gathered.samples.is_empty());
    }

    fn points(&mut self, curve: usize, phase: usize) -> Vec<Point> {
        let at: Vec<At> =
            self.gathered.keys().copied().filter(|at| (at.0, at.1) == (curve, phase)).collect();
        let one = at.iter().find(|at| at.2 == 1).map(|at| self.gathered[at].samples.clone());
        let gathered = at.into_iter().filter_map(|at| Some((at.2, self.gathered.remove(&at)?)));
        let point = |(tasks, gathered): (usize, Gathered)| {
            let Gathered { samples, latencies, mut locks, rcu, cpus } = gathered;
            locks.sort_by_key(|lock| std::cmp::Reverse((lock.wait_ns, lock.acquisitions)));
            let work = self.plan.work(self.plan.facts.rate, tasks, &latencies);
            let point = Point::of_fixed_work(tasks as u32, cpus, samples, one.as_deref(), work);
            Point { locks, rcu, ..point }
        };
        gathered.map(point).collect()
    }
}

/// Whether each task got no more than [`CROSSOVER_PER_MINUTE`] operations.
fn is_crossed(samples: &[Sample]) -> bool {
    let wall = samples.iter().map(|s| s.start_ns + s.elapsed_ns).max().unwrap_or(0);
    let ops: u64 = samples.iter().map(|sample| sample.ops).sum();
    let per_minute = ops as f64 * 60e9 / wall.max(1) as f64;
    per_minute / samples.len().max(1) as f64 <= CROSSOVER_PER_MINUTE
}

/// Carries out `plan`. Nothing of it is left on the target afterwards, whatever happens.
///
/// The calling process must have a single thread, for it forks. `progress` is called between phases.
///
/// # Errors
/// As for [`run`](crate::run()).
pub fn run_fixed(
    plan: &FixedPlan,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Progress),
) -> Result<Measured, Error> {
    let course = Course {
        plan,
        random: fastrand::Rng::with_seed(plan.plan.request.seed),
        gathered: BTreeMap::new(),
        complete: BTreeMap::new(),
        rounds: 0,
        disturbed: 0,
        warnings: plan.plan.warnings.clone(),
    };
    if plan.plan.points.is_empty() {
        return simulate(plan, course.finish(interrupt), interrupt);
    }
    let mut janitor = Janitor::start()?;
    let measured = carry_out(course, &mut janitor, interrupt, progress);
    let measured = when_clean(measured, janitor.finish(inodes(&plan.plan.request)))?;
    if measured.left.is_some() { Ok(measured) } else { simulate(plan, measured, interrupt) }
}

fn carry_out(
    mut course: Course<'_>,
    janitor: &mut Janitor,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Progress),
) -> Result<Measured, Error> {
    let plan = &course.plan.plan;
    let dirs = make_dirs(janitor, &plan.request, random())?;
    let Some(mut crews) = Crews::start(plan, dirs, interrupt)? else {
        return Ok(course.finish(interrupt));
    };
    let before = Snapshot::take(&plan.roots, &plan.host.cpus);
    course.measure(&mut crews, interrupt, progress)?;
    crews.end()?;
    let conditions = diff(&before, &Snapshot::take(&plan.roots, &plan.host.cpus));
    let own = clock::cpu_time_of_program();
    course.warnings.extend(warnings::conditions_warnings(&conditions, own));
    Ok(course.finish(interrupt))
}

/// A phase at a task count with a seed.
type SimJob<'a> = (At, u32, &'a CurveRequest, &'a SimTarget);

/// Adds the simulated curves, if there are any.
fn simulate(
    plan: &FixedPlan,
    mut measured: Measured,
    interrupt: &Interrupt,
) -> Result<Measured, Error> {
    let phases = plan.facts.phases.len();
    let mut simulated: BTreeMap<At, Vec<SimulatedPhase>> = BTreeMap::new();
    let mut rounds = 0;
    while rounds < plan.runs && !interrupt.asked() {
        let curves = plan.curves().iter().enumerate();
        let curves = curves.filter_map(|(at, curve)| Some((at, curve, curve.sim()?)));
        let jobs: Vec<SimJob<'_>> = curves
            .flat_map(|(at, curve, target)| {
                let counts = plan.users.counts();
                let each = move |tasks| {
                    (0..phases).map(move |phase| ((at, phase, tasks), rounds, curve, target))
                };
                counts.into_iter().flat_map(each)
            })
            .collect();
        if jobs.is_empty() {
            return Ok(measured);
        }
        let seed = plan.plan.request.seed;
        let results = in_parallel(&jobs, |&((_, phase, tasks), round, curve, target)| {
            sim_phases::simulate(SimPhase { curve, target, phase, tasks, round, seed })
        });
        for ((at, ..), result) in jobs.iter().zip(results) {
            simulated.entry(*at).or_default().push(result?);
        }
        rounds += 1;
    }
    for (number, curve) in plan.curves().iter().enumerate() {
        let Some(target) = curve.sim() else { continue };
        for phase in 0..phases {
            let points = simulated_points(plan, target, &mut simulated, (number, phase));
            measured.curves[number * phases + phase] =
                plan.curve(curve, phase, Kind::Simulated, points);
        }
    }
    measured.plan.rounds = measured.plan.rounds.max(rounds);
    measured.plan.partial = interrupt.asked();
    Ok(measured)
}

fn simulated_points(
    plan: &FixedPlan,
    target: &SimTarget,
    simulated: &mut BTreeMap<At, Vec<SimulatedPhase>>,
    (curve, phase): (usize, usize),
) -> Vec<Point> {
    let one: Option<Vec<Sample>> = simulated
        .get(&(curve, phase, 1))
        .map(|rounds| rounds.iter().flat_map(|round| round.simulated.samples().to_vec()).collect());
    let point = |tasks: usize| {
        let rounds = simulated.remove(&(curve, phase, tasks))?;
        let mut latencies = Latencies::new();
        let add = |round: SimulatedPhase| {
            latencies.add(&round.latencies);
            round.simulated
        };
        let rounds: Vec<_> = rounds.into_iter().map(add).collect();
        let work = plan.work(plan.facts.rate, tasks, &latencies);
        let point = sim_target::point(tasks, target, rounds, one.as_deref(), Some(work));
        Some(if plan.plan.request.locks.is_some() {
            point
        } else {
            Point { locks: Vec::new(), ..point }
        })
    };
    plan.users.counts().into_iter().filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_double_up_to_the_last() {
        assert_eq!(Users::Adaptive(1, 10).counts(), [1, 2, 4, 8, 10]);
        assert_eq!(Users::Adaptive(3, 12).counts(), [3, 6, 12]);
        assert_eq!(Users::Adaptive(7, 7).counts(), [7]);
        assert_eq!(Users::Counts(vec![1, 100]).counts(), [1, 100]);
        assert_eq!((Users::Adaptive(1, 2000).most(), Users::Counts(vec![3, 9]).most()), (2000, 9));
        assert_eq!(Users::Counts(vec![1, 100]).to_string(), "1,100");
    }

    #[test]
    fn the_crossover_is_where_a_user_gets_ten_jobs_a_minute() {
        let sample = |ops, seconds: u64| Sample {
            round: 0,
            task: 0,
            ops,
            start_ns: 0,
            elapsed_ns: seconds * 1_000_000_000,
            user_ns: 0,
            sys_ns: 0,
            vcsw: 0,
            ivcsw: 0,
            cpu: [0, 0],
        };
        // The slower of two: 100 jobs in ten minutes.
        assert!(is_crossed(&[sample(100, 600), sample(100, 300)]));
        assert!(!is_crossed(&[sample(100, 599), sample(100, 300)]));
        assert!(!is_crossed(&[sample(1, 1)]));
    }
}
