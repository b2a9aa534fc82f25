//! fio, its JSON of versions 2 and 3 (`--output-format=json` or `json+`): operations per second of each job and direction.
//!
//! Jobs of one name in one group are the clones of one job and are added up; with group_reporting fio has done that. Jobs that
//! differ in nothing but their number of clones are points of one curve. What is called samples in the file are summaries, so
//! there are no intervals. A job with an error has no figure. Threads are only told from processes where the option has a value
//! (`thread=1`): fio leaves others out of its JSON. Lines before the first brace are messages of fio.

use crate::runs::{Draft, PROCESS, Series, THREAD, Times, UNKNOWN};
use crate::text::{Text, date};
use crate::{Format, ImportError, Imported, names};
use serde::Deserialize;
use std::collections::BTreeMap;

pub(super) const FORMAT: Format = Format {
    name: "fio",
    summary: "fio, JSON (versions 2 and 3)",
    detect: |head| head.contains("\"fio version\"") && json_of(head).is_some(),
    parse,
};

/// Options that do not change what a job does, or that tell points of one curve apart.
const NOT_THE_WORK: &[&str] =
    &["name", "numjobs", "description", "stonewall", "new_group", "group_reporting", "startdelay"];

#[derive(Deserialize)]
struct Output<'a> {
    #[serde(borrow, rename = "fio version")]
    version: std::borrow::Cow<'a, str>,
    #[serde(default)]
    timestamp: Option<u64>,
    #[serde(default, rename = "global options")]
    global: Globals,
    #[serde(default)]
    jobs: Vec<Job>,
    #[serde(default)]
    client_stats: Vec<Job>,
}

type Options = BTreeMap<String, String>;

/// An object, or an array with one for each client.
#[derive(Default, Deserialize)]
#[serde(from = "OneOrMany")]
struct Globals(Options);

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(Options),
    Many(Vec<Options>),
}

impl From<OneOrMany> for Globals {
    fn from(options: OneOrMany) -> Globals {
        Globals(match options {
            OneOrMany::One(options) => options,
            OneOrMany::Many(clients) => clients.into_iter().next().unwrap_or_default(),
        })
    }
}

#[derive(Deserialize)]
struct Job {
    jobname: String,
    #[serde(default)]
    groupid: i64,
    #[serde(default)]
    error: i64,
    #[serde(default, rename = "job options")]
    options: Options,
    #[serde(default)]
    read: Direction,
    #[serde(default)]
    write: Direction,
    #[serde(default)]
    trim: Direction,
    #[serde(default)]
    usr_cpu: f64,
    #[serde(default)]
    sys_cpu: f64,
}

#[derive(Default, Deserialize)]
struct Direction {
    #[serde(default)]
    iops: f64,
    /// Milliseconds.
    #[serde(default)]
    runtime: f64,
    /// Not in the oldest versions.
    #[serde(default)]
    total_ios: Option<u64>,
}

type OfJob = fn(&Job) -> &Direction;

const DIRECTIONS: [(&str, OfJob); 3] =
    [("read", |job| &job.read), ("write", |job| &job.write), ("trim", |job| &job.trim)];

/// Where the first JSON object begins: a brace that begins a line.
fn json_of(text: &str) -> Option<usize> {
    let mut at = 0;
    text.split_inclusive('\n').find_map(|line| {
        let start = at + (line.len() - line.trim_start().len());
        at += line.len();
        line.trim_start().starts_with('{').then_some(start)
    })
}

fn parse(file: &str, text: &str) -> Result<Vec<Imported>, ImportError> {
    let text = Text::new(file, text);
    let start = json_of(text.text)
        .ok_or_else(|| text.error_at(None, "a JSON object of fio", "no line that begins with {"))?;
    let lines_before = text.text[..start].matches('\n').count();
    let mut reader = serde_json::Deserializer::from_str(&text.text[start..]);
    let output = Output::deserialize(&mut reader).map_err(|error| {
        let line = (error.line() > 0).then_some(lines_before + error.line());
        text.error_at(line, "JSON of fio", error.to_string())
    })?;
    let mut draft = Draft::new(FORMAT.name);
    draft.command = vec![output.version.into_owned()];
    draft.started = output.timestamp.and_then(date).unwrap_or_default();
    let globals = output.global.0;
    let jobs = output.jobs.into_iter().chain(output.client_stats);
    // The last entry of a client is the sum of the others.
    let groups = group(jobs.filter(|job| job.jobname != "All clients"));
    let mut names_in_use = BTreeMap::new();
    for jobs in groups {
        put(&mut draft, &jobs, &globals, &mut names_in_use);
    }
    Ok(vec![draft.finish(&text, text.stem())?])
}

