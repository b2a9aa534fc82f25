//! `--locks`: who waits for which lock.

use crate::args::Usage;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use harness::{LockSource, Locks};

/// Whether and how waits for locks are looked at.
#[derive(Clone, Debug, Args)]
pub(crate) struct LocksArgs {
    /// Show who waited for which lock, in traced slices apart from the measured ones (dir:, guest:), or counted exactly (lab:,
    /// sim:); "stacks" for whole stacks
    #[arg(long, value_name = "HOW", value_enum)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "paths")]
    locks: Option<How>,

    /// Look by this means, or by what everybody may use if it refuses, to see what it would tell
    #[arg(long, value_name = "SOURCE", hide = true, requires = "locks")]
    #[arg(value_parser = PossibleValuesParser::new(LockSource::ALL.map(LockSource::name)).map(source))]
    locks_by: Option<LockSource>,
}

/// `--locks=HOW`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum How {
    /// Who waits, and on whose behalf
    Paths,
    /// Whole stacks as well
    Stacks,
}

impl LocksArgs {
    /// For the harness.
    pub(crate) fn wanted(&self) -> Option<Locks> {
        self.locks.map(|how| Locks { stacks: how == How::Stacks, source: self.locks_by })
    }

    /// The format needs what `--locks` finds.
    ///
    /// # Errors
    /// Nobody looks for locks.
    pub(crate) fn suffice_for(&self, format: &report::Format) -> Result<(), Usage> {
        match format.needs_locks() && self.locks.is_none() {
            true => Err(Usage(format!(
                "--format {} shows nothing but what --locks finds: add --locks or --locks=stacks",
                format.name
            ))),
            false => Ok(()),
        }
    }
}

fn source(name: String) -> LockSource {
    name.parse().expect("clap lets only the names of LockSource::ALL through")
}
