//! Which curve of one run belongs to which of the other.

use results::{Curve, Pairing, Run};

/// The pairs, in the order of the first run, and in words what has no other side.
pub(crate) fn pairs<'a>(
    before: &'a Run,
    after: &'a Run,
    pairing: Pairing,
) -> (Vec<(&'a Curve, &'a Curve)>, Vec<String>) {
    if pairing == Pairing::Interleaved {
        return (before.curves.iter().zip(&after.curves).collect(), Vec::new());
    }
    let mut free: Vec<&Curve> = after.curves.iter().collect();
    let mut pairs = Vec::new();
    let mut alone = Vec::new();
    for curve in &before.curves {
        // The same target first: two runs of the same machine. Otherwise the next of its kind: the target is what differs.
        let alike = |other: &&Curve| {
            other.workload == curve.workload
                && other.mode == curve.mode
                && other.metric == curve.metric
        };
        let at = free
            .iter()
            .position(|other| alike(other) && other.target == curve.target)
            .or_else(|| {
                let claimed = |other: &Curve| {
                    before.curves.iter().any(|b| b.target == other.target && alike(&b))
                };
                free.iter().position(|other| alike(other) && !claimed(other))
            });
        match at {
            Some(at) => pairs.push((curve, free.remove(at))),
            None => alone.push(format!("{}: only before", name(curve))),
        }
    }
    alone.extend(free.iter().map(|curve| format!("{}: only after", name(curve))));
    let counts = |curve: &Curve| curve.points.iter().map(|p| p.tasks).collect::<Vec<_>>();
    for (b, a) in &pairs {
        let (before, after) = (counts(b), counts(a));
        let lacks = |mine: &[u32], other: &[u32]| {
            let only = mine.iter().filter(|tasks| !other.contains(tasks)).map(u32::to_string);
            only.collect::<Vec<_>>().join(", ")
        };
        for (only, side) in [(lacks(&before, &after), "before"), (lacks(&after, &before), "after")]
        {
            if !only.is_empty() {
                alone.push(format!("{}, task counts {only}: only {side}", name(b)));
            }
        }
    }
    (pairs, alone)
}

fn name(curve: &Curve) -> String {
    format!("{} on {}, {} mode", curve.workload, curve.target, curve.mode)
}
