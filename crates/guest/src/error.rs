//! What stands in the way of a guest, in words that say what to do about it.

/// Why there is no guest, or no longer one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Found before QEMU was started.
    #[error("{what}\n  {advice}")]
    Refused {
        /// What stands in the way.
        what: String,
        /// How to get it out of the way.
        advice: String,
    },
    /// Found before QEMU was started too, but it is the guest that cannot be as it was asked for: it has too little memory, or its
    /// kernel lacks what the file system needs.
    #[error("{what}\n  {advice}")]
    Lacks {
        /// What.
        what: String,
        /// How it would get it.
        advice: String,
    },
    /// The guest did not boot, or died, or does not answer.
    #[error("{what}\n  {advice}{}", quoted(console))]
    Failed {
        /// What happened.
        what: String,
        /// What to do.
        advice: String,
        /// The last lines of its console, then what QEMU said.
        console: Vec<String>,
    },
}

impl Error {
    pub(crate) fn refused(what: impl Into<String>, advice: impl Into<String>) -> Error {
        Error::Refused { what: what.into(), advice: advice.into() }
    }

    pub(crate) fn lacks(what: impl Into<String>, advice: impl Into<String>) -> Error {
        Error::Lacks { what: what.into(), advice: advice.into() }
    }

    /// The same with what is known of it as advice.
    pub(crate) fn because(self, known: &str) -> Error {
        match self {
            Error::Failed { what, advice: _, console } => {
                Error::Failed { what, advice: known.to_owned(), console }
            }
            other => other,
        }
    }

    /// The same of a second boot, which remembers why there was one.
    pub(crate) fn after(self, first: &str) -> Error {
        match self {
            Error::Failed { what, advice, console } => Error::Failed {
                what: format!("{what}\n  it was booted twice; the first time: {first}"),
                advice,
                console,
            },
            other => other,
        }
    }
}

fn quoted(console: &[String]) -> String {
    match console.is_empty() {
        true => "\n  its console said nothing".to_owned(),
        false => {
            let lines: Vec<String> = console.iter().map(|line| format!("\n  | {line}")).collect();
            format!("\n  the last of its console:{}", lines.concat())
        }
    }
}
