//! The tasks of one mode: made once per run, kept, and given slices.
//!
//! Process mode forks one process per task. Thread mode forks one process that runs all tasks as its threads, so that they
//! share an fd table and nothing with the conductor. All die with the conductor (PR_SET_PDEATHSIG).

use crate::bench::Bench;
use crate::error::{Error, Who};
use crate::interrupt::Interrupt;
use crate::latency::Latencies;
use crate::proc_stat::ProcStat;
use crate::shared::{ANYWHERE, NO_PHASE, QUIT, Shared, Slot, State};
use crate::task::{Role, serve, sleep_while, wake_all};
use results::Sample;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions, WaitStatus};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};
use vfs_api::TaskMode;

/// How often a waiting conductor looks whether its tasks still live.
const LOOK: Duration = Duration::from_millis(50);
/// A stopped task may be continued within this time; then the slice is repeated.
const STOPPED: Duration = Duration::from_secs(2);
/// No sign of any task for so long means that they never will give one ...
const SILENT: Duration = Duration::from_secs(30);
/// ... and for so much longer for each file that a task may be making meanwhile: a server is slow, and one in user space slower.
const SILENT_INODE: Duration = Duration::from_millis(5);
/// Stack of a task's thread. The loop bodies need a few hundred bytes; 4096 threads shall fit anywhere.
const STACK: usize = 256 * 1024;

/// What a slice is to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice {
    /// Index of the curve within the crew.
    pub(crate) curve: usize,
    /// How many tasks take part.
    pub(crate) tasks: usize,
    /// How long; of a phase of fixed work this is not asked.
    pub(crate) length: Duration,
    /// The phase, if it is one of fixed work.
    pub(crate) phase: Option<usize>,
    /// Whether the target tells more than samples.
    pub(crate) tells: bool,
}

/// How a slice ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// With one sample per task (`round` is 0, for the caller to set), and what else the target told.
    Measured(Vec<Sample>, Told),
    /// Tasks were stopped and continued meanwhile: its times mean nothing.
    Disturbed,
    /// The user asked to end.
    Interrupted,
}

/// What a target tells of a slice beyond the samples, of all tasks together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    /// By name.
    pub(crate) locks: Vec<results::LockUse>,
    /// Summed over CPUs.
    pub(crate) rcu: Option<results::RcuBacklog>,
    /// Of all operations, where they were timed.
    pub(crate) latencies: Option<Box<Latencies>>,
}

/// The tasks of one mode.
pub(crate) struct Crew {
    mode: TaskMode,
    shared: Arc<Shared>,
    /// Child processes: one per task, or the one that hosts all threads.
    children: Vec<Pid>,
    /// "workload on target" of each curve, for error messages.
    curves: Vec<String>,
    /// For each curve, whether one task more works in its background. That task has the last slot, if any curve wants it.
    background: Vec<bool>,
    /// CPU of each task that is measured, if pinned.
    cpus: Vec<u32>,
    /// All CPUs to pin to, in the order of the tasks.
    order: Vec<u32>,
    /// Usable CPUs: with more tasks than that, they take turns.
    usable: usize,
    /// No sign of any task for so long means that they never will give one.
    patience: Duration,
    slices: u32,
    /// Set once they are told to end.
    ended: bool,
}

impl Crew {
    /// Makes `tasks` tasks and waits until each is ready. Task i is pinned to `cpus[i % cpus.len()]`, or nowhere if empty. Each
    /// makes up to so many `inodes`.
    ///
    /// The calling process must have a single thread (it forks).
    ///
    /// # Errors
    /// A call of the preparation failed, a process or thread could not be made, or a task died.
    pub(crate) fn start(
        mode: TaskMode,
        tasks: usize,
        order: &[u32],
        usable: usize,
        curves: Vec<(String, Box<dyn Bench>)>,
        inodes: u64,
        interrupt: &Interrupt,
    ) -> Result<Option<Crew>, Error> {
        let (curves, benches): (Vec<String>, Vec<Box<dyn Bench>>) = curves.into_iter().unzip();
        let background: Vec<bool> = benches.iter().map(|bench| bench.has_background()).collect();
        let slots = tasks + usize::from(background.contains(&true));
        let timed = benches.iter().any(|bench| bench.is_timed());
        let shared = Arc::new(Shared::new(slots, timed).map_err(|e| Error::os("mmap", e))?);
        let cpus: Vec<u32> = order.iter().copied().cycle().take(tasks).collect();
        let children = Vec::new();
        let mut crew = Crew {
            mode,
            shared,
            children,
            curves,
            background,
            cpus,
            order: order.to_vec(),
            usable,
            patience: SILENT + SILENT_INODE * u32::try_from(inodes).unwrap_or(u32::MAX),
            slices: 0,
            ended: false,
        };
        match mode {
            TaskMode::Process => {
                for (curve, bench) in benches.iter().enumerate() {
                    let failed =
                        |failed| Error::Setup { curve: crew.curves[curve].clone(), failed };
                    bench.prepare().map_err(failed)?;
                }
                for id in 0..slots {
                    let shared = Arc::clone(&crew.shared);
                    let role = role(id, tasks, &crew.cpus);
                    crew.fork(|| serve(&shared, id, role, &benches))?;
                }
            }
            TaskMode::Thread => {
                let (shared, cpus) = (Arc::clone(&crew.shared), crew.cpus.clone());
                crew.fork(|| host(&shared, tasks, &cpus, &benches))?;
            }
        }
        if crew.wait_ready(interrupt)? { Ok(Some(crew)) } else { Ok(None) }
    }

