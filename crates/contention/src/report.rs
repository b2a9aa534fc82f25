//! What a source saw, with names in place of addresses.

use crate::Kind;
use crate::fold;
use crate::pairing::{MUTEX, PERCPU, READ, RT, SPIN, WRITE, Waits};
use crate::symbols::Symbols;
use std::collections::BTreeMap;
use std::fmt;

/// Everything that was seen between all starts and stops of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Who saw it.
    pub source: Kind,
    /// Time between starts and stops.
    pub traced_ns: u64,
    /// Finished waits; none if the source sees no locks.
    pub contentions: Option<u64>,
    /// Where they were, the longest first.
    pub waits: Vec<KernelWait>,
    /// Where the tasks' time went; none if no samples were taken.
    pub samples: Option<Samples>,
    /// Switches and stalls; none if the source sees more.
    pub scheduling: Option<Scheduling>,
    /// What the tracer itself cost; none if it cannot be known.
    pub cost: Option<Cost>,
    /// What a reader must know to read the figures rightly: losses, hidden names, what else was counted in.
    pub notes: Vec<String>,
}

/// All waits for one lock in one function on behalf of one caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelWait {
    /// The lock's symbol, where it has one and the kernel tells; else the function that waited.
    pub lock: String,
    /// What kind of lock.
    pub kind: LockKind,
    /// Who waited, the last, and on whose behalf, before it: `lookup_fast`, `lockref_get_not_dead`. Empty if unknown.
    pub path: Vec<String>,
    /// The same by whole stacks, the longest wait first; empty unless they were asked for.
    pub stacks: Vec<WaitStack>,
    /// How many waits.
    pub count: u64,
    /// Together.
    pub wait_ns: u64,
    /// The longest; none if the source does not tell.
    pub wait_max_ns: Option<u64>,
}

/// All waits of one stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitStack {
    /// Functions, the outermost first.
    pub frames: Vec<String>,
    /// How many waits.
    pub count: u64,
    /// Together.
    pub wait_ns: u64,
}

/// A kind of lock, as the kernel's flags tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum LockKind {
    /// Spinlock.
    Spin,
    /// Reader of an rwlock, spinning.
    RwlockRead,
    /// Writer of an rwlock, spinning.
    RwlockWrite,
    /// Mutex.
    Mutex,
    /// Reader of a reader-writer semaphore.
    RwsemRead,
    /// Writer of a reader-writer semaphore.
    RwsemWrite,
    /// Reader of a per-CPU reader-writer semaphore.
    PercpuRead,
    /// Writer of a per-CPU reader-writer semaphore.
    PercpuWrite,
    /// Real-time mutex.
    Rtmutex,
    /// Counting semaphore.
    Semaphore,
    /// The source does not tell.
    Unknown,
}

impl LockKind {
    /// From the flags of `lock:contention_begin`.
    pub(crate) fn from_flags(flags: u32) -> LockKind {
        let has = |flag| flags & flag != 0;
        if flags & !(SPIN | READ | WRITE | RT | PERCPU | MUTEX) != 0 {
            // Of a later kernel.
            LockKind::Unknown
        } else if has(MUTEX) {
            LockKind::Mutex
        } else if has(RT) {
            LockKind::Rtmutex
        } else if has(PERCPU) {
            if has(WRITE) { LockKind::PercpuWrite } else { LockKind::PercpuRead }
        } else if has(SPIN) {
            match (has(READ), has(WRITE)) {
                (true, _) => LockKind::RwlockRead,
                (_, true) => LockKind::RwlockWrite,
                _ => LockKind::Spin,
            }
        } else if has(READ) {
            LockKind::RwsemRead
        } else if has(WRITE) {
            LockKind::RwsemWrite
        } else {
            LockKind::Semaphore
        }
    }
}

impl fmt::Display for LockKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            LockKind::Spin => "spin",
            LockKind::RwlockRead => "rwlock read",
            LockKind::RwlockWrite => "rwlock write",
            LockKind::Mutex => "mutex",
            LockKind::RwsemRead => "rwsem read",
            LockKind::RwsemWrite => "rwsem write",
            LockKind::PercpuRead => "percpu read",
            LockKind::PercpuWrite => "percpu write",
            LockKind::Rtmutex => "rtmutex",
            LockKind::Semaphore => "semaphore",
            LockKind::Unknown => "unknown",
        })
    }
}

/// Where the tasks were when they were looked at, while they ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// What was counted: `cycles` or `cpu-clock`.
    pub event: &'static str,
    /// How often a second of a task's CPU time.
    pub hertz: u64,
    /// All of them.
    pub total: u64,
    /// Of these, outside the kernel.
    pub user: u64,
    /// In the kernel, by function, the most first.
    pub functions: Vec<(String, u64)>,
    /// In the kernel, by whole stack, the outermost first; empty unless asked for.
    pub stacks: Vec<(Vec<String>, u64)>,
}

