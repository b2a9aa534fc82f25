//! The whole VFS on real threads, in every era: nothing is left at the end, no writer is on a read-only mount, no open file is
//! missed, no mount is lost.

mod common;

use common::{CREATE, LabTask, Random, anything, calling};
use lab::eras::{ERAS, Era};
use lab::vfs::{Kernel, Leftover, Task};
use machine::{Cpu, Real};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{scope, yield_now};
use vfs_api::{Errno, OFlags};

/// CPUs for the tasks, and one for whoever watches.
const CPUS: usize = 4;
const WATCHER: Cpu = Cpu(CPUS - 1);
/// Tries after which something that must happen at some time has not.
const PATIENCE: u32 = 1_000_000;
/// Whether tasks are threads of one process.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Process,
    Thread,
}

/// One test at a time: each has as many threads as are good for a small machine.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs `f` in each of the eras.
fn in_mode(mode: Mode, eras: impl IntoIterator<Item = &'static Era>, f: impl Fn(&World)) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for era in eras {
        let world = World::new(era, mode);
        f(&world);
        world.end();
    }
}

/// Runs `f` in each era and in both modes.
fn everywhere(f: impl Fn(&World)) {
    in_mode(Mode::Process, ERAS, &f);
    in_mode(Mode::Thread, ERAS, f);
}

/// A kernel.
struct World {
    kernel: Arc<Kernel<Real>>,
    era: &'static Era,
    mode: Mode,
    /// The process that tasks are threads of; else one that makes what they work on.
    first: LabTask,
}

impl World {
    fn new(era: &'static Era, mode: Mode) -> World {
        let kernel = Arc::new(Kernel::new(era, CPUS));
        let first = Task::new_process(&kernel, WATCHER, 64, mode == Mode::Thread);
        World { kernel, era, mode, first }
    }

    fn task(&self, cpu: usize) -> LabTask {
        match self.mode {
            Mode::Process => Task::new_process(&self.kernel, Cpu(cpu), 64, false),
            Mode::Thread => self.first.new_thread(Cpu(cpu)),
        }
    }

    /// Runs `f` as the first task.
    fn alone<R>(&self, f: impl FnOnce(&LabTask) -> R) -> R {
        calling(&self.first, f)
    }

    fn end(self) {
        let World { kernel, era, mode, first } = self;
        drop(first);
        let kernel = Arc::into_inner(kernel).expect("all tasks have ended");
        let listed = kernel.listed_files(WATCHER);
        assert_eq!(listed.unwrap_or(0), 0, "{}, {mode:?}: on the list of open files", era.name);
        assert_eq!(kernel.orphans(), [0; 0], "{}, {mode:?}: orphans", era.name);
        assert_eq!(kernel.shut_down(), Leftover::default(), "{}, {mode:?}: left", era.name);
    }
}

#[test]
fn nothing_is_left_after_anything() {
    everywhere(|world| {
        scope(|scope| {
            for cpu in 0..3 {
                let task = world.task(cpu);
                scope.spawn(move || {
                    let mut random = Random(0x9e37_79b9 + cpu as u64);
                    calling(&task, |task| (0..150).for_each(|_| anything(task, &mut random)));
                });
            }
        });
    });
}

/// Sets a flag at its end, after a panic too: the others would go on for ever.
struct Set<'a>(&'a AtomicBool);

impl Drop for Set<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// What writers and a remounter tell each other.
#[derive(Default)]
struct Oracle {
    readonly: AtomicBool,
    /// Files open for writing, or without a name: counted after open and before close.
    open: AtomicU32,
    opened: AtomicU32,
    /// Of the remounter.
    tries: AtomicU32,
    done: AtomicBool,
}

