//! All interleavings of a few calls.

use super::model_platform::Model;
use super::{Kernel, Make, all};
use crate::fd_table::kref::Kref;
use crate::fd_table::typesafe::{ACQUIRE, MARK, SLOT, TABLE, Typesafe};
use machine::testing::{found, model};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A model: two or three threads on one kernel.
type Scene = fn(Make<Model>);

fn explore(scene: Scene, make: Make<Model>) {
    explore_to(3, scene, make);
}

fn explore_to(preemptions: usize, scene: Scene, make: Make<Model>) {
    model(preemptions, move || scene(make));
}

fn kernel(make: Make<Model>, first: usize, limit: usize) -> Arc<Kernel<Model>> {
    Arc::new(Kernel::new(make, 3, first, limit, true))
}

fn spawn<T: 'static>(
    kernel: &Arc<Kernel<Model>>,
    f: impl FnOnce(&Kernel<Model>) -> T + 'static,
) -> loom::thread::JoinHandle<T> {
    let kernel = Arc::clone(kernel);
    loom::thread::spawn(move || f(&kernel))
}

fn join<T>(handle: loom::thread::JoinHandle<T>) -> T {
    handle.join().expect("a panic in a thread ends the model")
}

fn get_against_close(make: Make<Model>) {
    let kernel = kernel(make, 1, 1);
    assert_eq!(kernel.open(0, 1), Some(0));
    let reader = spawn(&kernel, |kernel| kernel.look(1, 0));
    assert!(kernel.close(0, 0));
    let seen = join(reader);
    assert!(seen.is_none_or(|stamp| stamp == 1));
    assert_eq!(kernel.look(0, 0), None);
    kernel.end();
}

fn get_against_install(make: Make<Model>) {
    let kernel = kernel(make, 1, 1);
    let reader = spawn(&kernel, |kernel| kernel.look(1, 0));
    assert_eq!(kernel.open(0, 1), Some(0));
    let seen = join(reader);
    assert!(seen.is_none_or(|stamp| stamp == 1));
    assert_eq!(kernel.look(0, 0), Some(1));
    kernel.end();
}

fn get_against_growth(make: Make<Model>) {
    let kernel = kernel(make, 1, 2);
    assert_eq!(kernel.open(0, 1), Some(0));
    let reader = spawn(&kernel, |kernel| (kernel.look(1, 0), kernel.look(1, 1)));
    assert_eq!(kernel.open(0, 2), Some(1));
    let (old, new) = join(reader);
    assert_eq!(old, Some(1));
    assert!(new.is_none_or(|stamp| stamp == 2));
    kernel.end();
}

fn install_against_growth(make: Make<Model>) {
    let kernel = kernel(make, 1, 2);
    let fd = kernel.table.reserve(kernel.cx(0)).expect("the first");
    let grower = spawn(&kernel, |kernel| kernel.open(1, 2));
    kernel.table.install(kernel.cx(0), fd, kernel.file(0, 1));
    assert_eq!(kernel.look(0, fd), Some(1));
    assert_eq!(join(grower), Some(1));
    assert_eq!(kernel.look(0, fd), Some(1));
    assert_eq!(kernel.look(0, 1), Some(2));
    kernel.end();
}

fn growth_against_growth(make: Make<Model>) {
    let kernel = kernel(make, 1, 3);
    assert_eq!(kernel.open(0, 1), Some(0));
    let other = spawn(&kernel, |kernel| kernel.open(1, 2));
    let fd = kernel.open(0, 3).expect("there is room");
    let other = join(other).expect("there is room");
    assert_eq!((fd.min(other), fd.max(other)), (1, 2));
    assert_eq!([0, fd, other].map(|fd| kernel.look(0, fd)), [Some(1), Some(3), Some(2)]);
    kernel.end();
}

fn close_against_close(make: Make<Model>) {
    let kernel = kernel(make, 1, 1);
    assert_eq!(kernel.open(0, 1), Some(0));
    let other = spawn(&kernel, |kernel| kernel.close(1, 0));
    let mine = kernel.close(0, 0);
    assert!(mine != join(other), "exactly one of them closes it");
    kernel.end();
}

/// The file's memory is used again for a file under another descriptor.
fn get_against_reuse_elsewhere(make: Make<Model>) {
    let kernel = kernel(make, 2, 2);
    assert_eq!(kernel.open(0, 1), Some(0));
    let elsewhere = kernel.table.reserve(kernel.cx(0)).expect("one is left");
    let reader = spawn(&kernel, |kernel| kernel.look(1, 0));
    assert!(kernel.close(0, 0));
    kernel.table.install(kernel.cx(0), elsewhere, kernel.file(0, 2));
    assert!(kernel.close(0, elsewhere));
    let seen = join(reader);
    assert!(seen.is_none_or(|stamp| stamp == 1), "another descriptor's file");
    kernel.end();
}

