//! A run: from what was asked for, over a plan, to curves.

use crate::bench::{Bench, on_dir};
use crate::clock;
use crate::crew::{Crew, Ended, Slice, Told};
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::janitor::Janitor;
use crate::lab_target::on_lab;
use crate::machine::conditions::{Snapshot, diff};
use crate::machine::topology::{Pin, order};
use crate::machine::{Roots, affinity, host, mounts, warnings};
use crate::preflight;
use crate::rundir;
use crate::target::{Target, c_path};
use results::{Curve, Host, Point, Sample, Warning};
use std::ffi::CString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use vfs_api::{Info, TaskMode};

/// Default length of a slice. Measured on a noisy two-CPU machine: pairs of slices of 5 to 20 ms agree within 0.3 to 0.9 %, of
/// 100 ms within 2.4 %, of 250 ms within 15 %.
const SLICE: Duration = Duration::from_millis(10);
/// Where tasks take turns on a CPU, each should get on it several times: this long per task and CPU at least.
const TURN: Duration = Duration::from_millis(4);
/// Fewer rounds than this give no interval.
const ROUNDS_MIN: u32 = 6;
/// Warm-up ends after so many rounds, however the rates look, ...
const WARMUP_ROUNDS: u32 = 20;
/// ... or after this share of the time.
const WARMUP_SHARE: f64 = 0.2;
/// How often a disturbed slice is repeated.
const REPEATS: u32 = 3;
/// With so many disturbed rounds and not one good one, and the time spent, the run is given up.
const DISTURBED: u32 = 10;
/// What the dispatch of a slice costs, and each task on top.
const DISPATCH: Duration = Duration::from_micros(150);
const DISPATCH_TASK: Duration = Duration::from_micros(15);
/// What making and removing a task's process and files costs.
const TASK_SETUP: Duration = Duration::from_micros(300);

/// A curve that was asked for.
#[derive(Clone, Debug)]
pub struct CurveRequest {
    /// Its workload.
    pub workload: &'static Info,
    /// Its target.
    pub target: Target,
    /// How its tasks are made.
    pub mode: TaskMode,
    /// Binds the workload to a directory.
    bind: fn(&Info, CString) -> Box<dyn Bench>,
    /// The directory of a `dir:` target, absolute; set by [`Plan::new`].
    pub(crate) dir: Option<PathBuf>,
}

impl CurveRequest {
    /// `workload` on `target` with tasks made as `mode` says.
    pub fn new(workload: &'static Info, target: Target, mode: TaskMode) -> CurveRequest {
        CurveRequest { workload, target, mode, bind: on_dir, dir: None }
    }

    /// How its tasks are made on this machine. Those of the lab are threads, even if they are processes in there.
    pub(crate) fn hosting(&self) -> TaskMode {
        match self.target {
            Target::Dir(_) => self.mode,
            Target::Lab { .. } => TaskMode::Thread,
        }
    }

    /// The same with another loop than the registered workload's: a benchmark's, to be measured beside it.
    pub fn with_loop(self, bind: fn(&Info, CString) -> Box<dyn Bench>) -> CurveRequest {
        CurveRequest { bind, ..self }
    }

    fn name(&self) -> String {
        format!("{} on {}", self.workload.name, self.target)
    }
}

/// Everything that decides a run.
#[derive(Clone, Debug)]
pub struct Request {
    /// Curves.
    pub curves: Vec<CurveRequest>,
    /// Task counts, ascending, each at least 1.
    pub tasks: Vec<usize>,
    /// How tasks are put on CPUs.
    pub pin: Pin,
    /// Budget of the whole command.
    pub time: Duration,
    /// Length of a slice, if it was asked for.
    pub slice: Option<Duration>,
    /// Stop as soon as every interval is at most this share of its value to either side.
    pub precision: Option<f64>,
    /// Measure exactly so many rounds, whatever the time.
    pub rounds: Option<u32>,
    /// Count and time every lock, where the target can.
    pub locks: bool,
    /// Seed of the order of slices.
    pub seed: u64,
    /// When the command began; the budget counts from here.
    pub began: Instant,
}

/// One point's slice.
#[derive(Clone, Copy, Debug)]
struct PlannedPoint {
    curve: usize,
    tasks: usize,
    length: Duration,
    /// Whether the target tells more than samples.
    tells: bool,
}

