//! The whole path of open and close in each era, by one task.

use crate::Contender;
use lab::eras::{ERAS, Era};
use lab::vfs::{Kernel, Task};
use machine::{Cpu, Real};
use std::sync::Arc;
use vfs_api::OFlags;

const DIR: &[u8] = b"/tmp";
const FILE: &[u8] = b"/tmp/file0";

/// Descriptors that the task may have.
const FDS: usize = 1024;

fn contender(era: &'static Era) -> Contender {
    let kernel = Arc::new(Kernel::<Real>::new(era, 1));
    let task = Task::new_process(&kernel, Cpu(0), FDS, false);
    task.enter();
    task.mkdir(DIR).expect("the file system is empty");
    let fd = task.open(FILE, OFlags::RDWR | OFlags::CREATE).expect("the directory is there");
    task.close(fd).expect("it is open");
    task.leave();
    Contender::new(era.name, move |times| {
        task.enter();
        for _ in 0..times {
            let fd = task.open(FILE, OFlags::RDWR).expect("the file is there");
            task.close(fd).expect("it is open");
        }
        task.leave();
    })
}

/// Every era, in the order of time.
pub fn contenders() -> Vec<Contender> {
    ERAS.iter().map(contender).collect()
}
