//! Errno by name: kernel people say ENOSPC, not "os error 28".

use crate::Errno;

macro_rules! names {
    ($($konst:ident),* $(,)?) => {
        /// The symbolic name of an errno that file-system calls answer; `errno` for one that they do not.
        pub fn errno_name(errno: Errno) -> &'static str {
            match errno {
                $(Errno::$konst => concat!("E", stringify!($konst)),)*
                // The one constant whose name Rust would not take as it is.
                Errno::TOOBIG => "E2BIG",
                _ => "errno",
            }
        }
    };
}

names! {
    PERM, NOENT, SRCH, INTR, IO, NXIO, BADF, CHILD, AGAIN, NOMEM, ACCESS, FAULT, BUSY, EXIST, XDEV, NODEV, NOTDIR, ISDIR,
    INVAL, NFILE, MFILE, NOTTY, TXTBSY, FBIG, NOSPC, SPIPE, ROFS, MLINK, PIPE, DOM, RANGE, DEADLK, NAMETOOLONG, NOLCK,
    NOSYS, NOTEMPTY, LOOP, OVERFLOW, OPNOTSUPP, STALE, DQUOT, TIMEDOUT, NODATA, USERS, REMOTEIO,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_ones_of_errno_h() {
        assert_eq!(errno_name(Errno::NOSPC), "ENOSPC");
        assert_eq!(errno_name(Errno::TOOBIG), "E2BIG");
        assert_eq!(errno_name(Errno::ROFS), "EROFS");
    }
}