/// What will be done, and how long it takes.
#[derive(Clone, Debug)]
pub struct Plan {
    request: Request,
    /// The machine.
    pub host: Host,
    /// What is known to make numbers less true before any is taken.
    pub warnings: Vec<Warning>,
    roots: Roots,
    points: Vec<PlannedPoint>,
    rounds: u32,
}

impl Plan {
    /// Looks at the machine and the targets and decides. Nothing is changed but the soft limit of open files.
    ///
    /// # Errors
    /// [`Error::Refused`] if it cannot work.
    pub fn new(mut request: Request) -> Result<Plan, Error> {
        let roots = Roots::default();
        let usable =
            affinity::usable().map_err(|error| Error::Os { call: "sched_getaffinity", error })?;
        for curve in &mut request.curves {
            let lacks = curve.workload.needs.iter().find(|need| !curve.target.has(**need));
            if let Some(need) = lacks {
                return Err(Error::Refused {
                    what: format!(
                        "{} needs '{}', which {} has not",
                        curve.workload.name,
                        need.name(),
                        curve.target
                    ),
                    advice: "choose another workload or target (vfscale list)".into(),
                });
            }
            if request.locks && !curve.target.counts_locks() {
                return Err(Error::Refused {
                    what: format!("the locks of {} cannot be counted", curve.target),
                    advice: "--locks works on lab: targets so far".into(),
                });
            }
            curve.dir = curve.target.dir().map(preflight::resolve).transpose()?;
        }
        let most = request.tasks.iter().copied().max().unwrap_or(1);
        preflight::check(&roots, &request.curves, most)?;
        let mut host = host::describe(&roots, &usable);
        for curve in &request.curves {
            let target = curve.target.to_string();
            let new = host.fs.iter().all(|mount| mount.target != target);
            if let (true, Some(dir)) = (new, &curve.dir) {
                let mount = mounts::mount_of(&roots, dir, &target);
                host.fs.push(
                    mount.map_err(|error| Error::Os {
                        call: "reading /proc/self/mountinfo",
                        error,
                    })?,
                );
            }
        }
        let warnings = warnings::run_warnings(&host, most as u32, request.pin != Pin::None);
        let points = points(&request, usable.len());
        let rounds = request.rounds.unwrap_or_else(|| rounds_in(&request, &points));
        Ok(Plan { request, host, warnings, roots, points, rounds })
    }

    /// Rounds planned, warm-up not counted.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// How long the command will take in all.
    pub fn length(&self) -> Duration {
        if self.request.rounds.is_some() {
            setup(&self.request) + round(&self.points) * (self.rounds + 2)
        } else {
            self.request.time.max(setup(&self.request) + round(&self.points) * 3)
        }
    }

    /// Time the budget leaves, from now.
    fn left(&self) -> Duration {
        self.request.time.saturating_sub(self.request.began.elapsed())
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Request { curves, tasks, pin, .. } = &self.request;
        let names: Vec<String> =
            curves.iter().map(|c| format!("{}, {} mode", c.name(), c.mode)).collect();
        let tasks: Vec<String> = tasks.iter().map(ToString::to_string).collect();
        let (shortest, longest) = self
            .points
            .iter()
            .fold((Duration::MAX, Duration::ZERO), |(s, l), p| (s.min(p.length), l.max(p.length)));
        let slices = if shortest == longest {
            format!("{shortest:?}")
        } else {
            format!("{shortest:?} to {longest:?}")
        };
        let pinned = match pin {
            Pin::None => "not pinned".to_owned(),
            pin => format!("pinned by {pin}"),
        };
        write!(
            f,
            "plan: {}; tasks {} on {} CPUs, {pinned}; about {} rounds of {} slices of {slices}: {:.1} s in all",
            names.join("; "),
            tasks.join(","),
            self.host.cpus.len(),
            self.rounds,
            self.points.len(),
            self.length().as_secs_f64(),
        )
    }
}

fn points(request: &Request, usable: usize) -> Vec<PlannedPoint> {
    let count = (request.curves.len() * request.tasks.len()).max(1) as u32;
    // Turns of crowded points grow with the tasks, but leave room for warm-up and enough rounds.
    let budget = request.time.saturating_sub(setup(request)) / (count * (ROUNDS_MIN + 3));
    let length = |tasks: usize| match request.slice {
        Some(slice) => slice,
        None => {
            let turns = TURN * tasks.div_ceil(usable.max(1)) as u32;
            let crowded = if tasks > usable { turns } else { Duration::ZERO };
            crowded.min(budget).max(SLICE.min(budget.max(Duration::from_millis(1))))
        }
    };
    let tasks = |curve| request.tasks.iter().map(move |&tasks| (curve, tasks));
    (0..request.curves.len())
        .flat_map(tasks)
        .map(|(curve, tasks)| {
            let tells = matches!(request.curves[curve].target, Target::Lab { .. });
            PlannedPoint { curve, tasks, length: length(tasks), tells }
        })
        .collect()
}

