//! RCU: nobody who reads sees a freed object, and callbacks keep to their limits.

mod common;

use common::{cx, in_time};
use machine::sync::{Backlog, Rcu};
use machine::testing::{Unfenced, found, model, spawn};
use machine::{Cpu, Cx, Loom, Plain, Platform, PtrWord, Real};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Quiescent states until a CPU looks after its callbacks.
const LOOK: usize = 64;

/// An object whose memory stays; freeing it poisons it. A reader meanwhile is a race that loom sees.
struct Object<P: Platform> {
    poisoned: P::Cell<bool>,
}

impl<P: Platform> Object<P> {
    fn new() -> Self {
        Object { poisoned: P::Cell::new(false) }
    }

    fn read(&self) {
        // SAFETY: nobody frees what a reader can see, which is what is tested.
        assert!(!self.poisoned.with(|poisoned| unsafe { *poisoned }), "freed");
    }

    fn poison(&self) {
        // SAFETY: as in `read`.
        self.poisoned.with_mut(|poisoned| unsafe { *poisoned = true });
    }

    unsafe fn free(object: *mut (), _cx: Cx<'_, P>) {
        // SAFETY: it was queued as an object of this type, and the scene outlives the domain.
        unsafe { &*object.cast::<Self>() }.poison();
    }
}

/// One object after the other behind a pointer.
struct Scene<P: Platform> {
    rcu: Rcu<P>,
    current: P::Ptr<Object<P>>,
    objects: Vec<Object<P>>,
}

impl<P: Platform> Scene<P> {
    /// With CPU 0, the updater's, online.
    fn new(cpus: usize) -> Arc<Self> {
        let objects: Vec<_> = (0..2).map(|_| Object::new()).collect();
        let rcu = Rcu::new(cpus);
        let current = P::Ptr::new(std::ptr::from_ref(&objects[0]).cast_mut());
        rcu.online(Cpu(0));
        Arc::new(Scene { rcu, current, objects })
    }

    fn read(&self) {
        // SAFETY: objects live as long as the scene; whether it may be read is what is tested.
        unsafe { &*self.current.load(Acquire) }.read();
    }

    /// The second object takes the place of the first.
    fn unlink(&self) -> &Object<P> {
        self.current.store(std::ptr::from_ref(&self.objects[1]).cast_mut(), Release);
        &self.objects[0]
    }

    fn retire(&self, cpu: usize, object: &Object<P>) {
        let object = std::ptr::from_ref(object).cast_mut().cast();
        // SAFETY: it is unlinked.
        unsafe { self.rcu.call(cx(&self.rcu, cpu), object, 1, Object::<P>::free) };
    }
}

/// What a reader on CPU 1 does in a scene.
type Reader<P> = fn(&Scene<P>);

/// Two system calls.
fn two_calls<P: Platform>(scene: &Scene<P>) {
    scene.rcu.online(Cpu(1));
    scene.read();
    scene.rcu.quiescent(cx(&scene.rcu, 1));
    scene.read();
    scene.rcu.offline(Cpu(1));
}

/// It sleeps in between.
fn a_sleep<P: Platform>(scene: &Scene<P>) {
    scene.rcu.online(Cpu(1));
    scene.read();
    scene.rcu.offline(Cpu(1));
    scene.rcu.online(Cpu(1));
    scene.read();
    scene.rcu.offline(Cpu(1));
}

fn waiting_updater<P: Platform>(reader: Reader<P>) {
    let scene = Scene::<P>::new(2);
    let other = Arc::clone(&scene);
    let other = spawn(move || reader(&other));
    let object = scene.unlink();
    scene.rcu.synchronize(cx(&scene.rcu, 0));
    object.poison();
    other.join().expect("no assertion failed");
}

#[test]
fn loom_who_waits_frees_nothing_that_is_read() {
    model(3, || waiting_updater::<Loom>(two_calls));
    model(3, || waiting_updater::<Loom>(a_sleep));
}

#[test]
fn seeded_bug_a_reader_without_fences() {
    assert!(found(3, || waiting_updater::<Unfenced>(two_calls)));
    assert!(found(3, || waiting_updater::<Unfenced>(a_sleep)));
}

#[test]
fn seeded_bug_an_updater_that_does_not_wait() {
    for reader in [two_calls::<Loom> as Reader<Loom>, a_sleep] {
        assert!(found(3, move || {
            let scene = Scene::<Loom>::new(2);
            let other = Arc::clone(&scene);
            let other = spawn(move || reader(&other));
            scene.unlink().poison();
            other.join().expect("no assertion failed");
        }));
    }
}

