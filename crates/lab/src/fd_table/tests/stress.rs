//! Real threads on one table.

use super::{Kernel, all};
use machine::Real;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Runs `step` so many times on each of `threads` CPUs, with each call's number (never 0), and ends the kernel.
fn run(
    kernel: &Kernel<Real>,
    threads: usize,
    steps: u64,
    step: impl Fn(usize, u64, &mut Random) + Sync,
) {
    std::thread::scope(|scope| {
        for cpu in 0..threads {
            let step = &step;
            scope.spawn(move || {
                let cx = kernel.cx(cpu);
                let mut random = Random(cpu as u64);
                kernel.rcu.online(cx.cpu);
                for at in 0..steps {
                    step(cpu, (cpu as u64) << 32 | (at + 1), &mut random);
                    kernel.end_call(cpu);
                    kernel.rcu.quiescent(cx);
                }
                kernel.rcu.offline(cx.cpu);
            });
        }
    });
    kernel.end();
}

#[test]
fn files_are_what_they_were_when_they_were_opened() {
    for (name, make) in all::<Real>() {
        let kernel = Kernel::new(make, 3, 1, 40, true);
        run(&kernel, 3, 20_000, |cpu, stamp, random| match random.below(8) {
            0 | 1 => drop(kernel.open(cpu, stamp)),
            2 => {
                kernel.close(cpu, random.below(48) as i32);
            }
            3 => {
                // dup
                let fd = random.below(8) as i32;
                let Some(got) = kernel.table.get(kernel.cx(cpu), fd) else { return };
                if let Ok(to) = kernel.table.reserve(kernel.cx(cpu)) {
                    // SAFETY: the reference just taken.
                    kernel.design.get_again(unsafe { got.file.get() });
                    kernel.table.install(kernel.cx(cpu), to, got.file);
                }
                if kernel.table.put(kernel.cx(cpu), got) {
                    kernel.take_apart(cpu, got.file);
                }
            }
            4 => {
                for fd in 0..4 {
                    kernel.close(cpu, fd);
                }
            }
            _ => {
                let Some(got) = kernel.table.get(kernel.cx(cpu), random.below(8) as i32) else {
                    return;
                };
                let stamp = kernel.stamp(got.file);
                std::hint::spin_loop();
                assert_eq!(kernel.stamp(got.file), stamp, "{name}");
                if kernel.table.put(kernel.cx(cpu), got) {
                    kernel.take_apart(cpu, got.file);
                }
            }
        });
    }
}

#[test]
fn a_descriptor_is_looked_up_while_it_is_opened_and_closed() {
    for (name, make) in all::<Real>() {
        let kernel = Kernel::new(make, 2, 64, 64, true);
        run(&kernel, 2, 100_000, |cpu, stamp, _| {
            if cpu == 0 {
                let fd = kernel.open(cpu, stamp).expect("one is free");
                assert!(kernel.close(cpu, fd), "{name}");
            } else {
                kernel.look(cpu, 0);
            }
        });
    }
}
