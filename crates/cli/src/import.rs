//! `vfscale import`: runs that other tools have taken, into the store.

use crate::Exit;
use crate::args::{ImportArgs, Usage};
use crate::output;
use crate::runs::{self, Opened};
use results::{Import, Kind, Run};
use std::path::Path;
use store::RunName;

/// The formats that can be asked for.
pub(crate) fn formats() -> Vec<&'static str> {
    imports::FORMATS.iter().map(|format| format.name).collect()
}

/// Reads every file before anything is stored, and stores all runs at once: whatever fails leaves the store as it was.
pub(crate) fn import(args: &ImportArgs) -> anyhow::Result<Exit> {
    let mut read = Vec::new();
    for file in &args.files {
        for (label, run) in runs_in(file, args.from.as_deref())? {
            read.push((file, label, run));
        }
    }
    let mut keep = Vec::new();
    for (file, label, run) in &read {
        let name = name(args, file, label, read.len())?;
        output::print(&format!("{}\n", describe(&name, run)))?;
        keep.push((name, run));
    }
    if !args.dry_run {
        runs::save_all(&args.store, &keep)?;
    }
    Ok(Exit::Done)
}

/// A record of vfscale's own, or what another tool's file holds.
fn runs_in(file: &Path, from: Option<&str>) -> anyhow::Result<Vec<(String, Run)>> {
    let opened = Opened::new(file)?;
    if from.is_none() && opened.is_record() {
        return Ok(vec![(stem(file), opened.record()?)]);
    }
    let (contents, written) = opened.into_contents();
    let imported = imports::read_from(&file.to_string_lossy(), contents, written, from)?;
    Ok(imported.into_iter().map(|imported| (imported.label, imported.run)).collect())
}

fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The name to store a run under: what the user wants, or the file's; where there are several, with what tells them apart.
fn name(args: &ImportArgs, file: &Path, label: &str, runs: usize) -> anyhow::Result<RunName> {
    let stem = stem(file);
    let base = args.save.as_ref().map_or(stem.as_str(), RunName::as_str);
    let name = match runs == 1 || (args.save.is_none() && label == stem) {
        true => base.to_owned(),
        false => format!("{base}-{label}"),
    };
    // What a name cannot have: a label may be a commit's subject.
    let fits = |c: char| if c.is_alphanumeric() || "._-+".contains(c) { c } else { '-' };
    let name: String = name.chars().map(fits).take(100).collect();
    let name = name.trim_start_matches(|c: char| !c.is_alphanumeric());
    name.parse().map_err(|error: store::BadName| Usage(format!("{error}; use --save NAME")).into())
}

/// "before: will-it-scale, 3 curves, 12 points, summary only".
fn describe(name: &RunName, run: &Run) -> String {
    let points: usize = run.curves.iter().map(|curve| curve.points.len()).sum();
    let samples: usize =
        run.curves.iter().flat_map(|curve| &curve.points).map(|point| point.samples.len()).sum();
    let (tool, summary) = match &run.import {
        Some(Import { tool, summary_only, .. }) => (tool.as_str(), *summary_only),
        None => ("vfscale", false),
    };
    let simulated = run.curves.iter().any(|curve| curve.kind == Kind::Simulated);
    let mut text = format!(
        "{name}: {tool}, {} curve{}, {points} points, ",
        run.curves.len(),
        if run.curves.len() == 1 { "" } else { "s" }
    );
    text += &match summary {
        true => "summary only (no intervals)".to_owned(),
        false => format!("{samples} samples"),
    };
    if simulated {
        text += ", simulated";
    }
    for warning in &run.warnings {
        text += &format!("\n  warning: {}", warning.message);
    }
    text
}