/// What is left where nobody may look into the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scheduling {
    /// Times a task gave its CPU up, as it does to sleep for a lock.
    pub voluntary: u64,
    /// Times it was taken away.
    pub involuntary: u64,
    /// Time in which something in the system stalled, by resource; empty where the kernel does not tell (CONFIG_PSI).
    pub stalled_ns: Vec<(&'static str, u64)>,
    /// Time that the hypervisor took, over all CPUs.
    pub steal_ns: u64,
}

/// What tracing cost the tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Times that a program of the tracer ran, for whatever task of the system.
    pub run_cnt: u64,
    /// How long that took, together.
    pub run_ns: u64,
}

/// The name of the function that `address` returns to, or the address where it has none.
fn caller(symbols: &Symbols, address: u64) -> String {
    // A call may be the last instruction of a function, so that it "returns" behind its end.
    name(symbols, address, address.saturating_sub(1))
}

/// The name of the function at `address`, or the address.
pub(crate) fn function(symbols: &Symbols, address: u64) -> String {
    name(symbols, address, address)
}

fn name(symbols: &Symbols, address: u64, inside: u64) -> String {
    symbols.function(inside).map_or_else(|| format!("{address:#x}"), str::to_owned)
}

/// Names for the frames of a call chain, in its order; it begins with the function that was interrupted at its first address
/// if `exact`, else all are return addresses.
pub(crate) fn frames(symbols: &Symbols, addresses: &[u64], exact: bool) -> Vec<String> {
    let resolve = |(depth, &address): (usize, &u64)| {
        if exact && depth == 0 { function(symbols, address) } else { caller(symbols, address) }
    };
    addresses.iter().enumerate().map(resolve).collect()
}

/// Waits with names, one per lock, kind and path, the longest first.
pub(crate) fn waits(raw: Vec<Waits>, symbols: &Symbols, stacks: bool) -> Vec<KernelWait> {
    type Row = (KernelWait, BTreeMap<Vec<String>, (u64, u64)>);
    let mut rows: BTreeMap<(String, LockKind, Vec<String>), Row> = BTreeMap::new();
    for waits in raw {
        let all = frames(symbols, &waits.stack, false);
        let frames = fold::without_tracer(&all);
        let path = fold::telling(frames);
        let kind = LockKind::from_flags(waits.flags);
        let symbol = (waits.lock != 0).then(|| symbols.variable(waits.lock)).flatten();
        let lock = match (symbol, path.last()) {
            (Some(symbol), _) => symbol.to_owned(),
            (None, Some(waiting)) => waiting.clone(),
            (None, None) => "(stack not known)".to_owned(),
        };
        let (row, by_stack) = rows.entry((lock.clone(), kind, path.clone())).or_insert_with(|| {
            let wait = KernelWait {
                lock,
                kind,
                path,
                stacks: Vec::new(),
                count: 0,
                wait_ns: 0,
                wait_max_ns: None,
            };
            (wait, BTreeMap::new())
        });
        row.count += waits.count;
        row.wait_ns += waits.total_ns;
        row.wait_max_ns = row.wait_max_ns.max(Some(waits.max_ns));
        if stacks {
            let outermost_first = frames.iter().rev().cloned().collect();
            let (count, ns) = by_stack.entry(outermost_first).or_default();
            *count += waits.count;
            *ns += waits.total_ns;
        }
    }
    let mut waits: Vec<KernelWait> = rows
        .into_values()
        .map(|(mut wait, by_stack)| {
            let stack = |(frames, (count, wait_ns))| WaitStack { frames, count, wait_ns };
            wait.stacks = by_stack.into_iter().map(stack).collect();
            wait.stacks.sort_by_key(|stack| std::cmp::Reverse(stack.wait_ns));
            wait
        })
        .collect();
    waits.sort_by_key(|wait| std::cmp::Reverse(wait.wait_ns));
    waits
}

impl Report {
    /// An empty one of `source`.
    pub(crate) fn new(source: Kind, traced_ns: u64) -> Report {
        Report {
            source,
            traced_ns,
            contentions: None,
            waits: Vec::new(),
            samples: None,
            scheduling: None,
            cost: None,
            notes: Vec::new(),
        }
    }

    /// Says what the lock tracepoints do not tell.
    pub(crate) fn note_untraced(&mut self) {
        self.notes.push(
            "the kernel traces neither spinning for a reader-writer semaphore (only sleeping for it) nor, on \
             bare hardware, the first waiter for a spinlock: samples show both"
                .to_owned(),
        );
    }

