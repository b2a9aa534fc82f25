//! One kernel against itself by the ordinary clock: every difference that is found is a false alarm.

use crate::{Program, WORKLOADS};
use results::Verdict;

pub(crate) fn run(
    program: &Program,
    kernel: &str,
    comparisons: u32,
    seconds: u32,
    seed: u64,
) -> anyhow::Result<()> {
    println!(
        "guest:{kernel} against itself by the ordinary clock, {seconds} s of slices for {} workloads, a boot is a round",
        WORKLOADS.len()
    );
    let (mut verdicts, mut alarms, mut widths) = (0_u32, 0_u32, Vec::new());
    for number in 0..comparisons {
        let seed = seed.wrapping_add(number.into()).to_string();
        let time = format!("{seconds}s");
        let options = ["--tasks", "1", "--time", &time, "--seed", &seed];
        let comparison = program.compare([kernel, kernel], &options)?;
        for curve in &comparison.curves {
            for point in &curve.points {
                verdicts += 1;
                let (change, interval) = (point.change.unwrap_or(f64::NAN), point.interval);
                widths.extend(interval.map(|[low, high]| (high - low) / 2.0));
                if matches!(point.verdict, Verdict::Faster | Verdict::Slower) {
                    alarms += 1;
                    println!(
                        "  {}: {:+.1} %, interval {interval:?}",
                        curve.workload,
                        change * 100.0
                    );
                }
            }
        }
        let share = 100.0 * f64::from(alarms) / f64::from(verdicts.max(1));
        let width = stats::median(&widths).map_or(f64::NAN, |width| width * 100.0);
        println!(
            "{} comparisons, {verdicts} verdicts: {alarms} false alarms ({share:.1} %), median interval ± {width:.1} %",
            number + 1
        );
    }
    Ok(())
}
