//! The best source: two BPF programs that sum waits up in the kernel, so that nothing is lost and little is copied.
//!
//! No compiler, no library and no tracefs is needed: the programs are assembled here and attached by the tracepoint's name.
//! All that exists in the kernel hangs on file descriptors of this process and goes with them.

mod insn;
mod program;
mod sys;

use crate::clock::Traced;
use crate::error::{Error, Refusal};
use crate::pairing::Waits;
use crate::privilege::{Capability, not_permitted};
use crate::report::{Cost, Report, waits};
use crate::symbols::Symbols;
use crate::tasks::Tasks;
use crate::{Kind, Options, Source};
use program::{Config, Counters, Key, Maps, Sum, WaitKey, Waiting};
use std::fs;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::linux::fs::MetadataExt;
use std::sync::Arc;
use sys::{Map, MapType, Program};

const BEGIN: &std::ffi::CStr = c"contention_begin";
const END: &std::ffi::CStr = c"contention_end";

/// Distinct stacks, and distinct keys of sums. Some dozens were seen in practice; what does not fit is counted.
const STACKS: u32 = 4096;
/// The innermost frames that are enough for a folded path, with an interrupt's on top: each costs time.
const SHORT: usize = 16;
/// Frames of whole stacks, if the kernel allows so many.
const WHOLE: usize = 64;
/// Frames between the tracepoint and the program, as far as all kernels have them; others are recognised by name.
const OWN_FRAMES: u8 = 2;

/// Two loaded programs and their maps.
#[derive(Debug)]
pub(crate) struct Bpf {
    begin: Program,
    end: Program,
    waiting: Map<WaitKey, Waiting>,
    stacks: Map<u32, u64>,
    sums: Map<Key, Sum>,
    counters: Map<u32, Counters>,
    tasks: Map<u32, u64>,
    attached: Option<Attached>,
    whole_stacks: bool,
    symbols: Arc<Symbols>,
    unfinished: u64,
    traced: Traced,
    /// Why the programs' cost is not known, if it is not.
    no_stats: Option<String>,
}

/// Both programs attached, and the measuring of their cost; ends when dropped, begins first.
#[derive(Debug)]
struct Attached {
    begin: OwnedFd,
    end: OwnedFd,
    stats: Option<OwnedFd>,
}

impl Bpf {
    /// Makes maps and loads programs; attaches them once, to know that it works.
    pub(crate) fn new(tasks: &Tasks, options: &Options) -> Result<Bpf, Refusal> {
        let symbols = Symbols::of_kernel();
        let named = symbols.variables();
        Bpf::with_named(tasks, options, symbols, named)
    }

