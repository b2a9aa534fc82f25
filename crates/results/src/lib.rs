//! The record of a run: every sample and the conditions they were taken under.
//!
//! Schema `vfscale.run/1`, documented in `docs/run-format.md` and `docs/run.schema.json`. Summaries in it are computed from
//! the samples ([`Point::from_samples`]) and are never stored alone, so that every later question can be asked of the data.

mod comparison;
mod history;
mod host;
mod lines;
mod power;
mod run;
mod summary;
mod traced;

pub use comparison::{
    ComparedCurve, ComparedPoint, Comparison, Difference, Moved, Pairing, ShapeChange, UslFit,
    Verdict,
};
pub use history::{History, HistoryRun, LevelChange, Series};
pub use host::{Cpu, Host, Mount, Quota, Topology};
pub use lines::NotLines;
pub use power::{PowerPoint, PowerReport, Sees};
pub use run::{
    Curve, FixedWork, Import, Kind, Latency, LineUse, LockUse, Metric, Plan, Point, RcuBacklog,
    Run, Sample, TimeShares, Warning,
};
pub use traced::{
    CpuSamples, KernelWait, Refused, SampledFunction, SampledStack, Scheduling, Traced, TracerCost,
    WaitStack,
};
