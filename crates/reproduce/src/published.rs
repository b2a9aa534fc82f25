//! The data files: published figures with their sources, and the points of the simulation that they are compared with.

use harness::{Before, SimTarget, Target};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use vfs_api::TaskMode;

/// Why a page cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// No thread of that name.
    #[error("no thread `{0}`; there are: {known}", known = known())]
    Unknown(String),
    /// A data file is not as it must be.
    #[error("published/{file}.toml: {what}")]
    Data {
        /// Its name.
        file: String,
        /// What is wrong.
        what: String,
    },
    /// A point could not be simulated.
    #[error("{point}: {what}")]
    Simulation {
        /// Which.
        point: String,
        /// What went wrong.
        what: String,
    },
}

fn known() -> String {
    THREADS.map(|(name, _)| name).join(", ")
}

macro_rules! threads {
    ($($name:literal),* $(,)?) => {
        /// The threads, in the order of their mails, and what was published elsewhere; with their data files.
        pub const THREADS: [(&str, &str); [$($name),*].len()] =
            [$(($name, include_str!(concat!("../../../published/", $name, ".toml")))),*];
    };
}

threads!("openbench", "fd-lookup", "orphan", "vfs-scale", "file-list", "others");

/// What of a point is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Wall time by operations of all tasks: the inverse of the machine's throughput.
    UsecsPerOp,
    /// Seconds until all tasks have done their operations.
    RealS,
    /// Seconds of CPU time of one task.
    SysS,
    /// 2^20 bytes per second of all tasks, at 4 KiB an operation.
    MbPerS,
}

impl Measure {
    /// The unit of the figure.
    pub fn unit(self) -> &'static str {
        match self {
            Measure::UsecsPerOp => "usecs/op",
            Measure::RealS | Measure::SysS => "s",
            Measure::MbPerS => "MB/s",
        }
    }
}

/// A point of the simulation.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Its name in the file; that of a curve's point ends in `/` and the tasks.
    pub id: String,
    /// Name of a built-in machine.
    pub machine: String,
    /// Sizes of the machine's levels from the innermost on, where it is not the built-in machine's size that was measured; levels
    /// beyond are not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<usize>>,
    /// Era and overrides, as after `lab:`.
    pub era: String,
    /// Name of a workload, or `tiobench_seqread` and its like.
    pub workload: String,
    /// Whether tasks are threads of one process.
    #[serde(default)]
    pub threads: bool,
    /// How many tasks.
    pub tasks: usize,
    /// Whether the root file system is remounted before.
    #[serde(default)]
    pub remounted: bool,
    /// Whether the directory is bound to a second mount before.
    #[serde(default)]
    pub second_mount: bool,
}

impl Point {
    /// How the tasks are made.
    pub fn mode(&self) -> TaskMode {
        if self.threads { TaskMode::Thread } else { TaskMode::Process }
    }

    /// What happens first.
    pub fn before(&self) -> Before {
        match (self.remounted, self.second_mount) {
            (true, _) => Before::Remount,
            (false, true) => Before::SecondMount,
            (false, false) => Before::Nothing,
        }
    }

    /// The machine of that size and its kernel.
    ///
    /// # Errors
    /// In words: there is none of that name, or it has fewer levels.
    pub(crate) fn target(&self) -> Result<SimTarget, String> {
        let Self { machine, era, .. } = self;
        let mut target = match format!("sim:{machine}/{era}").parse::<Target>() {
            Ok(Target::Sim { target, .. }) => *target,
            Ok(_) => unreachable!("it begins with sim:"),
            Err(error) => return Err(error.to_string()),
        };
        if let Some(sizes) = &self.sizes {
            let levels = &mut target.machine.levels;
            if sizes.is_empty() || sizes.len() > levels.len() {
                return Err(format!("{machine} has {} levels", levels.len()));
            }
            levels.truncate(sizes.len());
            levels.iter_mut().zip(sizes).for_each(|(level, size)| level.size = *size);
        }
        Ok(target)
    }
}

