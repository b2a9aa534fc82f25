//! Locks of a simulated machine: how they are counted, and how a try is simulated.

use super::Sim;
use super::arena::with_arena;
use super::coherence::NS;
use super::engine;
use crate::accounting::{LockKind, LockTag, LockTotals};
use crate::platform::{RawSpin, SpinKind};
use crate::sync::WordSpin;
use std::sync::{Mutex, PoisonError};

/// All names of locks and their kinds, by number.
static NAMES: Mutex<Vec<(LockKind, &'static str)>> = Mutex::new(Vec::new());

/// The name of a lock: 4 bytes in each lock, which a kernel's lock does not have.
#[derive(Debug)]
pub struct SimTag(u32);

/// The name with that number.
pub(super) fn lock_name(number: u32) -> &'static str {
    lock(number).1
}

fn lock(number: u32) -> (LockKind, &'static str) {
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)[number as usize]
}

impl SimTag {
    fn address(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

impl LockTag for SimTag {
    const ON: bool = true;

    fn new(kind: LockKind, name: &'static str) -> Self {
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        let number = names.iter().position(|known| *known == (kind, name)).unwrap_or_else(|| {
            with_arena(false, || names.push((kind, name)));
            names.len() - 1
        });
        SimTag(number as u32)
    }

    fn acquired(&self, now_ns: u64, waited_ns: Option<u64>) {
        engine::with(|e| {
            let totals = totals(&mut e.locks, self.0);
            totals.acquisitions += 1;
            if let Some(ns) = waited_ns {
                totals.contended += 1;
                totals.wait_ns += ns;
                totals.wait_max_ns = totals.wait_max_ns.max(ns);
            }
            let line = e.cpus[usize::from(e.cpu)].modified as usize;
            e.memory.lines.counts[line].lock = self.0 + 1;
            let held = (self.address(), self.0, now_ns * NS);
            with_arena(false, || e.task().held.push(held));
        });
    }

    fn released(&self, now_ns: u64) {
        engine::with(|e| {
            let at = self.address();
            let held = &mut e.task().held;
            // As a rule the last one taken. None if it was taken by another task or outside of the simulation.
            let Some(place) = held.iter().rposition(|(tag, _, _)| *tag == at) else { return };
            let (_, _, since) = held.remove(place);
            let ns = now_ns.saturating_sub(since / NS);
            let totals = totals(&mut e.locks, self.0);
            totals.hold_ns += ns;
            totals.hold_max_ns = totals.hold_max_ns.max(ns);
        });
    }
}

fn totals(locks: &mut Vec<LockTotals>, number: u32) -> &mut LockTotals {
    let number = number as usize;
    while locks.len() <= number {
        let (kind, name) = lock(locks.len() as u32);
        let totals = LockTotals { name, kind, ..LockTotals::default() };
        with_arena(false, || locks.push(totals));
    }
    &mut locks[number]
}

/// The spinlocks of the kernel, as they are.
///
/// Counted locks are tried before they are taken, to tell whether they were free. The try shall not change what is simulated: it
/// costs nothing if the lock is taken (the lock's own first step follows and costs what it costs), and its one locked operation
/// if it looks free.
#[derive(Debug)]
pub struct SimSpin(WordSpin<Sim>);

impl RawSpin for SimSpin {
    fn new(kind: SpinKind) -> Self {
        SimSpin(WordSpin::new(kind))
    }
    #[inline]
    fn lock(&self) {
        self.0.lock();
    }
    fn try_lock(&self) -> bool {
        engine::with(|e| e.probe = true);
        let taken = self.0.try_lock();
        engine::with(|e| {
            // Still set if it was only looked at. Not free of charge altogether, or a loop of tries would take no time.
            if std::mem::take(&mut e.probe) {
                e.clock += 1;
            }
        });
        taken
    }
    #[inline]
    fn unlock(&self) {
        self.0.unlock();
    }
}
