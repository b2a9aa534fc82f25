//! Two kernels by instructions for an operation, as the table that the guide has.

use crate::{Program, WORKLOADS, model};
use results::{ComparedCurve, Comparison, Verdict};

pub(crate) fn run(
    program: &Program,
    kernels: [&str; 2],
    boots: u32,
    seed: u64,
) -> anyhow::Result<()> {
    let (boots, seed) = (boots.to_string(), seed.to_string());
    let options = ["--clock", "instructions", "--boots", &boots, "--seed", &seed];
    let comparison = program.compare(kernels, &options)?;
    for run in [&comparison.before, &comparison.after] {
        run.host.fs.iter().for_each(|mount| println!("{}: {}", mount.target, mount.source));
    }
    print!("\n{}", markdown(&comparison, kernels));
    Ok(())
}

fn markdown(comparison: &Comparison, [before, after]: [&str; 2]) -> String {
    let of = |workload: &str| -> Vec<&ComparedCurve> {
        comparison.curves.iter().filter(|curve| curve.workload == workload).collect()
    };
    let models: Vec<&str> = of(WORKLOADS[0]).iter().map(|curve| model(&curve.targets[0])).collect();
    let mut text = "| workload |".to_owned();
    for model in &models {
        text += &format!(" {before}, `{model}` | {after} | change |");
    }
    text += " verdict |\n|---|";
    text += &"---:|---:|---:|".repeat(models.len());
    text += "---|\n";
    for workload in WORKLOADS {
        text += &format!("| {workload} |");
        let points: Vec<_> = of(workload).iter().flat_map(|curve| curve.points.first()).collect();
        for point in &points {
            let (before, after) = (thousands(point.before), thousands(point.after));
            text += &format!(" {before} | {after} | {} |", change(point.change, point.interval));
        }
        let verdict = points.first().map_or("", |point| match point.verdict {
            Verdict::Faster => "less",
            Verdict::Slower => "more",
            Verdict::NoDifference { .. } => "no difference",
            Verdict::Undecided { .. } => "withheld",
        });
        text += &format!(" {verdict} |\n");
    }
    text
}

fn change(change: Option<f64>, interval: Option<[f64; 2]>) -> String {
    let percent = |share: f64| format!("{:+.1}", share * 100.0);
    match (change, interval) {
        (Some(change), Some([low, high])) => {
            format!("{} % [{}, {}]", percent(change), percent(low), percent(high))
        }
        (Some(change), None) => format!("{} %", percent(change)),
        (None, _) => "-".into(),
    }
}

/// 12,345.
fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_as_a_table_has_them() {
        for (value, text) in
            [(0.4, "0"), (999.0, "999"), (1000.0, "1,000"), (1_234_567.2, "1,234,567")]
        {
            assert_eq!(thousands(value), text);
        }
        assert_eq!(change(Some(-0.0412), Some([-0.05, 0.001])), "-4.1 % [-5.0, +0.1]");
        assert_eq!(change(None, None), "-");
    }
}
