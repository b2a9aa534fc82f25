//! Stored runs by name, and run records in files: where commands find what they compare, and where they keep what they measured.

use crate::args::{StoreArgs, Usage};
use crate::config::{self, Keep};
use crate::output;
use anyhow::{Context, anyhow};
use results::Run;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use store::{RunName, RunRef, Store};

/// Where runs of this command are kept, if they are.
pub(crate) struct Runs {
    place: Option<PathBuf>,
    name: Option<RunName>,
}

impl Runs {
    /// Decides whether to keep runs, and if so looks now whether the store can be written, not when the measurement is over.
    /// Without a name they are kept where the user's config file says so.
    ///
    /// # Errors
    /// It cannot.
    pub(crate) fn to_keep(store: &StoreArgs, name: Option<&RunName>) -> anyhow::Result<Runs> {
        let keep = name.is_some() || config::read()?.store == Keep::Always;
        let place = keep.then(|| path(store)).transpose()?;
        if let Some(place) = &place {
            // Closed again at once: tasks are forked, and a child must not hold a connection.
            drop(Store::open(place)?);
        }
        Ok(Runs { place, name: name.cloned() })
    }

    /// Keeps `run` under the name with `suffix`, if runs are kept.
    ///
    /// # Errors
    /// The store says no. What was measured has been shown by then.
    pub(crate) fn save(&mut self, suffix: &str, run: &Run) -> anyhow::Result<()> {
        let Some(place) = &self.place else { return Ok(()) };
        let name = match &self.name {
            Some(name) => Some(format!("{name}{suffix}").parse::<RunName>()?),
            None => None,
        };
        let label = Store::open(place)
            .and_then(|mut store| store.save(name.as_ref(), run))
            .context("the result is shown, but could not be stored")?;
        output::tell(&format!("stored as {label} in {}", place.display()));
        Ok(())
    }
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
pub(crate) fn read(file: &Path) -> anyhow::Result<Run> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
    parse(&text).with_context(|| format!("{shown} is not a run of vfscale"))
}

/// A record of vfscale's own, if the text begins like one.
pub(crate) fn is_record(text: &str) -> bool {
    let head = text.get(..200).unwrap_or(text);
    head.trim_start().starts_with('{') && head.contains("\"vfscale.run/")
}

/// A record in JSON or JSON Lines.
///
/// # Errors
/// It is none, or one of another version.
pub(crate) fn parse(text: &str) -> anyhow::Result<Run> {
    let run: Run = match serde_json::from_str(text) {
        Ok(run) => run,
        // One object and then others: lines.
        Err(error) if error.is_syntax() && error.line() > 1 => Run::from_lines(text)?,
        Err(error) => return Err(error.into()),
    };
    match run.schema == Run::SCHEMA {
        true => Ok(run),
        false => Err(anyhow!("its schema is {}, this vfscale knows {}", run.schema, Run::SCHEMA)),
    }
}