    fn with_named(
        tasks: &Tasks,
        options: &Options,
        symbols: Arc<Symbols>,
        named: Option<Range<u64>>,
    ) -> Result<Bpf, Refusal> {
        let possible = fs::read_to_string("/sys/devices/system/cpu/possible")
            .ok()
            .and_then(|text| count_cpus(&text))
            .ok_or_else(|| {
                Refusal::new("cannot read /sys/devices/system/cpu/possible", "mount /sys")
            })?;
        let namespace = fs::metadata("/proc/thread-self/ns/pid").map_err(|error| {
            Refusal::new(format!("cannot read /proc/thread-self/ns/pid: {error}"), "mount /proc")
        })?;
        let depth = if options.stacks { WHOLE } else { SHORT };
        let threads = u32::try_from(tasks.threads().len()).unwrap_or(u32::MAX);
        let map = |error| refused("bpf(BPF_MAP_CREATE)", error, "");

        let listed = Map::<u32, u64>::new(MapType::Hash, threads, 1, "tasks").map_err(map)?;
        // A thread waits for one lock, and in interrupts within for a few more.
        let room = threads.saturating_mul(4).max(1024);
        let waiting = Map::new(MapType::Hash, room, 1, "waiting").map_err(map)?;
        let stacks = Map::new(MapType::StackTrace, STACKS, depth.min(deepest()), "stacks");
        let stacks = stacks.map_err(map)?;
        let sums = Map::new(MapType::PerCpuHash, STACKS, possible, "sums").map_err(map)?;
        let counters = Map::new(MapType::PerCpuArray, 1, possible, "counters").map_err(map)?;
        let maps = Maps {
            tasks: listed.raw(),
            waiting: waiting.raw(),
            stacks: stacks.raw(),
            sums: sums.raw(),
            counters: counters.raw(),
        };
        let namespace = (kernel_device(namespace.st_dev()), namespace.st_ino());
        let config = Config { namespace, skip: OWN_FRAMES, named };
        let load = |insns: Vec<insn::Insn>, name| {
            Program::load(&insns, name)
                .map_err(|failed| refused("bpf(BPF_PROG_LOAD)", failed.error, &failed.log))
        };
        let begin = load(program::begin(&maps, &config), "lock_wait_begin")?;
        let end = load(program::end(&maps, &config), "lock_wait_end")?;
        let bpf = Bpf {
            begin,
            end,
            waiting,
            stacks,
            sums,
            counters,
            tasks: listed,
            attached: None,
            whole_stacks: options.stacks,
            symbols,
            unfinished: 0,
            traced: Traced::default(),
            no_stats: None,
        };
        // Before any task is listed, so that the trial counts nothing.
        bpf.attach(None)
            .map_err(|error| refused("bpf(BPF_RAW_TRACEPOINT_OPEN)", error, ""))
            .map(drop)?;
        for thread in tasks.threads() {
            let set = bpf.tasks.set(thread, &1);
            set.map_err(|error| refused("bpf(BPF_MAP_UPDATE_ELEM)", error, ""))?;
        }
        Ok(bpf)
    }

    fn attach(&self, stats: Option<OwnedFd>) -> io::Result<Attached> {
        // Ends first, so that every begin that is seen finds its end.
        let end = self.end.attach(END)?;
        let begin = self.begin.attach(BEGIN)?;
        Ok(Attached { begin, end, stats })
    }

    /// Waits in progress, which nobody will end: the programs are detached.
    fn forget_unfinished(&mut self) -> io::Result<u64> {
        let keys = self.waiting.keys()?;
        for key in &keys {
            self.waiting.remove(key)?;
        }
        Ok(keys.len() as u64)
    }

    fn collect(&self) -> io::Result<Vec<Waits>> {
        let mut all = Vec::new();
        for key in self.sums.keys()? {
            let Some(sums) = self.sums.get(&key)? else { continue };
            let stack = match u32::try_from(key.stack) {
                Ok(id) => self.stacks.get(&id)?.unwrap_or_default(),
                Err(_) => Vec::new(),
            };
            all.push(Waits {
                flags: key.flags,
                lock: key.lock,
                stack: stack.into_iter().take_while(|&address| address != 0).collect(),
                count: sums.iter().map(|sum| sum.count).sum(),
                total_ns: sums.iter().map(|sum| sum.total_ns).sum(),
                max_ns: sums.iter().map(|sum| sum.max_ns).max().unwrap_or(0),
            });
        }
        Ok(all)
    }

    fn counters(&self) -> io::Result<Counters> {
        let per_cpu = self.counters.get(&0)?.unwrap_or_default();
        Ok(per_cpu.iter().fold(Counters::default(), |sum, cpu| Counters {
            begun: sum.begun + cpu.begun,
            lost_begins: sum.lost_begins + cpu.lost_begins,
            lost_ends: sum.lost_ends + cpu.lost_ends,
        }))
    }
}

impl Source for Bpf {
    fn kind(&self) -> Kind {
        Kind::Bpf
    }

