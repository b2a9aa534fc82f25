//! The two programs: one at the beginning of a wait, one at its end.
//!
//! `lock:contention_begin` hands over the lock and flags, `lock:contention_end` the lock and a return value. A wait in
//! progress is kept under {lock, thread, is it a spinlock}, for the reasons that [`crate::pairing`] gives. Finished waits are
//! summed per CPU and {stack, flags, lock}.

use super::insn::Size::{Double, Word};
use super::insn::*;
use crate::pairing::{FLAGS, READ, SPIN, WRITE};
use std::ops::Range;

/// File descriptors of the maps that the programs use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Maps {
    /// Thread id -> anything: whose waits count.
    pub(crate) tasks: i32,
    /// [`WaitKey`] -> [`Waiting`].
    pub(crate) waiting: i32,
    /// Stacks.
    pub(crate) stacks: i32,
    /// [`Key`] -> [`Sum`], per CPU.
    pub(crate) sums: i32,
    /// 0 -> [`Counters`], per CPU.
    pub(crate) counters: i32,
}

/// What the programs are told beforehand.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// Device and inode of the PID namespace in which the tasks' ids mean something.
    pub(crate) namespace: (u64, u64),
    /// Innermost frames that belong to the tracer.
    pub(crate) skip: u8,
    /// Locks whose address is told apart; of others, such as one per inode, only stack and flags are.
    pub(crate) named: Option<Range<u64>>,
}

/// Key of a finished wait.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// Number of the stack, or a negative errno.
    pub(crate) stack: i32,
    /// As the tracepoint gave them.
    pub(crate) flags: u32,
    /// Address of a lock with a name, or 0.
    pub(crate) lock: u64,
}

/// Finished waits of one key on one CPU.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    /// How many.
    pub(crate) count: u64,
    /// Together.
    pub(crate) total_ns: u64,
    /// The longest.
    pub(crate) max_ns: u64,
}

/// What happened on one CPU besides.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// Waits that began.
    pub(crate) begun: u64,
    /// Of these, not followed because the map of waits in progress took no more.
    pub(crate) lost_begins: u64,
    /// Finished waits that no sum had room for.
    pub(crate) lost_ends: u64,
}

/// Key of a wait in progress: lock, thread and, in the upper half of its word, 1 for a spinlock.
pub(crate) type WaitKey = [u64; 2];
/// A wait in progress: when it began (u64), stack (i32), flags (u32).
pub(crate) type Waiting = [u64; 2];

// The stack frame, from the top.
/// Thread id (u32), process id (u32).
const PID: i16 = -8;
/// Key of a wait in progress.
const WAIT_KEY: i16 = -24;
/// The part of it that tells spinlocks from others.
const IS_SPIN: i16 = WAIT_KEY + 12;
/// A new wait in progress.
const WAIT: i16 = -40;
/// Key of a finished wait; never needed together with `WAIT`.
const SUM_KEY: i16 = -40;
/// A new sum.
const SUM: i16 = -64;
/// Key of the counters.
const ZERO: i16 = -68;

/// Runs at `lock:contention_begin`.
pub(crate) fn begin(maps: &Maps, config: &Config) -> Vec<Insn> {
    let mut program = Assembler::default();
    let (keyed, fresh, out) = (program.label(), program.label(), program.label());

    wait_key(&mut program, config, out);
    program.emit(load_map(Reg::R1, maps.tasks));
    program.emit([mov(Reg::R2, Reg::Fp), add_imm(Reg::R2, PID.into()), call(Helper::MapLookup)]);
    program.jump(jump_eq_imm(Reg::R0, 0, 0), out);
    program.emit([load(Double, Reg::R9, Reg::R6, 8), and_imm(Reg::R9, FLAGS as i32)]);
    program.emit([mov(Reg::R1, Reg::R9), and_imm(Reg::R1, !(READ | WRITE) as i32)]);
    program.jump(jump_ne_imm(Reg::R1, SPIN as i32, 0), keyed);
    program.emit([store_imm(Word, Reg::Fp, IS_SPIN, 1)]);
    program.bind(keyed);

    // The same wait, but from spinning to sleeping or back.
    lookup_wait(&mut program, maps);
    program.jump(jump_eq_imm(Reg::R0, 0, 0), fresh);
    program.emit([load(Word, Reg::R1, Reg::R0, 12), xor(Reg::R1, Reg::R9)]);
    program.jump(jump_ne_imm(Reg::R1, SPIN as i32, 0), fresh);
    program.emit([store(Word, Reg::R0, 12, Reg::R9)]);
    program.jump(jump(0), out);

    program.bind(fresh);
    count(&mut program, maps, std::mem::offset_of!(Counters, begun));
    program.emit([mov(Reg::R1, Reg::R6)]);
    program.emit(load_map(Reg::R2, maps.stacks));
    program.emit([
        mov_imm(Reg::R3, config.skip.into()),
        call(Helper::StackId),
        store(Word, Reg::Fp, WAIT + 8, Reg::R0),
        store(Word, Reg::Fp, WAIT + 12, Reg::R9),
        // Taken last, so that walking the stack is not part of the wait.
        call(Helper::KtimeNs),
        store(Double, Reg::Fp, WAIT, Reg::R0),
    ]);
    update(&mut program, maps.waiting, WAIT_KEY, WAIT);
    program.jump(jump_eq_imm(Reg::R0, 0, 0), out);
    count(&mut program, maps, std::mem::offset_of!(Counters, lost_begins));

    program.bind(out);
    program.emit([mov_imm(Reg::R0, 0), exit()]);
    program.finish()
}