    /// The tasks of a slice: the first ones, and the one in the background if the curve wants it.
    fn working(&self, slice: &Slice) -> Vec<usize> {
        let last = self.shared.slots().len() - 1;
        (0..slice.tasks).chain(self.background[slice.curve].then_some(last)).collect()
    }

    fn cpu(&self, id: usize) -> Option<u32> {
        self.cpus.get(id).copied()
    }

    /// CPUs of the first `tasks` tasks; empty if they are not pinned.
    pub(crate) fn cpus(&self, tasks: usize) -> Vec<u32> {
        self.cpus.iter().copied().take(tasks).collect()
    }

    /// Kernel thread ids of the first `tasks` tasks.
    pub(crate) fn tids(&self, tasks: usize) -> Vec<u32> {
        self.shared.slots()[..tasks].iter().map(|slot| slot.tid.load(SeqCst)).collect()
    }

    /// Forks a child into the crew's process group.
    ///
    /// A group of its own, so that one waitid(2) can ask after all of the crew and nobody else, and so that Ctrl-C and Ctrl-Z
    /// reach the conductor alone: it ends the slice in order, and a pause of the conductor distorts no measurement.
    fn fork(&mut self, body: impl FnOnce()) -> Result<(), Error> {
        let group = self.children.first().copied();
        let child = fork(group, body)?;
        // The child does the same; whoever comes first. It fails if the child has ended already, which is noticed elsewhere.
        let _ = rustix::process::setpgid(Some(child), Some(group.unwrap_or(child)));
        self.children.push(child);
        Ok(())
    }

    /// False if the user asked to end.
    fn wait_ready(&mut self, interrupt: &Interrupt) -> Result<bool, Error> {
        let tasks = self.shared.slots().len();
        self.shared.control().tasks.store(tasks as u32, SeqCst);
        let mut seen = 0;
        let mut since = Instant::now();
        loop {
            let done = self.shared.control().done.load(SeqCst);
            self.check_failures()?;
            if done as usize >= tasks {
                return Ok(true);
            }
            if interrupt.asked() {
                return Ok(false);
            }
            self.check_children()?;
            if done != seen {
                (seen, since) = (done, Instant::now());
            } else if since.elapsed() > self.patience {
                return Err(
                    self.silent((0..tasks).collect(), |slot| slot.state() == State::Starting)
                );
            }
            sleep_while(&self.shared.control().done, done, Some(LOOK));
        }
    }

