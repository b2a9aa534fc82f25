//! jbd2, as far as its lines are shared by handles: starting and ending one, and access to buffers.
//!
//! A handle joins the running transaction. A commit lets no new handle begin, waits for the open ones, writes what they have
//! dirtied, and opens the next transaction. Simplified against jbd2: the next transaction begins when the commit is done and
//! not while it writes, so that no buffer is ever in two transactions.
//!
//! Shared: a handle writes j_state_lock twice (both ends of a reader's section) and the transaction's line (t_updates,
//! t_outstanding_credits, t_handle_count) five times; a buffer's access and its dirtying each write the line of its
//! journal head (and take j_list_lock once per transaction). Since 4.2 a buffer that is part of the transaction already is
//! only looked at.
//!
//! Ordering: a handle's end is a Release on t_updates, which the commit acquires: whatever handles did is before it. The
//! commit opens the next transaction by a Release of the state, which a starting handle acquires. That no handle slips in:
//! the state becomes locked under the write side of j_state_lock, and is looked at together with t_updates' increment under
//! the read side. That no wake-up is lost: the commit stores the locked state, fences and reads t_updates; the last handle
//! decrements it, fences and reads the state: one of them sees the other.

use super::disk::Block;
use crate::design::Env;
use machine::sync::{RwSpin, Spin, SpinLock};
use machine::{Cx, Futex, POwned, Platform, SpinKind, Word};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

/// Buffers a handle reserves (credits).
const CREDITS: u32 = 16;
/// Buffers of a transaction: a quarter of a journal of 128 MiB with blocks of 4 KiB.
const MAX_BUFFERS: u32 = 8192;
/// Bit 0 of the state; the rest is t_tid.
const LOCKED: u32 = 1;
/// As many as there are.
const ALL: u32 = i32::MAX as u32;

/// How a journal works.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mode {
    /// Whether a buffer that is part of the transaction already is accessed without its lock: jbd2_write_access_granted
    /// (de92c8caf16c) and the same for dirtying (6e06ae88edae), both of 4.2.
    pub(super) lockless_access: bool,
    /// Handles after which a transaction is full. jbd2 goes by time, 5 s: about as many.
    pub(super) max_handles: u32,
}

impl Mode {
    /// Of 3.15.
    pub(super) const LOCKED_ACCESS: Mode = Mode { lockless_access: false, max_handles: 1 << 20 };
    /// Of 4.2 and later.
    pub(super) const LOCKLESS_ACCESS: Mode = Mode { lockless_access: true, max_handles: 1 << 20 };
}

/// The line of transaction_t that handles write.
struct Transaction<P: Platform> {
    /// t_updates: open handles.
    updates: P::U32,
    /// t_outstanding_credits: buffers dirtied, and buffers that open handles may yet dirty.
    credits: P::U32,
    /// t_handle_count.
    handles: P::U32,
}

/// journal_t. Each part is on lines of its own.
pub(super) struct Journal<P: Platform> {
    mode: Mode,
    max_credits: u32,
    /// j_state_lock.
    state_lock: POwned<P, RwSpin<P>>,
    /// t_tid of the running transaction and whether it is locked (t_state).
    state: POwned<P, P::U32>,
    transaction: POwned<P, Transaction<P>>,
    /// The buffers that the running transaction has dirtied (t_buffers), under j_list_lock.
    dirty: POwned<P, SpinLock<P, Vec<Block>>>,
}

impl<P: Platform> Journal<P> {
    pub(super) fn new(env: &Env, mode: Mode) -> Self {
        let cpus = u32::try_from(env.cpus).expect("CPUs are few");
        let journal = Journal {
            mode,
            // All CPUs must find room at once, or none would get on.
            max_credits: MAX_BUFFERS.max(4 * CREDITS * cpus),
            state_lock: POwned::new(RwSpin::new("j_state_lock")),
            state: POwned::new(P::U32::new(1 << 1)),
            transaction: POwned::new(Transaction {
                updates: P::U32::new(0),
                credits: P::U32::new(0),
                handles: P::U32::new(0),
            }),
            dirty: POwned::new(SpinLock::new(env.spin, "j_list_lock", Vec::new())),
        };
        P::name(&*journal.state, "transaction_s.t_state");
        P::name(&*journal.transaction, "transaction_s.t_updates");
        P::name(&*journal.dirty, "transaction_s.t_buffers");
        journal
    }

    /// start_this_handle: joins the running transaction. If that one is full, answers its number as the error: it is to be
    /// committed first.
    pub(super) fn start(&self, cx: Cx<'_, P>) -> Result<Ticket, u32> {
        loop {
            self.state_lock.read_lock();
            let state = self.state.load(Acquire);
            if state & LOCKED != 0 {
                self.state_lock.read_unlock();
                self.sleep(cx, &self.state, state);
                continue;
            }
            // Relaxed: the counters are set back only by a commit, and the lock keeps it out.
            let needed = self.transaction.credits.fetch_add(CREDITS, Relaxed) + CREDITS;
            let handles = self.transaction.handles.fetch_add(1, Relaxed);
            let full = needed > self.max_credits || handles >= self.mode.max_handles;
            if full {
                self.transaction.credits.fetch_sub(CREDITS, Relaxed);
            } else {
                self.transaction.updates.fetch_add(1, Relaxed);
            }
            self.state_lock.read_unlock();
            let tid = state >> 1;
            return if full { Err(tid) } else { Ok(Ticket { tid, credits: CREDITS }) };
        }
    }