    fn start(&mut self) -> Result<(), Error> {
        if !self.traced.is_on() {
            let stats = match sys::enable_stats() {
                Ok(fd) => Some(fd),
                Err(error) => {
                    self.no_stats = Some(error.to_string());
                    None
                }
            };
            let attached = self.attach(stats);
            let failed = |error| Error::os("bpf(BPF_RAW_TRACEPOINT_OPEN)", error);
            self.attached = Some(attached.map_err(failed)?);
            self.traced.start();
        }
        Ok(())
    }

    fn stop(&mut self) -> Result<(), Error> {
        if let Some(Attached { begin, end, stats }) = self.attached.take() {
            self.traced.stop();
            drop(begin);
            drop(end);
            drop(stats);
            let unfinished = self.forget_unfinished();
            self.unfinished += unfinished.map_err(|error| Error::os("bpf(map)", error))?;
        }
        Ok(())
    }

    fn read(mut self: Box<Self>) -> Result<Report, Error> {
        self.stop()?;
        let failed = |error| Error::os("bpf(map)", error);
        let raw = self.collect().map_err(failed)?;
        let counters = self.counters().map_err(failed)?;
        let costs = [&self.begin, &self.end].map(Program::cost);
        let [begin, end] = costs;
        let (begin, end) = (begin.map_err(failed)?, end.map_err(failed)?);

        let contentions = raw.iter().map(|waits| waits.count).sum();
        let without_stack: u64 =
            raw.iter().filter(|waits| waits.stack.is_empty()).map(|waits| waits.count).sum();
        let mut report = Report::new(Kind::Bpf, self.traced.ns());
        report.contentions = Some(contentions);
        report.waits = waits(raw, &self.symbols, self.whole_stacks);
        match self.no_stats {
            None => {
                report.cost =
                    Some(Cost { run_cnt: begin.runs + end.runs, run_ns: begin.ns + end.ns });
            }
            Some(why) => report.notes.push(format!(
                "what tracing cost is not known: bpf(BPF_ENABLE_STATS): {why} (it needs CAP_SYS_ADMIN)"
            )),
        }
        let mut note = |what: &str, count: u64| {
            if count > 0 {
                report.notes.push(format!("{what}: {count}"));
            }
        };
        note(
            "waits that were not over when tracing stopped, which are not counted",
            self.unfinished,
        );
        note("waits that were not followed, being too many at once", counters.lost_begins);
        note("waits that are not counted, having too many different stacks", counters.lost_ends);
        note(
            "waits whose stack met another in one place of the kernel's table and is lost",
            without_stack,
        );
        note(
            "events of the whole system that came while the tracer handled another on the same CPU, and were not seen",
            begin.missed + end.missed,
        );
        report.note_untraced();
        report.note_symbols(&self.symbols);
        Ok(report)
    }
}

/// What a failed call means for the user.
fn refused(call: &str, error: io::Error, log: &str) -> Refusal {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) if log.is_empty() => {
            not_permitted(call, &[Capability::Bpf, Capability::Perfmon])
        }
        Some(libc::ENOSYS) => Refusal::new(
            format!("{call}: this kernel has no BPF, or a container hides it"),
            "run on the host, on a kernel with CONFIG_BPF_SYSCALL",
        ),
        Some(libc::ENOENT) => Refusal::new(
            "this kernel has no tracepoint lock:contention_begin",
            "use a kernel of version 5.19 or later",
        ),
        Some(libc::ENOMEM) => Refusal::new(
            format!("{call}: no memory for the tables"),
            "free memory, or raise memory.max of the cgroup",
        ),
        _ => {
            let last = log.lines().rev().find(|line| !line.starts_with("processed ")).unwrap_or("");
            Refusal::new(
                format!("{call}: {error} {last}").trim_end(),
                "report this with the output of uname -r",
            )
        }
    }
}

/// Frames that the kernel can record (`kernel.perf_event_max_stack`).
fn deepest() -> usize {
    let text = fs::read_to_string("/proc/sys/kernel/perf_event_max_stack").unwrap_or_default();
    // The kernel's own default, where /proc does not say.
    text.trim().parse().ok().filter(|&depth| depth > 0).unwrap_or(127)
}