    /// Runs one slice.
    ///
    /// # Errors
    /// A call of a task failed, a task died, was stopped for good or does not answer.
    pub(crate) fn run(&mut self, slice: Slice, interrupt: &Interrupt) -> Result<Ended, Error> {
        self.slices += 1;
        let number = self.slices;
        let shared = Arc::clone(&self.shared);
        let control = shared.control();
        control.curve.store(slice.curve as u32, SeqCst);
        let working = self.working(&slice);
        control.tasks.store(working.len() as u32, SeqCst);
        control.crowded.store(u32::from(working.len() > self.usable), SeqCst);
        // Beside those that are measured, if there is a CPU left.
        let beside = self.order.get(slice.tasks % self.order.len().max(1)).copied();
        control.background_cpu.store(beside.unwrap_or(ANYWHERE), SeqCst);
        control.phase.store(slice.phase.map_or(NO_PHASE, |phase| phase as u32), SeqCst);
        control.length_ns.store(slice.length.as_nanos() as u64, SeqCst);
        control.arrived.store(0, SeqCst);
        control.stop.store(0, SeqCst);
        control.done.store(0, SeqCst);
        for id in &working {
            let slot = &shared.slots()[*id];
            slot.wake.store(number, SeqCst);
            wake_all(&slot.wake);
        }
        let disturbed = self.wait_open(number, &slice, interrupt)?;
        let disturbed = self.wait_end(&slice, interrupt)? || disturbed;
        let disturbed = interrupt.pause_if_asked() || disturbed;
        if interrupt.asked() {
            Ok(Ended::Interrupted)
        } else if disturbed {
            Ok(Ended::Disturbed)
        } else {
            let samples = shared.slots()[..slice.tasks].iter().enumerate();
            let samples = samples.map(|(task, slot)| sample(task, slot)).collect();
            let mut told = Told::default();
            if slice.tells {
                for extra in &shared.extras()[..slice.tasks] {
                    results::LockUse::merge(&mut told.locks, extra.locks());
                    told.rcu = results::RcuBacklog::sum(told.rcu, extra.rcu());
                }
            }
            if slice.phase.is_some() && !shared.latencies().is_empty() {
                let mut sum = Box::new(Latencies::new());
                let slots = &shared.latencies()[..slice.tasks];
                slots.iter().for_each(|slot| slot.add_to(&mut sum));
                told.latencies = Some(sum);
            }
            Ok(Ended::Measured(samples, told))
        }
    }

    /// Sleeps while the slice lasts and the barrier has opened, so that as a rule nothing but the tasks runs. Answers whether
    /// tasks were stopped meanwhile.
    fn wait_open(
        &mut self,
        number: u32,
        slice: &Slice,
        interrupt: &Interrupt,
    ) -> Result<bool, Error> {
        let shared = Arc::clone(&self.shared);
        let control = shared.control();
        let since = Instant::now();
        let mut disturbed = false;
        loop {
            sleep_while(&control.done, control.done.load(SeqCst), Some(slice.length.min(LOOK)));
            if control.open.load(SeqCst) == number {
                return Ok(disturbed);
            }
            self.check_failures()?;
            disturbed |= self.check_children()?;
            if interrupt.asked() && since.elapsed() > STOPPED {
                return Ok(true);
            }
            if since.elapsed() > self.patience {
                return Err(self.silent(self.working(slice), |_| true));
            }
        }
    }

    /// Sleeps until all have done their fixed work, or one has failed, or the user asks to end. However long that takes: that is
    /// what is measured. Answers whether tasks were stopped meanwhile.
    fn wait_phase(&mut self, slice: &Slice, interrupt: &Interrupt) -> Result<bool, Error> {
        let shared = Arc::clone(&self.shared);
        let control = shared.control();
        let mut disturbed = false;
        loop {
            let done = control.done.load(SeqCst);
            let all = done as usize >= self.working(slice).len();
            if all || interrupt.wants_the_slice_to_end() || control.stop.load(SeqCst) != 0 {
                return Ok(disturbed);
            }
            sleep_while(&control.done, done, Some(LOOK));
            disturbed |= self.check_children()?;
        }
    }

    /// Sleeps for the rest of the slice, stops it, waits for all tasks. Answers whether tasks were stopped meanwhile.
    fn wait_end(&mut self, slice: &Slice, interrupt: &Interrupt) -> Result<bool, Error> {
        let shared = Arc::clone(&self.shared);
        let control = shared.control();
        let length = slice.length.as_nanos() as u64;
        let end = control.opened_ns.load(SeqCst) + length;
        let mut disturbed = match slice.phase {
            Some(_) => self.wait_phase(slice, interrupt)?,
            None => false,
        };
        while slice.phase.is_none() {
            let done = control.done.load(SeqCst);
            let left = end.saturating_sub(crate::clock::now_ns());
            // For the last fiftieth it does not pay to wake up once more. A task that failed has set the flag itself.
            if left <= length / 50
                || interrupt.wants_the_slice_to_end()
                || control.stop.load(SeqCst) != 0
            {
                break;
            }
            sleep_while(&control.done, done, Some(Duration::from_nanos(left).min(LOOK)));
            disturbed |= self.check_children()?;
        }
        control.stop.store(1, SeqCst);
        let since = Instant::now();
        // A task can be in the middle of a call that takes long (a sync, a hung server): patience in proportion.
        let patience = self.patience.max(slice.length);
        loop {
            let done = control.done.load(SeqCst);
            if done as usize >= self.working(slice).len() {
                break;
            }
            sleep_while(&control.done, done, Some(LOOK));
            if since.elapsed() > LOOK {
                disturbed |= self.check_children()?;
                if interrupt.asked() && since.elapsed() > STOPPED {
                    return Ok(true);
                }
                if since.elapsed() > patience {
                    return Err(self.silent(self.working(slice), |_| true));
                }
            }
        }
        disturbed |= self.check_children()?;
        self.check_failures()?;
        Ok(disturbed)
    }