/// Estimated time for making and removing the tasks.
fn setup(request: &Request) -> Duration {
    let most = request.tasks.iter().copied().max().unwrap_or(1);
    Duration::from_millis(20) + TASK_SETUP * (most * request.curves.len()) as u32
}

/// Estimated time of one round.
fn round(points: &[PlannedPoint]) -> Duration {
    points.iter().map(|p| p.length + DISPATCH + DISPATCH_TASK * p.tasks as u32).sum()
}

fn rounds_in(request: &Request, points: &[PlannedPoint]) -> u32 {
    let left = request.time.saturating_sub(setup(request));
    // Two rounds of warm-up, as a rule.
    let fit = left.as_secs_f64() / round(points).as_secs_f64() - 2.0;
    (fit as u32).max(1)
}

/// Where a run stands, for a progress display.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Still warming up.
    pub warming_up: bool,
    /// Rounds finished, warm-up not counted.
    pub round: u32,
    /// Rounds planned.
    pub rounds: u32,
}

/// What came of a run.
#[derive(Debug)]
pub struct Measured {
    /// In the order of the request.
    pub curves: Vec<Curve>,
    /// The plan and what of it was done.
    pub plan: results::Plan,
    /// What was seen before and while measuring.
    pub warnings: Vec<Warning>,
    /// What could not be removed ([`Error::Left`]). The result is good all the same.
    pub left: Option<Error>,
}

/// Carries out `plan`. Nothing of it is left on the target afterwards, whatever happens.
///
/// The calling process must have a single thread, for it forks. `progress` is called between slices.
///
/// # Errors
/// A task failed, died, was stopped or does not answer: then there is no result, not even of the others.
pub fn run(
    plan: &Plan,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Progress),
) -> Result<Measured, Error> {
    let mut janitor = Janitor::start()?;
    let measured = carry_out(plan, &mut janitor, interrupt, progress);
    match (measured, janitor.finish()) {
        (Ok(measured), Ok(())) => Ok(measured),
        (Ok(measured), Err(left)) => Ok(Measured { left: Some(left), ..measured }),
        (Err(error), Ok(())) => Err(error),
        (Err(error), Err(left)) => {
            Err(Error::AndLeft { error: Box::new(error), left: Box::new(left) })
        }
    }
}

/// All of a run but its end: the crews are gone when it returns.
fn carry_out(
    plan: &Plan,
    janitor: &mut Janitor,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Progress),
) -> Result<Measured, Error> {
    let curves = make_dirs(janitor, &plan.request, random())?;
    let mut session = Session::new(plan);
    let Some(mut crews) = Crews::start(plan, curves, interrupt)? else {
        return Ok(session.finish(&Crews::default(), interrupt));
    };
    let before = Snapshot::take(&plan.roots, &plan.host.cpus);
    session.warm_up(&mut crews, interrupt, progress)?;
    session.measure(&mut crews, interrupt, progress)?;
    crews.end();
    let conditions = diff(&before, &Snapshot::take(&plan.roots, &plan.host.cpus));
    let own = clock::cpu_time_of_program();
    session.warnings.extend(warnings::conditions_warnings(&conditions, own));
    Ok(session.finish(&crews, interrupt))
}

/// A random number for the name of a directory: from the operating system, by way of the hash maps' keys.
fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}

/// Makes one run directory per `dir:` target and one directory per curve in it; answers the curves' directories.
fn make_dirs(
    janitor: &mut Janitor,
    request: &Request,
    random: u64,
) -> Result<Vec<Option<PathBuf>>, Error> {
    let cannot = |dir: &Path, error: std::io::Error| Error::Refused {
        what: format!("cannot make a directory in {}: {error}", dir.display()),
        advice: "choose a directory that you may write to and that has room: --on dir:PATH".into(),
    };
    let mut made: Vec<&PathBuf> = Vec::new();
    let mut dirs = Vec::new();
    for (number, curve) in request.curves.iter().enumerate() {
        let Some(target) = &curve.dir else {
            dirs.push(None);
            continue;
        };
        let run = rundir::new_name(target, random);
        if !made.contains(&target) {
            janitor.make_dir(&run).map_err(|e| cannot(target, e))?;
            made.push(target);
        }
        let dir = run.join(format!("c{number}"));
        std::fs::create_dir(&dir).map_err(|e| cannot(&run, e))?;
        dirs.push(Some(dir));
    }
    Ok(dirs)
}

