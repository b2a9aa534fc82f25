//! open and close through the eras, one task.

use bench_lab::open_close::contenders;
use criterion::{Criterion, criterion_group, criterion_main};
use std::time::Instant;

fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("open_close");
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