/// Runs at `lock:contention_end`.
pub(crate) fn end(maps: &Maps, config: &Config) -> Vec<Insn> {
    let mut program = Assembler::default();
    let [found, unnamed, known, no_longer, done, out] = [(); 6].map(|()| program.label());

    wait_key(&mut program, config, out);
    // A spinlock within is given before what it guards.
    program.emit([store_imm(Word, Reg::Fp, IS_SPIN, 1)]);
    lookup_wait(&mut program, maps);
    program.jump(jump_ne_imm(Reg::R0, 0, 0), found);
    program.emit([store_imm(Word, Reg::Fp, IS_SPIN, 0)]);
    lookup_wait(&mut program, maps);
    program.jump(jump_eq_imm(Reg::R0, 0, 0), out);
    program.bind(found);
    program.emit([mov(Reg::R9, Reg::R0), call(Helper::KtimeNs), mov(Reg::R8, Reg::R0)]);
    program.emit([
        load(Double, Reg::R1, Reg::R9, 0),
        sub(Reg::R8, Reg::R1),
        load(Word, Reg::R1, Reg::R9, 8),
        store(Word, Reg::Fp, SUM_KEY, Reg::R1),
        load(Word, Reg::R1, Reg::R9, 12),
        store(Word, Reg::Fp, SUM_KEY + 4, Reg::R1),
        store_imm(Double, Reg::Fp, SUM_KEY + 8, 0),
    ]);
    if let Some(named) = &config.named {
        program.emit(load_imm64(Reg::R1, named.start));
        program.jump(jump_lt(Reg::R7, Reg::R1, 0), unnamed);
        program.emit(load_imm64(Reg::R1, named.end));
        program.jump(jump_ge(Reg::R7, Reg::R1, 0), unnamed);
        program.emit([store(Double, Reg::Fp, SUM_KEY + 8, Reg::R7)]);
    }
    program.bind(unnamed);

    program.emit(load_map(Reg::R1, maps.sums));
    program.emit([
        mov(Reg::R2, Reg::Fp),
        add_imm(Reg::R2, SUM_KEY.into()),
        call(Helper::MapLookup),
    ]);
    program.jump(jump_ne_imm(Reg::R0, 0, 0), known);
    program.emit([
        store_imm(Double, Reg::Fp, SUM, 1),
        store(Double, Reg::Fp, SUM + 8, Reg::R8),
        store(Double, Reg::Fp, SUM + 16, Reg::R8),
    ]);
    update(&mut program, maps.sums, SUM_KEY, SUM);
    program.jump(jump_eq_imm(Reg::R0, 0, 0), done);
    count(&mut program, maps, std::mem::offset_of!(Counters, lost_ends));
    program.jump(jump(0), done);

    program.bind(known);
    program.emit([
        load(Double, Reg::R1, Reg::R0, 0),
        add_imm(Reg::R1, 1),
        store(Double, Reg::R0, 0, Reg::R1),
        load(Double, Reg::R1, Reg::R0, 8),
        add(Reg::R1, Reg::R8),
        store(Double, Reg::R0, 8, Reg::R1),
        load(Double, Reg::R1, Reg::R0, 16),
    ]);
    program.jump(jump_ge(Reg::R1, Reg::R8, 0), no_longer);
    program.emit([store(Double, Reg::R0, 16, Reg::R8)]);
    program.bind(no_longer);

    program.bind(done);
    program.emit(load_map(Reg::R1, maps.waiting));
    program.emit([
        mov(Reg::R2, Reg::Fp),
        add_imm(Reg::R2, WAIT_KEY.into()),
        call(Helper::MapDelete),
    ]);
    program.bind(out);
    program.emit([mov_imm(Reg::R0, 0), exit()]);
    program.finish()
}

