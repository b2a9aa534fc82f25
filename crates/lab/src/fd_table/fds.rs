//! Which descriptors are in use: open_fds and next_fd. Protected by file_lock in every design.

use super::array::Array;
use machine::{Plain, Platform};

/// Slots of a new table of the designs of 2004: NR_OPEN_DEFAULT is BITS_PER_LONG, and mail 001's machine had 32 of them.
pub(super) const NR_OPEN_DEFAULT_32: usize = 32;
/// The same on 64 bits.
pub(super) const NR_OPEN_DEFAULT_64: usize = 64;

const BITS: usize = u64::BITS as usize;

/// Words of bits. They are replaced by larger ones as the table grows.
pub(super) struct Bits<P: Platform> {
    /// open_fds: 1 is claimed.
    open: Array<P, P::Cell<u64>>,
    /// full_fds_bits (4.5): 1 for a word of `open` that is all ones. Designs of older kernels have none and scan the words.
    full: Option<Array<P, P::Cell<u64>>>,
}

impl<P: Platform> Bits<P> {
    /// All zero, for `size` descriptors.
    pub(super) fn new(size: usize, two_levels: bool) -> Self {
        let zeros = |bits: usize| {
            Array::new("fdtable.open_fds[]", bits.div_ceil(BITS), |_| P::Cell::new(0))
        };
        Bits { open: zeros(size), full: two_levels.then(|| zeros(size.div_ceil(BITS))) }
    }
}

/// What a search for a free descriptor came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Search {
    /// It is claimed now.
    Claimed(usize),
    /// None is free, but the table may grow to so many.
    Grow(usize),
    /// None is free.
    Limit,
}

/// The descriptors of one table.
pub(super) struct Fds<P: Platform> {
    /// No descriptor below it is free.
    next_fd: usize,
    /// Slots of the table (max_fds).
    size: usize,
    limit: usize,
    bits: Bits<P>,
}

fn get<P: Platform>(words: &[P::Cell<u64>], word: usize) -> u64 {
    // SAFETY: the words are in a `Fds`, whose owner has exclusive access, or is alone.
    words[word].with(|word| unsafe { *word })
}

fn set<P: Platform>(words: &[P::Cell<u64>], bit: usize, value: bool) -> u64 {
    let mask = 1 << (bit % BITS);
    words[bit / BITS].with_mut(|word| {
        // SAFETY: as in `get`; every caller has the `Fds` by `&mut`.
        let word = unsafe { &mut *word };
        if value {
            *word |= mask;
        } else {
            *word &= !mask;
        }
        *word
    })
}

impl<P: Platform> Fds<P> {
    /// Nothing in use; `first` slots, or `limit` if that is less.
    pub(super) fn new(first: usize, limit: usize, two_levels: bool) -> Self {
        // A descriptor is a positive i32.
        let limit = limit.min(i32::MAX as usize);
        let size = first.min(limit);
        Fds { next_fd: 0, size, limit, bits: Bits::new(size, two_levels) }
    }

    /// Slots of the table.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Claims the lowest free descriptor from `least` on.
    pub(super) fn claim(&mut self, least: usize) -> Search {
        let start = self.next_fd.max(least);
        let fd = self.first_free(start).unwrap_or(self.size.max(start));
        if fd < self.size {
            let word = set::<P>(&self.bits.open, fd, true);
            if let (Some(full), u64::MAX) = (&self.bits.full, word) {
                set::<P>(full, fd / BITS, true);
            }
            if least <= self.next_fd {
                self.next_fd = fd + 1;
            }
            Search::Claimed(fd)
        } else if self.size < self.limit && fd < self.limit {
            Search::Grow((self.size * 2).max((fd + 1).next_power_of_two()).min(self.limit))
        } else {
            Search::Limit
        }
    }

