//! Lines: from an address to a line and what is known of it, numbered by first touch.

use super::arena::{self, LINE_BITS};

/// No CPU.
pub(super) const NOBODY: u16 = u16::MAX;
/// Sharers that fit into the line itself.
pub(super) const FEW: usize = 4;
/// `sharers` of a line whose sharers are in a bit set.
pub(super) const MANY: u8 = u8::MAX;

/// A cache line. Times are ticks.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Line {
    /// Reservation view: until when the home answers nobody else.
    pub(super) busy: u64,
    /// Completion of the last write reserved. While `sole` is set: the last touch.
    pub(super) written: u64,
    /// Completion of the last read reserved.
    pub(super) read: u64,
    /// Effective view: until when the owner keeps it, whoever has reserved.
    pub(super) hold: u64,
    /// The only CPU that has touched it so far.
    pub(super) sole: u16,
    /// Effective view: the CPU that wrote last, with the only copy unless `shared`.
    pub(super) owner: u16,
    /// Reservation view: the last CPU that asked to write.
    pub(super) tail: u16,
    /// Reservation view: readers since, and the least and the greatest place of them.
    pub(super) readers: u16,
    pub(super) least: u16,
    pub(super) greatest: u16,
    /// First CPU parked on it.
    pub(super) parked: u16,
    /// Place of the CPU that touched it first: its node is the line's home.
    pub(super) home: u16,
    /// Effective view: sharers, if they are few.
    pub(super) few: [u16; FEW],
    /// Place of its bit set + 1; 0: none yet.
    pub(super) set: u32,
    /// Effective view: number in `few`, or `MANY`.
    pub(super) sharers: u8,
    pub(super) shared: bool,
    pub(super) tail_shared: bool,
}

/// What is only counted.
#[derive(Clone, Copy, Default)]
pub(super) struct LineCount {
    pub(super) wait: u64,
    pub(super) transfers: u32,
    /// The lock whose name was seen there, + 1.
    pub(super) lock: u32,
    /// Line address.
    pub(super) address: u64,
}

// A line of the model is a line of the host: thousands of CPUs have millions of them.
const _: () = assert!(size_of::<Line>() == 64);

/// From addresses to lines.
pub(super) struct Lines {
    pub(super) all: Vec<Line>,
    pub(super) counts: Vec<LineCount>,
    /// First line address of the arena.
    base: u64,
    arena_lines: u64,
    /// Line + 1 by line of the arena.
    shadow: Vec<u32>,
    outside: Outside,
    /// Bit sets of sharers.
    pub(super) sets: Vec<u64>,
    pub(super) words: usize,
}

/// Open addressing; line addresses are never 0.
struct Outside {
    slots: Vec<(u64, u32)>,
    used: usize,
}

impl Outside {
    fn place(&self, address: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = (address.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & mask;
        while self.slots[at].0 != address && self.slots[at].0 != 0 {
            at = (at + 1) & mask;
        }
        at
    }

    fn insert(&mut self, address: u64, line: u32) {
        if self.used * 2 >= self.slots.len() {
            let larger = vec![(0, 0); self.slots.len() * 2];
            for slot in std::mem::replace(&mut self.slots, larger) {
                if slot.0 != 0 {
                    let at = self.place(slot.0);
                    self.slots[at] = slot;
                }
            }
        }
        let at = self.place(address);
        self.slots[at] = (address, line);
        self.used += 1;
    }
}

impl Lines {
    pub(super) fn new(cpus: usize) -> Self {
        let (base, len) = arena::range();
        Lines {
            all: Vec::new(),
            counts: Vec::new(),
            base: base as u64 >> LINE_BITS,
            arena_lines: len as u64 >> LINE_BITS,
            shadow: Vec::new(),
            outside: Outside { slots: vec![(0, 0); 1 << 10], used: 0 },
            sets: Vec::new(),
            words: cpus.div_ceil(64),
        }
    }

    /// The line of an address, if it was touched.
    #[inline(always)]
    pub(super) fn find(&self, address: usize) -> Option<usize> {
        let address = address as u64 >> LINE_BITS;
        let at = address.wrapping_sub(self.base);
        let line = if at < self.shadow.len() as u64 {
            self.shadow[at as usize]
        } else {
            self.find_far(address, at)
        };
        (line as usize).checked_sub(1)
    }

    #[inline(never)]
    fn find_far(&self, address: u64, at: u64) -> u32 {
        // A line of the arena beyond the shadow was not touched.
        if at < self.arena_lines { 0 } else { self.outside.slots[self.outside.place(address)].1 }
    }

    /// A line touched for the first time, by `cpu`, which is at `place`.
    #[cold]
    pub(super) fn touch(&mut self, address: usize, cpu: u16, place: u16) -> usize {
        // The simulator's own memory is no simulated object.
        arena::with_arena(false, || self.add(address, cpu, place))
    }

    fn add(&mut self, address: usize, cpu: u16, place: u16) -> usize {
        let address = address as u64 >> LINE_BITS;
        let line = self.all.len() as u32 + 1;
        let at = address.wrapping_sub(self.base);
        if at < self.arena_lines {
            let at = at as usize;
            if at >= self.shadow.len() {
                self.shadow.resize((at + 1).next_multiple_of(1 << 10), 0);
            }
            self.shadow[at] = line;
        } else {
            self.outside.insert(address, line);
        }
        self.all.push(Line {
            busy: 0,
            written: 0,
            read: 0,
            hold: 0,
            sole: cpu,
            owner: cpu,
            tail: cpu,
            readers: 0,
            least: 0,
            greatest: 0,
            parked: NOBODY,
            home: place,
            few: [NOBODY; FEW],
            set: 0,
            sharers: 0,
            shared: false,
            tail_shared: false,
        });
        self.counts.push(LineCount { address, ..LineCount::default() });
        line as usize - 1
    }

    /// Whether `cpu` has a copy of a shared line.
    #[inline]
    pub(super) fn shares(&self, line: &Line, cpu: u16) -> bool {
        if line.sharers == MANY {
            let at = (line.set as usize - 1) * self.words + usize::from(cpu / 64);
            self.sets[at] >> (cpu % 64) & 1 == 1
        } else {
            line.few[..usize::from(line.sharers)].contains(&cpu)
        }
    }

    /// `cpu` has a copy from now on.
    pub(super) fn share(&mut self, at: usize, cpu: u16) {
        let line = &mut self.all[at];
        if line.sharers != MANY {
            let few = usize::from(line.sharers);
            if line.few[..few].contains(&cpu) {
                return;
            }
            if few < FEW {
                line.few[few] = cpu;
                line.sharers += 1;
                return;
            }
            if line.set == 0 {
                let larger = self.sets.len() + self.words;
                arena::with_arena(false, || self.sets.resize(larger, 0));
                line.set = (self.sets.len() / self.words) as u32;
            }
            let begin = (line.set as usize - 1) * self.words;
            let set = &mut self.sets[begin..begin + self.words];
            set.fill(0);
            for old in line.few {
                set[usize::from(old / 64)] |= 1 << (old % 64);
            }
            line.sharers = MANY;
        }
        let begin = (line.set as usize - 1) * self.words;
        self.sets[begin + usize::from(cpu / 64)] |= 1 << (cpu % 64);
    }
}