/// The updater stands for two CPUs, 0 and 2, both about to look after their callbacks, so that few steps end two grace periods.
/// Whether the object was freed while the reader was there.
fn queueing_updater<P: Platform>(reader: Reader<P>) -> bool {
    let scene = Scene::<P>::new(3);
    scene.rcu.online(Cpu(2));
    for cpu in [0, 2] {
        (0..LOOK).for_each(|_| scene.rcu.quiescent(cx(&scene.rcu, cpu)));
    }
    let dummy = Object::new();
    let other = Arc::clone(&scene);
    let other = spawn(move || reader(&other));
    scene.retire(0, scene.unlink());
    scene.retire(2, &dummy);
    scene.rcu.quiescent(cx(&scene.rcu, 2));
    scene.rcu.offline(Cpu(2));
    scene.rcu.quiescent(cx(&scene.rcu, 0));
    scene.rcu.offline(Cpu(0));
    other.join().expect("no assertion failed");
    // SAFETY: the reader has ended.
    let before = unsafe { scene.rcu.backlog() };
    // SAFETY: as above, and all are offline.
    unsafe { scene.rcu.drain() };
    // SAFETY: as above.
    let after = unsafe { scene.rcu.backlog() };
    assert_eq!((after.waiting, after.done), (0, 2));
    before.done > 0
}

#[test]
fn loom_a_callback_frees_nothing_that_is_read() {
    for reader in [two_calls::<Loom> as Reader<Loom>, a_sleep] {
        // Std's atomic: it counts over all interleavings.
        let early = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&early);
        model(3, move || {
            count.fetch_add(u64::from(queueing_updater::<Loom>(reader)), Relaxed);
        });
        assert!(early.load(Relaxed) > 0, "in some interleaving it runs before the drain");
    }
}

#[test]
fn seeded_bug_callbacks_against_a_reader_without_fences() {
    assert!(found(3, || {
        queueing_updater::<Unfenced>(a_sleep);
    }));
}

/// Two CPUs replace the object, one after the other, each waiting for the other as for a reader.
#[test]
fn loom_two_who_wait_let_each_other_through() {
    model(2, || {
        let scene = Scene::<Loom>::new(2);
        let other = Arc::clone(&scene);
        let other = spawn(move || {
            other.rcu.online(Cpu(1));
            other.read();
            other.rcu.synchronize(cx(&other.rcu, 1));
            other.read();
            other.rcu.offline(Cpu(1));
        });
        let object = scene.unlink();
        scene.rcu.synchronize(cx(&scene.rcu, 0));
        object.poison();
        scene.rcu.offline(Cpu(0));
        other.join().expect("no assertion failed");
    });
}

