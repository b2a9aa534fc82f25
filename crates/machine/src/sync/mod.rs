//! The kernel's building blocks, generic over the platform: they are what the designs are made of, and must run on every machine.

mod lglock;
mod mutex;
mod per_cpu;
mod rcu;
mod rwlock;
mod rwsem;
mod seqcount;
mod slab;
pub(crate) mod spin;

pub use lglock::LgLock;
pub use mutex::{Mutex, MutexKind};
pub use per_cpu::PerCpu;
pub use rcu::{Backlog, Callback, Rcu};
pub use rwlock::RwSpin;
pub use rwsem::RwSem;
pub use seqcount::SeqCount;
pub use slab::Slab;
pub use spin::{Spin, SpinLock, WordSpin};