/// The kernel's own form of a device number: 12 bits of major, 20 of minor.
fn kernel_device(device: u64) -> u64 {
    u64::from(rustix::fs::major(device)) << 20 | u64::from(rustix::fs::minor(device))
}

/// How many CPUs a list like `0-3,8` names.
fn count_cpus(list: &str) -> Option<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        Some(last.checked_sub(first)? + 1)
    };
    list.trim().split(',').map(range).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering::SeqCst;
    use std::sync::mpsc::{Sender, channel};
    use std::time::Duration;

    #[test]
    fn cpus_of_a_list_are_counted() {
        let cases = [
            ("0-1\n", Some(2)),
            ("0", Some(1)),
            ("0-3,8,10-11\n", Some(7)),
            ("", None),
            ("3-1", None),
        ];
        for (list, count) in cases {
            assert_eq!(count_cpus(list), count, "{list:?}");
        }
    }

    #[test]
    fn device_numbers_take_the_kernel_s_form() {
        assert_eq!(kernel_device(rustix::fs::makedev(0, 4)), 4);
        assert_eq!(kernel_device(rustix::fs::makedev(8, 300)), 8 << 20 | 300);
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let of = |errno, log: &str| refused("bpf(X)", io::Error::from_raw_os_error(errno), log);
        assert!(of(libc::ENOENT, "").remedy.contains("5.19"));
        assert!(
            of(libc::EINVAL, "R1 invalid mem access\nprocessed 3 insns").why.ends_with("access")
        );
        let refusal = of(libc::EPERM, "");
        assert!(
            refusal.remedy.contains("setcap") || refusal.remedy.contains("host"),
            "{refusal:?}"
        );
    }

    /// Makes and removes a file until `stop` is set, which takes locks of its directory. Tells its thread's id first.
    fn work(path: &Path, tell: &Sender<u32>, stop: &AtomicBool) {
        tell.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).expect("tell the id");
        while !stop.load(SeqCst) {
            fs::write(path, "x").expect("make a file");
            fs::remove_file(path).expect("remove it");
        }
    }

    #[test]
    fn only_locks_in_the_range_of_names_keep_their_address() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: kernel locks: needs root");
            return;
        }
        let dir = tempfile::tempdir().expect("a directory");
        let stop = AtomicBool::new(false);
        let (tell, told) = channel();
        std::thread::scope(|scope| {
            for number in 0..4 {
                let (path, tell, stop) = (dir.path().join(number.to_string()), &tell, &stop);
                let tell = tell.clone();
                scope.spawn(move || work(&path, &tell, stop));
            }
            let ids: Vec<u32> = told.iter().take(4).collect();
            let seen = |named| {
                let tasks = &Tasks::find(&ids).map_err(|error| error.to_string())?;
                let options = Options::default();
                let mut bpf = Bpf::with_named(tasks, &options, Arc::default(), named)
                    .map_err(|refusal| refusal.why)?;
                bpf.start().map_err(|error| error.to_string())?;
                // As long as it takes until somebody has waited.
                for _ in 0..1000 {
                    std::thread::sleep(Duration::from_millis(10));
                    let waits = bpf.collect().map_err(|error| error.to_string())?;
                    if !waits.is_empty() {
                        return Ok(waits);
                    }
                }
                Err::<Vec<Waits>, String>("nobody ever waited".to_owned())
            };
            let (all, none) = (seen(Some(0..u64::MAX)), seen(None));
            stop.store(true, SeqCst);
            let (all, none) = (all.expect("with a range"), none.expect("without"));
            assert!(all.iter().all(|waits| waits.lock != 0), "{all:?}");
            assert!(none.iter().all(|waits| waits.lock == 0), "{none:?}");
        });
    }
}