/// The crews of a run, at most one per mode.
#[derive(Default)]
struct Crews {
    crews: Vec<(TaskMode, Crew)>,
    /// For each curve of the request: which crew, and its number there.
    place: Vec<(usize, usize)>,
}

impl Crews {
    /// None if the user asked to end meanwhile.
    fn start(
        plan: &Plan,
        dirs: Vec<Option<PathBuf>>,
        interrupt: &Interrupt,
    ) -> Result<Option<Crews>, Error> {
        let request = &plan.request;
        let most = request.tasks.iter().copied().max().unwrap_or(1);
        let order = match request.pin {
            Pin::None => Vec::new(),
            pin => order(pin, &plan.host.topology),
        };
        let mut crews = Crews { crews: Vec::new(), place: vec![(0, 0); request.curves.len()] };
        for mode in [TaskMode::Process, TaskMode::Thread] {
            let mut benches: Vec<(String, Box<dyn Bench>)> = Vec::new();
            for (number, curve) in request.curves.iter().enumerate() {
                if curve.hosting() == mode {
                    crews.place[number] = (crews.crews.len(), benches.len());
                    let bench = match (&curve.target, &dirs[number]) {
                        (Target::Lab { era, .. }, _) => {
                            on_lab(curve.workload, *era, curve.mode, most, request.locks)
                        }
                        (Target::Dir(path), dir) => {
                            (curve.bind)(curve.workload, c_path(dir.as_ref().unwrap_or(path)))
                        }
                    };
                    benches.push((curve.name(), bench));
                }
            }
            if benches.is_empty() {
                continue;
            }
            let usable = plan.host.cpus.len();
            match Crew::start(mode, most, &order, usable, benches, interrupt)? {
                Some(crew) => crews.crews.push((mode, crew)),
                None => return Ok(None),
            }
        }
        Ok(Some(crews))
    }

    fn run(&mut self, point: &PlannedPoint, interrupt: &Interrupt) -> Result<Ended, Error> {
        let (crew, curve) = self.place[point.curve];
        let slice = Slice { curve, tasks: point.tasks, length: point.length, tells: point.tells };
        let crew = &mut self.crews[crew].1;
        for _ in 0..REPEATS {
            match crew.run(slice, interrupt)? {
                Ended::Disturbed => continue,
                ended => return Ok(ended),
            }
        }
        Ok(Ended::Disturbed)
    }

    fn cpus(&self, point: &PlannedPoint) -> Vec<u32> {
        let (crew, _) = self.place[point.curve];
        self.crews[crew].1.cpus(point.tasks)
    }

    fn end(&mut self) {
        for (_, crew) in &mut self.crews {
            crew.end();
        }
    }
}

/// What came of one round, per point; empty if it was disturbed.
type Round = Vec<(Vec<Sample>, Told)>;

/// The measurement itself.
struct Session<'a> {
    plan: &'a Plan,
    random: fastrand::Rng,
    /// Per point, in the order of `plan.points`.
    samples: Vec<Vec<Sample>>,
    /// What else targets told, likewise; of rounds that count.
    told: Vec<Told>,
    warmup_rounds: u32,
    rounds: u32,
    disturbed: u32,
    warnings: Vec<Warning>,
}

