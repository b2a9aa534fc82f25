//! Crashes of the whole VFS: whatever the tasks were doing when the journal committed, a mount finds every inode that has a name
//! and none that has not. For each way to record orphans.

mod common;

use common::{CREATE, LabTask, Random, anything, calling};
use lab::eras::{Era, parse};
use lab::orphan_list::{DESIGNS, Recovered};
use lab::vfs::{Kernel, Leftover, Task};
use machine::{Cpu, Real};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread::{scope, yield_now};
use vfs_api::{OFlags, Stat};

/// The names that `anything` gives.
const NAMES: [&str; 4] = ["d", "e", "f", "g"];
/// Descriptors of a process.
const FDS: i32 = 12;

fn eras() -> impl Iterator<Item = Era> {
    let override_ = |design: &str| parse(&format!("linux-3.15,orphan_list={design}"));
    DESIGNS.iter().map(move |info| override_(info.name).expect("such an era"))
}

fn process(kernel: &Arc<Kernel<Real>>, cpu: usize) -> LabTask {
    Task::new_process(kernel, Cpu(cpu), FDS as usize, false)
}

fn end(era: &Era, kernel: Arc<Kernel<Real>>) {
    let kernel = Arc::into_inner(kernel).expect("all tasks have ended");
    assert_eq!(kernel.shut_down(), Leftover::default(), "{}", era.parts.orphan_list);
}

/// What there is at a moment when nobody calls.
#[derive(Debug, Default)]
struct Model {
    /// Inodes with a name.
    named: BTreeMap<u32, Stat>,
    /// Inodes without, which a descriptor or a working directory holds. (They may hold directories in turn.)
    nameless: Vec<u32>,
}

impl Model {
    fn look(task: &LabTask) -> Model {
        let mut model = Model::default();
        let mut todo = vec![String::new()];
        while let Some(path) = todo.pop() {
            let Ok(stat) =
                task.stat(format!("{path}/").as_bytes()).or_else(|_| task.stat(path.as_bytes()))
            else {
                continue;
            };
            model.named.insert(stat.ino as u32, stat);
            todo.extend(NAMES.map(|name| format!("{path}/{name}")));
        }
        let held = (0..FDS).filter_map(|fd| task.fstat(fd).ok()).chain(task.stat(b"."));
        model.nameless.extend(held.filter(|stat| stat.nlink == 0).map(|stat| stat.ino as u32));
        model
    }

    /// Whether a mount after a crash finds that.
    fn expect(&self, found: &Recovered) {
        assert_eq!(found.errors, []);
        assert!(found.inodes.keys().eq(self.named.keys()), "{found:?}\n{self:?}");
        for (ino, stat) in &self.named {
            let image = found.inodes[ino];
            assert_eq!(image.size, stat.size, "size of {ino}");
            // Directories have 2 at least, and their count of subdirectories is not kept on disk.
            let links = if image.nlink > 1 { stat.nlink > 1 } else { stat.nlink == 1 };
            assert!(links, "links of {ino}: {image:?}, {stat:?}");
        }
        for ino in &self.nameless {
            assert!(found.deleted.contains(ino), "{ino} was open without a name: {found:?}");
        }
    }
}

#[test]
fn a_crash_leaves_what_was_committed_last() {
    for era in eras() {
        for seed in 1..4 {
            let kernel = Arc::new(Kernel::new(&era, 1));
            let task = process(&kernel, 0);
            let mut random = Random(seed);
            let mut model = None;
            for _ in 0..300 {
                calling(&task, |task| anything(task, &mut random));
                if let Some(model) = &model {
                    Model::expect(model, &kernel.disk_image().recover());
                }
                if random.below(10) == 0 {
                    kernel.commit(Cpu(0));
                    model = Some(calling(&task, Model::look));
                }
            }
            drop(task);
            kernel.commit(Cpu(0));
            let found = kernel.disk_image().recover();
            assert_eq!(
                (found.deleted, found.truncated),
                (Vec::new(), Vec::new()),
                "all were closed"
            );
            end(&era, kernel);
        }
    }
}

#[test]
fn a_crash_under_load_loses_no_orphan_and_no_named_inode() {
    const TASKS: usize = 3;
    for era in eras() {
        let kernel = Arc::new(Kernel::new(&era, TASKS + 1));
        let committer = Cpu(TASKS);
        let first = process(&kernel, TASKS);
        // Files that keep their names, whatever becomes of their bytes.
        let kept = calling(&first, |first| {
            let made = (0..TASKS).map(|n| {
                let fd = first.open(format!("/kept{n}").as_bytes(), CREATE).unwrap();
                let ino = first.fstat(fd).unwrap().ino as u32;
                first.close(fd).unwrap();
                ino
            });
            made.collect::<Vec<_>>()
        });
        drop(first);
        kernel.commit(committer);
        let running = AtomicU32::new(TASKS as u32);
        scope(|scope| {
            for cpu in 0..TASKS {
                let (task, running) = (process(&kernel, cpu), &running);
                scope.spawn(move || {
                    let mut random = Random(1 + cpu as u64);
                    calling(&task, |task| {
                        let path = format!("/kept{cpu}");
                        for _ in 0..200 {
                            anything(task, &mut random);
                            // All descriptors may be in use.
                            if let Ok(fd) = task.open(path.as_bytes(), CREATE | OFlags::TRUNC) {
                                task.write(fd, &[1; 10]).unwrap();
                                task.ftruncate(fd, random.below(10)).unwrap();
                                task.close(fd).unwrap();
                            }
                        }
                    });
                    drop(task);
                    running.fetch_sub(1, SeqCst);
                });
            }
            while running.load(SeqCst) > 0 {
                kernel.commit(committer);
                let found = kernel.disk_image().recover();
                assert_eq!(found.errors, []);
                let lost = found.inodes.iter().find(|(_, image)| image.nlink == 0);
                assert_eq!(lost, None, "an inode without a name and without a record");
                for ino in &kept {
                    assert_eq!(found.inodes.get(ino).map(|image| image.nlink), Some(1), "{ino}");
                }
                yield_now();
            }
        });
        end(&era, kernel);
    }
}
