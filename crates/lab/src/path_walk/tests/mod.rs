//! Tests of all designs: path resolution, a random sequence beside an oracle, threads, and models of every interleaving.

mod fixture;
mod models;
mod oracle;
mod random;
mod resolution;
mod stress;
