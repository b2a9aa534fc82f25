//! From a data file to a page: calibrate, simulate, compare.

use crate::calibrate::{Calibration, bisect};
use crate::published::{CurveSpec, Error, Figure, Point, Published, Ratio};
use crate::shape;
use crate::simulation::{Measured, Simulation};
use serde::Serialize;
use std::collections::BTreeMap;

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
}

impl Mark {
    /// As in the page.
    pub fn name(self) -> &'static str {
        match self {
            Mark::Published => "published",
            Mark::Calibrated => "calibrated",
            Mark::Simulated => "simulated",
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
    /// Ours.
    pub simulated: f64,
    /// Whether it was predicted.
    pub mark: Mark,
    /// How far ours is off what was published, a share of it; 0 within its range.
    pub error: f64,
    /// Ours with all latencies a tenth less, and a tenth more.
    pub sensitivity: [f64; 2],
    /// How far apart seeds are, a share.
    pub spread: f64,
    /// Why it is off, most likely; only if it is, or if the seeds disagree.
    pub reason: Option<String>,
}

/// Whether a curve has the shape that the mail describes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShapeFound {
    /// The mail's words.
    pub words: String,
    /// With the latencies of the machine, a tenth less, a tenth more.
    pub fits: [bool; 3],
    /// Throughput rises no more from so many tasks on.
    pub wall_at: usize,
    /// And rises at every step up to so many.
    pub scales_to: usize,
    /// Why it has not, most likely; only if it has not.
    pub reason: Option<String>,
}

/// A simulated curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// What it is.
    pub what: String,
    /// Machine and era.
    pub target: String,
    /// Tasks and operations per second.
    pub points: Vec<(usize, f64)>,
    /// Always `simulated`.
    pub mark: Mark,
    /// What the mail says of it.
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
type Results = BTreeMap<String, [Measured; 3]>;

struct Maker<'a> {
    data: &'a Published,
    simulation: &'a dyn Simulation,
}

