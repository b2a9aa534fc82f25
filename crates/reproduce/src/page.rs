//! From a data file to a page: calibrate, simulate, compare.

use crate::calibrate::{Calibration, bisect};
use crate::measure::{Measurements, Value};
use crate::published::{CurveSpec, Error, Figure, Point, Published, Ratio};
use crate::shape;
use crate::simulation::{Simulated, Simulation, Stop};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Factors of all latencies: as the machine has them, and a tenth less and more.
const LATENCIES: [f64; 3] = [1.0, 0.9, 1.1];
/// An error beyond this needs a reason.
const TOLERATED: f64 = 0.05;
/// Seeds that differ by more than this make even a small error mean little.
const STEADY: f64 = 0.2;

/// Where a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Printed in the mail, or a quotient of what is.
    Published,
    /// Simulated; the parameter was set so that it comes out.
    Calibrated,
    /// Simulated: predicted.
    Simulated,
    /// Measured on this machine.
    Measured,
}

impl Mark {
    /// As in the page.
    pub fn name(self) -> &'static str {
        match self {
            Mark::Published => "published",
            Mark::Calibrated => "calibrated",
            Mark::Simulated => "simulated",
            Mark::Measured => "measured",
        }
    }
}

/// A figure as the mail prints it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quote {
    /// Which table of the mail.
    pub table: String,
    /// Its row.
    pub row: String,
    /// Its column.
    pub column: String,
    /// As printed.
    pub printed: String,
    /// Its unit.
    pub unit: String,
    /// Always `published`.
    pub mark: Mark,
}

/// A row of the comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// What is compared.
    pub what: String,
    /// Of both values; empty for a ratio.
    pub unit: String,
    /// The published value as text.
    pub published: String,
    /// The range that it stands for; both are the same but for words. No second one (in JSON null): it has no end.
    pub published_range: [f64; 2],
    /// Ours on a simulated machine; none if it was not asked for, or the user ended it before.
    pub simulated: Option<Predicted>,
    /// Ours on this machine, a value for each of [`Page::measured_on`]; none where a column has nothing like it.
    pub measured: Vec<Option<Taken>>,
    /// Why the simulated value is off, most likely; only if it is, or if the seeds disagree.
    pub reason: Option<String>,
}

/// A simulated value beside a published one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Predicted {
    /// In the row's unit.
    pub value: f64,
    /// Whether it was predicted.
    pub mark: Mark,
    /// How far it is off what was published, a share of it; 0 within its range.
    pub error: f64,
    /// With all latencies a tenth less, and a tenth more; none where it was interrupted before.
    pub sensitivity: Option<[f64; 2]>,
    /// How far apart seeds are, a share; none of one seed.
    pub spread: Option<f64>,
}

/// A value measured on this machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Taken {
    /// In the row's unit.
    pub value: f64,
    /// 95 % interval over rounds, if they give one.
    pub ci95: Option<[f64; 2]>,
    /// Tasks.
    pub tasks: usize,
    /// Always `measured`.
    pub mark: Mark,
}

/// Whether a curve has the shape that the mail describes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShapeFound {
    /// The mail's words.
    pub words: String,
    /// With the latencies of the machine, a tenth less, a tenth more; none where that was not simulated.
    pub fits: [Option<bool>; 3],
    /// Throughput rises no more from so many tasks on.
    pub wall_at: usize,
    /// And rises at every step up to so many.
    pub scales_to: usize,
    /// Why it has not, most likely; only if it has not.
    pub reason: Option<String>,
}

/// A simulated or measured curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// What it is.
    pub what: String,
    /// Machine and era.
    pub target: String,
    /// Tasks and operations per second.
    pub points: Vec<(usize, f64)>,
    /// Which of both.
    pub mark: Mark,
    /// What the mail says of it, of a simulated one.
    pub shape: Option<ShapeFound>,
}

