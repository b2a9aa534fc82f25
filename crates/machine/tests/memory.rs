//! Per-CPU data, owned memory, the slab.

mod common;

use common::in_time;
use machine::sync::{PerCpu, Slab};
use machine::testing::{model, spawn};
use machine::{Cpu, Loom, POwned, Plain, Real, Word};
use std::collections::HashSet;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::mpsc;

/// Counts its own end.
struct Counts(Arc<AtomicU64>);

impl Drop for Counts {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn address<T>(of: &T) -> usize {
    std::ptr::from_ref(of).addr()
}

#[test]
fn cpus_are_128_bytes_apart() {
    let small = PerCpu::<Real, u8>::new(4, |cpu| cpu.0 as u8);
    let large = PerCpu::<Real, [u64; 20]>::new(3, |cpu| [cpu.0 as u64; 20]);
    let distances = |addresses: Vec<usize>| -> Vec<usize> {
        assert!(addresses.iter().all(|address| address % 128 == 0));
        addresses.windows(2).map(|pair| pair[1] - pair[0]).collect()
    };
    assert_eq!(distances(small.iter().map(address).collect()), [128; 3]);
    assert_eq!(distances(large.iter().map(address).collect()), [256; 2]);
    assert_eq!(small.iter().copied().collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(*small.get(Cpu(2)), 2);
    assert_eq!(*large.get(Cpu(2)), [2; 20]);
}

#[test]
#[should_panic(expected = "index out of bounds")]
fn there_is_no_cpu_beyond_the_last() {
    PerCpu::<Real, u8>::new(2, |_| 0).get(Cpu(2));
}

#[test]
fn per_cpu_data_is_dropped_once() {
    let ends = Arc::new(AtomicU64::new(0));
    drop(PerCpu::<Real, _>::new(5, |_| Counts(Arc::clone(&ends))));
    assert_eq!(ends.load(SeqCst), 5);
    drop(PerCpu::<Real, _>::new(0, |_| Counts(Arc::clone(&ends))));
    assert_eq!(ends.load(SeqCst), 5);
}

#[test]
fn owned_memory_begins_a_line_and_is_dropped_once() {
    let ends = Arc::new(AtomicU64::new(0));
    let owned = POwned::<Real, _>::new(Counts(Arc::clone(&ends)));
    assert_eq!(address(&*owned) % 64, 0);
    let raw = owned.into_raw();
    assert_eq!(ends.load(SeqCst), 0);
    // SAFETY: it has just been given up.
    drop(unsafe { POwned::<Real, _>::from_raw(raw) });
    assert_eq!(ends.load(SeqCst), 1);
    assert_eq!(address(&*POwned::<Real, ()>::new(())) % 64, 0);
}

#[test]
fn owned_memory_can_be_changed() {
    let mut owned = POwned::<Real, _>::new([1, 2]);
    owned[1] = 3;
    assert_eq!(*owned, [1, 3]);
}

#[test]
fn a_slab_hands_out_each_object_once_and_ends_all() {
    let ends = Arc::new(AtomicU64::new(0));
    let made = Arc::new(AtomicU64::new(0));
    let slab = {
        let (ends, made) = (Arc::clone(&ends), Arc::clone(&made));
        let make = move || {
            made.fetch_add(1, SeqCst);
            Counts(Arc::clone(&ends))
        };
        Slab::<Real, Counts>::new(2, make, |_| ())
    };
    let objects: HashSet<NonNull<Counts>> = (0..100).map(|at| slab.alloc(Cpu(at % 2))).collect();
    assert_eq!(objects.len(), 100);
    assert!(objects.iter().all(|object| object.addr().get() % 64 == 0));
    // SAFETY: this thread is the only one.
    assert_eq!(unsafe { slab.in_use() }, 100);
    for &object in &objects {
        // SAFETY: handed out above and not given back.
        unsafe { slab.free(Cpu(0), object) };
    }
    // SAFETY: as above.
    assert_eq!(unsafe { slab.in_use() }, 0);
    assert_eq!(ends.load(SeqCst), 0, "objects live as long as the slab");
    assert!(made.load(SeqCst) >= 100);
    drop(slab);
    assert_eq!(ends.load(SeqCst), made.load(SeqCst));
}

/// An object is constructed once, and is recycled where it was freed, last in first out.
#[test]
fn an_object_is_as_its_last_user_left_it() {
    let slab = Slab::<Real, AtomicU64>::new(2, || AtomicU64::new(0), |at| at.store(7, Relaxed));
    let object = slab.alloc(Cpu(0));
    // SAFETY: handed out above.
    assert_eq!(unsafe { object.as_ref() }.swap(8, Relaxed), 7);
    // SAFETY: as above, and not used any more.
    unsafe { slab.free(Cpu(1), object) };
    assert_ne!(slab.alloc(Cpu(0)), object, "it is the other CPU's now");
    assert_eq!(slab.alloc(Cpu(1)), object);
    // SAFETY: handed out again.
    assert_eq!(unsafe { object.as_ref() }.load(Relaxed), 8);
}

/// Objects pass from CPU to CPU, as files opened on one and closed on another do.
#[test]
fn objects_are_freed_on_another_cpu() {
    const OBJECTS: u64 = 20_000;
    in_time(|| {
        let slab = &Slab::<Real, AtomicU64>::new(2, || AtomicU64::new(0), |_| ());
        let (give, take) = mpsc::sync_channel::<usize>(100);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for _ in 0..OBJECTS {
                    let object = slab.alloc(Cpu(0));
                    // SAFETY: this thread owns it.
                    assert_eq!(unsafe { object.as_ref() }.swap(1, Relaxed), 0, "two users");
                    give.send(object.as_ptr().expose_provenance()).expect("somebody takes it");
                }
            });
            scope.spawn(move || {
                for object in take {
                    let object =
                        NonNull::new(std::ptr::with_exposed_provenance_mut::<AtomicU64>(object));
                    let object = object.expect("it was an object");
                    // SAFETY: it was handed over.
                    assert_eq!(unsafe { object.as_ref() }.swap(0, Relaxed), 1, "two users");
                    // SAFETY: as above; it is not used any more.
                    unsafe { slab.free(Cpu(1), object) };
                    // What was freed here is used here again.
                    let again = slab.alloc(Cpu(1));
                    assert_eq!(again, object);
                    // SAFETY: just handed out.
                    unsafe { slab.free(Cpu(1), again) };
                }
            });
        });
        // SAFETY: the threads have ended.
        assert_eq!(unsafe { slab.in_use() }, 0);
    });
}

