//! From begins and ends to waits, for sources that see each event; the BPF programs do the same in the kernel.
//!
//! A wait in progress is known by its lock and thread: the thread alone will not do, for an interrupt may wait for a spinlock
//! while its thread waits for a semaphore. Two more rules are not obvious:
//!
//! - Who waits for a mutex spins and sleeps in turns, and the kernel says each time that a wait begins, and once that it ended.
//!   That is one wait, from the first begin on.
//! - A semaphore and a real-time mutex begin with the spinlock that guards them, at one address. Who waits for the one may have to
//!   wait for the other in between, so they are kept apart; the spinlock's wait ends first.

use std::collections::HashMap;

/// Spinning.
pub(crate) const SPIN: u32 = 1;
/// Shared access to a lock that has both.
pub(crate) const READ: u32 = 2;
/// Exclusive access to a lock that has both.
pub(crate) const WRITE: u32 = 4;
/// Real-time mutex.
pub(crate) const RT: u32 = 8;
/// Per-CPU semaphore.
pub(crate) const PERCPU: u32 = 16;
/// Mutex.
pub(crate) const MUTEX: u32 = 32;
/// The bits that are flags (`LCB_F_*` in the kernel's `trace/events/lock.h`, and whatever comes): they fit an immediate value.
pub(crate) const FLAGS: u32 = i32::MAX as u32;

/// All waits for one lock from one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waits {
    /// As the tracepoint gave them.
    pub(crate) flags: u32,
    /// Address of the lock; 0 if it was not told.
    pub(crate) lock: u64,
    /// Addresses, the innermost first; empty if it was not told.
    pub(crate) stack: Vec<u64>,
    /// How many.
    pub(crate) count: u64,
    /// Together.
    pub(crate) total_ns: u64,
    /// The longest.
    pub(crate) max_ns: u64,
}

/// {flags, lock, stack}.
type Place = (u32, u64, Vec<u64>);

/// A wait in progress.
#[derive(Debug)]
struct Waiting {
    since: u64,
    flags: u32,
    stack: Vec<u64>,
}

/// Waits in progress and finished ones.
#[derive(Debug, Default)]
pub(crate) struct Pairing {
    /// By lock, thread, and whether it is a spinlock.
    waiting: HashMap<(u64, u32, bool), Waiting>,
    finished: HashMap<Place, Waits>,
}

/// A spinlock or a spinning reader-writer lock, not a lock that is spun for before one sleeps.
fn is_spin(flags: u32) -> bool {
    flags & !(READ | WRITE) == SPIN
}

impl Pairing {
    /// Thread `tid` begins to wait for `lock`.
    pub(crate) fn begin(&mut self, lock: u64, tid: u32, ns: u64, flags: u32, stack: Vec<u64>) {
        let flags = flags & FLAGS;
        let key = (lock, tid, is_spin(flags));
        match self.waiting.get_mut(&key) {
            // The same wait, but from spinning to sleeping or back.
            Some(waiting) if waiting.flags ^ flags == SPIN => waiting.flags = flags,
            // A wait whose end was lost is replaced.
            _ => drop(self.waiting.insert(key, Waiting { since: ns, flags, stack })),
        }
    }

    /// Its wait is over. One whose beginning was not seen does not count.
    pub(crate) fn end(&mut self, lock: u64, tid: u32, ns: u64) {
        let mut remove = |spin| self.waiting.remove(&(lock, tid, spin));
        let Some(waiting) = remove(true).or_else(|| remove(false)) else { return };
        let Waiting { since, flags, stack } = waiting;
        let wait = ns.saturating_sub(since);
        let waits =
            self.finished.entry((flags, lock, stack)).or_insert_with_key(|(flags, lock, stack)| {
                Waits {
                    flags: *flags,
                    lock: *lock,
                    stack: stack.clone(),
                    count: 0,
                    total_ns: 0,
                    max_ns: 0,
                }
            });
        waits.count += 1;
        waits.total_ns += wait;
        waits.max_ns = waits.max_ns.max(wait);
    }

