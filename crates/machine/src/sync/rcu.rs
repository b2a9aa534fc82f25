//! RCU: readers cost nothing, and what they may still see is freed after a grace period.
//!
//! Quiescent-state based, as a kernel without preemption has it: a CPU reads inside a system call without any marking, and the
//! end of the call is a quiescent state ([`Rcu::quiescent`]). A CPU that does nothing, or sleeps, is offline and not waited for.
//!
//! Grace periods are numbered. A CPU's `seen` is the number it saw at its last quiescent state. A callback that was queued
//! when the number was g may run once every online CPU has seen g + 1.
//!
//! Ordering: who retires an object unlinks it, fences (SeqCst), then reads the number g. A CPU at a quiescent state reads the
//! number, and if it is new: fences, stores it in `seen`, fences. If it saw g + 1, its fence comes after the retiring CPU's in
//! the order of fences (the retirer read g, which is older than what this CPU read), so that its later reads see the
//! unlinking; its earlier reads are before its store of `seen`, which whoever ends the grace period has read before it frees
//! (Acquire and fence). Going online is store `seen`, fence; with the retirer's fence this is the store-buffering pattern: the
//! retirer sees the CPU online, or the CPU sees the unlinking.
//!
//! Callbacks of a CPU run on it, at quiescent states, at most `BLIMIT` at a time unless more than `QHIMARK` have piled up, as
//! in the kernel (rcutree.blimit, rcutree.qhimark): a loop that retires an object per call outruns the grace periods, which is
//! what mail 003 saw of struct file. [`Rcu::backlog`] tells how far.

use super::PerCpu;
use crate::platform::{Cpu, Cx, Plain, Platform, Word};
use std::collections::VecDeque;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

/// Callbacks run at one quiescent state.
const BLIMIT: usize = 10;
/// With more than so many waiting, all that are ripe run at once.
const QHIMARK: usize = 10_000;
/// Quiescent states between two looks at grace periods and callbacks: the kernel does it from the timer tick, not at each.
const EVERY: u32 = 64;

/// What a callback does with the retired object. Called on the CPU that retired it.
pub type Callback<P> = unsafe fn(object: *mut (), cx: Cx<'_, P>);

struct Queued<P: Platform> {
    /// The grace period that must have ended.
    after: u64,
    object: *mut (),
    bytes: usize,
    callback: Callback<P>,
}

/// A CPU's callbacks. Only that CPU touches them.
struct Queue<P: Platform> {
    waiting: VecDeque<Queued<P>>,
    since_look: u32,
    bytes: usize,
    peak: usize,
    peak_bytes: usize,
    done: u64,
}

// SAFETY: the objects behind the pointers are handed over with the callback; see `Rcu::call`.
unsafe impl<P: Platform> Send for Queue<P> {}

struct Local<P: Platform> {
    /// Number of the grace period at the last quiescent state; 0 while offline.
    seen: P::U64,
    queue: P::Cell<Queue<P>>,
}

/// An RCU domain: one per kernel.
pub struct Rcu<P: Platform> {
    /// Number of the current grace period; from 1.
    current: P::U64,
    /// Number of the last one that has ended.
    ended: P::U64,
    cpus: PerCpu<P, Local<P>>,
}

/// How far callbacks lag behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Waiting now.
    pub waiting: usize,
    /// Most that ever waited, summed over CPUs.
    pub peak: usize,
    /// Most bytes that ever waited to be freed, summed over CPUs.
    pub peak_bytes: usize,
    /// Callbacks that have run.
    pub done: u64,
    /// Grace periods that have ended.
    pub grace_periods: u64,
}

impl<P: Platform> std::fmt::Debug for Rcu<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Rcu")
    }
}

impl<P: Platform> Rcu<P> {
    /// For `cpus` CPUs, all offline.
    pub fn new(cpus: usize) -> Self {
        let queue = || Queue {
            waiting: VecDeque::new(),
            since_look: 0,
            bytes: 0,
            peak: 0,
            peak_bytes: 0,
            done: 0,
        };
        let rcu = Rcu {
            current: P::U64::new(1),
            ended: P::U64::new(0),
            cpus: PerCpu::new(cpus, |_| Local {
                seen: P::U64::new(0),
                queue: P::Cell::new(queue()),
            }),
        };
        rcu.cpus.iter().for_each(|cpu| P::name(cpu, "rcu_data (per CPU)"));
        rcu
    }

    /// To be called when it has its place.
    pub fn name_lines(&self) {
        P::name(&self.current, "rcu_state.gp_seq");
    }

    fn with_queue<R>(&self, cpu: Cpu, f: impl FnOnce(&mut Queue<P>) -> R) -> R {
        // SAFETY: only the CPU itself touches its queue, and it does one thing at a time: `f` never calls back in here.
        self.cpus.get(cpu).queue.with_mut(|queue| f(unsafe { &mut *queue }))
    }

    /// The CPU is about to read. It must be offline.
    pub fn online(&self, cpu: Cpu) {
        // Relaxed: an older number only makes others wait for this CPU once more. The fence is explained in the header.
        self.cpus.get(cpu).seen.store(self.current.load(Relaxed), Relaxed);
        P::fence(SeqCst);
    }

    /// The CPU will not read until it is online again (it sleeps, or has nothing to do).
    pub fn offline(&self, cpu: Cpu) {
        P::fence(SeqCst);
        // Release: what it has read before is over for whoever sees the 0.
        self.cpus.get(cpu).seen.store(0, Release);
    }