/// A thread's page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Page {
    /// Of the thread, on the command line.
    pub name: String,
    /// What it was about.
    pub title: String,
    /// Who published it, where and when.
    pub source: String,
    /// What ran where.
    pub setup: String,
    /// What is wrong or missing there, and how it is read here.
    pub slips: Vec<String>,
    /// What has no counterpart here.
    pub not_simulated: Vec<String>,
    /// True if the user ended it: what is missing was not done.
    pub partial: bool,
    /// Whether simulation was asked for.
    pub is_simulated: bool,
    /// What it was measured on: `lab`, `dir:PATH`.
    pub measured_on: Vec<String>,
    /// What a reader must know before trusting what was measured.
    pub notes: Vec<String>,
    /// The published table.
    pub published: Vec<Quote>,
    /// Rows from which the parameter was to be set, and what came of it; the last one counts.
    pub calibration: Vec<(String, Calibration)>,
    /// Rows.
    pub compared: Vec<Compared>,
    /// Curves.
    pub curves: Vec<Curve>,
    /// Points of the simulation, for a look at how each row was made.
    pub points: Vec<Point>,
}

/// Simulated points with each of [`LATENCIES`], by name.
type Results = BTreeMap<String, [Option<Simulated>; 3]>;

/// Told after each simulated point: what is done, how many, of how many (0: not known).
pub type Watch<'a> = dyn Fn(&'static str, usize, usize) + Sync + 'a;

struct Maker<'a> {
    data: &'a Published,
    simulation: &'a dyn Simulation,
    watch: &'a Watch<'a>,
    calibration: Vec<(String, Calibration)>,
    /// The row that the parameter was set from, and the parameter.
    set: Option<(String, u32)>,
    results: Results,
}

/// Makes the page of a thread: simulated, if there is a simulation, and with what was measured. If the user ends it, the page
/// has what was finished.
///
/// # Errors
/// A point could not be simulated.
pub fn page(
    data: &Published,
    simulation: Option<&dyn Simulation>,
    measured: &Measurements,
    watch: &Watch<'_>,
) -> Result<Page, Error> {
    let mut partial = measured.partial;
    let mut maker = None;
    if let Some(simulation) = simulation {
        let (calibration, results) = (Vec::new(), Results::new());
        let maker =
            maker.insert(Maker { data, simulation, watch, calibration, set: None, results });
        let done = maker.calibrate().and_then(|()| maker.simulate());
        match done {
            Ok(()) => {}
            Err(Halt::Interrupted) => partial = true,
            Err(Halt::Failed(error)) => return Err(error),
        }
    }
    let rows = Rows { data, maker: maker.as_ref(), measured };
    let simulated = data.curves.iter().filter_map(|spec| curve(spec, &maker.as_ref()?.results));
    let taken = data.curves.iter().flat_map(|spec| rows.measured_curves(spec));
    let curves = simulated.chain(taken).collect();
    Ok(Page {
        name: data.name.clone(),
        title: data.title.clone(),
        source: data.source.clone(),
        setup: data.setup.clone(),
        slips: data.slips.clone(),
        not_simulated: data.not_simulated.clone(),
        partial,
        is_simulated: simulation.is_some(),
        measured_on: measured.names(),
        notes: measured.notes.clone(),
        published: data.figures.iter().map(quote).collect(),
        compared: rows.all(),
        curves,
        calibration: maker.map(|maker| maker.calibration).unwrap_or_default(),
        points: data.all_points(),
    })
}

/// Why a page is not finished.
enum Halt {
    Failed(Error),
    Interrupted,
}

impl Halt {
    fn of(point: &Point, stop: Stop) -> Halt {
        match stop {
            Stop::Interrupted => Halt::Interrupted,
            Stop::Failed(what) => Halt::Failed(Error::Simulation { point: point.id.clone(), what }),
        }
    }
}

fn quote(figure: &Figure) -> Quote {
    Quote {
        table: figure.table.clone(),
        row: figure.row.clone(),
        column: figure.column.clone(),
        printed: figure.printed.clone(),
        unit: figure.unit.clone(),
        mark: Mark::Published,
    }
}

/// How far `value` is off `least` to `most`, a share.
fn error(value: f64, [least, most]: [f64; 2]) -> f64 {
    let nearest = value.clamp(least, most);
    (value - nearest) / nearest
}

fn what(figure: &Figure) -> String {
    let words = [&*figure.table, &*figure.row, &*figure.column];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
}

