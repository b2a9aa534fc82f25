//! Against the running kernel, as root where that is needed. One binary, so that its tests can wait for each other.

mod known_locks;
mod load;
mod privileges;
