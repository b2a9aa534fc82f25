//! A remount in the middle of a change and a change in the middle of a remount: at every lock and fence that the one comes by, once,
//! on one thread, so that nothing is left to luck. A remount that succeeds is the end of all changes; one that is refused has
//! refused nobody.

mod common;

use common::CREATE;
use lab::eras::{ERAS, Era};
use lab::vfs::{Kernel, Task};
use machine::{Cpu, Platform, RawSpin, Real, SpinKind, as_on};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use vfs_api::{Errno, OFlags};

/// This machine; a call can be interrupted at each spinlock, before it is taken, and at each fence, if no spinlock is held.
#[derive(Clone, Copy, Debug, Default)]
struct Interrupted;

thread_local! {
    static SPINLOCKS_HELD: Cell<u32> = const { Cell::new(0) };
    /// Points to go by before the interruption.
    static POINTS: Cell<u32> = const { Cell::new(0) };
    static INTERRUPTION: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

fn point() {
    if SPINLOCKS_HELD.get() > 0 || INTERRUPTION.with_borrow(Option::is_none) {
        return;
    }
    match POINTS.get() {
        0 => INTERRUPTION.take().expect("there is one")(),
        left => POINTS.set(left - 1),
    }
}

/// Runs `call`, and `interruption` in the middle of it, when it has gone by so many points. None if it has fewer.
fn interrupt<R>(
    points: u32,
    interruption: impl FnOnce() + 'static,
    call: impl FnOnce() -> R,
) -> Option<R> {
    POINTS.set(points);
    INTERRUPTION.set(Some(Box::new(interruption)));
    let result = call();
    INTERRUPTION.take().is_none().then_some(result)
}

struct InterruptedSpin(<Real as Platform>::Spin);

impl RawSpin for InterruptedSpin {
    fn new(kind: SpinKind) -> Self {
        InterruptedSpin(RawSpin::new(kind))
    }
    fn lock(&self) {
        point();
        self.0.lock();
        SPINLOCKS_HELD.set(SPINLOCKS_HELD.get() + 1);
    }
    fn try_lock(&self) -> bool {
        let taken = self.0.try_lock();
        SPINLOCKS_HELD.set(SPINLOCKS_HELD.get() + u32::from(taken));
        taken
    }
    fn unlock(&self) {
        self.0.unlock();
        SPINLOCKS_HELD.set(SPINLOCKS_HELD.get() - 1);
    }
}

impl Platform for Interrupted {
    as_on!(Real: U32 U64 Ptr Cell Tag rest memory);
    type Spin = InterruptedSpin;
    fn fence(order: Ordering) {
        point();
        Real::fence(order);
    }
}

type InterruptedTask = Task<Interrupted>;

/// A call that changes something; whether it did.
type Change = fn(&InterruptedTask) -> Result<(), Errno>;

/// With the file `/f`, the directory `/d`, and `/g`, which is open for reading.
const CHANGES: [(&str, Change); 8] = [
    ("open for writing", |task| task.open(b"/f", OFlags::WRONLY).map(drop)),
    ("create", |task| task.open(b"/new", CREATE).map(drop)),
    ("cut", |task| task.open(b"/f", OFlags::RDONLY | OFlags::TRUNC).map(drop)),
    ("unlink", |task| task.unlink(b"/f")),
    ("unlink an open file", |task| task.unlink(b"/g")),
    ("mkdir", |task| task.mkdir(b"/new")),
    ("rmdir", |task| task.rmdir(b"/d")),
    ("rename", |task| task.rename(b"/f", b"/new")),
];

/// What can be seen of the file system without changing it.
fn look(task: &InterruptedTask) -> Vec<Result<(u64, u64), Errno>> {
    let paths: [&[u8]; 5] = [b"/", b"/f", b"/g", b"/d", b"/new"];
    let look = |path: &[u8]| task.stat(path).map(|stat| (stat.size, stat.nlink));
    paths.into_iter().map(look).collect()
}

/// What the remount in the middle answered; and what was to be seen then, if nobody was changing it (whose locks to wait for).
type Seen = Result<Vec<Result<(u64, u64), Errno>>, Errno>;

/// A kernel with two processes, one of which changes what there is while the other remounts it.
struct World {
    kernel: Arc<Kernel<Interrupted>>,
    changer: Rc<InterruptedTask>,
    remounter: Rc<InterruptedTask>,
}

fn remount(task: &InterruptedTask, whole: bool, readonly: bool) -> Result<(), Errno> {
    if whole { task.remount_super(b"/", readonly) } else { task.remount_mount(b"/", readonly) }
}

impl World {
    fn new(era: &Era) -> Self {
        let kernel = Arc::new(Kernel::new(era, 2));
        let changer = Rc::new(Task::new_process(&kernel, Cpu(0), 8, false));
        let remounter = Rc::new(Task::new_process(&kernel, Cpu(1), 8, false));
        changer.enter();
        World { kernel, changer, remounter }
    }

    fn set_up(&self) {
        let task = &self.changer;
        for file in [b"/f", b"/g"] {
            let fd = task.open(file, CREATE).unwrap();
            task.write(fd, b"x").unwrap();
            task.close(fd).unwrap();
        }
        task.mkdir(b"/d").unwrap();
        assert_eq!(task.open(b"/g", OFlags::RDONLY), Ok(0));
    }

    /// Back to an empty file system, whatever there is.
    fn clear(&self, whole: bool) {
        let task = &self.changer;
        remount(task, whole, false).unwrap();
        task.close(0).unwrap();
        // Whether the change has opened it.
        let _ = task.close(1);
        for path in [b"/f".as_slice(), b"/g", b"/d", b"/new"] {
            let _ = task.unlink(path);
            let _ = task.rmdir(path);
        }
        assert_eq!(task.stat(b"/").map(|stat| stat.nlink), Ok(2));
        assert_eq!(self.kernel.orphans(), [0; 0]);
    }

    /// Interrupts `change` at that point by a remount; false if it has no such point.
    fn remount_in_the_middle(&self, change: Change, whole: bool, point: u32) -> bool {
        self.set_up();
        let seen = Rc::new(RefCell::new(None::<Seen>));
        let interruption = {
            let (seen, remounter) = (Rc::clone(&seen), Rc::clone(&self.remounter));
            move || {
                remounter.enter();
                let answer = remount(&remounter, whole, true);
                *seen.borrow_mut() = Some(answer.map(|()| look(&remounter)));
                remounter.leave();
            }
        };
        let Some(changed) = interrupt(point, interruption, || change(&self.changer)) else {
            return false;
        };
        match seen.take().expect("it was interrupted") {
            Ok(then) => {
                let now = look(&self.changer);
                assert_eq!(now, then, "changed after it was read-only: {changed:?}");
                assert!(!self.is_in_use(whole), "read-only and in use");
            }
            Err(errno) => {
                assert_eq!((errno, changed), (Errno::BUSY, Ok(())), "refused for nothing");
            }
        }
        self.clear(whole);
        true
    }

    /// Interrupts `change`, of what is read-only, at that point: it becomes writable and read-only again. False if it has no such
    /// point.
    fn writable_for_a_moment(&self, change: Change, whole: bool, point: u32) -> bool {
        self.set_up();
        remount(&self.remounter, whole, true).unwrap();
        let before = look(&self.changer);
        let again = Rc::new(Cell::new(None));
        let interruption = {
            let (again, remounter) = (Rc::clone(&again), Rc::clone(&self.remounter));
            move || {
                remounter.enter();
                remount(&remounter, whole, false).unwrap();
                again.set(Some(remount(&remounter, whole, true)));
                remounter.leave();
            }
        };
        let changed = interrupt(point, interruption, || change(&self.changer));
        if let Some(changed) = changed {
            match again.get().expect("it was interrupted") {
                Ok(()) => {
                    assert_eq!(changed, Err(Errno::ROFS), "it has been read-only all along");
                    assert_eq!(look(&self.changer), before);
                    assert!(!self.is_in_use(whole), "read-only and in use");
                }
                Err(errno) => {
                    assert_eq!((errno, changed), (Errno::BUSY, Ok(())), "refused for nothing");
                }
            }
        }
        self.clear(whole);
        changed.is_some()
    }

    /// Interrupts a remount at that point by `change`; false if it has no such point.
    fn change_in_the_middle(&self, change: Change, whole: bool, point: u32) -> bool {
        self.set_up();
        let answer = Rc::new(Cell::new(None));
        let interruption = {
            let (answer, changer) = (Rc::clone(&answer), Rc::clone(&self.changer));
            move || answer.set(Some(change(&changer)))
        };
        self.remounter.enter();
        let remounted = interrupt(point, interruption, || remount(&self.remounter, whole, true));
        self.remounter.leave();
        if let Some(remounted) = remounted {
            let changed = answer.get().expect("it was made");
            let in_use = self.is_in_use(whole);
            assert_eq!(remounted, if in_use { Err(Errno::BUSY) } else { Ok(()) }, "{changed:?}");
            assert!(remounted.is_ok() || changed.is_ok(), "both were refused");
        }
        self.clear(whole);
        remounted.is_some()
    }

    /// Whether there is what forbids a remount: a file open for writing, or an inode without a name.
    fn is_in_use(&self, whole: bool) -> bool {
        // Descriptor 1 is what the change has opened. A file not open for writing is refused as one that is not open at all.
        let written = self.changer.write(1, b"");
        assert!(matches!(written, Ok(0) | Err(Errno::BADF)));
        written.is_ok() || (whole && !self.kernel.orphans().is_empty())
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.changer.leave();
    }
}

/// Runs `round` for each change, at every point, in every era.
fn everywhere(round: fn(&World, Change, bool, u32) -> bool) {
    for era in ERAS {
        for whole in [false, true] {
            for (name, change) in CHANGES {
                let world = World::new(era);
                let points = (0..).take_while(|&point| round(&world, change, whole, point)).count();
                assert!(points > 0, "{}, {name}", era.name);
            }
        }
    }
}

#[test]
fn a_remount_in_the_middle_of_a_change() {
    everywhere(World::remount_in_the_middle);
}

#[test]
fn a_change_in_the_middle_of_a_remount() {
    everywhere(World::change_in_the_middle);
}

#[test]
fn a_moment_of_being_writable_in_the_middle_of_a_change() {
    everywhere(World::writable_for_a_moment);
}
