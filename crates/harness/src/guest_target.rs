//! The `guest:` target on the host's side: what of a request runs in which guest, and what a reader must know of it.

use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::plan::{Plan, Request, Sides};
use guest::protocol::{CountOrder, CurveOrder, Orders};
use guest::{About, Accelerator, Guest, Prepared};
use results::{Mount, Warning};
use std::sync::Arc;
use std::time::Duration;

/// Default length of a slice where guests take part: it takes a millisecond or two to reach a guest under emulation.
pub(crate) const SLICE: Duration = Duration::from_millis(20);
/// Slices of a point in one boot that counts instructions: nothing but chance of the guest's own makes them differ.
const COUNT_SLICES: u32 = 3;
/// Length of such a slice in virtual time, forty million instructions: whether one tick of the kernel's clock more or less falls into
/// it then does not matter.
pub(crate) const COUNT_SLICE: Duration = Duration::from_millis(40);

/// What concerns guests only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guests {
    /// How often each is booted, at least 1. With more than once the boot is the unit: its median round stands for it.
    pub boots: u32,
    /// What is counted in them.
    pub clock: Clock,
}

impl Default for Guests {
    fn default() -> Guests {
        Guests { boots: 1, clock: Clock::Time }
    }
}

/// What is counted in a guest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// Operations in time.
    #[default]
    Time,
    /// Instructions for an operation.
    Instructions,
}

/// A guest and what runs in it.
#[derive(Clone, Debug)]
pub(crate) struct GuestPlan {
    /// As it was written, with its kind.
    pub(crate) name: String,
    pub(crate) prepared: Arc<Prepared>,
    /// Numbers of its curves in the request, in the order in which the guest has them.
    pub(crate) curves: Vec<usize>,
}

fn refused(what: impl Into<String>, advice: impl Into<String>) -> Error {
    Error::Refused { what: what.into(), advice: advice.into() }
}

/// Prepares the guests of a request, one for each target; of two sides each has its own, even of the same kernel.
///
/// # Errors
/// [`Error::is_refusal`]: something is missing, or is asked for that guests cannot do.
pub(crate) fn prepare(request: &Request, usable: usize) -> Result<Vec<GuestPlan>, Error> {
    let all = request.curves.iter().all(|curve| curve.guest().is_some());
    let counts = request.guests.clock == Clock::Instructions;
    if (counts || request.guests.boots > 1) && !all {
        let what = match counts {
            true => "only guests can count instructions",
            false => "only guests can be booted",
        };
        return Err(refused(
            what,
            "ask for guest: targets alone, or leave out --clock and --boots",
        ));
    }
    if counts && request.locks.is_some() {
        return Err(refused(
            "--clock instructions sees no waits: its CPUs run one after the other, and time is a count of instructions",
            "leave out --locks, or use the ordinary clock",
        ));
    }
    let half = match request.sides {
        Sides::One => request.curves.len(),
        Sides::Two { .. } => request.curves.len() / 2,
    };
    let mut groups: Vec<(bool, &guest::Spec, Vec<usize>)> = Vec::new();
    for (number, curve) in request.curves.iter().enumerate() {
        let Some(spec) = curve.guest() else { continue };
        let side = number >= half;
        match groups.iter_mut().find(|(other, known, _)| *other == side && *known == spec) {
            Some((_, _, curves)) => curves.push(number),
            None => groups.push((side, spec, vec![number])),
        }
    }
    let mut prepared: Vec<GuestPlan> = Vec::new();
    for (_, spec, curves) in groups {
        let cpus = if counts { 1 } else { usable as u32 };
        let most = request.tasks.iter().copied().max().unwrap_or(1);
        if counts && most > spec.cpus.unwrap_or(cpus) as usize {
            return Err(refused(
                format!(
                    "guest:{spec}: --clock instructions counts on one CPU unless cpus= says otherwise, and {most} tasks would take turns on it"
                ),
                "leave out --tasks; or give it cpus= (instructions are then the sum over all CPUs, and Linux 6.1 does not boot with more than one)",
            ));
        }
        if counts && spec.disk == guest::Disk::Virtio {
            return Err(refused(
                format!(
                    "guest:{spec}: --clock instructions takes no virtio disk: when it answers is up to this machine, so that no two boots \
                     would be alike"
                ),
                "use disk=ram, or the ordinary clock",
            ));
        }
        let order = |curve: &usize| {
            let curve = &request.curves[*curve];
            CurveOrder { workload: curve.workload.to_string(), mode: curve.mode.name().into() }
        };
        let orders = Orders {
            curves: curves.iter().map(order).collect(),
            tasks: request.tasks.clone(),
            pin: request.pin.to_string(),
            count: counts.then_some(CountOrder {
                slices: COUNT_SLICES,
                slice_ns: request.slice.unwrap_or(COUNT_SLICE).as_nanos() as u64,
            }),
            ..Orders::default()
        };
        let made = Prepared::new(spec, cpus, orders)?;
        prepared.push(GuestPlan {
            name: format!("guest:{spec}"),
            prepared: Arc::new(made),
            curves,
        });
    }
    Ok(prepared)
}

