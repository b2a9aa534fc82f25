//! How small a change can be seen: the outcome of comparing a target with itself.

use crate::Run;
use serde::{Deserialize, Serialize};

/// One execution of `vfscale power`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PowerReport {
    /// Always [`PowerReport::SCHEMA`].
    pub schema: String,
    /// Seconds that the command measured for.
    pub seconds: f64,
    /// One per workload, target, mode and task count.
    pub points: Vec<PowerPoint>,
    /// One of the two equal sides, whole; the other one is of the same kind.
    pub run: Run,
}

impl PowerReport {
    /// The schema's name and version.
    pub const SCHEMA: &str = "vfscale.power/1";
}

/// What can be seen at one task count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PowerPoint {
    /// Name of the workload.
    pub workload: String,
    /// The target, which was compared with itself.
    pub target: String,
    /// process or thread.
    pub mode: String,
    /// Tasks.
    pub tasks: u32,
    /// Rounds that were measured.
    pub rounds: u32,
    /// What this comparison of equals itself came to: after / before - 1 and its interval, which should hold 0.
    pub change: Option<f64>,
    /// 95 % interval of `change`.
    pub ci95: Option<[f64; 2]>,
    /// What can be seen in so many seconds; empty where the rounds were too few to tell.
    pub sees: Vec<Sees>,
    /// Why there is nothing to tell.
    pub why_not: Option<String>,
}

/// What a comparison of a given length can see.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sees {
    /// Length of the whole comparison, seconds.
    pub seconds: f64,
    /// Rounds in that time.
    pub rounds: u32,
    /// Smallest change (share) that four comparisons of five find.
    pub found_80: f64,
    /// Smallest change (share) that nine of ten find.
    pub found_90: f64,
    /// Smallest bound (share) within which four comparisons of five show equal sides to be.
    pub equal_80: f64,
}
