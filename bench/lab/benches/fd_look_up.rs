//! An fd look-up and its end, one thread: the lab's designs beside two atomic read-modify-writes and other crates' tables.

use bench_lab::look_ups::contenders;
use criterion::{Criterion, criterion_group, criterion_main};
use std::time::Instant;

fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fd_look_up");
    for mut contender in contenders() {
        group.bench_function(contender.name, |bencher| {
            bencher.iter_custom(|times| {
                let began = Instant::now();
                contender.run(times);
                began.elapsed()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
