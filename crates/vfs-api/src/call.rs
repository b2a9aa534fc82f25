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
    Rename = "rename", Rmdir = "rmdir", Mount = "mount", Umount = "umount", Pread = "pread", Pwrite = "pwrite",
    Fallocate = "fallocate", Statx = "statx", Fcntl = "fcntl", Chmod = "chmod", Utimensat = "utimensat",
    Getdents = "getdents64", Openat2 = "openat2", Linkat = "linkat", Poll = "poll", Eventfd = "eventfd", Pipe = "pipe",
    Mmap = "mmap", Munmap = "munmap", Fsync = "fsync", Fdatasync = "fdatasync", CloseRange = "close_range",
    Inotify = "inotify_add_watch", Unshare = "unshare", Mknod = "mknod", Socket = "socket", Send = "sendto", Recv = "recvfrom",
    Kill = "kill", Execve = "execve", Wait = "wait4", Brk = "brk",
}

/// Why a call did not do what the workload counts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It failed with this errno.
    Errno(Errno),
    /// It succeeded but moved fewer bytes than asked for. Such an operation is not counted as done.
    Short,
    /// It succeeded where it should have failed, or found something else than what was put there.
    Unexpected,
    /// No failure: the files that were prepared for the slice are used up, and the slice ends here. See
    /// [`Workload::renew`](crate::Workload::renew).
    UsedUp,
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

    /// `call` has nothing left to work on in this slice.
    #[cold]
    pub fn used_up(call: Call) -> Failure {
        Failure { call, cause: Cause::UsedUp }
    }

    /// Whether it only ends the slice.
    pub fn is_used_up(&self) -> bool {
        self.cause == Cause::UsedUp
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
            Cause::Unexpected => write!(f, "{call}: the answer is not what was prepared for it"),
            Cause::UsedUp => write!(f, "{call}: what was prepared for the slice is used up"),
        }
    }
}

/// Accepts a read or write only if it moved all `wanted` bytes.
#[inline]
pub fn expect_len(call: Call, moved: usize, wanted: usize) -> Result<(), Failure> {
    if moved == wanted { Ok(()) } else { Err(Failure { call, cause: Cause::Short }) }
}

/// Accepts an answer only if it is what was prepared.
#[inline]
pub fn expect(call: Call, is_so: bool) -> Result<(), Failure> {
    if is_so { Ok(()) } else { Err(Failure { call, cause: Cause::Unexpected }) }
}

/// Accepts a call only if it failed with `wanted`: a look-up of a name that is not there.
#[inline]
pub fn expect_errno<T>(
    call: Call,
    result: Result<T, Failure>,
    wanted: Errno,
) -> Result<(), Failure> {
    match result {
        Err(Failure { cause: Cause::Errno(errno), .. }) if errno == wanted => Ok(()),
        Err(failure) => Err(failure),
        Ok(_) => Err(Failure { call, cause: Cause::Unexpected }),
    }
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

    #[test]
    fn an_errno_that_is_wanted_is_success_and_nothing_else_is() {
        let failed = |errno| Err::<(), _>(Failure::new(Call::Stat, errno));
        assert_eq!(expect_errno(Call::Stat, failed(Errno::NOENT), Errno::NOENT), Ok(()));
        assert!(expect_errno(Call::Stat, failed(Errno::ACCESS), Errno::NOENT).is_err());
        let found = expect_errno(Call::Stat, Ok(()), Errno::NOENT).unwrap_err();
        assert_eq!(found.cause, Cause::Unexpected);
        assert!(expect(Call::Stat, false).is_err());
        assert!(Failure::used_up(Call::Open).is_used_up() && !found.is_used_up());
    }
}
