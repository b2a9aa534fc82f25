//! The steps of the filevec design on which its correctness hangs, so that tests can leave one out and see that it is missed.

/// Each is taken by the design itself.
pub(super) trait Steps: Send + Sync + 'static {
    /// Whoever takes a node off a lock_list looks again whether he has locked its predecessor.
    const RECHECK_PREV: bool = true;
    /// Close looks at the tag and clears the slot under the file's lock.
    const CLOSE_UNDER_LOCK: bool = true;
    /// A drain links the file to the list before it clears the slot.
    const LINK_BEFORE_CLEAR: bool = true;
}

/// Nothing left out.
pub(super) struct AllSteps;

impl Steps for AllSteps {}