/// Makes the page of a thread.
///
/// # Errors
/// A point could not be simulated.
pub fn page(data: &Published, simulation: &dyn Simulation) -> Result<Page, Error> {
    let maker = Maker { data, simulation };
    let mut calibration = Vec::new();
    let mut set = None;
    for from in &data.calibration.from {
        let found = maker.calibrate(from)?;
        calibration.push((maker.row(from), found));
        if let Calibration::Found { work_ns, .. } = found {
            set = Some((&**from, work_ns));
            break;
        }
    }
    let points = data.all_points();
    let results = maker.simulate(&points, set.map(|(_, work_ns)| work_ns))?;
    let from = set.map(|(from, _)| from);
    let figures = data.figures.iter().filter_map(|figure| maker.figure(figure, from, &results));
    let ratios = data.ratios.iter().map(|ratio| maker.ratio(ratio, from, &results));
    Ok(Page {
        name: data.name.clone(),
        title: data.title.clone(),
        source: data.source.clone(),
        setup: data.setup.clone(),
        slips: data.slips.clone(),
        not_simulated: data.not_simulated.clone(),
        published: data.figures.iter().map(quote).collect(),
        calibration,
        compared: figures.chain(ratios).collect(),
        curves: data.curves.iter().map(|spec| curve(spec, &results)).collect(),
        points,
    })
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
    fn point(&self, id: &str) -> Point {
        let points = self.data.all_points();
        points.into_iter().find(|point| point.id == id).expect("`check` has looked for it")
    }

    fn run(&self, point: &Point, work_ns: Option<u32>, latencies: f64) -> Result<Measured, Error> {
        let failed = |what| Error::Simulation { point: point.id.clone(), what };
        self.simulation.run(point, work_ns, latencies).map_err(failed)
    }

    fn row(&self, from: &str) -> String {
        let ratio = || self.data.ratio(from).map_or_else(String::new, |ratio| ratio.text.clone());
        self.data.figure(from).map_or_else(ratio, what)
    }

    fn calibrate(&self, from: &str) -> Result<Calibration, Error> {
        let spec = &self.data.calibration;
        if let Some(figure) = self.data.figure(from) {
            let point = self.point(figure.point.as_deref().expect("`check` has looked for it"));
            return bisect(figure.value(), spec.highest_ns, |work_ns| {
                Ok(simulated(figure, &self.run(&point, Some(work_ns), 1.0)?, &point))
            });
        }
        let ratio = self.data.ratio(from).expect("`check` has looked for it");
        let ([least, most], _) = self.published(ratio);
        let points = [self.point(&ratio.of), self.point(&ratio.over)];
        bisect(
            if most.is_finite() { f64::midpoint(least, most) } else { least },
            spec.highest_ns,
            |work_ns| {
                let both =
                    harness::in_parallel(&points, |point| self.run(point, Some(work_ns), 1.0));
                let both = both.into_iter().collect::<Result<Vec<_>, _>>()?;
                Ok(both[0].usecs_per_op / both[1].usecs_per_op)
            },
        )
    }

    fn simulate(&self, points: &[Point], work_ns: Option<u32>) -> Result<Results, Error> {
        let pairs = points.iter().flat_map(|point| LATENCIES.map(|factor| (point, factor)));
        let mut pairs: Vec<(&Point, f64)> = pairs.collect();
        // The longest first, so that no CPU of the host is left alone with one at the end.
        pairs.sort_by_key(|(point, _)| std::cmp::Reverse(point.tasks));
        let done =
            harness::in_parallel(&pairs, |(point, factor)| self.run(point, work_ns, *factor));
        let mut results = Results::new();
        for ((point, factor), measured) in pairs.iter().zip(done) {
            let measured = measured?;
            let at = LATENCIES.iter().position(|known| known == factor).unwrap_or_default();
            results.entry(point.id.clone()).or_insert([measured; 3])[at] = measured;
        }
        Ok(results)
    }

    fn figure(&self, figure: &Figure, from: Option<&str>, results: &Results) -> Option<Compared> {
        let point = self.point(figure.point.as_deref()?);
        let measured = &results[&point.id];
        let published = figure.value();
        let row = Compared {
            what: what(figure),
            unit: figure.measure?.unit().to_owned(),
            published: figure.printed.clone(),
            published_range: [published; 2],
            mark: mark(&figure.id, from),
            spread: measured[0].spread,
            reason: figure.reason.clone(),
            ..compare(measured.map(|one| simulated(figure, &one, &point)), [published; 2])
        };
        Some(with_reason(row))
    }

    fn published(&self, ratio: &Ratio) -> ([f64; 2], String) {
        if let Some([of, over]) = &ratio.figures {
            let value = |id: &str| self.data.figure(id).expect("`check` has looked for it").value();
            let value = value(of) / value(over);
            return ([value; 2], format!("{value:.3}"));
        }
        let range = [ratio.least.unwrap_or(1.0), ratio.most.unwrap_or(f64::INFINITY)];
        (range, format!("\"{}\"", ratio.words.as_deref().unwrap_or_default()))
    }

    fn ratio(&self, ratio: &Ratio, from: Option<&str>, results: &Results) -> Compared {
        let (range, text) = self.published(ratio);
        let (of, over) = (&results[&ratio.of], &results[&ratio.over]);
        let values = [0, 1, 2].map(|at| of[at].usecs_per_op / over[at].usecs_per_op);
        with_reason(Compared {
            what: ratio.text.clone(),
            published: text,
            mark: mark(&ratio.id, from),
            spread: of[0].spread.max(over[0].spread),
            reason: ratio.reason.clone(),
            ..compare(values, range)
        })
    }
}

/// `from`: the row that the parameter was set from.
fn mark(id: &str, from: Option<&str>) -> Mark {
    if from == Some(id) { Mark::Calibrated } else { Mark::Simulated }
}

fn simulated(figure: &Figure, measured: &Measured, point: &Point) -> f64 {
    let measure = figure.measure.expect("`check`: it goes with `point`");
    measured.value(measure, figure.operations, point.tasks)
}

/// A row with its figures, and nothing else.
fn compare(values: [f64; 3], published: [f64; 2]) -> Compared {
    Compared {
        what: String::new(),
        unit: String::new(),
        published: String::new(),
        published_range: published,
        simulated: values[0],
        mark: Mark::Simulated,
        error: error(values[0], published),
        sensitivity: [values[1], values[2]],
        spread: 0.0,
        reason: None,
    }
}

