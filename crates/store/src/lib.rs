//! The store of runs: one SQLite file that keeps every sample.
//!
//! A record goes in whole ([`Store::save`]) and comes out equal ([`Store::load`]). In between it lies in tables that anybody
//! can ask with `sqlite3`; `docs/store.md` describes them. Nothing here decides when to save: that is the caller's.

mod column;
mod error;
mod listing;
mod location;
mod name;
mod record;
mod schema;
mod store;

pub use error::Error;
pub use listing::{Entry, HistoryRow};
pub use name::{BadName, HostId, Label, RunId, RunName, RunRef};
pub use store::{Store, Stored};
