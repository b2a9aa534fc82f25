//! What runs are called: by name, by name and version, by number.

use std::fmt;
use std::str::FromStr;

/// Most characters of a name.
const MAX_LENGTH: usize = 100;

/// A name of runs: a letter or digit, then letters, digits, `.`, `_`, `-` and `+`.
///
/// No `:` and no `/`, so that it is never taken for a target or a file; no `@`, which begins a version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunName(String);

/// Why a text names no run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not the name of a run: {why}\n  {advice}")]
pub struct BadName {
    /// As given.
    text: String,
    why: String,
    advice: &'static str,
}

impl BadName {
    fn new(text: &str, why: impl Into<String>, advice: &'static str) -> BadName {
        BadName { text: text.into(), why: why.into(), advice }
    }
}

impl RunName {
    /// As it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RunName {
    type Err = BadName;

    fn from_str(text: &str) -> Result<RunName, BadName> {
        const ADVICE: &str =
            "use letters, digits, '.', '_', '-' and '+', and begin with a letter or digit";
        let bad = |why: String| Err(BadName::new(text, why, ADVICE));
        let is_inner = |c: char| c.is_alphanumeric() || "._-+".contains(c);
        match text.chars().next() {
            None => bad("it is empty".into()),
            Some(first) if !first.is_alphanumeric() => bad(format!("it begins with {first:?}")),
            Some(_) if text.chars().count() > MAX_LENGTH => {
                bad(format!("it is longer than {MAX_LENGTH} characters"))
            }
            Some(_) => match text.chars().find(|&c| !is_inner(c)) {
                Some(c) => bad(format!("it has {c:?} in it")),
                None => Ok(RunName(text.into())),
            },
        }
    }
}

impl fmt::Display for RunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Number of a run in its store; never given to another one, also after it was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub(crate) i64);

impl RunId {
    /// As the tables have it.
    pub fn number(self) -> i64 {
        self.0
    }
}

/// `@12`: `#12` would begin a comment in a shell.
impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}", self.0)
    }
}

/// Number of a machine and its conditions. Two runs of a store have the same if and only if everything in their
/// [`results::Host`] but the mounts was the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub(crate) i64);

impl HostId {
    /// As the tables have it.
    pub fn number(self) -> i64 {
        self.0
    }
}

/// What a stored run is called. Shown as the shortest text that means this run for good: `base@3`, or `@12` without a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Its number.
    pub id: RunId,
    /// The name it was saved under, and how many runs that name had then, this one included; from 1.
    pub name: Option<(RunName, u32)>,
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some((name, version)) => write!(f, "{name}@{version}"),
            None => self.id.fmt(f),
        }
    }
}

/// Which run is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunRef {
    /// `NAME`: the one that was saved last under this name, of those that are left.
    Newest(RunName),
    /// `NAME@3`: the third that was saved under this name.
    Version(RunName, u32),
    /// `@12`, or `#12`: the run of this number.
    Id(RunId),
}

impl FromStr for RunRef {
    type Err = BadName;

    fn from_str(text: &str) -> Result<RunRef, BadName> {
        const ADVICE: &str = "give NAME, NAME@3 (the third run of that name) or @12 (run 12)";
        let bad = |why: &str| BadName::new(text, why, ADVICE);
        if let Some(number) = text.strip_prefix(['@', '#']) {
            let id = digits(number).ok_or_else(|| bad("its number is not one"))?;
            return Ok(RunRef::Id(RunId(id)));
        }
        match text.split_once('@') {
            None => Ok(RunRef::Newest(text.parse()?)),
            Some((name, version)) => {
                let version = digits(version).ok_or_else(|| bad("its version is not a number"))?;
                Ok(RunRef::Version(name.parse()?, version))
            }
        }
    }
}

/// A number in digits only: neither a sign nor blanks.
fn digits<T: FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

impl fmt::Display for RunRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunRef::Newest(name) => name.fmt(f),
            RunRef::Version(name, version) => write!(f, "{name}@{version}"),
            RunRef::Id(id) => id.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names() {
        for good in ["a", "7", "6.18-rc3", "before_fix", "c++", "äöü", "v2.6.7+hashed"] {
            assert_eq!(good.parse::<RunName>().unwrap().as_str(), good);
        }
        let long = "a".repeat(MAX_LENGTH + 1);
        let bad = ["", "-x", ".x", "@1", "#1", "a b", "a@1", "dir:x", "a/b", "a\n", "a\0", &long];
        for bad in bad {
            let error = bad.parse::<RunName>().unwrap_err().to_string();
            assert!(error.contains("use letters"), "{bad:?}: {error}");
        }
    }

    #[test]
    fn references() {
        let name = |text: &str| text.parse::<RunName>().unwrap();
        let cases = [
            ("base", RunRef::Newest(name("base"))),
            ("base@3", RunRef::Version(name("base"), 3)),
            ("@12", RunRef::Id(RunId(12))),
            ("#12", RunRef::Id(RunId(12))),
        ];
        for (text, reference) in cases {
            assert_eq!(text.parse::<RunRef>().unwrap(), reference);
        }
        for bad in ["", "@", "#", "@x", "@-1", "@+1", "a@", "a@b", "a@1@2", "a@ 1", "a@4294967296"]
        {
            assert!(bad.parse::<RunRef>().is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_means_the_same_when_read(name in "[a-z0-9][a-z0-9._+-]{0,9}", number: u32) {
            let name: RunName = name.parse().unwrap();
            let references = [
                RunRef::Newest(name.clone()),
                RunRef::Version(name, number),
                RunRef::Id(RunId(number.into())),
            ];
            for reference in references {
                prop_assert_eq!(reference.to_string().parse::<RunRef>().unwrap(), reference);
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in any::<String>()) {
            if let Ok(reference) = text.parse::<RunRef>() {
                prop_assert_eq!(reference.to_string().parse::<RunRef>().unwrap(), reference);
            }
        }
    }
}
