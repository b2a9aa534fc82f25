//! What a call was the last to use is gone at its end, though nobody was told, in every era.

mod common;

use common::{CREATE, LabTask, calling};
use lab::eras::ERAS;
use lab::vfs::{Kernel, Leftover, Task};
use machine::Cpu;
use std::sync::Arc;
use vfs_api::{Errno, OFlags};

/// Runs `f` as the only task of a kernel of each era.
fn in_every_era(f: impl Fn(&LabTask)) {
    for era in ERAS {
        let kernel = Arc::new(Kernel::new(era, 1));
        let task = Task::new_process(&kernel, Cpu(0), 8, false);
        calling(&task, &f);
        drop(task);
        let kernel = Arc::into_inner(kernel).expect("the task has ended");
        assert_eq!(kernel.shut_down(), Leftover::default(), "{}", era.name);
    }
}

/// Such a directory's dentry goes when its child's does, in the middle of a close.
#[test]
fn a_directory_without_a_name_ends_with_the_last_file_in_it() {
    in_every_era(|task| {
        task.mkdir(b"/d").unwrap();
        task.open(b"/d/f", CREATE).and_then(|fd| task.close(fd)).unwrap();
        let fd = task.open(b"/d/f", OFlags::RDONLY).unwrap();
        task.unlink(b"/d/f").unwrap();
        task.rmdir(b"/d").unwrap();
        assert_eq!(task.kernel().orphans().len(), 2);
        assert_eq!(task.remount_super(b"/", true), Err(Errno::BUSY));
        // A remount that is refused has changed nothing.
        task.mkdir(b"/e").unwrap();
        task.close(fd).unwrap();
        assert_eq!(task.kernel().orphans(), [0; 0]);
        assert_eq!(task.remount_super(b"/", true), Ok(()));
    });
}

/// As above, but it is the working directory that is left.
#[test]
fn directories_without_names_end_when_they_are_left() {
    in_every_era(|task| {
        task.mkdir(b"/d").unwrap();
        task.mkdir(b"/d/e").unwrap();
        task.chdir(b"/d/e").unwrap();
        task.rmdir(b"/d/e").unwrap();
        task.rmdir(b"/d").unwrap();
        assert_eq!(task.kernel().orphans().len(), 2);
        assert_eq!(task.remount_super(b"/", true), Err(Errno::BUSY));
        task.chdir(b"/").unwrap();
        assert_eq!(task.kernel().orphans(), [0; 0]);
        assert_eq!(task.remount_super(b"/", true), Ok(()));
    });
}
