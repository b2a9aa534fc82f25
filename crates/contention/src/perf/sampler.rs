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
    seen: Seen,
    traced: Traced,
}

/// Samples so far.
#[derive(Debug, Default)]
struct Seen {
    /// In the kernel by address, or by stack.
    in_kernel: HashMap<Vec<u64>, u64>,
    user: u64,
    lost: u64,
}

impl Seen {
    /// Takes a record of a ring.
    fn take(&mut self, kind: u32, misc: u16, body: &[u8], sample_type: u64) {
        match parse(kind, misc, body, sample_type) {
            Some(Record::Sample(sample)) if sample.in_kernel => {
                let place = if sample.chain.is_empty() { vec![sample.ip] } else { sample.chain };
                *self.in_kernel.entry(place).or_default() += 1;
            }
            Some(Record::Sample(_)) => self.user += 1,
            Some(Record::Lost(count)) => self.lost += count,
            None => {}
        }
    }

    /// With names; whole stacks if there are any. `event` was counted, so often a second.
    fn named(
        &self,
        symbols: &Symbols,
        stacks_too: bool,
        event: &'static str,
        hertz: u64,
    ) -> Samples {
        let mut functions: BTreeMap<String, u64> = BTreeMap::new();
        let mut stacks: BTreeMap<Vec<String>, u64> = BTreeMap::new();
        for (place, count) in &self.in_kernel {
            let Some(&ip) = place.first() else { continue };
            *functions.entry(function(symbols, ip)).or_default() += count;
            if stacks_too {
                let mut names = frames(symbols, place, true);
                names.reverse();
                *stacks.entry(names).or_default() += count;
            }
        }
        let mut functions: Vec<_> = functions.into_iter().collect();
        functions.sort_by_key(|&(_, count)| Reverse(count));
        let mut stacks: Vec<_> = stacks.into_iter().collect();
        stacks.sort_by_key(|&(_, count)| Reverse(count));
        let total = self.user + self.in_kernel.values().sum::<u64>();
        Samples { event, hertz, total, user: self.user, functions, stacks }
    }
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
            seen: Seen::default(),
            traced: Traced::default(),
        })
    }

    fn take_all(&mut self) {
        let Sampler { tasks, sample_type, seen, .. } = self;
        for (_, ring) in tasks {
            ring.drain(|kind, misc, body| seen.take(kind, misc, body, *sample_type));
        }
    }

    fn each(&self, what: impl Fn(&Counter) -> io::Result<()>) -> io::Result<()> {
        self.tasks.iter().try_for_each(|(counter, _)| what(counter))
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
        let Sampler { seen, whole_stacks, hertz, .. } = &*self;
        report.samples = Some(seen.named(&symbols, *whole_stacks, self.kind.name(), *hertz));
        if seen.lost > 0 {
            report.notes.push(format!("samples that were lost for want of room: {}", seen.lost));
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

#[cfg(test)]
mod tests {
    use super::*;

    const SYMBOLS: &str = "1000 T lookup_fast\n2000 T lockref_get_not_dead\n3000 T do_sys_open\n";
    // PERF_RECORD_SAMPLE, PERF_RECORD_LOST and PERF_RECORD_THROTTLE.
    const SAMPLE: u32 = 9;
    const LOST: u32 = 2;
    const THROTTLE: u32 = 5;
    // PERF_RECORD_MISC_KERNEL and PERF_RECORD_MISC_USER.
    const KERNEL: u16 = 1;
    const USER: u16 = 2;
    /// PERF_CONTEXT_KERNEL, which opens the kernel's part of a call chain.
    const IN_KERNEL: u64 = -128i64 as u64;

    /// A sample as the kernel writes it: ip, pid and tid, and the chain where one was asked for.
    fn sample(ip: u64, chain: Option<&[u64]>) -> Vec<u8> {
        let mut words = vec![ip, 7 | 7 << 32];
        if let Some(chain) = chain {
            words.push(chain.len() as u64);
            words.extend(chain);
        }
        words.into_iter().flat_map(u64::to_ne_bytes).collect()
    }

    #[test]
    fn cycles_are_told_by_function_with_what_was_lost() {
        let (kind, mut seen) = (SAMPLE_IP | SAMPLE_TID, Seen::default());
        for ip in [0x2010, 0x2044, 0x1008] {
            seen.take(SAMPLE, KERNEL, &sample(ip, None), kind);
        }
        seen.take(SAMPLE, USER, &sample(0x4000_0000, None), kind);
        let lost: Vec<u8> = [1u64, 5].into_iter().flat_map(u64::to_ne_bytes).collect();
        seen.take(LOST, 0, &lost, kind);
        seen.take(THROTTLE, 0, &[0; 24], kind);
        let samples = seen.named(&Symbols::parse(SYMBOLS), false, Kind::Cycles.name(), HERTZ);
        assert_eq!((samples.event, samples.total, samples.user), ("cycles", 4, 1));
        let functions = [("lockref_get_not_dead".to_owned(), 2), ("lookup_fast".to_owned(), 1)];
        assert_eq!(samples.functions, functions);
        assert!(samples.stacks.is_empty(), "nobody asked for them");
        assert_eq!(seen.lost, 5);
    }

    #[test]
    fn stacks_of_cycles_have_the_outermost_function_first() {
        let kind = SAMPLE_IP | SAMPLE_TID | SAMPLE_CALLCHAIN;
        let mut seen = Seen::default();
        for _ in 0..2 {
            let chain = [IN_KERNEL, 0x2010, 0x1008, 0x3004];
            seen.take(SAMPLE, KERNEL, &sample(0x2010, Some(&chain)), kind);
        }
        let samples = seen.named(&Symbols::parse(SYMBOLS), true, Kind::Cycles.name(), HERTZ);
        let stack = ["do_sys_open", "lookup_fast", "lockref_get_not_dead"].map(str::to_owned);
        assert_eq!(samples.stacks, [(stack.to_vec(), 2)]);
        assert_eq!(samples.functions, [("lockref_get_not_dead".to_owned(), 2)]);
    }
}