/// r6 = context, r7 = lock, the thread's id at `PID`, {lock, thread, 0} at `WAIT_KEY`; to `out` for a thread that is not of our
/// PID namespace.
fn wait_key(program: &mut Assembler, config: &Config, out: Label) {
    let (device, inode) = config.namespace;
    program.emit([mov(Reg::R6, Reg::R1)]);
    program.emit(load_imm64(Reg::R1, device));
    program.emit(load_imm64(Reg::R2, inode));
    program.emit([
        mov(Reg::R3, Reg::Fp),
        add_imm(Reg::R3, PID.into()),
        mov_imm(Reg::R4, 8),
        call(Helper::NsPidTgid),
    ]);
    program.jump(jump_ne_imm(Reg::R0, 0, 0), out);
    program.emit([
        load(Double, Reg::R7, Reg::R6, 0),
        store(Double, Reg::Fp, WAIT_KEY, Reg::R7),
        load(Word, Reg::R8, Reg::Fp, PID),
        store(Double, Reg::Fp, WAIT_KEY + 8, Reg::R8),
    ]);
}

/// r0 = the wait in progress of `WAIT_KEY`, or 0.
fn lookup_wait(program: &mut Assembler, maps: &Maps) {
    program.emit(load_map(Reg::R1, maps.waiting));
    program.emit([
        mov(Reg::R2, Reg::Fp),
        add_imm(Reg::R2, WAIT_KEY.into()),
        call(Helper::MapLookup),
    ]);
}

/// r0 = 0 if `map` has the value at `value` under the key at `key` now.
fn update(program: &mut Assembler, map: i32, key: i16, value: i16) {
    program.emit(load_map(Reg::R1, map));
    program.emit([
        mov(Reg::R2, Reg::Fp),
        add_imm(Reg::R2, key.into()),
        mov(Reg::R3, Reg::Fp),
        add_imm(Reg::R3, value.into()),
        // Create or replace.
        mov_imm(Reg::R4, 0),
        call(Helper::MapUpdate),
    ]);
}

/// Adds one to the counter at `offset` of [`Counters`].
fn count(program: &mut Assembler, maps: &Maps, offset: usize) {
    let none = program.label();
    program.emit([store_imm(Word, Reg::Fp, ZERO, 0)]);
    program.emit(load_map(Reg::R1, maps.counters));
    program.emit([mov(Reg::R2, Reg::Fp), add_imm(Reg::R2, ZERO.into()), call(Helper::MapLookup)]);
    program.jump(jump_eq_imm(Reg::R0, 0, 0), none);
    let offset = offset as i16;
    program.emit([
        load(Double, Reg::R1, Reg::R0, offset),
        add_imm(Reg::R1, 1),
        store(Double, Reg::R0, offset, Reg::R1),
    ]);
    program.bind(none);
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: Maps = Maps { tasks: 3, waiting: 4, stacks: 5, sums: 6, counters: 7 };

    fn config(named: Option<Range<u64>>) -> Config {
        Config { namespace: (4, 0xf000_0001), skip: 2, named }
    }

    #[test]
    fn programs_end_and_stay_small() {
        for program in [begin(&MAPS, &config(None)), end(&MAPS, &config(None))] {
            assert_eq!(program.last(), Some(&exit()));
            assert!(program.len() < 128, "{} instructions", program.len());
        }
    }

    #[test]
    fn a_range_of_named_locks_costs_seven_slots() {
        let without = end(&MAPS, &config(None)).len();
        assert_eq!(end(&MAPS, &config(Some(1..2))).len(), without + 7);
    }

    #[test]
    fn maps_are_laid_out_as_the_programs_write_them() {
        assert_eq!((size_of::<Key>(), size_of::<Sum>(), size_of::<Counters>()), (16, 24, 24));
        assert_eq!(std::mem::offset_of!(Key, flags), 4);
        assert_eq!(std::mem::offset_of!(Key, lock), 8);
    }
}