    /// An error for the first task that left a failure.
    fn check_failures(&self) -> Result<(), Error> {
        for (id, slot) in self.shared.slots().iter().enumerate() {
            if let Some(left) = slot.failure() {
                let who = self.who(id);
                let curve = self.curves[left.curve].clone();
                return Err(Error::Call { who, curve, failure: left.failure, path: left.path });
            }
        }
        Ok(())
    }

    fn who(&self, id: usize) -> Who {
        let pid = self.shared.slots()[id].tid.load(SeqCst);
        Who { mode: self.mode, task: id, pid, cpu: self.cpu(id) }
    }

    /// The task (or, for a host of threads, its first task) behind a child.
    fn who_is(&self, child: Pid) -> Who {
        let id = self.children.iter().position(|c| *c == child).unwrap_or(0);
        let mut who = self.who(id);
        who.pid = raw(child);
        who
    }

    /// Looks whether a child died or was stopped. A stopped one gets [`STOPPED`] to be continued; answers whether one was.
    fn check_children(&mut self) -> Result<bool, Error> {
        let Some(group) = self.children.first().copied() else { return Ok(false) };
        let options = WaitOptions::UNTRACED | WaitOptions::CONTINUED | WaitOptions::NOHANG;
        let mut stopped = false;
        loop {
            let (child, status) = match rustix::process::waitpgid(group, options) {
                Ok(Some(waited)) => waited,
                Ok(None) => return Ok(stopped),
                Err(e) => return Err(Error::os("waitpid", e)),
            };
            if status.continued() {
                // Both happened since the last look.
                stopped = true;
            } else if status.stopped() {
                stopped = true;
                self.await_continue(child)?;
            } else {
                let who = self.who_is(child);
                self.children.retain(|c| *c != child);
                // What it left in its slot says more than its exit status.
                self.check_failures()?;
                return Err(Error::Died { who, how: how_it_died(status) });
            }
        }
    }

    fn await_continue(&self, child: Pid) -> Result<(), Error> {
        let since = Instant::now();
        while since.elapsed() < STOPPED {
            if ProcStat::read(raw(child)).map(|s| s.state) != Some('T') {
                return Ok(());
            }
            std::thread::sleep(LOOK);
        }
        Err(Error::Stopped { who: self.who_is(child) })
    }

    fn silent(&self, tasks: Vec<usize>, suspect: impl Fn(&Slot) -> bool) -> Error {
        // The one in uninterruptible sleep is the likeliest culprit.
        let asleep = |id: &usize| {
            let tid = self.shared.slots()[*id].tid.load(SeqCst);
            ProcStat::read(tid).map(|s| s.state) == Some('D')
        };
        let suspects: Vec<usize> =
            tasks.into_iter().filter(|id| suspect(&self.shared.slots()[*id])).collect();
        let id = suspects.iter().find(|id| asleep(id)).or(suspects.first()).copied().unwrap_or(0);
        let mut who = self.who(id);
        // A thread that is not there yet: its process is still preparing.
        if let (0, Some(host)) = (who.pid, self.children.first()) {
            who.pid = raw(*host);
        }
        Error::Silent { who, seconds: self.patience.as_secs() }
    }

    /// Ends all tasks: asked first, killed if they do not within a second.
    pub(crate) fn end(&mut self) {
        if self.ended {
            return;
        }
        self.ended = true;
        self.shared.control().stop.store(1, SeqCst);
        for slot in self.shared.slots() {
            slot.wake.store(QUIT, SeqCst);
            wake_all(&slot.wake);
        }
        if !self.reap(Duration::from_secs(1)) {
            for child in &self.children {
                // ESRCH: it is gone already.
                let _ = rustix::process::kill_process(*child, Signal::KILL);
            }
            self.reap(Duration::from_secs(5));
        }
    }

