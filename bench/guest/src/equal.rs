//! One kernel against itself, counting instructions: pairs of boots with one seed.

use crate::{Program, model};
use results::Curve;

/// What came of the pairs of one CPU model.
#[derive(Default)]
struct Tally {
    pairs: u32,
    /// To the last digit.
    equal: u32,
    /// Sizes of the changes.
    sizes: Vec<f64>,
}

pub(crate) fn run(program: &Program, kernel: &str, boots: u32, seed: u64) -> anyhow::Result<()> {
    let (boots, seed) = (boots.to_string(), seed.to_string());
    let options = ["--clock", "instructions", "--boots", &boots, "--seed", &seed];
    let comparison = program.compare([kernel, kernel], &options)?;
    println!("guest:{kernel} against itself, seeds from {seed}, {boots} pairs of boots\n");
    println!("| CPU model | pairs | equal to the last digit | within 0.1 % | farthest apart |");
    println!("|---|---:|---:|---:|---:|");
    let mut models: Vec<(&str, Tally)> = Vec::new();
    for (before, after) in comparison.before.curves.iter().zip(&comparison.after.curves) {
        let name = model(&before.target);
        if models.iter().all(|(known, _)| *known != name) {
            models.push((name, Tally::default()));
        }
        let Some((_, tally)) = models.iter_mut().find(|(known, _)| *known == name) else {
            continue;
        };
        for (one, other) in rates(before).iter().zip(rates(after)) {
            tally.pairs += 1;
            tally.equal += u32::from(*one == other);
            tally.sizes.push((other / one - 1.0).abs());
        }
    }
    for (name, tally) in &models {
        let near = tally.sizes.iter().filter(|size| **size < 0.001).count();
        let farthest = tally.sizes.iter().copied().fold(0.0, f64::max) * 100.0;
        println!("| `{name}` | {} | {} | {near} | {farthest:.3} % |", tally.pairs, tally.equal);
    }
    println!();
    for curve in &comparison.curves {
        let Some(point) = curve.points.first() else { continue };
        let (name, change) = (model(&curve.targets[0]), point.change.unwrap_or(f64::NAN) * 100.0);
        println!("{:17} {name:16} {change:+.3} % {:?}", curve.workload, point.verdict);
    }
    Ok(())
}

/// Instructions for an operation in each boot.
fn rates(curve: &Curve) -> Vec<f64> {
    let samples = curve.points.iter().flat_map(|point| &point.samples);
    samples.map(results::Sample::rate).collect()
}