unsafe fn nothing(_object: *mut (), _cx: Cx<'_, Real>) {}

fn backlog(rcu: &Rcu<Real>) -> Backlog {
    // SAFETY: the tests that use it have one thread.
    unsafe { rcu.backlog() }
}

fn queue(rcu: &Rcu<Real>, cpu: usize, callbacks: usize) {
    for _ in 0..callbacks {
        // SAFETY: the callback does nothing.
        unsafe { rcu.call(cx(rcu, cpu), std::ptr::null_mut(), 100, nothing) };
    }
}

/// Quiescent states of the CPU until it has looked once.
fn look(rcu: &Rcu<Real>, cpu: usize) {
    (0..LOOK).for_each(|_| rcu.quiescent(cx(rcu, cpu)));
}

#[test]
fn a_backlog_is_counted_and_worked_off_in_bites() {
    let rcu = Rcu::new(2);
    rcu.online(Cpu(0));
    queue(&rcu, 0, 25);
    let queued = backlog(&rcu);
    assert_eq!((queued.waiting, queued.peak, queued.peak_bytes, queued.done), (25, 25, 2500, 0));
    assert_eq!(queued.grace_periods, 0);
    let mut done = 0;
    for _ in 0..6 {
        look(&rcu, 0);
        let now = backlog(&rcu);
        assert!(now.done - done <= 10, "no more than blimit at once");
        assert_eq!(now.waiting as u64 + now.done, 25);
        done = now.done;
    }
    let end = backlog(&rcu);
    assert_eq!((end.waiting, end.peak, end.peak_bytes, end.done), (0, 25, 2500, 25));
    assert!(end.grace_periods >= 2);
}

#[test]
fn a_large_backlog_is_worked_off_at_once() {
    let rcu = Rcu::new(1);
    rcu.online(Cpu(0));
    queue(&rcu, 0, 20_000);
    (0..3).for_each(|_| look(&rcu, 0));
    let end = backlog(&rcu);
    assert_eq!((end.waiting, end.done, end.peak), (0, 20_000, 20_000));
}

#[test]
fn a_cpu_in_a_call_holds_everything_up_and_a_sleeper_does_not() {
    let rcu = Rcu::new(2);
    rcu.online(Cpu(0));
    rcu.online(Cpu(1));
    queue(&rcu, 0, 5);
    (0..10).for_each(|_| look(&rcu, 0));
    assert_eq!(backlog(&rcu).done, 0, "CPU 1 is in a call");
    rcu.quiescent(cx(&rcu, 1));
    (0..10).for_each(|_| look(&rcu, 0));
    assert_eq!(backlog(&rcu).done, 5);
    queue(&rcu, 0, 5);
    rcu.offline(Cpu(1));
    (0..10).for_each(|_| look(&rcu, 0));
    assert_eq!(backlog(&rcu).done, 10);
}

#[test]
fn a_drain_runs_what_callbacks_queue() {
    unsafe fn queue_another(_object: *mut (), cx: Cx<'_, Real>) {
        // SAFETY: the callback does nothing.
        unsafe { cx.rcu.call(cx, std::ptr::null_mut(), 8, nothing) };
    }
    let rcu = Rcu::<Real>::new(2);
    // SAFETY: the callback does not look at its object.
    unsafe { rcu.call(cx(&rcu, 1), std::ptr::null_mut(), 8, queue_another) };
    // SAFETY: nothing is online, and this thread is the only one.
    unsafe { rcu.drain() };
    assert_eq!((backlog(&rcu).waiting, backlog(&rcu).done), (0, 2));
}

/// Readers follow the pointer all the time; every object is unlinked, poisoned and freed.
#[test]
fn no_reader_meets_a_freed_object() {
    const OBJECTS: u64 = 20_000;
    const MAGIC: u64 = 0x600d;
    unsafe fn free(object: *mut (), _cx: Cx<'_, Real>) {
        // SAFETY: it came from `Box::into_raw` and nobody reads it any more.
        let object = unsafe { Box::from_raw(object.cast::<AtomicU64>()) };
        object.store(0, Relaxed);
    }
    in_time(|| {
        let rcu = &Rcu::<Real>::new(3);
        let make = || Box::into_raw(Box::new(AtomicU64::new(MAGIC)));
        let current = &std::sync::atomic::AtomicPtr::new(make());
        let done = &AtomicU64::new(0);
        std::thread::scope(|scope| {
            for cpu in [1, 2] {
                scope.spawn(move || {
                    rcu.online(Cpu(cpu));
                    let mut calls = 0_u64;
                    while done.load(Relaxed) == 0 {
                        // SAFETY: no quiescent state before the end of the call.
                        let object = unsafe { &*current.load(Acquire) };
                        assert_eq!(object.load(Relaxed), MAGIC);
                        std::hint::spin_loop();
                        assert_eq!(object.load(Relaxed), MAGIC);
                        calls += 1;
                        if calls.is_multiple_of(1000) {
                            rcu.offline(Cpu(cpu));
                            std::thread::yield_now();
                            rcu.online(Cpu(cpu));
                        } else {
                            rcu.quiescent(cx(rcu, cpu));
                        }
                    }
                    rcu.offline(Cpu(cpu));
                });
            }
            rcu.online(Cpu(0));
            for at in 0..OBJECTS {
                let old = current.swap(make(), std::sync::atomic::Ordering::AcqRel);
                // SAFETY: it has just been unlinked.
                unsafe { rcu.call(cx(rcu, 0), old.cast(), 8, free) };
                rcu.quiescent(cx(rcu, 0));
                if at % 5000 == 0 {
                    rcu.synchronize(cx(rcu, 0));
                }
            }
            rcu.offline(Cpu(0));
            done.store(1, Relaxed);
        });
        // SAFETY: the readers have ended.
        unsafe { rcu.drain() };
        let end = backlog(rcu);
        assert_eq!((end.waiting, end.done), (0, OBJECTS));
        assert!(end.peak > 0 && end.grace_periods > 0);
        // SAFETY: the last one, which nobody reads any more.
        drop(unsafe { Box::from_raw(current.load(Relaxed)) });
    });
}
