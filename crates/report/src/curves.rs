//! What is said about a curve in words: its heading and its verdict.

use results::{Curve, Kind, Run};
use stats::Shape;

/// "open_close on dir:/mnt/x (ext4), process mode, pinned by cores", with each name passed through `name`.
pub(crate) fn heading(run: &Run, curve: &Curve, name: impl Fn(&str) -> String) -> String {
    let fs = run.host.fs.iter().find(|mount| mount.target == curve.target);
    let fs = fs.map(|mount| format!(" ({})", name(&mount.fs_type))).unwrap_or_default();
    let pin = match run.plan.pin.as_str() {
        "none" => "not pinned".to_owned(),
        pin => format!("pinned by {}", name(pin)),
    };
    let kind = match curve.kind {
        Kind::Measured => pin,
        Kind::Simulated => "simulated in virtual time".to_owned(),
        Kind::Imported => "taken by another tool".to_owned(),
    };
    format!(
        "{} on {}{fs}, {} mode, {kind}",
        name(&curve.workload),
        name(&curve.target),
        name(&curve.mode)
    )
}

/// CPUs that the tasks of a curve can run on. (A record of before there were simulated machines does not say.)
pub(crate) fn cpus(run: &Run, curve: &Curve) -> usize {
    if curve.cpus == 0 { run.host.cpus.len() } else { curve.cpus as usize }
}

/// The names of the curves in a legend: the workload, and of target and mode what tells them apart.
pub(crate) fn labels(curves: &[&Curve]) -> Vec<String> {
    let differ = |part: fn(&Curve) -> &str| curves.windows(2).any(|w| part(w[0]) != part(w[1]));
    let (targets, modes) = (differ(|curve| &curve.target), differ(|curve| &curve.mode));
    let label = |curve: &&Curve| {
        let target = if targets { format!(" on {}", curve.target) } else { String::new() };
        let mode = if modes { format!(" ({} mode)", curve.mode) } else { String::new() };
        format!("{}{target}{mode}", curve.workload)
    };
    curves.iter().map(label).collect()
}

/// One sentence a curve; with several curves each begins with the curve's label. Curves without a point have none.
pub(crate) fn sentences(run: &Run, name: impl Fn(&str) -> String) -> Vec<String> {
    let labels = labels(&run.curves.iter().collect::<Vec<_>>());
    let said = run.curves.iter().zip(labels);
    said.filter_map(|(curve, label)| Some(format!("{} {}", name(&label), sentence(run, curve)?)))
        .collect()
}

/// What a curve does, to be put behind its label; none without a point, or of a cost, which does not scale.
pub(crate) fn sentence(run: &Run, curve: &Curve) -> Option<String> {
    if curve.metric.lower_is_better {
        return None;
    }
    let cpus = u32::try_from(cpus(run, curve)).unwrap_or(u32::MAX);
    let shape = curve.shape(cpus);
    (!curve.points.is_empty()).then(|| format!("{}{}", shape.sentence(), certainty(curve, &shape)))
}

/// The 95 % interval of the speed-up that the sentence is about, to be put behind it.
fn certainty(curve: &Curve, shape: &Shape) -> String {
    let to = match *shape {
        Shape::Single => return String::new(),
        Shape::Scales { to, .. } | Shape::Partly { to, .. } => to,
        Shape::Flattens { to, .. } | Shape::Falls { to, .. } => to,
    };
    match curve.speedup_ci95(to) {
        Some([low, high]) => format!(" [{low:.2}, {high:.2}]"),
        None => " [no interval]".to_owned(),
    }
}

/// "PARTIAL: interrupted after 3 of 40 rounds", if it was.
pub(crate) fn partial(run: &Run) -> Option<String> {
    let plan = &run.plan;
    plan.partial.then(|| {
        format!("PARTIAL: interrupted after {} of {} rounds", plan.rounds, plan.planned_rounds)
    })
}