/// A figure of the published table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Figure {
    pub(crate) id: String,
    /// Which table of the mail, if it has several.
    #[serde(default)]
    pub(crate) table: String,
    pub(crate) row: String,
    pub(crate) column: String,
    /// As printed.
    pub(crate) printed: String,
    #[serde(default)]
    pub(crate) unit: String,
    /// What it is compared with; nothing where only ratios can be, or the simulation has nothing like it.
    pub(crate) point: Option<String>,
    pub(crate) measure: Option<Measure>,
    /// Operations of a task in the published run.
    #[serde(default)]
    pub(crate) operations: f64,
    /// The most likely reason, if it comes out wrong.
    pub(crate) reason: Option<String>,
}

/// A ratio of two points' times per operation.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ratio {
    pub(crate) id: String,
    pub(crate) text: String,
    /// Points.
    pub(crate) of: String,
    pub(crate) over: String,
    /// Of the time of a task, not of the machine: what grows with the tasks, each doing as much.
    #[serde(default)]
    pub(crate) per_task: bool,
    /// Two figures whose quotient is the published one ...
    pub(crate) figures: Option<[String; 2]>,
    /// ... or the words of the mail, and the range that they mean; without `most` it has no end.
    pub(crate) words: Option<String>,
    pub(crate) least: Option<f64>,
    pub(crate) most: Option<f64>,
    pub(crate) reason: Option<String>,
}

/// A curve, and what the mail says of its shape.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CurveSpec {
    pub(crate) text: String,
    pub(crate) counts: Vec<usize>,
    /// Of the first point; `tasks` and `id` of it are replaced.
    pub(crate) point: Point,
    /// The mail's words; none for a curve that the mail does not have.
    pub(crate) words: Option<String>,
    pub(crate) shape: Option<ShapeSpec>,
    pub(crate) reason: Option<String>,
}

/// A shape in figures.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ShapeSpec {
    /// Throughput stops to rise at so many tasks.
    WallAt(usize),
    /// Throughput rises up to so many tasks.
    ScalesTo(usize),
}

/// Where the one parameter comes from.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CalibrationSpec {
    /// Figures or ratios: the first of them that some work brings about.
    pub(crate) from: Vec<String>,
    /// Work of a call beyond which nobody looks.
    pub(crate) highest_ns: u32,
}

/// A data file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// On the command line.
    pub(crate) name: String,
    pub(crate) title: String,
    /// Who published it, where and when.
    pub(crate) source: String,
    pub(crate) setup: String,
    /// What of the mail is wrong or missing, and how it is read here.
    #[serde(default)]
    pub(crate) slips: Vec<String>,
    #[serde(default)]
    pub(crate) not_simulated: Vec<String>,
    pub(crate) calibration: CalibrationSpec,
    #[serde(default, rename = "point")]
    pub(crate) points: Vec<Point>,
    #[serde(default, rename = "figure")]
    pub(crate) figures: Vec<Figure>,
    #[serde(default, rename = "ratio")]
    pub(crate) ratios: Vec<Ratio>,
    #[serde(default, rename = "curve")]
    pub(crate) curves: Vec<CurveSpec>,
}

impl Figure {
    /// The printed number.
    pub(crate) fn value(&self) -> f64 {
        self.printed.parse().expect("`check` has parsed it")
    }
}

impl CurveSpec {
    pub(crate) fn points(&self) -> impl Iterator<Item = Point> {
        let at = |&tasks| Point {
            id: format!("{}/{tasks}", self.point.id),
            tasks,
            ..self.point.clone()
        };
        self.counts.iter().map(at)
    }
}

impl Published {
    /// The thread of that name.
    ///
    /// # Errors
    /// There is none.
    pub fn named(name: &str) -> Result<Published, Error> {
        let known = THREADS.iter().find(|(known, _)| *known == name);
        let (name, text) = known.ok_or_else(|| Error::Unknown(name.to_owned()))?;
        Published::from_toml(name, text)
    }

    /// Reads a data file.
    pub(crate) fn from_toml(name: &str, text: &str) -> Result<Published, Error> {
        let failed = |what| Error::Data { file: name.to_owned(), what };
        let data: Published = toml::from_str(text).map_err(|error| failed(error.to_string()))?;
        data.check().map_err(failed)?;
        Ok(data)
    }

    /// All points, those of curves as well.
    pub(crate) fn all_points(&self) -> Vec<Point> {
        let curves = self.curves.iter().flat_map(CurveSpec::points);
        self.points.iter().cloned().chain(curves).collect()
    }

