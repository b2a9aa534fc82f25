//! What a source is, which there are, and how the best one is found.

use crate::bpf::Bpf;
use crate::error::{Error, Refusal};
use crate::lock_stat::LockStat;
use crate::perf::{By, PerfWaits, Sampler, Tracefs};
use crate::report::Report;
use crate::scheduling::Watch;
use crate::tasks::Tasks;
use std::fmt;
use std::str::FromStr;

/// Something that sees what tasks wait for.
///
/// It belongs to the process that made it and should be made after the last fork: a child would inherit its descriptors.
pub trait Source {
    /// Which it is.
    fn kind(&self) -> Kind;

    /// Its name.
    fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// Traces from now on; nothing if it does already.
    ///
    /// # Errors
    /// A call failed.
    fn start(&mut self) -> Result<(), Error>;

    /// Makes room for more events; worth a call now and then in slices of a second and more.
    ///
    /// # Errors
    /// A call failed.
    fn drain(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Traces no longer; nothing if it does not. The tasks should be out of the kernel: waits in progress are not counted.
    ///
    /// # Errors
    /// A call failed.
    fn stop(&mut self) -> Result<(), Error>;

    /// What was seen between all starts and stops. Here the symbols are resolved; the first time in a process that takes some 50 ms.
    ///
    /// # Errors
    /// A call failed.
    fn read(self: Box<Self>) -> Result<Report, Error>;
}

/// The sources, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// BPF programs on the lock tracepoints.
    Bpf,
    /// The lock tracepoints as perf events.
    Tracepoints,
    /// Samples of where tasks run, by CPU cycles.
    Cycles,
    /// The same by a timer.
    CpuClock,
    /// The kernel's own statistics of all its locks.
    LockStat,
    /// Switches and stalls.
    Scheduling,
}

impl Kind {
    /// All, the best first.
    pub const ALL: [Kind; 6] = [
        Kind::Bpf,
        Kind::Tracepoints,
        Kind::Cycles,
        Kind::CpuClock,
        Kind::LockStat,
        Kind::Scheduling,
    ];

    /// As a user writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Bpf => "bpf",
            Kind::Tracepoints => "tracepoints",
            Kind::Cycles => "cycles",
            Kind::CpuClock => "cpu-clock",
            Kind::LockStat => "lock_stat",
            Kind::Scheduling => "scheduling",
        }
    }

    fn open(self, tasks: &Tasks, options: &Options) -> Result<Box<dyn Source>, Refusal> {
        Ok(match self {
            Kind::Bpf => Box::new(Bpf::new(tasks, options)?),
            Kind::Tracepoints => Box::new(PerfWaits::new(tasks, options)?),
            Kind::Cycles => Box::new(Sampler::new(tasks, options, By::Cycles)?),
            Kind::CpuClock => Box::new(Sampler::new(tasks, options, By::Clock)?),
            Kind::LockStat => Box::new(LockStat::new()?),
            Kind::Scheduling => Box::new(Watch::new(tasks)),
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(name: &str) -> Result<Kind, String> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let names = Kind::ALL.map(Kind::name).join(", ");
            format!("no source of waits is called '{name}'; there are: {names}")
        })
    }
}

/// What is wanted of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Whole stacks, not only who waits and on whose behalf. It costs more.
    pub stacks: bool,
    /// Samples of where the tasks run as well, beside a source of waits: they show what no lock event does.
    pub samples: bool,
    /// This source or, if it refuses, the last one, which always works.
    pub force: Option<Kind>,
    /// Which tracefs may be asked.
    pub tracefs: Tracefs,
}

/// A source that cannot be used here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Which.
    pub source: Kind,
    /// The reason.
    pub why: String,
    /// What would change it.
    pub remedy: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refused { source, why, remedy } = self;
        write!(f, "{source}: {why}\n  {remedy}")
    }
}

/// The best source that works, off, and the better ones that do not.
pub struct Chosen {
    /// The source.
    pub source: Box<dyn Source>,
    /// Why not a better one, best first; last, why no samples, where they were asked for.
    pub refused: Vec<Refused>,
}

/// The best source for the tasks with these ids. The id of a process stands for all threads that it has now, the id of
/// another thread for itself; threads and processes made later are not seen.
///
/// # Errors
/// A task is not there. A source that is not permitted or not supported is no error.
pub fn sources(ids: &[u32], options: &Options) -> Result<Chosen, Error> {
    let tasks = Tasks::find(ids)?;
    let mut refused = Vec::new();
    let mut open = |kind: Kind| match kind.open(&tasks, options) {
        Ok(source) => Some(source),
        Err(Refusal { why, remedy }) => {
            refused.push(Refused { source: kind, why, remedy });
            None
        }
    };
    let source = match options.force {
        Some(kind) => open(kind),
        None => Kind::ALL.into_iter().find_map(&mut open),
    };
    let source = source.unwrap_or_else(|| Box::new(Watch::new(&tasks)));

    let wants_samples = options.samples && matches!(source.kind(), Kind::Bpf | Kind::Tracepoints);
    let samples =
        wants_samples.then(|| open(Kind::Cycles).or_else(|| open(Kind::CpuClock))).flatten();
    let source = match samples {
        Some(samples) => Box::new(WithSamples { waits: source, samples }),
        None => source,
    };
    Ok(Chosen { source, refused })
}

/// A source of waits and one of samples, as one.
struct WithSamples {
    waits: Box<dyn Source>,
    samples: Box<dyn Source>,
}

impl Source for WithSamples {
    fn kind(&self) -> Kind {
        self.waits.kind()
    }

    fn start(&mut self) -> Result<(), Error> {
        self.samples.start()?;
        self.waits.start()
    }

    fn drain(&mut self) -> Result<(), Error> {
        self.samples.drain()?;
        self.waits.drain()
    }

    fn stop(&mut self) -> Result<(), Error> {
        // Both, even if one fails.
        let waits = self.waits.stop();
        self.samples.stop().and(waits)
    }

    fn read(mut self: Box<Self>) -> Result<Report, Error> {
        self.stop()?;
        let mut report = self.waits.read()?;
        let samples = self.samples.read()?;
        report.samples = samples.samples;
        for note in samples.notes {
            if !report.notes.contains(&note) {
                report.notes.push(note);
            }
        }
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_sources_are_one_to_one() {
        for kind in Kind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        let error = "dtrace".parse::<Kind>().unwrap_err();
        assert!(error.contains("bpf") && error.contains("scheduling"), "{error}");
        assert!(Kind::ALL.is_sorted(), "the best first");
    }

    #[test]
    fn the_last_source_works_for_everybody() {
        let options = Options { force: Some(Kind::Scheduling), ..Options::default() };
        let chosen = sources(&[std::process::id()], &options).unwrap();
        assert_eq!(chosen.source.name(), "scheduling");
        assert!(chosen.refused.is_empty());
    }

    #[test]
    fn a_missing_task_is_the_one_error() {
        let error = sources(&[5_000_000], &Options::default()).err().expect("no such task");
        assert!(error.to_string().contains("5000000"), "{error}");
    }
}
