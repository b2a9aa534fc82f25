//! Files in memory that are handed to other programs by descriptor: nothing of them can be left behind, whatever happens.

use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// An empty file. `name` shows in /proc only.
pub(crate) fn empty(name: &str) -> std::io::Result<File> {
    Ok(File::from(memfd_create(name, MemfdFlags::CLOEXEC)?))
}

/// A file with this content.
pub(crate) fn with(name: &str, content: &[u8]) -> std::io::Result<File> {
    let mut file = empty(name)?;
    file.write_all(content)?;
    Ok(file)
}

/// The name under which a child that inherits `file` opens it.
pub(crate) fn path(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Lets the child of `command` inherit `descriptors`. They must stay open until it was started.
pub(crate) fn inherit(command: &mut Command, descriptors: &[BorrowedFd<'_>]) {
    let numbers: Vec<i32> = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
    let keep = move || {
        for number in &numbers {
            // SAFETY: fcntl on a number; of one that is not open it fails.
            if unsafe { libc::fcntl(*number, libc::F_SETFD, 0) } < 0 {
                return Err(std::io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec only fcntl(2) is called, which is async-signal-safe; nothing is allocated.
    unsafe { command.pre_exec(keep) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn a_child_reads_what_was_written() {
        let file = with("test", b"for the child").unwrap();
        let mut command = Command::new("cat");
        command.arg(path(&file));
        inherit(&mut command, &[file.as_fd()]);
        assert_eq!(command.output().unwrap().stdout, b"for the child");
    }
}
