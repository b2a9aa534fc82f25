//! file_ref_t (6.13): f_count as the number of references less one, so that the sign tells whether there are any.
//!
//! A reference is taken by one addition, without a loop: below zero there was none, and the stray increment is lost in the wide
//! range around [`DEAD`] that such numbers have.

use machine::{Platform, Word};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// One reference.
pub(super) const ONE: u64 = 0;
/// The last was dropped, nobody has declared the file dead yet: a reference may still be taken.
const NONE: u64 = u64::MAX;
/// The middle of the range that means dead.
pub(super) const DEAD: u64 = 0xe000_0000_0000_0000;
/// From here up to [`NONE`] it is dead.
const RELEASED: u64 = 0xc000_0000_0000_0000;
/// The middle of the range of counts that have overflowed; such a file is never freed.
const SATURATED: u64 = 0xa000_0000_0000_0000;

/// Takes a reference if there are any (file_ref_get).
#[inline]
pub(super) fn get<P: Platform>(count: &P::U64) -> bool {
    // Acquire: the file may have been used again since it was found. Then this sees the new life's first store to the count or a
    // later one, and with it that the old life's slot was cleared. The same for who finds it dead.
    count.fetch_add(1, Acquire).wrapping_add(1).cast_signed() >= 0
}

/// One more for who holds one.
#[inline]
pub(super) fn get_again<P: Platform>(count: &P::U64) {
    // Relaxed: nothing is published by a larger number.
    count.fetch_add(1, Relaxed);
}

/// Drops a reference (file_ref_put). True if it was the last: the file is the caller's to take apart.
#[inline]
pub(super) fn put<P: Platform>(count: &P::U64) -> bool {
    // Release: what was done with the reference is before the end of the file.
    let now = count.fetch_sub(1, Release).wrapping_sub(1);
    now.cast_signed() < 0 && put_below_zero::<P>(count, now)
}

#[cold]
fn put_below_zero<P: Platform>(count: &P::U64, now: u64) -> bool {
    if now == NONE {
        // A look-up may have taken a reference meanwhile, and may even have dropped it again and declared the file dead. Then
        // it is that one's. Acquire: all uses of the file are before what the caller does now; all decrements are atomic, so that
        // this reads from the release sequence of each. Release: who finds it dead is after all that, too.
        return count.compare_exchange(NONE, DEAD, AcqRel, Relaxed).is_ok();
    }
    // Relaxed: repairs of a count that is broken already.
    if now >= RELEASED {
        debug_assert!(false, "a reference too many was dropped");
        count.store(DEAD, Relaxed);
    } else {
        count.store(SATURATED, Relaxed);
    }
    false
}

/// Drops the reference of a close, which as a rule is the only one (file_ref_put_close): one operation on the line, not two.
#[inline]
pub(super) fn put_close<P: Platform>(count: &P::U64) -> bool {
    // Relaxed: the exchange decides; its orderings as in `put_below_zero`.
    let last =
        count.load(Relaxed) == ONE && count.compare_exchange(ONE, DEAD, AcqRel, Relaxed).is_ok();
    last || put::<P>(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Real;

    type Count = <Real as Platform>::U64;

    fn count(value: u64) -> Count {
        <Count as Word<u64>>::new(value)
    }

    #[test]
    fn counts_references() {
        let c = count(ONE);
        assert!(get::<Real>(&c));
        get_again::<Real>(&c);
        assert!(!put::<Real>(&c));
        assert!(!put_close::<Real>(&c));
        assert!(put::<Real>(&c));
        assert!(!get::<Real>(&c) && !get::<Real>(&c), "dead files stay dead");

        let c = count(ONE);
        assert!(put_close::<Real>(&c));
        assert_eq!(c.load(Relaxed), DEAD);
    }

    #[test]
    fn a_reference_can_be_taken_until_the_file_is_declared_dead() {
        let c = count(NONE);
        assert!(get::<Real>(&c));
        assert_eq!(c.load(Relaxed), ONE);
    }

    #[test]
    fn a_saturated_count_never_ends() {
        let c = count(i64::MAX as u64);
        assert!(!get::<Real>(&c));
        assert!(!put_below_zero::<Real>(&c, c.load(Relaxed)));
        assert_eq!(c.load(Relaxed), SATURATED);
        assert!(!put::<Real>(&c) && !put_close::<Real>(&c) && !get::<Real>(&c));
    }
}