    /// Says what hidden names mean, if they are.
    pub(crate) fn note_symbols(&mut self, symbols: &Symbols) {
        if symbols.hidden() {
            self.notes.push(
                "the kernel hides its symbols from this process or has none, so functions are shown as \
                 addresses: run as root, or give the program cap_syslog, or set kernel.kptr_restrict=0 and \
                 kernel.perf_event_paranoid=1"
                    .to_owned(),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYMBOLS: &str = "\
1000 T __x64_sys_openat
2000 T path_openat
3000 T down_write
4000 T rwsem_down_write_slowpath
5000 T bpf_prog_1
6000 T do_unlinkat
7000 T __x64_sys_unlink
";

    /// [`SYMBOLS`] of a kernel that lists its variables.
    fn symbols() -> Symbols {
        let variables = (0..1002).map(|n| format!("{:x} d lock{n}\n", 0x8000 + n * 8));
        Symbols::parse(&[SYMBOLS.to_owned()].into_iter().chain(variables).collect::<String>())
    }

    /// Waits in creat and unlink, as a source tells them.
    fn raw() -> Vec<Waits> {
        let waits = |stack: &[u64], lock, count, total_ns, max_ns| Waits {
            flags: WRITE,
            lock,
            stack: stack.to_vec(),
            count,
            total_ns,
            max_ns,
        };
        vec![
            waits(&[0x5010, 0x4010, 0x3010, 0x2010, 0x1010], 0, 3, 300, 200),
            // The same but for the place within a function.
            waits(&[0x5010, 0x4010, 0x3010, 0x2020, 0x1010], 0, 2, 150, 100),
            waits(&[0x5010, 0x4010, 0x3010, 0x6010, 0x7010], 0, 9, 1000, 500),
            waits(&[0x4010, 0x3010, 0x6010, 0x7010], 0x8012, 1, 1, 1),
            waits(&[], 0, 1, 2, 2),
        ]
    }

    fn report(stacks: bool) -> Report {
        let waits = waits(raw(), &symbols(), stacks);
        Report { waits, contentions: Some(16), ..Report::new(Kind::Bpf, 1000) }
    }

    #[test]
    fn waits_are_summed_by_lock_and_path_and_sorted() {
        let report = report(false);
        let row = |wait: &KernelWait| {
            (wait.lock.clone(), wait.path.join(" "), wait.count, wait.wait_ns, wait.wait_max_ns)
        };
        let rows: Vec<_> = report.waits.iter().map(row).collect();
        let path = "sys_unlink do_unlinkat".to_owned();
        assert_eq!(
            rows,
            [
                ("do_unlinkat".into(), path.clone(), 9, 1000, Some(500)),
                ("path_openat".into(), "sys_openat path_openat".into(), 5, 450, Some(200)),
                ("(stack not known)".into(), String::new(), 1, 2, Some(2)),
                ("lock2".into(), path, 1, 1, Some(1)),
            ]
        );
        assert!(report.waits.iter().all(|wait| wait.stacks.is_empty()));
    }

    #[test]
    fn whole_stacks_lie_below_their_row() {
        let report = report(true);
        let stacks = &report.waits[1].stacks;
        assert_eq!(stacks.len(), 1, "places within functions are one stack");
        assert_eq!((stacks[0].count, stacks[0].wait_ns), (5, 450));
        assert_eq!(
            stacks[0].frames.join(" "),
            "__x64_sys_openat path_openat down_write rwsem_down_write_slowpath"
        );
    }

    #[test]
    fn hidden_symbols_are_said_and_addresses_shown() {
        let hidden = Symbols::parse("0000000000000000 T _stext\n");
        let waits = waits(raw(), &hidden, false);
        assert!(waits.iter().any(|wait| wait.lock == "0x5010"), "{waits:?}");
        let mut report = Report::new(Kind::Bpf, 1);
        report.note_symbols(&hidden);
        assert!(report.notes[0].contains("kptr_restrict"), "{:?}", report.notes);
        report.notes.clear();
        report.note_symbols(&symbols());
        assert!(report.notes.is_empty());
    }

    #[test]
    fn kinds_are_told_by_flags() {
        let cases = [
            (SPIN, LockKind::Spin),
            (SPIN | READ, LockKind::RwlockRead),
            (SPIN | WRITE, LockKind::RwlockWrite),
            (READ, LockKind::RwsemRead),
            (WRITE, LockKind::RwsemWrite),
            (RT, LockKind::Rtmutex),
            (RT | WRITE, LockKind::Rtmutex),
            (PERCPU | READ, LockKind::PercpuRead),
            (PERCPU | WRITE, LockKind::PercpuWrite),
            (MUTEX, LockKind::Mutex),
            (MUTEX | SPIN, LockKind::Mutex),
            (0, LockKind::Semaphore),
            (64, LockKind::Unknown),
            (64 | WRITE, LockKind::Unknown),
        ];
        for (flags, kind) in cases {
            assert_eq!(LockKind::from_flags(flags), kind, "{flags}");
        }
    }
}
