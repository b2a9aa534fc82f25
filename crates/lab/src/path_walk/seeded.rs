//! Bugs that tests put into the designs, to see that they are found. The designs are made with [`NONE`].

/// As it should be.
pub(super) const NONE: u8 = 0;
/// A lazy walk does not look at the child's d_seq again.
pub(super) const NO_RECHECK: u8 = 1;
/// A dead dentry is gone at once, instead of after a grace period.
pub(super) const FREE_AT_ONCE: u8 = 2;
/// dput counts down first, and takes the lock under which it decides what to do only then.
pub(super) const COUNT_FIRST: u8 = 3;
