//! The crews of a run, and which of them runs what.

use crate::bench::Bench;
use crate::crew::{Crew, Ended, Slice};
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::lab_target::LabSpec;
use crate::machine::topology::{Pin, order};
use crate::plan::{CurveRequest, Plan, PlannedPoint};
use crate::target::{Target, c_path};
use std::path::PathBuf;
use vfs_api::{Capability, TaskMode};

/// How often a disturbed slice is repeated.
const REPEATS: u32 = 3;

/// The crews of a run: one per mode, and one for each curve that has to be alone.
#[derive(Default)]
pub(crate) struct Crews {
    crews: Vec<(TaskMode, Crew)>,
    /// For each curve of the request: which crew, and its number there.
    place: Vec<(usize, usize)>,
}

impl Crews {
    /// None if the user asked to end meanwhile.
    pub(crate) fn start(
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
        for (mode, members) in groups(&request.curves) {
            let mut benches: Vec<(String, Box<dyn Bench>)> = Vec::new();
            for number in members {
                let curve = &request.curves[number];
                let bench = match (&curve.target, &dirs[number]) {
                    (Target::Lab { era, .. }, _) => {
                        let spec = LabSpec {
                            era: *era,
                            mode: curve.mode,
                            tasks: most,
                            locks: request.locks.is_some(),
                            before: curve.before,
                        };
                        (curve.bind_lab)(&curve.workload, spec)
                    }
                    (Target::Dir(_), Some(dir)) => (curve.bind)(&curve.workload, c_path(dir)),
                    // What is simulated needs no tasks here; a directory was made for every `dir:`.
                    (Target::Sim { .. }, _) | (Target::Dir(_), None) => continue,
                };
                crews.place[number] = (crews.crews.len(), benches.len());
                benches.push((curve.name(), bench));
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

    /// Runs the point's slice, anew if it was disturbed.
    pub(crate) fn run(
        &mut self,
        point: &PlannedPoint,
        interrupt: &Interrupt,
    ) -> Result<Ended, Error> {
        for _ in 0..REPEATS {
            match self.run_once(point, interrupt)? {
                Ended::Disturbed => continue,
                ended => return Ok(ended),
            }
        }
        Ok(Ended::Disturbed)
    }

    /// Runs the point's slice.
    pub(crate) fn run_once(
        &mut self,
        point: &PlannedPoint,
        interrupt: &Interrupt,
    ) -> Result<Ended, Error> {
        let (crew, curve) = self.place[point.curve];
        let slice = Slice {
            curve,
            tasks: point.tasks,
            length: point.length,
            phase: point.phase,
            tells: point.tells,
        };
        self.crews[crew].1.run(slice, interrupt)
    }

    /// Kernel thread ids of the point's tasks.
    pub(crate) fn tids(&self, point: &PlannedPoint) -> Vec<u32> {
        let (crew, _) = self.place[point.curve];
        self.crews[crew].1.tids(point.tasks)
    }

    /// CPUs of the point's tasks; empty if they are not pinned.
    pub(crate) fn cpus(&self, point: &PlannedPoint) -> Vec<u32> {
        let (crew, _) = self.place[point.curve];
        self.crews[crew].1.cpus(point.tasks)
    }

    /// Ends all tasks.
    pub(crate) fn end(&mut self) {
        for (_, crew) in &mut self.crews {
            crew.end();
        }
    }
}

/// Which curves share their tasks. Where each task is to have an fd table of its own it has none in common with other curves.
fn groups(curves: &[CurveRequest]) -> Vec<(TaskMode, Vec<usize>)> {
    let is_alone =
        |curve: &CurveRequest| curve.workload.info().needs.contains(&Capability::OwnTable);
    let mut groups = Vec::new();
    for mode in [TaskMode::Process, TaskMode::Thread] {
        let of_mode = || (0..curves.len()).filter(|at| curves[*at].hosting() == mode);
        groups.push((mode, of_mode().filter(|at| !is_alone(&curves[*at])).collect()));
        groups.extend(of_mode().filter(|at| is_alone(&curves[*at])).map(|at| (mode, vec![at])));
    }
    groups
}
