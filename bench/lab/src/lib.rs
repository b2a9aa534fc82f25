//! What the lab's operations cost: loops to be measured side by side, and the measuring in interleaved slices.
//!
//! The criterion benches (`cargo bench -p bench-lab`) measure one loop after the other; the program
//! (`cargo run --release -p bench-lab`) measures slices of all in random order and is what ratios should be taken from.

pub mod interleave;
pub mod look_ups;
pub mod open_close;

/// A loop to be measured.
pub struct Contender {
    /// What it does.
    pub name: &'static str,
    run: Box<dyn FnMut(u64)>,
}

impl Contender {
    /// Whose slices are `run`, which repeats the operation as often as it is told.
    pub fn new(name: &'static str, run: impl FnMut(u64) + 'static) -> Self {
        Contender { name, run: Box::new(run) }
    }

    /// Whose operation is `operation`. The loop around it is compiled together with it.
    fn repeating(name: &'static str, mut operation: impl FnMut() + 'static) -> Self {
        Contender::new(name, move |times| {
            for _ in 0..times {
                operation();
            }
        })
    }

    /// Does the operation so often.
    pub fn run(&mut self, times: u64) {
        (self.run)(times);
    }
}