    /// Forgets the waits of a thread of which events were lost: an end may be among them.
    pub(crate) fn forget_thread(&mut self, tid: u32) {
        self.waiting.retain(|&(_, thread, _), _| thread != tid);
    }

    /// Forgets the waits in progress, as their ends will not be seen, and says how many there were.
    pub(crate) fn forget_unfinished(&mut self) -> u64 {
        let unfinished = self.waiting.len() as u64;
        self.waiting.clear();
        unfinished
    }

    /// The finished waits.
    pub(crate) fn finish(self) -> Vec<Waits> {
        self.finished.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_of_one_place_are_summed_up() {
        let mut pairing = Pairing::default();
        for (at, wait) in [(100, 10), (200, 30), (300, 20)] {
            pairing.begin(7, 1, at, WRITE, vec![1, 2]);
            pairing.end(7, 1, at + wait);
        }
        let want =
            Waits { flags: WRITE, lock: 7, stack: vec![1, 2], count: 3, total_ns: 60, max_ns: 30 };
        assert_eq!(pairing.finish(), [want]);
    }

    #[test]
    fn a_wait_within_a_wait_pairs_with_its_own_end() {
        let mut pairing = Pairing::default();
        pairing.begin(7, 1, 100, WRITE, vec![]);
        pairing.begin(8, 1, 110, SPIN, vec![]);
        pairing.end(8, 1, 115);
        pairing.end(7, 1, 200);
        let mut waits = pairing.finish();
        waits.sort_by_key(|waits| waits.lock);
        assert_eq!((waits[0].total_ns, waits[1].total_ns), (100, 5));
    }

    #[test]
    fn a_mutex_spun_and_slept_for_in_turns_is_one_wait() {
        let mut pairing = Pairing::default();
        let turns = [MUTEX | SPIN, MUTEX, MUTEX | SPIN, MUTEX];
        for (turn, flags) in turns.into_iter().enumerate() {
            pairing.begin(7, 1, 100 + turn as u64, flags, vec![turn as u64]);
        }
        pairing.end(7, 1, 400);
        let waits = pairing.finish();
        assert_eq!((waits.len(), waits[0].count, waits[0].total_ns), (1, 1, 300));
        assert_eq!(waits[0].stack, [0]);
    }

    #[test]
    fn a_semaphore_and_the_spinlock_at_its_address_are_two() {
        let mut pairing = Pairing::default();
        pairing.begin(7, 1, 100, 0, vec![1]);
        pairing.begin(7, 1, 150, SPIN, vec![2]);
        pairing.end(7, 1, 160);
        pairing.end(7, 1, 400);
        let mut waits = pairing.finish();
        waits.sort_by_key(|waits| waits.flags);
        assert_eq!((waits[0].flags, waits[0].total_ns), (0, 300));
        assert_eq!((waits[1].flags, waits[1].total_ns), (SPIN, 10));
    }

    #[test]
    fn a_thread_whose_events_were_lost_starts_anew() {
        let mut pairing = Pairing::default();
        pairing.begin(7, 1, 100, MUTEX, vec![]);
        pairing.begin(7, 2, 100, MUTEX, vec![]);
        pairing.forget_thread(1);
        pairing.begin(7, 1, 900, MUTEX | SPIN, vec![]);
        pairing.end(7, 1, 905);
        assert_eq!(pairing.forget_unfinished(), 1);
        assert_eq!(pairing.finish()[0].total_ns, 5);
    }

    #[test]
    fn a_lost_end_makes_no_long_wait_and_a_lost_begin_none() {
        let mut pairing = Pairing::default();
        pairing.begin(7, 1, 100, SPIN, vec![]);
        pairing.begin(7, 1, 9000, SPIN, vec![]);
        pairing.end(7, 1, 9010);
        pairing.end(7, 1, 9020);
        pairing.begin(7, 2, 9030, SPIN, vec![]);
        assert_eq!(pairing.forget_unfinished(), 1);
        pairing.end(7, 2, 9999);
        let waits = pairing.finish();
        assert_eq!((waits[0].count, waits[0].total_ns), (1, 10));
    }
}
