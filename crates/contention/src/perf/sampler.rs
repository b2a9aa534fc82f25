//! Where tasks run: samples by cycles or by a clock.
//!
//! A cache line that CPUs fight over gives no lock event. Its price is time in the function that touches it, and that is what
//! samples show: `lockref_get_not_dead`, `native_queued_spin_lock_slowpath`.

use super::record::{Record, parse};
use super::sys::{Counter, Event, Every, Ring, SAMPLE_CALLCHAIN, SAMPLE_IP, SAMPLE_TID};
use crate::clock::Traced;
use crate::error::{Error, Refusal};
use crate::report::{Report, Samples, frames, function};
use crate::symbols::Symbols;
use crate::tasks::Tasks;
use crate::{Kind, Options, Source};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;

/// Samples a second: some dozens in a slice of 10 ms; a prime, so as not to march in step with a tick.
const HERTZ: u64 = 3989;
/// Pages of a ring without and with stacks: about half a second of samples.
const PAGES: usize = 16;
/// See [`PAGES`].
const STACK_PAGES: usize = 128;

/// One event and a ring for each task.
#[derive(Debug)]
pub(crate) struct Sampler {
    kind: Kind,
    tasks: Vec<(Counter, Ring)>,
    sample_type: u64,
    hertz: u64,
    whole_stacks: bool,
    /// Samples in the kernel by address, or by stack.
    in_kernel: HashMap<Vec<u64>, u64>,
    user: u64,
    lost: u64,
    traced: Traced,
}

/// What makes the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// The hardware.
    Cycles,
    /// A timer.
    Clock,
}

impl Sampler {
    /// Opens the events, off.
    pub(crate) fn new(tasks: &Tasks, options: &Options, by: By) -> Result<Sampler, Refusal> {
        let (event, kind) = match by {
            By::Cycles => (Event::Cycles, Kind::Cycles),
            By::Clock => (Event::CpuClock, Kind::CpuClock),
        };
        let chain = if options.stacks { SAMPLE_CALLCHAIN } else { 0 };
        let sample_type = SAMPLE_IP | SAMPLE_TID | chain;
        let hertz = HERTZ.min(fastest());
        let depth = super::depth(options.stacks);
        let mut pages = if options.stacks { STACK_PAGES } else { PAGES };
        let mut watched = Vec::with_capacity(tasks.threads().len());
        for &thread in tasks.threads() {
            let counter = Counter::open(event, Every::Hertz(hertz), sample_type, depth, thread)
                .map_err(|error| super::refused(&error, kind.name(), 1))?;
            let ring = super::ring(&counter, &mut pages)?;
            watched.push((counter, ring));
        }
        Ok(Sampler {
            kind,
            tasks: watched,
            sample_type,
            hertz,
            whole_stacks: options.stacks,
            in_kernel: HashMap::new(),
            user: 0,
            lost: 0,
            traced: Traced::default(),
        })
    }

    fn take_all(&mut self) {
        let Sampler { tasks, sample_type, in_kernel, user, lost, .. } = self;
        for (_, ring) in tasks {
            ring.drain(|kind, misc, body| match parse(kind, misc, body, *sample_type) {
                Some(Record::Sample(sample)) if sample.in_kernel => {
                    let place =
                        if sample.chain.is_empty() { vec![sample.ip] } else { sample.chain };
                    *in_kernel.entry(place).or_default() += 1;
                }
                Some(Record::Sample(_)) => *user += 1,
                Some(Record::Lost(count)) => *lost += count,
                None => {}
            });
        }
    }

    fn each(&self, what: impl Fn(&Counter) -> io::Result<()>) -> io::Result<()> {
        self.tasks.iter().try_for_each(|(counter, _)| what(counter))
    }

    fn samples(&self, symbols: &Symbols) -> Samples {
        let mut functions: BTreeMap<String, u64> = BTreeMap::new();
        let mut stacks: BTreeMap<Vec<String>, u64> = BTreeMap::new();
        for (place, count) in &self.in_kernel {
            let Some(&ip) = place.first() else { continue };
            *functions.entry(function(symbols, ip)).or_default() += count;
            if self.whole_stacks {
                let mut names = frames(symbols, place, true);
                names.reverse();
                *stacks.entry(names).or_default() += count;
            }
        }
        let mut functions: Vec<_> = functions.into_iter().collect();
        functions.sort_by_key(|&(_, count)| Reverse(count));
        let mut stacks: Vec<_> = stacks.into_iter().collect();
        stacks.sort_by_key(|&(_, count)| Reverse(count));
        Samples {
            event: self.kind.name(),
            hertz: self.hertz,
            total: self.user + self.in_kernel.values().sum::<u64>(),
            user: self.user,
            functions,
            stacks,
        }
    }
}

impl Source for Sampler {
    fn kind(&self) -> Kind {
        self.kind
    }

    fn start(&mut self) -> Result<(), Error> {
        if !self.traced.is_on() {
            self.each(Counter::enable)
                .map_err(|error| Error::os("ioctl(PERF_EVENT_IOC_ENABLE)", error))?;
            self.traced.start();
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<(), Error> {
        self.take_all();
        Ok(())
    }

    fn stop(&mut self) -> Result<(), Error> {
        if self.traced.is_on() {
            self.traced.stop();
            self.each(Counter::disable)
                .map_err(|error| Error::os("ioctl(PERF_EVENT_IOC_DISABLE)", error))?;
            self.take_all();
        }
        Ok(())
    }

    fn read(mut self: Box<Self>) -> Result<Report, Error> {
        self.stop()?;
        let symbols = Symbols::of_kernel();
        let mut report = Report::new(self.kind, self.traced.ns());
        report.samples = Some(self.samples(&symbols));
        if self.lost > 0 {
            report.notes.push(format!("samples that were lost for want of room: {}", self.lost));
        }
        if self.kind == Kind::CpuClock {
            report.notes.push(
                "samples are taken by a timer, which waits while interrupts are off: such functions are \
                 seen at the place where they come on again"
                    .to_owned(),
            );
        }
        report.note_symbols(&symbols);
        Ok(report)
    }
}

/// The greatest rate that the kernel allows.
fn fastest() -> u64 {
    let text =
        fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate").unwrap_or_default();
    // Where /proc does not say, the least that is ever set.
    text.trim().parse().unwrap_or(100).max(1)
}