/// As above, and the table has been replaced meanwhile: the old one keeps the file.
fn get_against_reuse_after_growth(make: Make<Model>) {
    let kernel = kernel(make, 1, 2);
    assert_eq!(kernel.open(0, 1), Some(0));
    let reader = spawn(&kernel, |kernel| kernel.look(1, 0));
    let elsewhere = kernel.table.reserve(kernel.cx(0)).expect("it grows");
    assert!(kernel.close(0, 0));
    kernel.table.install(kernel.cx(0), elsewhere, kernel.file(0, 2));
    let seen = join(reader);
    assert!(seen.is_none_or(|stamp| stamp == 1), "another descriptor's file");
    kernel.end();
}

/// The file's memory is used again for a file under the same descriptor.
fn get_against_reuse_in_place(make: Make<Model>) {
    let kernel = kernel(make, 1, 1);
    assert_eq!(kernel.open(0, 1), Some(0));
    let reader = spawn(&kernel, |kernel| kernel.look(1, 0));
    assert!(kernel.close(0, 0));
    assert_eq!(kernel.open(0, 2), Some(0));
    let seen = join(reader);
    assert!(seen.is_none_or(|stamp| stamp == 1 || stamp == 2));
    assert_eq!(kernel.look(0, 0), Some(2));
    kernel.end();
}

/// Two look-ups and a close: any of the three may be the last.
fn two_gets_against_close(make: Make<Model>) {
    let kernel = kernel(make, 1, 1);
    assert_eq!(kernel.open(0, 1), Some(0));
    let readers = [1, 2].map(|cpu| spawn(&kernel, move |kernel| kernel.look(cpu, 0)));
    assert!(kernel.close(0, 0));
    for seen in readers.map(join) {
        assert!(seen.is_none_or(|stamp| stamp == 1));
    }
    kernel.end();
}

macro_rules! models {
    ($($scene:ident $preemptions:literal)*) => {
        /// Explores each model for every design, with so many preemptions at most.
        mod every_design {
            $(#[test]
            fn $scene() {
                for (_, make) in super::all() {
                    super::explore_to($preemptions, super::$scene, make);
                }
            })*
        }
    };
}

models! {
    get_against_close 3
    get_against_install 3
    get_against_growth 3
    install_against_growth 3
    growth_against_growth 2
    close_against_close 3
    get_against_reuse_elsewhere 3
    get_against_reuse_after_growth 3
    get_against_reuse_in_place 3
}

/// Not the reader-writer lock, whose spinning makes more turns with three threads than loom allows.
#[test]
fn two_gets_against_close_without_rwlock() {
    for (name, make) in all() {
        if name != "rwlock" {
            explore_to(2, two_gets_against_close, make);
        }
    }
}

/// A look-up may be left with the last reference of a file that it was not looking for: it ends with the look-up's call, and is
/// under no descriptor meanwhile.
#[test]
fn typesafe_ends_what_a_late_look_up_is_left_with() {
    static LEFT: AtomicUsize = AtomicUsize::new(0);
    explore(
        |make| {
            let kernel = kernel(make, 1, 1);
            assert_eq!(kernel.open(0, 1), Some(0));
            let reader = spawn(&kernel, |kernel| {
                let got = kernel.table.get(kernel.cx(1), 0);
                let used = kernel.table.used();
                assert!(used.is_empty() || used == [0], "{used:?}");
                assert!(!kernel.close(1, i32::MAX), "a descriptor that nobody has opened");
                let left = kernel.end_call(1);
                assert!(got.is_none() || left == 0);
                if let Some(got) = got
                    && kernel.table.put(kernel.cx(1), got)
                {
                    kernel.take_apart(1, got.file);
                }
                left
            });
            assert!(kernel.close(0, 0));
            let left = join(reader);
            assert_eq!(kernel.opened.load(Relaxed), kernel.closed.load(Relaxed));
            LEFT.fetch_add(left, Relaxed);
            kernel.end();
        },
        Typesafe::with_slots,
    );
    assert!(LEFT.load(Relaxed) > 0, "no look-up was left with anything");
}

/// The model must fail with the design that has the bug. (That it passes without is above.)
#[track_caller]
fn finds(scene: Scene, bug: Make<Model>) {
    assert!(found(3, move || scene(bug)), "the seeded bug was not found");
}

#[test]
fn a_count_raised_from_zero_is_found() {
    finds(get_against_close, Kref::variant::<Model, false, true>);
}

#[test]
fn a_slot_filled_without_release_is_found() {
    finds(get_against_install, Kref::variant::<Model, true, false>);
}

#[test]
fn a_missing_second_look_is_found() {
    finds(get_against_reuse_elsewhere, Typesafe::variant::<Model, { TABLE | ACQUIRE | MARK }>);
}

#[test]
fn a_second_look_at_the_slot_alone_is_found() {
    finds(get_against_reuse_after_growth, Typesafe::variant::<Model, { SLOT | ACQUIRE | MARK }>);
}

#[test]
fn a_second_look_that_does_not_acquire_is_found() {
    finds(get_against_reuse_in_place, Typesafe::variant::<Model, { SLOT | TABLE | MARK }>);
}

#[test]
fn growth_that_does_not_close_empty_slots_is_found() {
    finds(install_against_growth, Typesafe::variant::<Model, { SLOT | TABLE | ACQUIRE }>);
}