impl Maker<'_> {
    fn run(&self, point: &Point, work_ns: u32) -> Result<Simulated, Halt> {
        (self.watch)("calibrating", 0, 0);
        self.simulation.run(point, Some(work_ns), 1.0).map_err(|stop| Halt::of(point, stop))
    }

    fn row(&self, from: &str) -> String {
        let ratio = || self.data.ratio(from).map_or_else(String::new, |ratio| ratio.text.clone());
        self.data.figure(from).map_or_else(ratio, what)
    }

    /// Sets the parameter from the first row of those named that some work brings about.
    fn calibrate(&mut self) -> Result<(), Halt> {
        for from in &self.data.calibration.from {
            let found = self.calibrate_from(from)?;
            self.calibration.push((self.row(from), found));
            if let Calibration::Found { work_ns, .. } = found {
                self.set = Some((from.clone(), work_ns));
                break;
            }
        }
        Ok(())
    }

    fn calibrate_from(&self, from: &str) -> Result<Calibration, Halt> {
        let spec = &self.data.calibration;
        if let Some(figure) = self.data.figure(from) {
            let id = figure.point.as_deref().expect("`check` has looked for it");
            let point = self.data.point(id);
            return bisect(figure.value(), spec.highest_ns, |work_ns| {
                Ok(simulated(figure, &self.run(&point, work_ns)?, &point))
            });
        }
        let ratio = self.data.ratio(from).expect("`check` has looked for it");
        let ([least, most], _) = published(self.data, ratio);
        let points = [self.data.point(&ratio.of), self.data.point(&ratio.over)];
        bisect(
            if most.is_finite() { f64::midpoint(least, most) } else { least },
            spec.highest_ns,
            |work_ns| {
                let both = harness::in_parallel(&points, |point| self.run(point, work_ns));
                let both = both.into_iter().collect::<Result<Vec<_>, _>>()?;
                Ok(ratio.quotient(
                    [both[0].usecs_per_op, both[1].usecs_per_op],
                    [&points[0], &points[1]],
                ))
            },
        )
    }

    fn simulate(&mut self) -> Result<(), Halt> {
        let points = self.data.all_points();
        let pairs = points.iter().flat_map(|point| LATENCIES.map(|factor| (point, factor)));
        let mut pairs: Vec<(&Point, f64)> = pairs.collect();
        // What a page cannot do without first; and the longest first, so that no CPU of the host is left alone with one at the
        // end.
        pairs.sort_by_key(|(point, factor)| (*factor != 1.0, std::cmp::Reverse(point.tasks)));
        let work_ns = self.set.as_ref().map(|(_, work_ns)| *work_ns);
        let (all, done) = (pairs.len(), AtomicUsize::new(0));
        let results = harness::in_parallel(&pairs, |(point, factor)| {
            let result = self.simulation.run(point, work_ns, *factor);
            (self.watch)("simulating", done.fetch_add(1, SeqCst) + 1, all);
            result.map_err(|stop| Halt::of(point, stop))
        });
        let mut interrupted = false;
        for ((point, factor), result) in pairs.iter().zip(results) {
            let at = LATENCIES.iter().position(|known| known == factor).unwrap_or_default();
            match result {
                Ok(found) => {
                    self.results.entry(point.id.clone()).or_default()[at] = Some(found);
                }
                Err(Halt::Interrupted) => interrupted = true,
                Err(failed) => return Err(failed),
            }
        }
        if interrupted { Err(Halt::Interrupted) } else { Ok(()) }
    }

    /// A value of one or two points with each of [`LATENCIES`], compared with `range`; none if it was not simulated as it is.
    fn predicted(
        &self,
        id: &str,
        points: &[&str],
        range: [f64; 2],
        value: impl Fn(&[Simulated]) -> f64,
    ) -> Option<Predicted> {
        let at = |at: usize| {
            let found = points.iter().map(|point| self.results.get(*point)?[at]);
            found.collect::<Option<Vec<Simulated>>>()
        };
        let now = at(0)?;
        let found = value(&now);
        let set_from = self.set.as_ref().is_some_and(|(from, _)| from == id);
        Some(Predicted {
            value: found,
            mark: if set_from { Mark::Calibrated } else { Mark::Simulated },
            error: error(found, range),
            sensitivity: at(1).zip(at(2)).map(|(less, more)| [value(&less), value(&more)]),
            spread: now.iter().filter_map(|one| one.spread).reduce(f64::max),
        })
    }
}