    /// The point of that name, which `check` has looked for.
    pub(crate) fn point(&self, id: &str) -> Point {
        let points = self.all_points();
        points.into_iter().find(|point| point.id == id).expect("`check` has looked for it")
    }

    pub(crate) fn figure(&self, id: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.id == id)
    }

    pub(crate) fn ratio(&self, id: &str) -> Option<&Ratio> {
        self.ratios.iter().find(|ratio| ratio.id == id)
    }

    /// That what names something names something that is there.
    fn check(&self) -> Result<(), String> {
        let points = self.all_points();
        let ids: BTreeSet<&str> = points.iter().map(|point| &*point.id).collect();
        if ids.len() < points.len() {
            return Err("two points of one name".into());
        }
        let known = |id: &str| match ids.contains(id) {
            true => Ok(()),
            false => Err(format!("no point `{id}`")),
        };
        for figure in &self.figures {
            let id = &figure.id;
            if !figure.printed.parse::<f64>().is_ok_and(f64::is_finite) {
                return Err(format!("figure `{id}`: `{}` is no number", figure.printed));
            }
            if figure.measure.is_some() != figure.point.is_some() {
                return Err(format!("figure `{id}`: `measure` and `point` go together"));
            }
            let counted = matches!(figure.measure, Some(Measure::RealS | Measure::SysS));
            if counted && figure.operations <= 0.0 {
                return Err(format!("figure `{id}`: how many operations?"));
            }
            figure.point.as_deref().map_or(Ok(()), known)?;
        }
        for ratio in &self.ratios {
            known(&ratio.of)?;
            known(&ratio.over)?;
            match (&ratio.figures, ratio.least, ratio.most) {
                (Some(figures), None, None) => {
                    if let Some(wrong) = figures.iter().find(|id| self.figure(id).is_none()) {
                        return Err(format!("ratio `{}`: no figure `{wrong}`", ratio.id));
                    }
                }
                (None, Some(least), most)
                    if 0.0 < least && most.is_none_or(|most| least <= most) => {}
                _ => return Err(format!("ratio `{}`: two figures, or at least `least`", ratio.id)),
            }
        }
        for from in &self.calibration.from {
            let simulated = self.figure(from).is_some_and(|figure| figure.point.is_some());
            if !simulated && self.ratio(from).is_none() {
                return Err(format!("calibration: no simulated row `{from}`"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_data_file_reads() {
        for (name, _) in THREADS {
            let data = Published::named(name).unwrap();
            assert_eq!(data.name, name);
            assert!(!data.figures.is_empty() || !data.ratios.is_empty(), "{name}");
        }
        let error = Published::named("x").unwrap_err().to_string();
        assert!(error.contains("file-list"), "{error}");
    }

    #[test]
    fn the_figures_are_those_of_the_mails() {
        let printed = |thread: &str, id: &str| {
            Published::named(thread).unwrap().figure(id).unwrap().printed.clone()
        };
        for (thread, id, expected) in [
            ("openbench", "no-patch/real", "30.111"),
            ("openbench", "ro-bind/sys", "47.984"),
            ("fd-lookup", "kref/randwrite", "230.10"),
            ("fd-lookup", "2.6.7/seqread", "410.33"),
            ("orphan", "16/without/40", "118.593"),
            ("orphan", "160/with/1500", "7013.618"),
            ("file-list", "8-socket/s_files", "2.70"),
            ("file-list", "dual-core/win", "39.7"),
        ] {
            assert_eq!(printed(thread, id), expected, "{thread} {id}");
        }
    }

    #[test]
    fn what_is_inconsistent_is_refused() {
        let (name, text) = THREADS[0];
        for (from, to, why) in [
            ("printed = \"30.111\"", "printed = \"much\"", "no number"),
            ("from = [\"no-patch/", "from = [\"nowhere/", "no simulated row"),
            ("point = \"no-patch\"", "point = \"elsewhere\"", "no point `elsewhere`"),
            ("operations = 65536", "", "how many operations"),
            ("title =", "titel =", "unknown field"),
        ] {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text, "{from}");
            let error = Published::from_toml(name, &changed).unwrap_err().to_string();
            assert!(error.contains(why), "{from}: {error}");
        }
    }
}
