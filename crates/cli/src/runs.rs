//! Stored runs by name, and run records in files: where commands find what they compare, and where they keep what they measured.

use crate::args::{StoreArgs, Usage};
use crate::config::{self, Keep};
use crate::output;
use anyhow::{Context, anyhow};
use results::Run;
use serde::de::IgnoredAny;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use store::{RunName, RunRef, Store};

/// Where runs of this command are kept, if they are.
pub(crate) struct Runs {
    place: Option<PathBuf>,
    /// Of the runs that are still to be saved, the next one first.
    names: VecDeque<Option<RunName>>,
}

impl Runs {
    /// Decides whether to keep runs, and if so looks now whether the store can be written, not when the measurement is over.
    /// There will be one run for each of `ends`, which are put after the name. Without a name they are kept where the user's
    /// config file says so.
    ///
    /// # Errors
    /// It cannot, or a name gets too long.
    pub(crate) fn to_keep(
        store: &StoreArgs,
        name: Option<&RunName>,
        ends: &[&str],
    ) -> anyhow::Result<Runs> {
        let with = |end: &&str| name.map(|name| format!("{name}{end}").parse()).transpose();
        let names = ends.iter().map(with).collect::<Result<_, store::BadName>>();
        let names = names.map_err(|error| Usage(format!("--save: {error}")))?;
        let keep = name.is_some() || config::read()?.store == Keep::Always;
        let place = keep.then(|| path(store)).transpose()?;
        if let Some(place) = &place {
            // Closed again at once: tasks are forked, and a child must not hold a connection.
            Store::open(place)?.can_save()?;
        }
        Ok(Runs { place, names })
    }

    /// Keeps `run`, which was measured just now, under the next of the names, if runs are kept. A directory that was named from
    /// where this process is gets its whole path: whoever measures it again may be elsewhere.
    ///
    /// # Errors
    /// The store says no. What was measured has been shown by then.
    pub(crate) fn save(&mut self, run: &Run) -> anyhow::Result<()> {
        let name = self.names.pop_front().flatten();
        let Some(place) = &self.place else { return Ok(()) };
        let label = Store::open(place)
            .and_then(|mut store| store.save(name.as_ref(), &with_whole_paths(run)))
            .context("the result could not be stored")?;
        output::tell(&format!("stored as {label} in {}", place.display()));
        Ok(())
    }
}

/// The path in a target that is a directory named from where somebody is; none if it has the whole path, or is no directory.
pub(crate) fn relative(target: &str) -> Option<&Path> {
    target.strip_prefix("dir:").map(Path::new).filter(|path| path.is_relative())
}

fn with_whole_paths(run: &Run) -> Run {
    let whole = |target: &mut String| {
        // Where the current directory has been removed there is no whole path.
        if let Some(path) = relative(target).and_then(|path| std::path::absolute(path).ok()) {
            *target = format!("dir:{}", path.display());
        }
    };
    let mut run = run.clone();
    run.curves.iter_mut().for_each(|curve| whole(&mut curve.target));
    run.host.fs.iter_mut().for_each(|mount| whole(&mut mount.target));
    run
}

/// Stores runs that were not measured now, all of them or none.
///
/// # Errors
/// The store says no.
pub(crate) fn save_all(store: &StoreArgs, runs: &[(RunName, &Run)]) -> anyhow::Result<()> {
    let place = path(store)?;
    let runs: Vec<(&RunName, &Run)> = runs.iter().map(|(name, run)| (name, *run)).collect();
    let labels = Store::open(&place)
        .and_then(|mut store| store.save_all(&runs))
        .context("nothing of it was stored")?;
    for label in labels {
        output::tell(&format!("stored as {label} in {}", place.display()));
    }
    Ok(())
}

/// The store's path.
///
/// # Errors
/// The environment names no home.
pub(crate) fn path(store: &StoreArgs) -> anyhow::Result<PathBuf> {
    match &store.store {
        Some(path) => Ok(path.clone()),
        None => Ok(Store::default_path()?),
    }
}

/// The store, to read from.
///
/// # Errors
/// There is none.
pub(crate) fn open(store: &StoreArgs) -> anyhow::Result<Store> {
    Ok(Store::open_existing(&path(store)?)?)
}