impl<'a> Session<'a> {
    fn new(plan: &'a Plan) -> Session<'a> {
        Session {
            plan,
            random: fastrand::Rng::with_seed(plan.request.seed),
            samples: vec![Vec::new(); plan.points.len()],
            told: vec![Told::default(); plan.points.len()],
            warmup_rounds: 0,
            rounds: 0,
            disturbed: 0,
            warnings: plan.warnings.clone(),
        }
    }

    /// One slice of every point in random order. None if the user asked to end: an incomplete round is no round.
    fn round(
        &mut self,
        crews: &mut Crews,
        interrupt: &Interrupt,
        progress: &mut dyn FnMut(Progress),
        warming_up: bool,
    ) -> Result<Option<Round>, Error> {
        let plan = self.plan;
        let mut order: Vec<usize> = (0..plan.points.len()).collect();
        self.random.shuffle(&mut order);
        let mut round = vec![(Vec::new(), Told::default()); plan.points.len()];
        for at in order {
            match crews.run(&plan.points[at], interrupt)? {
                Ended::Measured(samples, told) => round[at] = (samples, told),
                Ended::Disturbed => {
                    self.disturbed += 1;
                    return Ok(Some(Vec::new()));
                }
                Ended::Interrupted => return Ok(None),
            }
            progress(Progress { warming_up, round: self.rounds, rounds: plan.rounds });
        }
        Ok(Some(round))
    }

    /// Rounds that are thrown away, until they get no faster.
    fn warm_up(
        &mut self,
        crews: &mut Crews,
        interrupt: &Interrupt,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), Error> {
        let began = Instant::now();
        let left = self.plan.left();
        if self.plan.request.rounds.is_none() && round(&self.plan.points) * 2 > left {
            // There is time for one round: better a cold one than none in time.
            return Ok(());
        }
        let limit = left.mul_f64(WARMUP_SHARE);
        let mut rule = stats::WarmUp::new();
        while self.warmup_rounds < WARMUP_ROUNDS && !interrupt.asked() {
            let Some(round) = self.round(crews, interrupt, progress, true)? else { return Ok(()) };
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
    fn measure(
        &mut self,
        crews: &mut Crews,
        interrupt: &Interrupt,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), Error> {
        let request = &self.plan.request;
        let mut longest = Duration::ZERO;
        // What ending takes comes out of the budget too.
        let ending = setup(request) / 2;
        while !interrupt.asked() {
            let enough = match request.rounds {
                Some(rounds) => self.rounds >= rounds,
                None => self.rounds > 0 && self.plan.left() < longest + ending,
            };
            if enough
                || (self.rounds >= ROUNDS_MIN && self.rounds.is_multiple_of(10) && self.precise())
            {
                return Ok(());
            }
            let began = Instant::now();
            let Some(round) = self.round(crews, interrupt, progress, false)? else { return Ok(()) };
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

    /// Whether every interval is as narrow as was asked for.
    fn precise(&self) -> bool {
        let Some(precision) = self.plan.request.precision else { return false };
        let narrow = |point: &Vec<Sample>| {
            let mut rates = vec![0.0; self.rounds as usize];
            for sample in point {
                rates[sample.round as usize] += sample.rate();
            }
            match (stats::median(&rates), stats::median_ci95(&rates)) {
                (Some(value), Some([low, high])) => (high - low) / 2.0 <= precision * value,
                _ => false,
            }
        };
        self.samples.iter().all(narrow)
    }

    fn finish(mut self, crews: &Crews, interrupt: &Interrupt) -> Measured {
        let plan = self.plan;
        let request = &plan.request;
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
                let Told { mut locks, rcu } = std::mem::take(&mut self.told[at]);
                locks.sort_by_key(|lock| std::cmp::Reverse((lock.wait_ns, lock.acquisitions)));
                let (tasks, cpus) = (point.tasks as u32, crews.cpus(point));
                let measured = Point::from_samples(tasks, cpus, samples, one.as_deref());
                points.push(Point { locks, rcu, ..measured });
            }
            curves.push(Curve {
                workload: curve.workload.name.into(),
                target: curve.target.to_string(),
                mode: curve.mode.name().into(),
                points,
            });
        }
        let slice = plan.points.iter().map(|p| p.length).min().unwrap_or_default();
        let plan = results::Plan {
            time_s: request.time.as_secs_f64(),
            slice_s: slice.as_secs_f64(),
            rounds: self.rounds,
            warmup_rounds: self.warmup_rounds,
            planned_rounds: plan.rounds,
            pin: request.pin.to_string(),
            partial: interrupt.asked(),
        };
        Measured { curves, plan, warnings: self.warnings, left: None }
    }

    /// Warnings that only the samples give.
    fn look_at_samples(&mut self) {
        let mut warn = |code: &str, message: String, advice: &str| {
            self.warnings.push(Warning { code: code.into(), message, advice: advice.into() });
        };
        if self.rounds > 0 && self.rounds < ROUNDS_MIN {
            warn(
                "few-rounds",
                format!("only {} rounds: too few for an interval", self.rounds),
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