    /// Waits for the children; true if all are gone.
    fn reap(&mut self, patience: Duration) -> bool {
        let since = Instant::now();
        loop {
            self.children.retain(|child| {
                let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
                matches!(rustix::process::waitid(WaitId::Pid(*child), options), Ok(None))
            });
            if self.children.is_empty() || since.elapsed() > patience {
                return self.children.is_empty();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Ends them without asking: a barrier that never opens would keep them.
    pub(crate) fn kill(&mut self) {
        for child in &self.children {
            // ESRCH: it is gone already.
            let _ = rustix::process::kill_process(*child, Signal::KILL);
        }
        self.ended = true;
        self.reap(Duration::from_secs(5));
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        if !self.ended {
            self.kill();
        }
    }
}

fn sample(task: usize, slot: &Slot) -> Sample {
    Sample {
        round: 0,
        task: task as u32,
        ops: slot.ops.load(SeqCst),
        start_ns: slot.start_ns.load(SeqCst),
        elapsed_ns: slot.elapsed_ns.load(SeqCst),
        user_ns: slot.user_ns.load(SeqCst),
        sys_ns: slot.sys_ns.load(SeqCst),
        vcsw: slot.vcsw.load(SeqCst),
        ivcsw: slot.ivcsw.load(SeqCst),
        cpu: [slot.cpu[0].load(SeqCst), slot.cpu[1].load(SeqCst)],
    }
}

fn how_it_died(status: WaitStatus) -> String {
    if let Some(signal) = status.terminating_signal() {
        let name = match signal {
            libc::SIGKILL => {
                "SIGKILL (by a user, or by the kernel for want of memory: see dmesg)".into()
            }
            libc::SIGTERM => "SIGTERM".into(),
            libc::SIGSEGV => "SIGSEGV".into(),
            libc::SIGBUS => "SIGBUS".into(),
            other => format!("signal {other}"),
        };
        format!("killed by {name}")
    } else {
        format!("exited with status {}", status.exit_status().unwrap_or(-1))
    }
}

/// What a task with this number is there for, with so many that are measured.
fn role(id: usize, tasks: usize, cpus: &[u32]) -> Role {
    if id < tasks { Role::Measured(cpus.get(id).copied()) } else { Role::Background }
}

/// The process that hosts the threads of thread mode.
fn host(shared: &Arc<Shared>, tasks: usize, cpus: &[u32], benches: &[Box<dyn Bench>]) {
    for (curve, bench) in benches.iter().enumerate() {
        if let Err(failed) = bench.prepare() {
            shared.slots()[0].fail(curve, failed.failure, &failed.path);
            // The conductor waits for as many reports as there are tasks.
            shared.slots().iter().for_each(|_| crate::task::report_done(shared));
            return;
        }
    }
    std::thread::scope(|scope| {
        for id in 0..shared.slots().len() {
            let role = role(id, tasks, cpus);
            let run = move || serve(shared, id, role, benches);
            let thread = std::thread::Builder::new().stack_size(STACK);
            if let Err(e) = thread.spawn_scoped(scope, run) {
                let errno = vfs_api::Errno::from_io_error(&e).unwrap_or(vfs_api::Errno::AGAIN);
                let failure = vfs_api::Failure::new(vfs_api::Call::Clone, errno);
                shared.slots()[id].fail(0, failure, c"a thread of the crew");
                shared.slots()[id..].iter().for_each(|_| crate::task::report_done(shared));
                // The threads made so far sleep until they are told to quit; the conductor kills the process.
                return;
            }
        }
    });
}

fn raw(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get() as u32
}

/// Forks; the child joins `group` (or leads one), runs `body` and exits. It dies with its parent.
fn fork(group: Option<Pid>, body: impl FnOnce()) -> Result<Pid, Error> {
    let parent = rustix::process::getpid();
    // SAFETY: the conductor has one thread, so that the child may do all that its parent might (no lock can be held by a
    // thread that the child lacks).
    match unsafe { libc::fork() } {
        -1 => Err(Error::Fork(std::io::Error::last_os_error())),
        0 => {
            crate::interrupt::leave_to_conductor();
            // The parent does the same; whoever comes first.
            let _ = rustix::process::setpgid(None, group);
            let dies_with_parent =
                rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
            // The parent may have died before the line above.
            let orphan = rustix::process::getppid() != Some(parent);
            let status = if dies_with_parent.is_ok() && !orphan {
                // A panic must not unwind into the conductor's code below the fork.
                match std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)) {
                    Ok(()) => 0,
                    Err(_) => 101,
                }
            } else {
                1
            };
            // SAFETY: ends the child at once, without the parent's exit handlers or buffers.
            unsafe { libc::_exit(status) }
        }
        pid => Ok(Pid::from_raw(pid).expect("fork answers a pid above 0 in the parent")),
    }
}
