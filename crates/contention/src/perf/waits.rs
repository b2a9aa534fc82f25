//! The lock tracepoints as perf events of each task, with call chains; paired here.
//!
//! Every event is copied, so this costs more memory than BPF and can lose some; what is lost is counted.

use super::record::{Record, Sample, parse};
use super::sys::{
    Counter, Event, Every, Ring, SAMPLE_CALLCHAIN, SAMPLE_RAW, SAMPLE_TID, SAMPLE_TIME,
};
use super::tracefs::{Tracepoints, id_of};
use crate::clock::Traced;
use crate::error::{Error, Refusal};
use crate::pairing::Pairing;
use crate::report::{Report, waits};
use crate::symbols::Symbols;
use crate::tasks::Tasks;
use crate::{Kind, Options, Source};
use std::io;

const SAMPLE_TYPE: u64 = SAMPLE_TID | SAMPLE_TIME | SAMPLE_CALLCHAIN | SAMPLE_RAW;

/// Pages of all rings together, and of one.
const ALL_PAGES: usize = 16384;
/// See [`ALL_PAGES`].
const MOST_PAGES: usize = 1024;

/// Two events and a ring for each task.
#[derive(Debug)]
pub(crate) struct PerfWaits {
    tracepoints: Tracepoints,
    tasks: Vec<Watched>,
    pairing: Pairing,
    whole_stacks: bool,
    /// Records that were read.
    seen: u64,
    unfinished: u64,
    traced: Traced,
}

#[derive(Debug)]
struct Watched {
    thread: u32,
    begin: Counter,
    end: Counter,
    /// Of both.
    ring: Ring,
}

impl PerfWaits {
    /// Opens the events, off.
    pub(crate) fn new(tasks: &Tasks, options: &Options) -> Result<PerfWaits, Refusal> {
        let tracepoints = Tracepoints::find(options.tracefs)?;
        let depth = super::depth(options.stacks);
        let threads = tasks.threads();
        let fair = (ALL_PAGES / threads.len()).clamp(8, MOST_PAGES);
        let mut pages = 1 << fair.ilog2();
        let mut watched = Vec::with_capacity(threads.len());
        for &thread in threads {
            let open = |id: u16, depth: u16| {
                let event = Event::Tracepoint(id.into());
                Counter::open(event, Every::Event, SAMPLE_TYPE, depth, thread)
            };
            let failed = |error| super::refused(&error, "lock:contention_begin", -1);
            let begin = open(tracepoints.begin.id, depth).map_err(failed)?;
            // Without a stack: it is recorded while the lock is held, so that each microsecond makes others wait.
            let end = open(tracepoints.end.id, 0).map_err(failed)?;
            let ring = super::ring(&begin, &mut pages)?;
            end.write_to_ring_of(&begin).map_err(failed)?;
            watched.push(Watched { thread, begin, end, ring });
        }
        Ok(PerfWaits {
            tracepoints,
            tasks: watched,
            pairing: Pairing::default(),
            whole_stacks: options.stacks,
            seen: 0,
            unfinished: 0,
            traced: Traced::default(),
        })
    }

    /// Takes what the rings hold.
    fn take_all(&mut self) {
        let PerfWaits { tracepoints, tasks, pairing, seen, .. } = self;
        for task in tasks {
            task.ring.drain(|kind, misc, body| match parse(kind, misc, body, SAMPLE_TYPE) {
                Some(Record::Sample(sample)) => {
                    *seen += 1;
                    take(pairing, tracepoints, sample);
                }
                // How many is known more exactly from the counters: these records come only before the next event.
                Some(Record::Lost(_)) => pairing.forget_thread(task.thread),
                None => {}
            });
        }
    }

    /// All events that the kernel counted.
    fn counted(&self) -> io::Result<u64> {
        self.tasks
            .iter()
            .try_fold(0, |sum, task| Ok(sum + task.begin.count()? + task.end.count()?))
    }

    fn enable(&self) -> io::Result<()> {
        for task in &self.tasks {
            // Ends first, so that every begin that is seen finds its end.
            task.end.enable()?;
            task.begin.enable()?;
        }
        Ok(())
    }

    fn disable(&self) -> io::Result<()> {
        for task in &self.tasks {
            task.begin.disable()?;
            task.end.disable()?;
        }
        Ok(())
    }
}

/// One event.
fn take(pairing: &mut Pairing, tracepoints: &Tracepoints, sample: Sample<'_>) {
    let Sample { raw, tid, ns, chain, .. } = sample;
    let Tracepoints { begin, end } = tracepoints;
    let id = id_of(raw);
    if id == Some(begin.id) {
        if let (Some(lock), Some(flags)) = (begin.lock(raw), begin.flags(raw)) {
            pairing.begin(lock, tid, ns, flags, chain);
        }
    } else if id == Some(end.id)
        && let Some(lock) = end.lock(raw)
    {
        pairing.end(lock, tid, ns);
    }
}

impl Source for PerfWaits {
    fn kind(&self) -> Kind {
        Kind::Tracepoints
    }

    fn start(&mut self) -> Result<(), Error> {
        if !self.traced.is_on() {
            self.enable().map_err(|error| Error::os("ioctl(PERF_EVENT_IOC_ENABLE)", error))?;
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
            self.disable().map_err(|error| Error::os("ioctl(PERF_EVENT_IOC_DISABLE)", error))?;
            self.take_all();
            self.unfinished += self.pairing.forget_unfinished();
        }
        Ok(())
    }

    fn read(mut self: Box<Self>) -> Result<Report, Error> {
        self.stop()?;
        let counted = self.counted().map_err(|error| Error::os("read of a perf event", error))?;
        let symbols = Symbols::of_kernel();
        let raw = self.pairing.finish();
        let mut report = Report::new(Kind::Tracepoints, self.traced.ns());
        report.contentions = Some(raw.iter().map(|waits| waits.count).sum());
        report.waits = waits(raw, &symbols, self.whole_stacks);
        let lost = counted.saturating_sub(self.seen);
        if lost > 0 {
            report.notes.push(format!(
                "events that were lost for want of room, so that there were more waits than are shown: \
                 {lost} of {counted}; trace shorter slices"
            ));
        }
        if self.unfinished > 0 {
            report.notes.push(format!(
                "waits that were not over when tracing stopped, which are not counted: {}",
                self.unfinished
            ));
        }
        report.note_untraced();
        report.note_symbols(&symbols);
        Ok(report)
    }
}