impl Oracle {
    /// As long as the remounter remounts: opens by `open`, which answers a descriptor to close.
    fn write(&self, task: &LabTask, open: impl Fn(&LabTask) -> Result<i32, Errno>) {
        while !self.done.load(SeqCst) {
            let tries = self.tries.load(SeqCst);
            match open(task) {
                Ok(fd) => {
                    self.open.fetch_add(1, SeqCst);
                    self.opened.fetch_add(1, SeqCst);
                    assert!(!self.readonly.load(SeqCst), "open for writing on a read-only mount");
                    self.open.fetch_sub(1, SeqCst);
                    task.close(fd).expect("it is open");
                }
                Err(errno) => assert_eq!(errno, Errno::ROFS),
            }
            // The other shall have a chance.
            for _ in 0..3 {
                if self.tries.load(SeqCst) == tries {
                    yield_now();
                }
            }
        }
    }

    /// Remounts read-only and back some times, until somebody has written meanwhile.
    fn remount(&self, remount: impl Fn(bool) -> Result<(), Errno>) {
        let _done = Set(&self.done);
        let mut times = 0;
        for _ in 0..PATIENCE {
            self.tries.fetch_add(1, SeqCst);
            match remount(true) {
                Ok(()) => {
                    self.readonly.store(true, SeqCst);
                    assert_eq!(self.open.load(SeqCst), 0, "read-only with files open for writing");
                    yield_now();
                    assert_eq!(self.open.load(SeqCst), 0, "read-only with files open for writing");
                    self.readonly.store(false, SeqCst);
                    remount(false).expect("a mount can become writable at any time");
                    times += 1;
                }
                Err(errno) => assert_eq!(errno, Errno::BUSY),
            }
            yield_now();
            if times >= 2 && self.opened.load(SeqCst) >= 2 {
                return;
            }
        }
        panic!("{times} remounts, {} files opened", self.opened.load(SeqCst));
    }
}

/// The file `/d/f`, and `/m` to mount on.
fn make(task: &LabTask) {
    task.mkdir(b"/d").unwrap();
    task.mkdir(b"/m").unwrap();
    task.open(b"/d/f", CREATE).and_then(|fd| task.close(fd)).unwrap();
}

fn make_and_bind(task: &LabTask) {
    make(task);
    task.bind(b"/d", b"/m").unwrap();
}

#[test]
fn nobody_writes_on_a_read_only_mount() {
    in_mode(Mode::Thread, ERAS, |world| {
        world.alone(make_and_bind);
        let oracle = Oracle::default();
        scope(|scope| {
            for cpu in 0..2 {
                let (task, oracle) = (world.task(cpu), &oracle);
                scope.spawn(move || {
                    calling(&task, |task| oracle.write(task, |task| task.open(b"/m/f", CREATE)));
                });
            }
            world.alone(|task| oracle.remount(|readonly| task.remount_mount(b"/m", readonly)));
        });
    });
}

#[test]
fn nobody_writes_on_a_read_only_super_block() {
    /// Open without a name: its end will change the file system.
    fn nameless(task: &LabTask) -> Result<i32, Errno> {
        let fd = task.open(b"/n", CREATE)?;
        task.unlink(b"/n")
            .expect("the file system cannot become read-only: the file is open for writing");
        Ok(fd)
    }
    in_mode(Mode::Process, ERAS, |world| {
        world.alone(make_and_bind);
        let oracle = Oracle::default();
        scope(|scope| {
            let (task, oracle) = (world.task(0), &oracle);
            scope.spawn(move || {
                calling(&task, |task| {
                    oracle.write(task, |task| task.open(b"/m/f", OFlags::WRONLY))
                });
            });
            let task = world.task(1);
            scope.spawn(move || calling(&task, |task| oracle.write(task, nameless)));
            world.alone(|task| oracle.remount(|readonly| task.remount_super(b"/", readonly)));
        });
    });
}

#[test]
fn a_walk_of_the_open_files_sees_all_that_stay_open() {
    const STAY: usize = 20;
    everywhere(|world| {
        world.alone(|task| {
            for _ in 0..STAY {
                task.open(b"/f", CREATE).unwrap();
            }
        });
        let ended = AtomicU32::new(0);
        scope(|scope| {
            for cpu in 0..2 {
                let (task, ended) = (world.task(cpu), &ended);
                scope.spawn(move || {
                    calling(&task, |task| {
                        for _ in 0..60 {
                            let fd = task.open(b"/f", OFlags::RDWR).unwrap();
                            task.close(fd).unwrap();
                        }
                    });
                    ended.fetch_add(1, SeqCst);
                });
            }
            while ended.load(SeqCst) < 2 {
                match world.kernel.listed_files(WATCHER) {
                    Some(files) => assert!(files >= STAY, "{}: {files}", world.era.name),
                    None => break,
                }
                yield_now();
            }
        });
    });
}

