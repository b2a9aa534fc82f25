//! `vfscale report`: stored runs and records in files as a picture, a page or a text, without measuring anything.

use crate::Exit;
use crate::args::{ReportArgs, Usage};
use crate::output::Output;
use crate::runs;
use anyhow::{Context, anyhow};
use report::{ComparisonFormat, Format, Medium, Named};
use results::{Comparison, PowerReport, Run};
use serde::de::DeserializeOwned;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Loads and writes.
pub(crate) fn report(args: &ReportArgs) -> anyhow::Result<Exit> {
    let name = wanted(args)?;
    let destination = Output::new(args.output.as_deref())?;
    let sources = args.sources.iter().map(|what| load(args, what));
    let mut sources = sources.collect::<anyhow::Result<Vec<Source>>>()?;
    match &sources[..] {
        [Source::Comparison(comparison)] => {
            let format =
                ComparisonFormat::by_name(&name).ok_or_else(|| no_such(&name, "a comparison"))?;
            let destination = destination.for_format(format.name, format.medium)?;
            let render = |style| {
                (format.render)(comparison, &report::Style { verbose: args.verbose, ..style })
            };
            destination.write(render)?;
        }
        [Source::Power(power)] => {
            let render: fn(&PowerReport, &report::Style) -> String = match &*name {
                "html" => |power, _| report::power_html(power),
                "svg" => |power, _| report::power_svg(power),
                "text" => report::power,
                "json" => |power, _| report::power_json(power),
                other => return Err(no_such(other, "an outcome of power").into()),
            };
            let medium = Format::by_name(&name).map_or(Medium::Terminal, |format| format.medium);
            destination.for_format(&name, medium)?.write(|style| render(power, &style))?;
        }
        _ => {
            let format = Format::by_name(&name).ok_or_else(|| no_such(&name, "a run"))?;
            let destination = destination.for_format(format.name, format.medium)?;
            let runs = sources.drain(..).map(Source::run).collect::<Result<Vec<_>, Usage>>()?;
            let named: Vec<Named<'_>> =
                runs.iter().map(|(name, run)| Named { name, run }).collect();
            destination.write(|style| match (&named[..], format.name) {
                ([one], _) => {
                    (format.render)(one.run, &report::Style { verbose: args.verbose, ..style })
                }
                (all, "svg") => report::runs_svg(all),
                (all, _) => report::runs_html(all),
            })?;
        }
    }
    Ok(Exit::Done)
}

/// The name of the format: as asked for, or as the file's name ends. Several runs go into one picture or page only.
fn wanted(args: &ReportArgs) -> Result<String, Usage> {
    let name = match (&args.format, &args.output) {
        (Some(name), _) => name.clone(),
        (None, Some(file)) => by_ending(file)?.to_owned(),
        (None, None) => "text".to_owned(),
    };
    if args.sources.len() > 1 && !["html", "svg"].contains(&&*name) {
        let what = "several runs are shown together as html or svg (-o FILE.html, -o FILE.svg); for a verdict about two of \
                    them there is vfscale compare";
        return Err(Usage(what.into()));
    }
    Ok(name)
}

fn by_ending(file: &Path) -> Result<&'static str, Usage> {
    let ending = file.extension().and_then(OsStr::to_str).unwrap_or_default();
    Ok(match ending {
        "html" | "htm" => "html",
        "svg" => "svg",
        "md" => "markdown",
        "txt" => "text",
        "csv" => "csv",
        "json" => "json",
        "jsonl" => "jsonl",
        _ => {
            let shown = file.display();
            let what = format!(
                "the name {shown} does not say what to write: end it in .html, .svg, .md, .txt, .csv, .json or \
                                .jsonl, or say --format"
            );
            return Err(Usage(what));
        }
    })
}

fn no_such(name: &str, of: &str) -> Usage {
    Usage(format!("{of} cannot be written as {name}; html, svg, text and json are always there"))
}

/// What there is to show.
enum Source {
    Run(String, Box<Run>),
    Comparison(Box<Comparison>),
    Power(Box<PowerReport>),
}

impl Source {
    fn run(self) -> Result<(String, Run), Usage> {
        let other = match self {
            Source::Run(name, run) => return Ok((name, *run)),
            Source::Comparison(_) => "a comparison",
            Source::Power(_) => "an outcome of power",
        };
        Err(Usage(format!("{other} is shown by itself: give one file, or runs only")))
    }
}

/// A stored run, or a file with a run, a comparison or an outcome of power in it.
fn load(args: &ReportArgs, what: &OsString) -> anyhow::Result<Source> {
    let file = Path::new(what);
    if let Some(schema) = schema(file) {
        let shown = file.display();
        match &*schema {
            Comparison::SCHEMA => return Ok(Source::Comparison(read(file)?)),
            PowerReport::SCHEMA => return Ok(Source::Power(read(file)?)),
            Run::SCHEMA => (),
            other => {
                let known = [Run::SCHEMA, Comparison::SCHEMA, PowerReport::SCHEMA].join(", ");
                return Err(anyhow!("{shown} is of schema {other}; this vfscale shows {known}"));
            }
        }
    }
    let (name, run) = runs::load(&args.store, what)?;
    Ok(Source::Run(name, Box::new(run)))
}

/// The schema that a file names at its beginning; none of what is no such file.
fn schema(file: &Path) -> Option<String> {
    // A pipe can be read only once.
    let text = std::fs::read_to_string(file.is_file().then_some(file)?).ok()?;
    let (_, rest) = text.split_once("\"schema\"")?;
    let mut parts = rest.trim_start_matches([' ', ':', '\n']).split('"');
    parts.nth(1).map(str::to_owned)
}

fn read<T: DeserializeOwned>(file: &Path) -> anyhow::Result<Box<T>> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
    serde_json::from_str(&text).map(Box::new).with_context(|| format!("{shown} is damaged"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_says_the_format() {
        for (file, format) in
            [("r.html", "html"), ("a/b.svg", "svg"), ("x.md", "markdown"), ("x.jsonl", "jsonl")]
        {
            assert_eq!(by_ending(Path::new(file)).expect("known"), format);
            assert!(Format::by_name(format).is_some());
        }
        for file in ["r", "r.png", ".html"] {
            assert!(by_ending(Path::new(file)).is_err(), "{file}");
        }
    }
}
