//! Figures over time: what stored runs say about one curve and task count, in the order in which they were taken.

use crate::{Kind, Metric};
use serde::{Deserialize, Serialize};

/// The output of `vfscale history`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Always [`History::SCHEMA`].
    pub schema: String,
    /// One per workload, target, mode, task count and machine.
    pub series: Vec<Series>,
}

impl History {
    /// The schema's name and version.
    pub const SCHEMA: &str = "vfscale.history/1";
}

/// One figure over time, on one machine under the same conditions but for its kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Name of the workload.
    pub workload: String,
    /// The target.
    pub target: String,
    /// process or thread.
    pub mode: String,
    /// Where the figures come from.
    pub kind: Kind,
    /// What the values are.
    pub metric: Metric,
    /// Tasks.
    pub tasks: u32,
    /// What tells the machine from others.
    pub machine: String,
    /// The first taken first.
    pub runs: Vec<HistoryRun>,
    /// Median of the changes from one run to the next, as a share, without the steps at change points: what two runs of the
    /// same thing differ by. None with fewer than three runs.
    pub noise: Option<f64>,
    /// Where the level changed for good.
    pub changes: Vec<LevelChange>,
}

/// A run's figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryRun {
    /// What the run is called.
    pub run: String,
    /// UTC, RFC 3339.
    pub started: String,
    /// uname: release and version.
    pub kernel: String,
    /// Median over rounds, in the unit of the metric.
    pub value: f64,
    /// 95 % interval of `value`.
    pub ci95: Option<[f64; 2]>,
    /// Rounds.
    pub rounds: u32,
    /// It was interrupted.
    pub partial: bool,
}

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelChange {
    /// Index of the first run of the new level.
    pub at: usize,
    /// Level after / level before - 1.
    pub change: f64,
    /// How likely a change like this would be found where there is none.
    pub p: f64,
}