    /// The CPU, which must be online, holds no reference into RCU-protected structures at this moment. To be called at the end of
    /// each system call.
    #[inline]
    pub fn quiescent(&self, cx: Cx<'_, P>) {
        let local = self.cpus.get(cx.cpu);
        // Relaxed: see the fences. As a rule the number is what it was, and this is all.
        let current = self.current.load(Relaxed);
        if local.seen.load(Relaxed) != current {
            P::fence(SeqCst);
            local.seen.store(current, Release);
            P::fence(SeqCst);
        }
        let (look, some) = self.with_queue(cx.cpu, |queue| {
            queue.since_look += 1;
            (queue.since_look >= EVERY, !queue.waiting.is_empty())
        });
        if look && some {
            self.look(cx);
        }
    }

    /// Frees what is ripe.
    #[cold]
    fn look(&self, cx: Cx<'_, P>) {
        self.try_end();
        // Acquire: pairs with the Release of whoever ended the grace period; its reads of all `seen` are before.
        let ended = self.ended.load(Acquire);
        let ripe: Vec<Queued<P>> = self.with_queue(cx.cpu, |queue| {
            queue.since_look = 0;
            let limit = if queue.waiting.len() > QHIMARK { usize::MAX } else { BLIMIT };
            let ripe = queue.waiting.iter().take(limit).take_while(|q| q.after <= ended).count();
            let ripe: Vec<_> = queue.waiting.drain(..ripe).collect();
            queue.bytes -= ripe.iter().map(|q| q.bytes).sum::<usize>();
            queue.done += ripe.len() as u64;
            ripe
        });
        for queued in ripe {
            // SAFETY: the grace period after its retirement has ended (header), and it is run once: it was drained.
            unsafe { (queued.callback)(queued.object, cx) };
        }
    }

    /// Ends the current grace period if every online CPU has passed a quiescent state in it.
    fn try_end(&self) {
        let current = self.current.load(Relaxed);
        let passed = |local: &Local<P>| {
            // Acquire: the CPU's reads before its quiescent state are before whatever is freed now.
            let seen = local.seen.load(Acquire);
            seen == 0 || seen >= current
        };
        // The fence makes the look at an offline CPU one side of the store-buffering pattern of the header.
        P::fence(SeqCst);
        if self.cpus.iter().all(passed)
            && self.current.compare_exchange(current, current + 1, SeqCst, Relaxed).is_ok()
        {
            // Only who moved the number stores here, but an earlier one may be late: never backwards.
            let mut ended = self.ended.load(Relaxed);
            while ended < current {
                match self.ended.compare_exchange(ended, current, Release, Relaxed) {
                    Ok(_) => break,
                    Err(found) => ended = found,
                }
            }
        }
    }

    /// Runs `callback` on `object` once no CPU can be reading it any more. `bytes` counts in the backlog.
    ///
    /// # Safety
    /// `object` is unlinked: nobody who begins to read now can find it. It may be handed to `callback` on this CPU, later.
    pub unsafe fn call(&self, cx: Cx<'_, P>, object: *mut (), bytes: usize, callback: Callback<P>) {
        P::fence(SeqCst);
        let after = self.current.load(Relaxed) + 1;
        self.with_queue(cx.cpu, |queue| {
            queue.waiting.push_back(Queued { after, object, bytes, callback });
            queue.bytes += bytes;
            queue.peak = queue.peak.max(queue.waiting.len());
            queue.peak_bytes = queue.peak_bytes.max(queue.bytes);
        });
    }

    /// Waits for a grace period. The calling CPU must be online and hold no reference.
    pub fn synchronize(&self, cx: Cx<'_, P>) {
        P::fence(SeqCst);
        let after = self.current.load(Relaxed) + 1;
        // Acquire as in `look`.
        while self.ended.load(Acquire) < after {
            self.quiescent(cx);
            self.try_end();
            P::relax();
        }
    }

    /// Runs all callbacks of all CPUs. Every CPU must be offline and stay so.
    ///
    /// # Safety
    /// The caller is alone with the domain: no CPU does anything in it meanwhile.
    pub unsafe fn drain(&self) {
        for cpu in (0..self.cpus.iter().count()).map(Cpu) {
            let cx = Cx { cpu, rcu: self };
            loop {
                let next = self.with_queue(cpu, |queue| {
                    let next = queue.waiting.pop_front();
                    queue.bytes -= next.as_ref().map_or(0, |q| q.bytes);
                    queue.done += u64::from(next.is_some());
                    next
                });
                match next {
                    // SAFETY: nobody reads (the caller's promise), and it is run once.
                    Some(queued) => unsafe { (queued.callback)(queued.object, cx) },
                    None => break,
                }
            }
        }
    }

    /// How far the callbacks of `cpu` lag behind. To be called on it.
    pub fn local_backlog(&self, cpu: Cpu) -> Backlog {
        let grace_periods = self.ended.load(SeqCst);
        self.with_queue(cpu, |queue| Backlog {
            waiting: queue.waiting.len(),
            peak: queue.peak,
            peak_bytes: queue.peak_bytes,
            done: queue.done,
            grace_periods,
        })
    }

    /// How far callbacks lag behind, summed over CPUs.
    ///
    /// # Safety
    /// No CPU queues or runs callbacks meanwhile.
    pub unsafe fn backlog(&self) -> Backlog {
        let mut sum = Backlog::default();
        for cpu in (0..self.cpus.iter().count()).map(Cpu) {
            let local = self.local_backlog(cpu);
            sum.waiting += local.waiting;
            sum.peak += local.peak;
            sum.peak_bytes += local.peak_bytes;
            sum.done += local.done;
            sum.grace_periods = local.grace_periods;
        }
        sum
    }
}
