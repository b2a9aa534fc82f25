//! `vfscale history`: stored runs in order of time, with their trend.

use crate::Exit;
use crate::args::{HistoryArgs, ListFormat, Usage};
use crate::output;
use crate::runs;
use results::{History, HistoryRun, LevelChange, Series};
use std::collections::BTreeMap;
use store::{HistoryRow, Store};

/// Reads, groups, shows.
pub(crate) fn history(args: &HistoryArgs) -> anyhow::Result<Exit> {
    let store = runs::open(&args.store)?;
    let mut rows = Vec::new();
    if args.workloads.is_empty() {
        rows = store.history(None)?;
    }
    for workload in &args.workloads {
        // By any of its names; one that is not ours may be an imported one.
        let known = workloads::find(workload);
        let name = known.as_ref().map_or(workload.clone(), |known| known.to_string());
        let found = store.history(Some(&name))?;
        if found.is_empty() && known.is_err() {
            return Err(Usage(format!(
                "no workload and no stored run is called {workload}: vfscale list workloads, or vfscale history without a name"
            ))
            .into());
        }
        rows.extend(found);
    }
    let history = History { schema: History::SCHEMA.into(), series: series(&store, rows)? };
    output::print(&match args.format {
        ListFormat::Text => report::history(&history, &output::terminal_style()),
        ListFormat::Json => report::history_json(&history),
    })?;
    Ok(Exit::Done)
}

/// One series per curve, task count and machine, its runs in order of time.
fn series(store: &Store, rows: Vec<HistoryRow>) -> anyhow::Result<Vec<Series>> {
    let mut all: Vec<Series> = Vec::new();
    let mut machines: BTreeMap<store::HostId, String> = BTreeMap::new();
    for row in rows {
        let machine = match machines.get(&row.host) {
            Some(known) => known.clone(),
            None => machine(&store.host(row.host)?),
        };
        machines.insert(row.host, machine.clone());
        let same = |series: &&mut Series| {
            series.machine == machine
                && series.workload == row.workload
                && series.target == row.target
                && series.mode == row.mode
                && series.kind == row.kind
                && series.metric == row.metric
                && series.tasks == row.tasks
        };
        let run = HistoryRun {
            run: row.label.to_string(),
            started: row.started.clone(),
            kernel: row.kernel.clone(),
            value: row.rate,
            ci95: row.ci95,
            rounds: row.rounds,
            partial: row.partial,
        };
        match all.iter_mut().find(same) {
            Some(series) => series.runs.push(run),
            None => all.push(Series {
                workload: row.workload,
                target: row.target,
                mode: row.mode,
                kind: row.kind,
                metric: row.metric,
                tasks: row.tasks,
                machine,
                runs: vec![run],
                noise: None,
                changes: Vec::new(),
            }),
        }
    }
    for series in &mut all {
        series.runs.sort_by(|a, b| a.started.cmp(&b.started));
        judge(series);
    }
    Ok(all)
}

/// What a machine is, without its kernel and its settings: a trend over kernels is what history is for.
fn machine(host: &results::Host) -> String {
    let model = host.cpu_model.as_deref().unwrap_or("unknown CPU");
    let kind = if host.virtualised { ", virtual machine" } else { "" };
    match host.cpus.len() {
        0 => "an unknown machine".to_owned(),
        1 => format!("{model}, 1 CPU{kind}"),
        cpus => format!("{model}, {cpus} CPUs{kind}"),
    }
}

/// Where the level changed, and how far runs of one level differ.
fn judge(series: &mut Series) {
    // Steps are relative, so logarithms are judged; of nothing there is none.
    if series.runs.iter().any(|run| run.value <= 0.0) {
        return;
    }
    let point = |run: &HistoryRun| stats::HistoryPoint {
        value: run.value.ln(),
        half_width: run.ci95.map_or(0.0, |[low, high]| (high - low) / 2.0 / run.value),
    };
    let points: Vec<stats::HistoryPoint> = series.runs.iter().map(point).collect();
    let changes = stats::change_points(&points);
    series.changes = changes
        .iter()
        .map(|change| LevelChange {
            at: change.at,
            change: (change.after - change.before).exp_m1(),
            p: change.p,
        })
        .collect();
    let steps = points.windows(2).enumerate();
    let within = steps.filter(|(at, _)| !changes.iter().any(|change| change.at == at + 1));
    let sizes: Vec<f64> =
        within.map(|(_, pair)| (pair[1].value - pair[0].value).abs().exp_m1()).collect();
    series.noise = (sizes.len() >= 2).then(|| stats::median(&sizes)).flatten();
}
