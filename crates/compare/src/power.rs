//! From a comparison of equals to what a comparison of others could see.

use crate::judge::common;
use results::{Curve, PowerPoint, PowerReport, Run, Sees};
use stats::{Confidence, Noise};

/// Lengths that are foretold, in multiples of the length measured.
const LENGTHS: [f64; 4] = [0.5, 1.0, 4.0, 16.0];

/// `before` and `after` are the interleaved sides of an A/A comparison that took `seconds` in all.
pub fn power(before: Run, after: &Run, seconds: f64) -> PowerReport {
    let curves = before.curves.iter().zip(&after.curves);
    let points = curves.flat_map(|(b, a)| of_curve(b, a, seconds)).collect();
    PowerReport { schema: PowerReport::SCHEMA.into(), seconds, points, run: before }
}

fn of_curve(before: &Curve, after: &Curve, seconds: f64) -> Vec<PowerPoint> {
    let counts = before.points.len();
    let of = |(b, a): (&results::Point, &results::Point)| {
        let ratios = stats::log_ratios(&b.round_rates(), &a.round_rates());
        let rounds = b.round_rates().len();
        let estimate =
            ratios.clone().and_then(|ratios| stats::estimate(&ratios, Confidence::P95)).ok();
        let noise = ratios.and_then(|ratios| Noise::of(&ratios));
        let share = |log_ratio: f64| log_ratio.exp_m1();
        let (sees, why_not) = match noise {
            Ok(noise) => (foretell(noise, rounds, counts, seconds), None),
            Err(why) => (Vec::new(), Some(why.to_string())),
        };
        PowerPoint {
            workload: before.workload.clone(),
            target: before.target.clone(),
            mode: before.mode.clone(),
            tasks: b.tasks,
            rounds: rounds as u32,
            change: estimate.as_ref().map(|estimate| share(estimate.effect)),
            ci95: estimate.map(|estimate| estimate.ci.map(share)),
            sees,
            why_not,
        }
    };
    common(before, after).map(of).collect()
}

/// Rounds grow with the time; what is too short for an interval is left out.
fn foretell(noise: Noise, rounds: usize, counts: usize, seconds: f64) -> Vec<Sees> {
    let confidence = |level: f64| Confidence::new(level).expect("between 0 and 1");
    let sees = |times: f64| {
        let rounds = (rounds as f64 * times).round() as usize;
        let power = |level: f64| noise.power(rounds, counts, confidence(level), Confidence::P95);
        let (often, mostly) = (power(0.8).ok()?, power(0.9).ok()?);
        Some(Sees {
            seconds: seconds * times,
            rounds: rounds as u32,
            found_80: often.detects.exp_m1(),
            found_90: mostly.detects.exp_m1(),
            equal_80: often.shows_equal_within.exp_m1(),
        })
    };
    LENGTHS.into_iter().filter_map(sees).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{curve, noisy, run};

    #[test]
    fn more_time_sees_smaller_changes() {
        let side = |seed| run(vec![curve("open_close", "dir:/a", &[(1, noisy(1e6, seed, 100))])]);
        let report = power(side(1), &side(2), 10.0);
        let point = &report.points[0];
        let seconds: Vec<f64> = point.sees.iter().map(|sees| sees.seconds).collect();
        assert_eq!(seconds, [5.0, 10.0, 40.0, 160.0]);
        assert!(point.sees.windows(2).all(|pair| pair[0].found_90 > pair[1].found_90));
        assert!(point.sees.iter().all(|sees| sees.found_80 < sees.found_90));
        // Uniform sums of ±2 % have a spread of 0.8 %, ratios 1.15 %; 100 of them see about 0.4 %.
        let found = point.sees[1].found_90;
        assert!((0.002..0.008).contains(&found), "{found}");
    }

    #[test]
    fn too_few_rounds_tell_nothing_and_say_so() {
        let side = |seed| run(vec![curve("open_close", "dir:/a", &[(1, noisy(1e6, seed, 3))])]);
        let report = power(side(1), &side(2), 10.0);
        assert!(report.points[0].sees.is_empty());
        assert!(report.points[0].why_not.as_ref().is_some_and(|why| why.contains("3 rounds")));
    }
}
