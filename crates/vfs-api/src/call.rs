//! The calls of [`FileSystem`](crate::FileSystem) by name, and how one of them fails.

use crate::{Errno, errno_name};
use std::fmt;

macro_rules! calls {
    ($($variant:ident = $name:literal),* $(,)?) => {
        /// A call, for error messages. `#[repr(u8)]`, because a failing task hands it over in shared memory.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Call {
            $(#[doc = concat!($name, "(2)")] $variant),*
        }

        impl Call {
            /// Every call, in the order of its number.
            pub const ALL: &[Call] = &[$(Call::$variant),*];

            /// The system call's name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Call::$variant => $name),*
                }
            }

            /// The inverse of `call as u8`.
            pub fn from_number(number: u8) -> Option<Call> {
                Call::ALL.get(usize::from(number)).copied()
            }
        }
    };
}

calls! {
    Open = "open", Close = "close", Read = "read", Write = "write", Seek = "lseek", Ftruncate = "ftruncate",
    Fstat = "fstat", Stat = "stat", Unlink = "unlink", Mkdir = "mkdir", Chdir = "chdir", Clone = "clone", Dup = "dup", Link = "link",
    Rename = "rename", Rmdir = "rmdir", Mount = "mount", Umount = "umount",
}

/// Why a call did not do what the workload counts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It failed with this errno.
    Errno(Errno),
    /// It succeeded but moved fewer bytes than asked for. Such an operation is not counted as done.
    Short,
}

/// A call of a task that failed. Small and `Copy`: it comes out of the measured loop in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The call.
    pub call: Call,
    /// What went wrong.
    pub cause: Cause,
}

impl Failure {
    /// `call` failed with `errno`.
    #[cold]
    pub fn new(call: Call, errno: Errno) -> Failure {
        Failure { call, cause: Cause::Errno(errno) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let call = self.call.name();
        match self.cause {
            Cause::Errno(errno) => {
                let text = std::io::Error::from_raw_os_error(errno.raw_os_error()).to_string();
                let text = text.split(" (os error").next().unwrap_or_default();
                write!(f, "{call}: {text} ({})", errno_name(errno))
            }
            Cause::Short => write!(f, "{call}: moved fewer bytes than asked for"),
        }
    }
}

/// Accepts a read or write only if it moved all `wanted` bytes.
#[inline]
pub fn expect_len(call: Call, moved: usize, wanted: usize) -> Result<(), Failure> {
    if moved == wanted { Ok(()) } else { Err(Failure { call, cause: Cause::Short }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_name_the_same_call_on_both_sides_of_shared_memory() {
        for &call in Call::ALL {
            assert_eq!(Call::from_number(call as u8), Some(call));
        }
        assert_eq!(Call::from_number(Call::ALL.len() as u8), None);
    }

    #[test]
    fn a_failure_reads_like_perror_with_the_errno_name() {
        let text = Failure::new(Call::Open, Errno::MFILE).to_string();
        assert_eq!(text, "open: Too many open files (EMFILE)");
    }

    #[test]
    fn a_short_write_is_not_an_operation() {
        assert_eq!(expect_len(Call::Write, 4, 4), Ok(()));
        let short = expect_len(Call::Write, 3, 4).unwrap_err();
        assert_eq!(short.to_string(), "write: moved fewer bytes than asked for");
    }
}