/// A row that is not off needs no reason, unless that is chance.
fn with_reason(row: Compared) -> Compared {
    let doubtful = row.error.abs() > TOLERATED || row.spread > STEADY;
    let reason = row.reason.clone().filter(|_| doubtful);
    Compared { reason, ..row }
}

fn curve(spec: &CurveSpec, results: &Results) -> Curve {
    let curves = [0, 1, 2].map(|at| {
        let rate = |point: Point| (point.tasks, 1e6 / results[&point.id][at].usecs_per_op);
        spec.points().map(rate).collect::<Vec<_>>()
    });
    let shape = spec.shape.map(|expected| {
        let fits = [0, 1, 2].map(|at| expected.fits(&curves[at]));
        ShapeFound {
            words: spec.words.clone().unwrap_or_default(),
            fits,
            wall_at: shape::wall(&curves[0]),
            scales_to: shape::scales_to(&curves[0]),
            reason: spec.reason.clone().filter(|_| !fits[0]),
        }
    });
    let [points, ..] = curves;
    Curve {
        what: spec.text.clone(),
        target: format!("{}/{}", spec.point.machine, spec.point.era),
        points,
        mark: Mark::Simulated,
        shape,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::THREADS;

    /// Time per operation is the work of a call, twice that for what is patched, plus 1 us of latency.
    struct Fake;

    impl Simulation for Fake {
        fn run(&self, point: &Point, work: Option<u32>, factor: f64) -> Result<Measured, String> {
            let work = f64::from(work.unwrap_or(500)) / 1e3;
            let usecs_per_op = if point.era.contains('+') { 2.0 * work } else { work } + factor;
            Ok(Measured { usecs_per_op, cpu_usecs_per_op: 2.0 * usecs_per_op, spread: 0.01 })
        }
    }

    fn pages() -> impl Iterator<Item = (Published, Page)> {
        THREADS.iter().map(|(name, _)| {
            let data = Published::named(name).unwrap();
            let page = page(&data, &Fake).unwrap();
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
            let calibrated: Vec<_> =
                page.compared.iter().filter(|row| row.mark == Mark::Calibrated).collect();
            let (from, last) = page.calibration.last().unwrap();
            match last {
                Calibration::Found { .. } => {
                    assert_eq!(calibrated.len(), 1, "{}", data.name);
                    assert_eq!(calibrated[0].what, *from);
                    assert!(calibrated[0].error.abs() < 0.01, "{calibrated:?}");
                }
                Calibration::OutOfReach { .. } => assert!(calibrated.is_empty(), "{}", data.name),
            }
        }
    }

    #[test]
    fn errors_and_sensitivity_are_those_of_the_simulation() {
        let data = Published::named("file-list").unwrap();
        let page = page(&data, &Fake).unwrap();
        let Some((_, Calibration::Found { work_ns, .. })) = page.calibration[..].last() else {
            panic!("within reach")
        };
        let work_ns = *work_ns;
        // 1.51 = 2 work + 1.
        assert!((250..=260).contains(&work_ns), "{work_ns}");
        let work = f64::from(work_ns) / 1e3;
        let base = &page.compared[0];
        assert_eq!((&*base.published, base.mark), ("2.11", Mark::Simulated));
        assert!((base.simulated - (1.0 + work)).abs() < 1e-9);
        assert!((base.error - ((1.0 + work) / 2.11 - 1.0)).abs() < 1e-9);
        assert!((base.sensitivity[0] - (0.9 + work)).abs() < 1e-9);
        assert!((base.sensitivity[1] - (1.1 + work)).abs() < 1e-9);
    }

    #[test]
    fn a_reason_stands_only_beside_what_is_off() {
        for (_, page) in pages() {
            for row in &page.compared {
                let doubtful = row.error.abs() > TOLERATED || row.spread > STEADY;
                assert!(row.reason.is_none() || doubtful, "{row:?}");
            }
        }
    }

    #[test]
    fn a_failure_names_the_point() {
        struct Broken;
        impl Simulation for Broken {
            fn run(&self, _: &Point, _: Option<u32>, _: f64) -> Result<Measured, String> {
                Err("dead-lock".into())
            }
        }
        let data = Published::named("openbench").unwrap();
        let error = page(&data, &Broken).unwrap_err().to_string();
        assert!(error.contains("no-patch") && error.contains("dead-lock"), "{error}");
    }
}