#[test]
fn files_are_closed_by_other_threads() {
    in_mode(Mode::Thread, ERAS, |world| {
        let (opener, closer) = (world.task(0), world.task(1));
        let (sender, receiver) = mpsc::channel();
        scope(|scope| {
            scope.spawn(move || {
                for n in 0..100 {
                    // At most so many descriptors are on the way.
                    let fd = loop {
                        match calling(&opener, |opener| opener.open(b"/f", CREATE)) {
                            Ok(fd) => break fd,
                            Err(errno) => assert_eq!(errno, Errno::MFILE),
                        }
                        yield_now();
                    };
                    if n % 2 == 0 {
                        calling(&opener, |opener| opener.write(fd, b"x")).unwrap();
                    }
                    sender.send(fd).unwrap();
                }
            });
            scope.spawn(move || {
                for fd in receiver {
                    calling(&closer, |closer| {
                        closer.fstat(fd).unwrap();
                        closer.close(fd).unwrap();
                    });
                }
            });
        });
    });
}

#[test]
fn the_last_of_two_threads_that_end_at_once_closes_the_files() {
    in_mode(Mode::Process, [&ERAS[0], &ERAS[ERAS.len() - 1]], |world| {
        for _ in 0..100 {
            let first = Task::new_process(&world.kernel, Cpu(0), 64, true);
            let second = first.new_thread(Cpu(1));
            calling(&first, |task| task.open(b"/f", CREATE)).unwrap();
            let ready = AtomicU32::new(0);
            let end = |task: LabTask| {
                ready.fetch_add(1, SeqCst);
                for _ in 0..PATIENCE {
                    if ready.load(SeqCst) == 2 {
                        break;
                    }
                    std::hint::spin_loop();
                }
                drop(task);
            };
            scope(|scope| {
                scope.spawn(|| end(first));
                end(second);
            });
        }
    });
}

#[test]
fn mounts_come_and_go_under_walkers() {
    everywhere(|world| {
        world.alone(make);
        let done = AtomicBool::new(false);
        scope(|scope| {
            let (walker, done) = (world.task(0), &done);
            scope.spawn(move || {
                calling(&walker, |task| {
                    while !done.load(SeqCst) {
                        for path in [b"/m/f".as_slice(), b"/m/../m/f", b"/m/./f"] {
                            match task.open(path, OFlags::RDONLY) {
                                Ok(fd) => task.close(fd).unwrap(),
                                Err(errno) => assert_eq!(errno, Errno::NOENT),
                            }
                        }
                        task.chdir(b"/m").unwrap();
                        // From the mount or from below it; and it is never missed while somebody only tries to unmount it.
                        task.stat(b"../d/f").unwrap();
                        task.chdir(b"/").unwrap();
                    }
                });
            });
            let other = world.task(1);
            scope.spawn(move || {
                calling(&other, |task| {
                    while !done.load(SeqCst) {
                        match task.unmount(b"/m") {
                            Ok(()) | Err(Errno::INVAL | Errno::BUSY) => yield_now(),
                            Err(errno) => panic!("{errno}"),
                        }
                    }
                });
            });
            world.alone(|task| {
                let _done = Set(done);
                for _ in 0..3 {
                    task.bind(b"/d", b"/m").unwrap();
                    yield_now();
                    match task.unmount(b"/m") {
                        Ok(()) | Err(Errno::INVAL | Errno::BUSY) => {}
                        Err(errno) => panic!("{errno}"),
                    }
                }
            });
        });
        world.alone(|task| {
            while task.unmount(b"/m").is_ok() {}
            assert_eq!(task.stat(b"/m/f"), Err(Errno::NOENT));
            assert_eq!(task.rmdir(b"/m"), Ok(()));
        });
    });
}