/// Two CPUs allocate and free; loom sees that their lists are apart, and that an object is one user's.
#[test]
fn loom_cpus_do_not_touch_each_others_lists() {
    type Cell = <Loom as machine::Platform>::Cell<u64>;
    fn add(object: NonNull<Cell>) {
        // SAFETY: handed out to the caller; the slab is alive.
        unsafe { object.as_ref() }.with_mut(|number| {
            // SAFETY: one user at a time, which is what is tested (loom sees a race).
            unsafe { *number += 1 }
        });
    }
    model(2, || {
        let slab = Arc::new(Slab::<Loom, Cell>::new(2, || Cell::new(0), |_| ()));
        let turn = |slab: &Slab<Loom, Cell>, cpu| {
            let object = slab.alloc(Cpu(cpu));
            add(object);
            // SAFETY: just handed out, and not used any more.
            unsafe { slab.free(Cpu(cpu), object) };
        };
        let passed = slab.alloc(Cpu(0));
        add(passed);
        let passed = passed.as_ptr().expose_provenance();
        let other = Arc::clone(&slab);
        let other = spawn(move || {
            let passed = NonNull::new(std::ptr::with_exposed_provenance_mut::<Cell>(passed));
            // SAFETY: handed over with the thread's start.
            unsafe { other.free(Cpu(1), passed.expect("it was an object")) };
            turn(&other, 1);
        });
        turn(&slab, 0);
        other.join().expect("no assertion failed");
        // SAFETY: the other thread has ended.
        assert_eq!(unsafe { slab.in_use() }, 0);
    });
}

/// The words of a model can be used as those of this machine.
#[test]
fn loom_words_answer_as_real_ones() {
    fn check<W: Word<u32>>() {
        let word = W::new(5);
        assert_eq!(word.fetch_add(2, SeqCst), 5);
        assert_eq!(word.fetch_sub(1, SeqCst), 7);
        assert_eq!(word.fetch_or(8, SeqCst), 6);
        assert_eq!(word.fetch_and(!2, SeqCst), 14);
        assert_eq!(word.compare_exchange(1, 2, SeqCst, SeqCst), Err(12));
        assert_eq!(word.compare_exchange(12, 2, SeqCst, SeqCst), Ok(12));
        assert_eq!(word.swap(u32::MAX, SeqCst), 2);
        word.store(word.load(SeqCst).wrapping_add(1), SeqCst);
        assert_eq!(word.spin_until(SeqCst, |value| value == 0), 0);
    }
    check::<<Real as machine::Platform>::U32>();
    model(1, check::<<Loom as machine::Platform>::U32>);
}
