//! The store of runs: one SQLite file that keeps every sample.