/// What is known to make numbers less true before any is taken.
pub(crate) fn warnings(request: &Request, guests: &[GuestPlan]) -> Vec<Warning> {
    let host = std::thread::available_parallelism().map_or(1, usize::from);
    let counts = request.guests.clock == Clock::Instructions;
    let crowded = |guest: &&GuestPlan| !counts && guest.prepared.cpus() as usize > host;
    let mut warnings: Vec<Warning> = guests
        .iter()
        .filter(crowded)
        .map(|guest| Warning {
            code: "guest-cpus".into(),
            message: format!(
                "{} has {} CPUs on {host} of this machine: they take turns, so that nothing can scale beyond",
                guest.name,
                guest.prepared.cpus()
            ),
            advice: "more CPUs than the machine has are good for testing, not for measuring".into(),
        })
        .collect();
    if request.guests.clock == Clock::Instructions {
        warnings.push(Warning {
            code: "instructions".into(),
            message: "counted are instructions as QEMU counts them (a repeated string instruction once per iteration): no cache \
                      miss, no cycle and no contention is seen, and this is no speed"
                .into(),
            advice: "a verdict holds for the length of the path only; measure time on real machines".into(),
        });
        let several = guests.iter().filter(|guest| guest.prepared.cpus() > 1);
        warnings.extend(several.map(|guest| Warning {
            code: "instructions-cpus".into(),
            message: format!(
                "{} has {} CPUs, which QEMU runs in turns: instructions are the sum over all of them, those of a CPU that waits in a loop \
                 included",
                guest.name,
                guest.prepared.cpus()
            ),
            advice: "use one CPU, unless it is the waiting that is looked for".into(),
        }));
    }
    warnings
}

/// What is to be said of the guests that were booted.
pub(crate) fn seen(guests: &[Guest], names: &[GuestPlan]) -> Vec<Warning> {
    let emulated: Vec<&str> = guests
        .iter()
        .zip(names)
        .filter(|(guest, _)| guest.about.accelerator == Accelerator::Tcg)
        .map(|(_, plan)| plan.name.as_str())
        .collect();
    if emulated.is_empty() {
        return Vec::new();
    }
    vec![Warning {
        code: "guest-emulated".into(),
        message: format!(
            "{} ran emulated (TCG): absolute figures mean nothing, and ratios only as much as QEMU's translation lets them",
            emulated.join(" and ")
        ),
        advice: "use a machine on which KVM works (vfscale doctor guest), or compare by --clock instructions".into(),
    }]
}

/// What a tracer in such a guest does not see and one on hardware would.
pub(crate) fn note_untraced(about: &About) -> Option<String> {
    let emulated = about.accelerator == Accelerator::Tcg;
    (emulated && !about.cpu.contains("-hypervisor")).then(|| {
        format!(
            "Linux that sees a hypervisor spins for spinlocks without an event, so that waits for them are missing here: \
             ask for cpu={},-hypervisor to see them, at a price",
            about.cpu
        )
    })
}

/// What a guest's target is, for the record.
pub(crate) fn mount(plan: &GuestPlan, guest: &Guest) -> Option<Mount> {
    let about = &guest.about;
    let fs = guest.host.fs.first()?;
    let source = format!(
        "{} in a guest: Linux {}, {} ({}), {} CPUs, {} MiB, QEMU {}",
        fs.source,
        plan.prepared.release(),
        about.accelerator.name(),
        about.cpu,
        about.cpus,
        about.memory_mib,
        about.qemu
    );
    Some(Mount { target: plan.name.clone(), source, ..fs.clone() })
}

/// Boots a guest. None if the user asked to end meanwhile.
pub(crate) fn ready(
    plan: &GuestPlan,
    clock: guest::Clock,
    interrupt: &Interrupt,
    told: &mut Vec<String>,
) -> Result<Option<Guest>, Error> {
    let mut tell = |what| told.push(what);
    Ok(plan.prepared.boot(clock, &|| interrupt.asked(), &mut tell)?)
}

/// Boots that failed and were repeated.
pub(crate) fn failed_boots(told: Vec<String>) -> Option<Warning> {
    let message = told.join("; ");
    (!message.is_empty()).then(|| Warning {
        code: "guest-boots".into(),
        message,
        advice: "the boot after it was good, and only what it said is in the result".into(),
    })
}

/// The part of a plan that guests have.
pub(crate) fn plan_in_words(plan: &Plan) -> String {
    let kernels: Vec<String> =
        plan.guests.iter().map(|guest| format!("Linux {}", guest.prepared.release())).collect();
    let boots = plan.request.guests.boots as usize * plan.guests.len();
    let word = if boots == 1 { "boot" } else { "boots" };
    let boots = format!("{boots} {word} ({})", kernels.join(", "));
    match plan.request.guests.clock {
        Clock::Instructions => {
            format!("{boots}, each with a seed of its own, counting instructions")
        }
        Clock::Time => format!(
            "{boots}, and then {:.1} s of slices of {:?} in all",
            plan.request.time.as_secs_f64(),
            plan.points.iter().map(|point| point.length).min().unwrap_or_default()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::topology::Pin;

    #[test]
    fn what_an_emulated_guest_hides_is_said_with_the_way_to_see_it() {
        let about = |accelerator, cpu: &str| About {
            accelerator,
            cpu: cpu.into(),
            cpus: 2,
            memory_mib: 512,
            qemu: "7.2".into(),
        };
        let note = note_untraced(&about(Accelerator::Tcg, "max,-erms")).expect("spinlocks");
        assert!(note.contains("cpu=max,-erms,-hypervisor"), "{note}");
        assert_eq!(note_untraced(&about(Accelerator::Tcg, "max,-hypervisor")), None);
        assert_eq!(note_untraced(&about(Accelerator::Kvm, "host")), None);
    }

    #[test]
    fn pins_are_understood_at_the_other_end() {
        for pin in Pin::ALL {
            assert_eq!(pin.to_string().parse(), Ok(pin));
        }
    }
}
