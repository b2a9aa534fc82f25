//! End-to-end tests: the built program on real mounts, judged by what it prints, how it exits and what it leaves behind.
//!
//! Each test has its own directory or mount and a short run; none of them judges a measured rate. What a test needs and the
//! machine has not (root, a loop device, mkfs) makes it say `SKIPPED: TEST: WHY` and end.

mod cli;
mod compare;
mod docs;
mod faults;
mod file_systems;
mod fixed;
mod generated;
mod guest;
mod guest_locks;
mod janitor;
mod lab;
mod limits;
mod locks;
mod mounts;
mod numbers;
mod output;
mod procs;
mod report;
mod reproduce;
mod sim;
mod support;
mod topology;
