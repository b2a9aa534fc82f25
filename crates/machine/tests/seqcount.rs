//! The sequence counter: what was read between two equal even numbers is not torn.

mod common;

use common::in_time;
use machine::sync::SeqCount;
use machine::testing::{Unfenced, found, model, spawn};
use machine::{Loom, Platform, Real, Word};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Two words that are always equal, but for a writer at work.
struct Pair<P: Platform> {
    seq: SeqCount<P>,
    words: [P::U64; 2],
}

impl<P: Platform> Pair<P> {
    fn new() -> Self {
        Pair { seq: SeqCount::default(), words: [P::U64::new(0), P::U64::new(0)] }
    }

    fn write(&self, value: u64) {
        self.seq.write_begin();
        self.words.iter().for_each(|word| word.store(value, Relaxed));
        self.seq.write_end();
    }

    /// What was read, if it counts.
    fn read_since(&self, begin: u32) -> Option<u64> {
        let [first, second] = self.words.each_ref().map(|word| word.load(Relaxed));
        if self.seq.retry(begin) {
            return None;
        }
        assert_eq!(first, second, "torn");
        Some(first)
    }

    fn try_read(&self) -> Option<u64> {
        self.read_since(self.seq.read_begin())
    }
}

fn a_writer_against_a_reader<P: Platform>() {
    let pair = Arc::new(Pair::<P>::new());
    let writer = {
        let pair = Arc::clone(&pair);
        spawn(move || {
            pair.write(1);
            pair.write(2);
        })
    };
    let first = pair.try_read();
    let second = pair.try_read();
    if let (Some(first), Some(second)) = (first, second) {
        assert!(first <= second, "never backwards");
    }
    writer.join().expect("no assertion failed");
    assert_eq!(pair.try_read(), Some(2));
}

#[test]
fn loom_no_torn_read() {
    model(3, a_writer_against_a_reader::<Loom>);
}

#[test]
fn seeded_bug_a_writer_without_its_fence() {
    assert!(found(3, a_writer_against_a_reader::<Unfenced>));
}

/// A reader that does not wait needs no more than to be told.
#[test]
fn loom_an_odd_number_is_refused() {
    model(3, || {
        let pair = Arc::new(Pair::<Loom>::new());
        let writer = Arc::clone(&pair);
        let writer = spawn(move || writer.write(1));
        let begin = pair.seq.read_begin_now();
        if begin.is_multiple_of(2) {
            pair.read_since(begin);
        }
        writer.join().expect("no assertion failed");
        assert_eq!(pair.seq.read_begin_now(), 2);
    });
}

#[test]
fn no_torn_read() {
    const WRITES: u64 = 100_000;
    in_time(|| {
        let pair = Pair::<Real>::new();
        std::thread::scope(|scope| {
            scope.spawn(|| (1..=WRITES).for_each(|value| pair.write(value)));
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut seen = 0;
                    while seen < WRITES {
                        if let Some(value) = pair.try_read() {
                            assert!(value >= seen, "never backwards");
                            seen = value;
                        }
                    }
                });
            }
        });
    });
}
