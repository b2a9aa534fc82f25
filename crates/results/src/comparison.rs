//! Before and after: two runs, and what can be said about their difference.

use crate::{Metric, Run};
use serde::{Deserialize, Serialize};

/// One execution of `vfscale compare`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Always [`Comparison::SCHEMA`].
    pub schema: String,
    /// Version of the program.
    pub vfscale: String,
    /// argv.
    pub command: Vec<String>,
    /// How the samples of the two sides belong together.
    pub pairing: Pairing,
    /// What the sides are called: targets, names of stored runs, or states.
    pub labels: [String; 2],
    /// Conditions that are not the same on both sides.
    pub differences: Vec<Difference>,
    /// Share below which a difference does not matter: "no difference" means shown to be smaller than this.
    pub bound: f64,
    /// In the order of the first side; only what both sides have.
    pub curves: Vec<ComparedCurve>,
    /// Curves and task counts that only one side has, in words.
    pub unmatched: Vec<String>,
    /// The first side, whole.
    pub before: Run,
    /// The second side, whole.
    pub after: Run,
}

impl Comparison {
    /// The schema's name and version.
    pub const SCHEMA: &str = "vfscale.comparison/1";
}

/// How the samples of two sides belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pairing {
    /// Round by round: slices of both sides stand side by side, so what disturbs the machine hits both.
    Interleaved,
    /// Two runs, each by itself: what changed on the machine between them is part of the difference.
    Stored,
}

/// A condition that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// Which: `kernel`, `cpu model`, ...
    pub what: String,
    /// On the first side.
    pub before: String,
    /// On the second.
    pub after: String,
}

/// A curve that both sides have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedCurve {
    /// Name of the workload.
    pub workload: String,
    /// process or thread.
    pub mode: String,
    /// Targets of the two sides.
    pub targets: [String; 2],
    /// What the values are.
    pub metric: Metric,
    /// Ascending by tasks.
    pub points: Vec<ComparedPoint>,
    /// How the shape of the curve changed; none with too few task counts to have a shape.
    pub shape: Option<ShapeChange>,
}

/// A task count that both sides have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedPoint {
    /// Tasks.
    pub tasks: u32,
    /// Median over rounds of the first side, in the curve's unit.
    pub before: f64,
    /// Of the second side.
    pub after: f64,
    /// after / before - 1, estimated from the rounds (not the quotient of the medians); none where there are no rounds, or
    /// rounds in which nothing was done.
    pub change: Option<f64>,
    /// Interval of `change`. At 95 % for all task counts of the curve together (Holm), so that it never contradicts the verdict;
    /// none with too few rounds.
    pub interval: Option<[f64; 2]>,
    /// p-value of "no change", adjusted for the number of task counts (Holm).
    pub p: Option<f64>,
    /// What can be said.
    pub verdict: Verdict,
    /// Rounds, or the smaller number of the two runs' rounds.
    pub rounds: u32,
    /// The method of the interval: `bca`, `t` or `welch`; none without one.
    pub method: Option<String>,
    /// What was seen in the samples that makes the interval wider or the verdict less sure.
    pub notes: Vec<String>,
}

/// What can be said about a change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "verdict")]
pub enum Verdict {
    /// The second side is better.
    Faster,
    /// The second side is worse.
    Slower,
    /// The change is shown to be smaller than `bound`.
    NoDifference {
        /// Share.
        bound: f64,
    },
    /// Neither a change nor its absence is shown.
    Undecided {
        /// So many more rounds would probably do; none where that cannot be said.
        more_rounds: Option<u32>,
    },
}

/// How the shape of a curve changed. "Sure" means at 95 %, by a bootstrap over whole rounds; these statements are not adjusted for
/// each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShapeChange {
    /// Measured task count with the highest rate.
    pub peak: Moved<u32>,
    /// Task count at which the efficiency falls to a half, interpolated; none where it does not.
    pub knee: Moved<Option<f64>>,
    /// First measured task count after the peak with a rate more than 5 % below it; none where the curve does not fall.
    pub retrograde: Moved<Option<u32>>,
    /// The fits of the universal scalability law; none where it does not fit.
    pub usl: [Option<UslFit>; 2],
    /// Why there is no fit, or none on one side, in words.
    pub no_fit: Option<String>,
}

/// Something on the axis of task counts, on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moved<T> {
    /// On the first side.
    pub before: T,
    /// On the second.
    pub after: T,
    /// It surely moved in this direction.
    pub sure: bool,
}

/// A fit of the universal scalability law: X(n) = λn / (1 + σ(n-1) + κn(n-1)).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UslFit {
    /// Rate of one task.
    pub lambda: f64,
    /// Contention: the share that is done one after the other.
    pub sigma: f64,
    /// 95 % interval of `sigma`.
    pub sigma_ci95: [f64; 2],
    /// Coherence: what each pair of tasks costs.
    pub kappa: f64,
    /// 95 % interval of `kappa`.
    pub kappa_ci95: [f64; 2],
}