    /// The first zero bit from `start` on; it may be beyond the size in the last word.
    fn first_free(&self, start: usize) -> Option<usize> {
        let zero_in = |words: &[P::Cell<u64>], word: usize, skip: usize| {
            let zeros = !get::<P>(words, word) & (u64::MAX << skip);
            (zeros != 0).then(|| word * BITS + zeros.trailing_zeros() as usize)
        };
        let scan = |words: &[P::Cell<u64>], start: usize| {
            (start / BITS..words.len()).find_map(|word| {
                zero_in(words, word, if word == start / BITS { start % BITS } else { 0 })
            })
        };
        let open = &self.bits.open;
        match &self.bits.full {
            None => scan(open, start),
            Some(_) if start / BITS >= open.len() => None,
            // First the word of the hint itself, as since 6.13 (0c40bf47cf2d).
            Some(full) => zero_in(open, start / BITS, start % BITS).or_else(|| {
                scan(full, start / BITS + 1)
                    .filter(|&word| word < open.len())
                    .and_then(|word| zero_in(open, word, 0))
            }),
        }
    }

    /// The descriptor is free again.
    pub(super) fn release(&mut self, fd: usize) {
        debug_assert!(get::<P>(&self.bits.open, fd / BITS) >> (fd % BITS) & 1 == 1, "not claimed");
        set::<P>(&self.bits.open, fd, false);
        if let Some(full) = &self.bits.full {
            set::<P>(full, fd / BITS, false);
        }
        self.next_fd = self.next_fd.min(fd);
    }

    /// Goes over to `larger` bits, for `size` descriptors; answers the old ones.
    pub(super) fn grow(&mut self, size: usize, larger: Bits<P>) -> Bits<P> {
        let copy = |from: &[P::Cell<u64>], to: &[P::Cell<u64>]| {
            for (at, word) in to.iter().enumerate().take(from.len()) {
                // SAFETY: `larger` is the caller's own.
                word.with_mut(|word| unsafe { *word = get::<P>(from, at) });
            }
        };
        copy(&self.bits.open, &larger.open);
        if let (Some(from), Some(to)) = (&self.bits.full, &larger.full) {
            copy(from, to);
        }
        self.size = size;
        std::mem::replace(&mut self.bits, larger)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Real;
    use std::collections::BTreeSet;

    fn check(first: usize, limit: usize, two_levels: bool) {
        let mut fds = Fds::<Real>::new(first, limit, two_levels);
        let mut free: BTreeSet<usize> = (0..limit).collect();
        let mut random = 1_u64;
        for _ in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let pick = (random >> 33) as usize;
            // Mostly the lowest of all, sometimes from some number on.
            let least = if pick.is_multiple_of(5) { pick / 80 % limit } else { 0 };
            if pick % 16 < 9 {
                let found = loop {
                    match fds.claim(least) {
                        Search::Grow(size) => {
                            assert!(size > fds.size() && size <= limit, "{size} of {limit}");
                            if least < fds.size() {
                                assert_eq!(size, (fds.size() * 2).min(limit));
                            }
                            drop(fds.grow(size, Bits::new(size, two_levels)));
                        }
                        Search::Claimed(fd) => break Some(fd),
                        Search::Limit => break None,
                    }
                };
                let lowest = free.range(least..).next().copied();
                assert_eq!(found, lowest);
                lowest.inspect(|fd| assert!(free.remove(fd)));
            } else {
                let fd = pick / 16 % limit;
                if fd < fds.size() && free.insert(fd) {
                    fds.release(fd);
                }
            }
        }
    }

    #[test]
    fn lowest_first_from_any_number_on() {
        for two_levels in [false, true] {
            for (first, limit) in [(1, 1), (1, 70), (32, 1000), (64, 5000), (64, 64), (64, 10)] {
                check(first, limit, two_levels);
            }
        }
    }

    #[test]
    fn a_limit_of_zero() {
        for two_levels in [false, true] {
            assert_eq!(Fds::<Real>::new(64, 0, two_levels).claim(0), Search::Limit);
        }
    }
}
