//! Who waited for which lock of this kernel, and how that was seen.
