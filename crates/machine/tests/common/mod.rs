//! What the tests share.

// Each test file is a crate of its own and uses a part of it.
#![allow(dead_code)]

use machine::sync::Rcu;
use machine::{Cpu, Cx, Platform};
use std::sync::mpsc;
use std::time::Duration;

/// Runs `f`, which must not hang.
pub(crate) fn in_time<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> R {
    let (give, take) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let result = f();
        // Nobody waits any more if it took too long.
        let _ = give.send(());
        result
    });
    match take.recv_timeout(Duration::from_secs(60)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("somebody waits for ever"),
        Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => {
            thread.join().expect("no assertion failed")
        }
    }
}

/// The CPU's context.
pub(crate) fn cx<P: Platform>(rcu: &Rcu<P>, cpu: usize) -> Cx<'_, P> {
    Cx { cpu: Cpu(cpu), rcu }
}