/// Clones together, in the order of the file.
fn group(jobs: impl Iterator<Item = Job>) -> Vec<Vec<Job>> {
    let mut groups: Vec<Vec<Job>> = Vec::new();
    let mut index = BTreeMap::new();
    for job in jobs {
        let at = *index.entry((job.groupid, job.jobname.clone())).or_insert(groups.len());
        match groups.get_mut(at) {
            Some(group) => group.push(job),
            None => groups.push(vec![job]),
        }
    }
    groups
}

/// Puts the clones of one job. `names_in_use` has the work of each name of a curve, to tell different work of one name apart.
fn put(
    draft: &mut Draft,
    clones: &[Job],
    globals: &Options,
    names_in_use: &mut BTreeMap<String, Vec<(String, String)>>,
) {
    let Some(job) = clones.first() else { return };
    if let Some(failed) = clones.iter().find(|job| job.error != 0) {
        let message =
            format!("job {} failed with error {}; left out", failed.jobname, failed.error);
        draft.warn("failed", message, "see errno(3) and what fio wrote on stderr");
        return;
    }
    let option =
        |name: &str| job.options.get(name).or_else(|| globals.get(name)).map(String::as_str);
    let tasks = match clones.len() {
        1 => option("numjobs").and_then(|jobs| jobs.parse().ok()).unwrap_or(1),
        several => u32::try_from(several).unwrap_or(u32::MAX),
    };
    // A bare `thread` without a value is not among the options that fio writes.
    let mode = match option("thread") {
        Some("0") => PROCESS,
        Some(_) => THREAD,
        None => UNKNOWN,
    };
    let target = option("directory").or(option("filename"));
    let target = target.map_or(UNKNOWN.to_owned(), |path| format!("dir:{path}"));
    let work: Vec<_> = job
        .options
        .iter()
        .filter(|(name, _)| !NOT_THE_WORK.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();

    for (name, direction) in DIRECTIONS {
        let done = |job: &&Job| {
            let direction = direction(job);
            direction.total_ios.map_or(direction.iops > 0.0, |ios| ios > 0)
        };
        let active: Vec<&Job> = clones.iter().filter(done).collect();
        if active.is_empty() {
            continue;
        }
        let kind = kind(option("ioengine"), option("rw").or(option("readwrite")), name);
        let mut workload = names::workload("fio", &kind);
        if *names_in_use.entry(workload.clone()).or_insert_with(|| work.clone()) != work {
            workload = format!("{workload} ({})", job.jobname);
        }
        let series = Series::rate(workload).mode(mode).target(&*target);
        draft.summary(&series, tasks, active.iter().map(|job| direction(job).iops).sum());
        let mean = |of: &dyn Fn(&Job) -> f64| {
            active.iter().map(|job| of(job)).sum::<f64>() / active.len() as f64
        };
        let seconds = |job: &Job| direction(job).runtime / 1e3;
        draft.times(
            &series,
            tasks,
            Times {
                real_s: mean(&seconds),
                user_s: mean(&|job| seconds(job) * job.usr_cpu / 100.0),
                sys_s: mean(&|job| seconds(job) * job.sys_cpu / 100.0),
            },
        );
    }
}

/// The engines that do one operation per file by their name, others by how they read or write.
fn kind(engine: Option<&str>, rw: Option<&str>, direction: &str) -> String {
    match engine {
        Some(engine) if engine.starts_with("file") || engine.starts_with("dir") => engine.into(),
        _ => match rw {
            Some(rw) if rw != "readwrite" && rw.ends_with(direction) => rw.into(),
            Some(rw) => format!("{rw}-{direction}"),
            None => direction.into(),
        },
    }
}
