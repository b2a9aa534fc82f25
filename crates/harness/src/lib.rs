//! The harness: it makes tasks, gives them slices and takes down what they did.
//!
//! A run is planned ([`Plan`]), checked against the machine (preflight), and carried out ([`run`]): tasks are made once, pinned
//! and kept; slices of all curves and task counts follow each other in random order inside rounds, so that drift hits all
//! alike. The process that called [`run`] is the conductor: it sleeps while a slice lasts. A janitor process removes the run's
//! directory, however the run ends.

pub mod agent;
mod bench;
mod capabilities;
mod clock;
mod crew;
mod crews;
mod dir;
mod error;
mod fixed;
mod guest_target;
mod instructions;
mod interrupt;
mod janitor;
mod lab_target;
mod latency;
mod lock_trace;
pub mod machine;
mod order;
mod phases;
mod plan;
mod preflight;
mod proc_stat;
mod run;
mod rundir;
mod session;
mod shared;
mod sim_phases;
mod sim_target;
mod switch;
mod target;
mod task;
pub mod topology_probe;
mod user_machines;

pub use ::machine::sim::Machine;
pub use bench::{Bench, Extra, FailedOn, Next, Outcome, Runner, bind, on_dir};
pub use capabilities::can_run;
pub use dir::Dir;
pub use error::{Error, Who};
pub use fixed::{FixedPlan, FixedRequest, Users, run_fixed};
pub use guest_target::{Clock, Guests};
pub use interrupt::Interrupt;
pub use lab_target::{Before, LabFs, SECOND_MOUNT};
pub use latency::Latencies;
pub use lock_trace::{LockSource, Locks};
pub use plan::{CurveRequest, Plan, Request, Sides, Switch};
pub use run::{Estimate, Measured, Phase, Progress, run};
pub use rundir::{Found, Owner, find as find_leftovers, remove_leftover};
pub use sim_target::{SimRun, SimTarget, in_parallel, machines};
pub use target::{KINDS, Kind, NoTarget, Target};
pub use user_machines::{UserMachine, UserMachines, check_name as check_machine_name};
