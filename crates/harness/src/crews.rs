//! The crews of a run, and which of them runs what.

use crate::bench::Bench;
use crate::crew::{Crew, Ended, Slice, Told};
use crate::error::Error;
use crate::guest_target::{self, ready};
use crate::interrupt::Interrupt;
use crate::lab_target::LabSpec;
use crate::lock_trace::TracePlan;
use crate::machine::topology::{Pin, order};
use crate::plan::{CurveRequest, Plan, PlannedPoint};
use crate::preflight;
use crate::target::{Target, c_path};
use guest::Guest;
use std::path::PathBuf;
use vfs_api::{Capability, TaskMode};

/// How often a disturbed slice is repeated.
const REPEATS: u32 = 3;

/// The crews of a run: here one per mode, and one for each curve that has to be alone; and one in each guest.
#[derive(Default)]
pub(crate) struct Crews {
    crews: Vec<(TaskMode, Crew)>,
    guests: Vec<Guest>,
    /// For each guest the CPU of its task 0, 1, ...; empty if they are not pinned.
    guest_cpus: Vec<Vec<u32>>,
    /// For each curve of the request.
    place: Vec<Place>,
    /// What was seen while guests booted.
    pub(crate) told: Vec<String>,
}

/// Where a curve's slices run.
#[derive(Clone, Copy)]
enum Place {
    /// In this crew, under this number.
    Here(usize, usize),
    /// In this guest, under this number.
    Guest(usize, usize),
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
        let place = vec![Place::Here(0, 0); request.curves.len()];
        let mut crews = Crews { place, ..Crews::default() };
        if !crews.boot(plan, interrupt)? {
            return Ok(None);
        }
        for (mode, members) in groups(&request.curves) {
            let mut benches: Vec<(String, Box<dyn Bench>)> = Vec::new();
            let inodes = members.iter().map(|at| preflight::inodes(&request.curves[*at], 1)).sum();
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
                    // What is simulated or in a guest needs no tasks here; a directory was made for every `dir:`.
                    (Target::Sim { .. } | Target::Guest(_), _) | (Target::Dir(_), None) => continue,
                };
                crews.place[number] = Place::Here(crews.crews.len(), benches.len());
                benches.push((curve.name(), bench));
            }
            if benches.is_empty() {
                continue;
            }
            let usable = plan.host.cpus.len();
            match Crew::start(mode, most, &order, usable, benches, inodes, interrupt)? {
                Some(crew) => crews.crews.push((mode, crew)),
                None => return Ok(None),
            }
        }
        Ok(Some(crews))
    }

    /// Boots the guests, each of which stands still when the next one boots. False if the user asked to end.
    fn boot(&mut self, plan: &Plan, interrupt: &Interrupt) -> Result<bool, Error> {
        for (number, guest) in plan.guests.iter().enumerate() {
            let Some(mut booted) = ready(guest, guest::Clock::Host, interrupt, &mut self.told)?
            else {
                return Ok(false);
            };
            booted.stop()?;
            self.guest_cpus.push(booted.task_cpus.clone());
            self.guests.push(booted);
            for (at, curve) in guest.curves.iter().enumerate() {
                self.place[*curve] = Place::Guest(number, at);
            }
        }
        Ok(true)
    }

    /// The guests, in the order of the plan.
    pub(crate) fn guests(&self) -> &[Guest] {
        &self.guests
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
        match self.place[point.curve] {
            Place::Here(crew, curve) => {
                let slice = Slice {
                    curve,
                    tasks: point.tasks,
                    length: point.length,
                    phase: point.phase,
                    tells: point.tells,
                };
                self.crews[crew].1.run(slice, interrupt)
            }
            Place::Guest(guest, curve) => self.run_in_guest(guest, curve, point, interrupt),
        }
    }

    /// Kernel thread ids of the point's tasks; none of those that are in a guest, which this kernel does not know.
    pub(crate) fn tids(&self, point: &PlannedPoint) -> Vec<u32> {
        match self.place[point.curve] {
            Place::Here(crew, _) => self.crews[crew].1.tids(point.tasks),
            Place::Guest(..) => Vec::new(),
        }
    }

    fn run_in_guest(
        &mut self,
        guest: usize,
        curve: usize,
        point: &PlannedPoint,
        interrupt: &Interrupt,
    ) -> Result<Ended, Error> {
        let alone = self.is_alone();
        let guest = &mut self.guests[guest];
        // Its answer is awaited even if the user asks to end, so that it can be told goodbye in order.
        let ended = guest.slice(curve, point.tasks, point.length)?;
        if !alone {
            guest.stop()?;
        }
        let disturbed = interrupt.pause_if_asked();
        Ok(match ended {
            _ if interrupt.asked() => Ended::Interrupted,
            guest::Slice::Measured(samples) if !disturbed => {
                Ended::Measured(samples, Told::default())
            }
            guest::Slice::Measured(_) | guest::Slice::Disturbed => Ended::Disturbed,
        })
    }

    /// Has the point traced where it runs, if that is a guest; none if it is not.
    ///
    /// # Errors
    /// The guest is lost.
    pub(crate) fn trace_in_guest(
        &mut self,
        point: &PlannedPoint,
        plan: &TracePlan,
        interrupt: &Interrupt,
    ) -> Result<Option<guest::Trace>, Error> {
        let Place::Guest(guest, curve) = self.place[point.curve] else { return Ok(None) };
        let alone = self.is_alone();
        let guest = &mut self.guests[guest];
        let mut seen = guest.trace(plan.order(curve, point))?;
        if !alone {
            guest.stop()?;
        }
        // Who stops this program does not stop the guest: what that has seen is good.
        interrupt.pause_if_asked();
        if let guest::Trace::Seen(traced) = &mut seen {
            traced.notes.extend(guest_target::note_untraced(&guest.about));
        }
        Ok(Some(seen))
    }

    /// Only a guest that has nobody beside it may go on between its slices.
    fn is_alone(&self) -> bool {
        self.guests.len() == 1 && self.crews.is_empty()
    }

    /// CPUs of the point's tasks; empty if they are not pinned.
    pub(crate) fn cpus(&self, point: &PlannedPoint) -> Vec<u32> {
        match self.place[point.curve] {
            Place::Here(crew, _) => self.crews[crew].1.cpus(point.tasks),
            Place::Guest(guest, _) => {
                self.guest_cpus[guest].iter().copied().take(point.tasks).collect()
            }
        }
    }

    /// Ends all tasks and guests.
    ///
    /// # Errors
    /// A guest does not end well: then nothing of it is to be trusted.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        for (_, crew) in &mut self.crews {
            crew.end();
        }
        let ended: Vec<Result<(), guest::Error>> =
            std::mem::take(&mut self.guests).into_iter().map(Guest::end).collect();
        Ok(ended.into_iter().collect::<Result<(), _>>()?)
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