fn published(data: &Published, ratio: &Ratio) -> ([f64; 2], String) {
    if let Some([of, over]) = &ratio.figures {
        let value = |id: &str| data.figure(id).expect("`check` has looked for it").value();
        let value = value(of) / value(over);
        return ([value; 2], format!("{value:.3}"));
    }
    let range = [ratio.least.unwrap_or(1.0), ratio.most.unwrap_or(f64::INFINITY)];
    (range, format!("\"{}\"", ratio.words.as_deref().unwrap_or_default()))
}

impl Ratio {
    /// Of times per operation of the machine, or of a task.
    fn quotient(&self, [of, over]: [f64; 2], points: [&Point; 2]) -> f64 {
        let factor = match self.per_task {
            true => points[0].tasks as f64 / points[1].tasks as f64,
            false => 1.0,
        };
        factor * of / over
    }
}

/// The rows of a page.
struct Rows<'a> {
    data: &'a Published,
    maker: Option<&'a Maker<'a>>,
    measured: &'a Measurements,
}

impl Rows<'_> {
    fn all(&self) -> Vec<Compared> {
        let figures = self.data.figures.iter().filter_map(|figure| self.figure(figure));
        figures.chain(self.data.ratios.iter().map(|ratio| self.ratio(ratio))).collect()
    }

    fn taken(&self, value: impl Fn(usize) -> Option<Value>) -> Vec<Option<Taken>> {
        let taken =
            |Value { value, ci95, tasks }| Taken { value, ci95, tasks, mark: Mark::Measured };
        (0..self.measured.names().len()).map(|column| value(column).map(taken)).collect()
    }

    fn figure(&self, figure: &Figure) -> Option<Compared> {
        let point = self.data.point(figure.point.as_deref()?);
        let (measure, range) = (figure.measure?, [figure.value(); 2]);
        let predicted = self.maker.and_then(|maker| {
            maker.predicted(&figure.id, &[&point.id], range, |one| {
                simulated(figure, &one[0], &point)
            })
        });
        Some(with_reason(Compared {
            what: what(figure),
            unit: measure.unit().to_owned(),
            published: figure.printed.clone(),
            published_range: range,
            simulated: predicted,
            measured: self
                .taken(|column| self.measured.figure(column, &point, measure, figure.operations)),
            reason: figure.reason.clone(),
        }))
    }

    fn ratio(&self, ratio: &Ratio) -> Compared {
        let (range, text) = published(self.data, ratio);
        let (of, over) = (self.data.point(&ratio.of), self.data.point(&ratio.over));
        let predicted = self.maker.and_then(|maker| {
            maker.predicted(&ratio.id, &[&of.id, &over.id], range, |both| {
                ratio.quotient([both[0].usecs_per_op, both[1].usecs_per_op], [&of, &over])
            })
        });
        with_reason(Compared {
            what: ratio.text.clone(),
            unit: String::new(),
            published: text,
            published_range: range,
            simulated: predicted,
            measured: self.taken(|column| self.measured.ratio(column, ratio, &of, &over)),
            reason: ratio.reason.clone(),
        })
    }

    /// What of a curve this machine has the CPUs for, in each column.
    fn measured_curves(&self, spec: &CurveSpec) -> Vec<Curve> {
        let in_column = |(column, name): (usize, String)| {
            let rate = |point: Point| Some((point.tasks, self.measured.rate(column, &point)?));
            let points: Vec<(usize, f64)> = spec.points().filter_map(rate).collect();
            (!points.is_empty()).then(|| Curve {
                what: format!("{}, {name}", spec.text),
                target: self.measured.target(column, &spec.point),
                points,
                mark: Mark::Measured,
                shape: None,
            })
        };
        self.measured.names().into_iter().enumerate().filter_map(in_column).collect()
    }
}

fn simulated(figure: &Figure, found: &Simulated, point: &Point) -> f64 {
    let measure = figure.measure.expect("`check`: it goes with `point`");
    found.value(measure, figure.operations, point.tasks)
}

