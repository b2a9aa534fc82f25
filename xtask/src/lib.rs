//! What the repository holds and nobody writes by hand, and how it is made anew: `cargo xtask docs`.
//!
//! A library, so that a test of the program can hold what is checked in against what comes out.

pub mod blocks;
pub mod docs;
mod man;
mod pictures;
mod program;

pub use program::Program;