/// The run that `what` names, and what to call it: a file (it has a slash or ends in .json or .jsonl), or a stored run.
///
/// # Errors
/// No such run.
pub(crate) fn load(store: &StoreArgs, what: &OsStr) -> anyhow::Result<(String, Run)> {
    let shown = what.to_string_lossy();
    let file = Path::new(what);
    let named = |end: &str| shown.ends_with(end);
    if shown.contains('/') || named(".json") || named(".jsonl") {
        return Ok((shown.into_owned(), read(file)?));
    }
    let wanted: RunRef = shown.parse().map_err(|error: store::BadName| Usage(error.to_string()))?;
    let stored = open(store)?.load(&wanted)?;
    Ok((stored.label.to_string(), stored.run))
}

/// A record in a file: JSON or JSON Lines.
///
/// # Errors
/// It cannot be read, or holds something else.
fn read(file: &Path) -> anyhow::Result<Run> {
    Opened::new(file)?.record()
}

/// Bytes of a file that are looked at to see whether it is a record.
const HEAD: u64 = 4096;
/// Bytes of a record at most: some five million samples.
const LARGEST: u64 = 1 << 30;

/// A file of which only the head has been read, so that one without end is refused, and a pipe can still be read.
pub(crate) struct Opened {
    name: String,
    head: Vec<u8>,
    rest: File,
}

impl Opened {
    /// Opens it and reads its head.
    ///
    /// # Errors
    /// It cannot.
    pub(crate) fn new(file: &Path) -> anyhow::Result<Opened> {
        let name = file.display().to_string();
        let open = || {
            let mut rest = File::open(file)?;
            let mut head = Vec::new();
            rest.by_ref().take(HEAD).read_to_end(&mut head)?;
            Ok::<_, std::io::Error>((head, rest))
        };
        let (head, rest) = open().with_context(|| format!("cannot read {name}"))?;
        Ok(Opened { name, head, rest })
    }

    /// Whether it begins like a record of vfscale's own.
    pub(crate) fn is_record(&self) -> bool {
        let head = String::from_utf8_lossy(&self.head);
        head.trim_start().starts_with('{') && head.contains("\"vfscale.run/")
    }

    /// The record in it.
    ///
    /// # Errors
    /// It holds something else, or is larger than a gibibyte.
    pub(crate) fn record(self) -> anyhow::Result<Run> {
        let name = self.name.clone();
        self.parsed().with_context(|| format!("{name} is not a run of vfscale"))
    }

    fn parsed(self) -> anyhow::Result<Run> {
        if self.head.trim_ascii_start().first() != Some(&b'{') {
            return Err(anyhow!(
                "it does not begin with an object of JSON\n  other tools' files: vfscale import FILE"
            ));
        }
        let mut text = String::new();
        self.into_contents().0.take(LARGEST + 1).read_to_string(&mut text)?;
        if text.len() as u64 > LARGEST {
            return Err(anyhow!("it is larger than {} MiB", LARGEST >> 20));
        }
        parse(&text)
    }

    /// All that is in it, and when it was written.
    pub(crate) fn into_contents(self) -> (impl Read, Option<SystemTime>) {
        let written = self.rest.metadata().and_then(|metadata| metadata.modified()).ok();
        (Cursor::new(self.head).chain(self.rest), written)
    }
}

/// A record in JSON or JSON Lines.
///
/// # Errors
/// It is none, or one of another version.
fn parse(text: &str) -> anyhow::Result<Run> {
    let lines = || {
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        serde_json::from_str::<IgnoredAny>(first).is_ok()
    };
    let run: Run = match serde_json::from_str(text) {
        Ok(run) => run,
        // One object and then others: lines.
        Err(error) if error.is_syntax() && error.line() > 1 && lines() => Run::from_lines(text)?,
        Err(error) => return Err(error.into()),
    };
    match run.schema == Run::SCHEMA {
        true => Ok(run),
        false => Err(anyhow!("its schema is {}, this vfscale knows {}", run.schema, Run::SCHEMA)),
    }
}
