//! The published tables of five kernel threads, beside what the simulator makes of them and what this machine measures.
//!
//! A thread is a file in `published/`: the figures as printed, where they come from, and which point of the simulation each is
//! compared with. One parameter per table, the local work of a call, is set from one named row; every other row is predicted.
//! Nothing is tuned per row, and what comes out wrong stays in the page.

#![forbid(unsafe_code)]

mod aim7;
mod calibrate;
mod format;
mod loops;
mod measure;
mod openbench;
mod page;
mod published;
mod shape;
mod simulation;
mod tiobench;

pub use calibrate::Calibration;
pub use format::{Block, Format, blocks, render};
pub use measure::{Measurements, On};
pub use page::{Compared, Curve, Mark, Page, Predicted, Quote, ShapeFound, Taken, Watch, page};
pub use published::{Error, Measure, Point, Published, THREADS};
pub use simulation::{Simulated, Simulation, Simulator, Stop};