/// A row that is not off needs no reason, unless that is chance.
fn with_reason(row: Compared) -> Compared {
    let doubtful = row.simulated.as_ref().is_some_and(Predicted::is_doubtful);
    let reason = row.reason.clone().filter(|_| doubtful);
    Compared { reason, ..row }
}

impl Predicted {
    fn is_doubtful(&self) -> bool {
        self.error.abs() > TOLERATED || self.spread.is_some_and(|spread| spread > STEADY)
    }
}

/// The simulated curve of `spec`, as far as it was simulated.
fn curve(spec: &CurveSpec, results: &Results) -> Option<Curve> {
    let curves = [0, 1, 2].map(|at| {
        let rate =
            |point: Point| Some((point.tasks, 1e6 / results.get(&point.id)?[at]?.usecs_per_op));
        spec.points().filter_map(rate).collect::<Vec<_>>()
    });
    let complete = |curve: &[_]| curve.len() == spec.counts.len();
    // Of half a curve nobody can say whether it has the shape.
    let shape = spec.shape.filter(|_| complete(&curves[0])).map(|expected| {
        let fits = [0, 1, 2].map(|at| complete(&curves[at]).then(|| expected.fits(&curves[at])));
        ShapeFound {
            words: spec.words.clone().unwrap_or_default(),
            fits,
            wall_at: shape::wall(&curves[0]),
            scales_to: shape::scales_to(&curves[0]),
            reason: spec.reason.clone().filter(|_| fits[0] == Some(false)),
        }
    });
    let [points, ..] = curves;
    (!points.is_empty()).then(|| Curve {
        what: spec.text.clone(),
        target: format!("{}/{}", spec.point.machine, spec.point.era),
        points,
        mark: Mark::Simulated,
        shape,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::THREADS;

    /// Time per operation is the work of a call, twice that for what is patched, plus 1 us of latency.
    struct Fake;

    impl Simulation for Fake {
        fn run(&self, point: &Point, work: Option<u32>, factor: f64) -> Result<Simulated, Stop> {
            let work = f64::from(work.unwrap_or(500)) / 1e3;
            let usecs_per_op = if point.era.contains('+') { 2.0 * work } else { work } + factor;
            Ok(Simulated { usecs_per_op, cpu_usecs_per_op: 2.0 * usecs_per_op, spread: Some(0.01) })
        }
    }

    fn make(data: &Published, simulation: &dyn Simulation) -> Result<Page, Error> {
        page(data, Some(simulation), &Measurements::default(), &|_, _, _| {})
    }

    fn pages() -> impl Iterator<Item = (Published, Page)> {
        THREADS.iter().map(|(name, _)| {
            let data = Published::named(name).unwrap();
            let page = make(&data, &Fake).unwrap();
            (data, page)
        })
    }

    #[test]
    fn an_error_is_a_share_of_what_was_published_or_of_the_nearest_bound() {
        assert_eq!(error(15.0, [10.0, 10.0]), 0.5);
        assert_eq!(error(5.0, [10.0, 10.0]), -0.5);
        assert_eq!(error(15.0, [10.0, 20.0]), 0.0);
        assert_eq!(error(30.0, [10.0, 20.0]), 0.5);
        assert_eq!(error(5.0, [10.0, 20.0]), -0.5);
    }

    #[test]
    fn only_the_row_that_set_the_parameter_is_calibrated() {
        for (data, page) in pages() {
            let is_calibrated = |row: &&Compared| {
                row.simulated.as_ref().is_some_and(|ours| ours.mark == Mark::Calibrated)
            };
            let calibrated: Vec<_> = page.compared.iter().filter(is_calibrated).collect();
            match page.calibration.last() {
                Some((from, Calibration::Found { .. })) => {
                    assert_eq!(calibrated.len(), 1, "{}", data.name);
                    assert_eq!(calibrated[0].what, *from);
                    let error = calibrated[0].simulated.as_ref().unwrap().error;
                    assert!(error.abs() < 0.01, "{calibrated:?}");
                }
                _ => assert!(calibrated.is_empty(), "{}", data.name),
            }
        }
    }

    #[test]
    fn errors_and_sensitivity_are_those_of_the_simulation() {
        let data = Published::named("file-list").unwrap();
        let page = make(&data, &Fake).unwrap();
        let Some((_, Calibration::Found { work_ns, .. })) = page.calibration[..].last() else {
            panic!("within reach")
        };
        let work_ns = *work_ns;
        // 1.51 = 2 work + 1.
        assert!((250..=260).contains(&work_ns), "{work_ns}");
        let work = f64::from(work_ns) / 1e3;
        let base = &page.compared[0];
        let ours = base.simulated.as_ref().unwrap();
        assert_eq!((&*base.published, ours.mark), ("2.11", Mark::Simulated));
        assert!((ours.value - (1.0 + work)).abs() < 1e-9);
        assert!((ours.error - ((1.0 + work) / 2.11 - 1.0)).abs() < 1e-9);
        let [less, more] = ours.sensitivity.unwrap();
        assert!((less - (0.9 + work)).abs() < 1e-9);
        assert!((more - (1.1 + work)).abs() < 1e-9);
    }

    #[test]
    fn a_reason_stands_only_beside_what_is_off_and_there_always() {
        for (data, page) in pages() {
            for row in &page.compared {
                let doubtful = row.simulated.as_ref().is_some_and(Predicted::is_doubtful);
                assert!(row.reason.is_none() || doubtful, "{row:?}");
            }
            let figures = data.figures.iter().filter(|figure| figure.point.is_some());
            let reasons = figures.map(|figure| (&figure.id, &figure.reason));
            let ratios = data.ratios.iter().map(|ratio| (&ratio.id, &ratio.reason));
            for (id, reason) in reasons.chain(ratios) {
                assert!(reason.is_some(), "{}: {id} has no reason, should it be off", data.name);
            }
        }
    }

    #[test]
    fn a_time_of_tasks_grows_with_them() {
        let data = Published::named("others").unwrap();
        let page = make(&data, &Fake).unwrap();
        let of = |id: &str| {
            let text = &data.ratio(id).unwrap().text;
            let row = page.compared.iter().find(|row| row.what == *text).unwrap();
            row.simulated.as_ref().unwrap().value
        };
        assert!((of("orphan-list/128") - 128.0).abs() < 1e-9);
        assert!((of("orphan-list/2") - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_failure_names_the_point() {
        struct Broken;
        impl Simulation for Broken {
            fn run(&self, _: &Point, _: Option<u32>, _: f64) -> Result<Simulated, Stop> {
                Err(Stop::Failed("dead-lock".into()))
            }
        }
        let data = Published::named("openbench").unwrap();
        let error = make(&data, &Broken).unwrap_err().to_string();
        assert!(error.contains("no-patch") && error.contains("dead-lock"), "{error}");
    }

    #[test]
    fn an_interrupted_page_has_what_was_finished() {
        /// Ends before whatever has not the latencies of the machine, and before one point at all.
        struct Impatient;
        impl Simulation for Impatient {
            fn run(&self, point: &Point, work: Option<u32>, by: f64) -> Result<Simulated, Stop> {
                if by != 1.0 || point.id == "rcu/64" {
                    return Err(Stop::Interrupted);
                }
                Fake.run(point, work, by)
            }
        }
        let page = make(&Published::named("vfs-scale").unwrap(), &Impatient).unwrap();
        assert!(page.partial);
        let ours = page.compared[0].simulated.as_ref().unwrap();
        assert_eq!(ours.sensitivity, None);
        let verdicts: Vec<bool> = page.curves.iter().map(|curve| curve.shape.is_some()).collect();
        assert_eq!(verdicts, [true, true, false, false], "the bug's has no words, the last is cut");
        assert_eq!(page.curves[3].points.len(), page.curves[0].points.len() - 1);

        struct AtOnce;
        impl Simulation for AtOnce {
            fn run(&self, _: &Point, _: Option<u32>, _: f64) -> Result<Simulated, Stop> {
                Err(Stop::Interrupted)
            }
        }
        let page = make(&Published::named("openbench").unwrap(), &AtOnce).unwrap();
        assert!(page.partial && page.compared.iter().all(|row| row.simulated.is_none()));
    }
}