    /// jbd2_journal_stop.
    pub(super) fn stop(&self, ticket: &Ticket) {
        // Relaxed: before the Release below, and so before the commit that sets it back.
        self.transaction.credits.fetch_sub(ticket.credits, Relaxed);
        if self.transaction.updates.fetch_sub(1, Release) == 1 {
            P::fence(SeqCst);
            if self.state.load(Relaxed) & LOCKED != 0 {
                self.transaction.updates.wake(1);
            }
        }
    }

    /// Commits the running transaction, only if it is `tid` where that is given; waits for a commit under way instead.
    /// `write` gets the blocks that were dirtied, each once, while no handle is open.
    pub(super) fn commit(&self, cx: Cx<'_, P>, tid: Option<u32>, write: impl FnOnce(Vec<Block>)) {
        self.state_lock.write_lock();
        let state = self.state.load(Acquire);
        let idle = state & LOCKED == 0 && tid.is_none_or(|tid| tid == state >> 1);
        if idle {
            // Relaxed: the lock publishes it to starting handles, the fence below to ending ones.
            self.state.store(state | LOCKED, Relaxed);
        }
        self.state_lock.write_unlock();
        if !idle {
            // Handles that ended before this call are part of the commit under way, or of one before.
            while state & LOCKED != 0 && self.state.load(Acquire) == state {
                self.sleep(cx, &self.state, state);
            }
            return;
        }
        P::fence(SeqCst);
        loop {
            let updates = self.transaction.updates.load(Acquire);
            if updates == 0 {
                break;
            }
            self.sleep(cx, &self.transaction.updates, updates);
        }
        write(self.dirty.with(std::mem::take));
        // Relaxed: published with the state.
        self.transaction.credits.store(0, Relaxed);
        self.transaction.handles.store(0, Relaxed);
        self.state.store(((state >> 1) + 1) << 1, Release);
        self.state.wake(ALL);
    }

    /// Sleeps while the word has the value; may wake up for no reason.
    fn sleep(&self, cx: Cx<'_, P>, word: &P::U32, value: u32) {
        cx.rcu.offline(cx.cpu);
        word.wait(value);
        cx.rcu.online(cx.cpu);
    }
}

/// A handle's part in its transaction.
#[derive(Debug)]
pub(super) struct Ticket {
    tid: u32,
    /// Credits left.
    credits: u32,
}

/// buffer_head and journal_head of a block, on a line of its own: what changes to the block by different CPUs have in common,
/// also where the bytes that they change have not.
pub(super) struct Buffer<P: Platform>(POwned<P, JournalHead<P>>);

/// The kind of a buffer's state lock, in a kernel whose spinlocks are of `kind`. Until 2019 ("jbd2: Make state lock a spinlock") it was a bit
/// of b_state, taken by test_and_set_bit and watched by test_bit, when other spinlocks had tickets already.
fn state_lock(kind: SpinKind) -> SpinKind {
    match kind {
        SpinKind::TestAndSet | SpinKind::Ticket => SpinKind::TestAndSet,
        SpinKind::Queued => SpinKind::Queued,
    }
}

struct JournalHead<P: Platform> {
    lock: Spin<P>,
    /// b_transaction: number of the last transaction that was granted access.
    transaction: P::U32,
    /// b_modified: number of the last transaction that dirtied it.
    modified: P::U32,
    block: Block,
}

// Relaxed throughout: both numbers change under `lock`. Who sees its own transaction's number without the lock does nothing
// but skip the same step; the commit sees the step of who took it, because that handle has ended too.
impl<P: Platform> Buffer<P> {
    pub(super) fn new(env: &Env, block: Block) -> Self {
        let head = POwned::new(JournalHead {
            lock: Spin::new(state_lock(env.spin), "b_state_lock"),
            transaction: P::U32::new(0),
            modified: P::U32::new(0),
            block,
        });
        P::name(&*head, "journal_head");
        Buffer(head)
    }

    /// jbd2_journal_get_write_access: before the block is changed.
    pub(super) fn get_write_access(&self, journal: &Journal<P>, ticket: &Ticket) {
        let granted = || self.0.transaction.load(Relaxed) == ticket.tid;
        if journal.mode.lockless_access && granted() {
            return;
        }
        self.0.lock.with(|| {
            if !granted() {
                self.0.transaction.store(ticket.tid, Relaxed);
            }
        });
    }

    /// jbd2_journal_dirty_metadata: after it was changed. The buffer is part of the commit now.
    pub(super) fn dirty(&self, journal: &Journal<P>, ticket: &mut Ticket) {
        debug_assert_eq!(self.0.transaction.load(Relaxed), ticket.tid, "changed without access");
        let modified = || self.0.modified.load(Relaxed) == ticket.tid;
        if journal.mode.lockless_access && modified() {
            return;
        }
        let first = self.0.lock.with(|| {
            let first = !modified();
            if first {
                self.0.modified.store(ticket.tid, Relaxed);
                journal.dirty.with(|dirty| dirty.push(self.0.block));
            }
            first
        });
        if first && ticket.credits > 0 {
            ticket.credits -= 1;
        } else if first {
            // jbd2_journal_extend, as it were. Relaxed: as in `start`; this handle is open.
            journal.transaction.credits.fetch_add(1, Relaxed);
        }
    }
}
