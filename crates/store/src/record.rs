//! A record in the tables: one file per part of it, each with what writes the part and what reads it back.
//!
//! Writing takes each structure apart by a pattern that names all fields, so that a field which the record gains does not
//! compile until the store keeps it.

mod curve;
mod host;
mod run;
mod trace;
mod usage;

pub(crate) use host::machine_of as machine;
pub(crate) use run::{insert, remove_unused_hosts, select};
