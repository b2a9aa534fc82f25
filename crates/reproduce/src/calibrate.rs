//! The one parameter of a table, by bisection.

use serde::Serialize;

/// How near is near enough: simulations with different seeds differ by more.
const CLOSE: f64 = 0.002;
/// A bisection of an interval of 2^17 ns ends before.
const STEPS: u32 = 24;

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Calibration {
    /// With that work the row comes out as published, as far as `value` says.
    Found {
        /// Work of a call.
        work_ns: u32,
        /// The row's simulated value with it.
        value: f64,
    },
    /// The row does not come out whatever the work.
    OutOfReach {
        /// Its simulated value without any work.
        at_none: f64,
        /// Its simulated value with the most.
        at_most: f64,
    },
}

/// Looks for the work, 0 to `highest_ns`, for which `simulate` answers `target`. It is taken to rise or to fall throughout; where
/// it does not quite, the best of what was tried counts.
///
/// # Errors
/// What `simulate` failed with.
pub(crate) fn bisect<E>(
    target: f64,
    highest_ns: u32,
    mut simulate: impl FnMut(u32) -> Result<f64, E>,
) -> Result<Calibration, E> {
    let (at_none, at_most) = (simulate(0)?, simulate(highest_ns)?);
    let between = (at_none.min(at_most)..=at_none.max(at_most)).contains(&target);
    if !between {
        return Ok(Calibration::OutOfReach { at_none, at_most });
    }
    let off = |value: f64| (value - target).abs();
    let mut best = if off(at_none) < off(at_most) { (0, at_none) } else { (highest_ns, at_most) };
    let (mut low, mut high) = (0, highest_ns);
    for _ in 0..STEPS {
        if off(best.1) <= CLOSE * target || high - low < 2 {
            break;
        }
        let middle = low + (high - low) / 2;
        let value = simulate(middle)?;
        if off(value) < off(best.1) {
            best = (middle, value);
        }
        if (value < target) == (at_none < at_most) { low = middle } else { high = middle }
    }
    Ok(Calibration::Found { work_ns: best.0, value: best.1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn found(target: f64, f: impl Fn(f64) -> f64) -> Calibration {
        bisect::<Infallible>(target, 100_000, |work| Ok(f(f64::from(work)))).unwrap()
    }

    #[test]
    fn it_converges_whether_the_row_rises_or_falls() {
        for f in [|work: f64| 300.0 + 2.0 * work, |work: f64| 1e6 / (work + 3.0)] {
            for work in [7.0, 123.0, 45_678.0] {
                let Calibration::Found { value, .. } = found(f(work), f) else {
                    panic!("{work} is within reach");
                };
                assert!((value / f(work) - 1.0).abs() <= CLOSE, "{value} for {}", f(work));
            }
        }
    }

    #[test]
    fn what_is_out_of_reach_is_not_found() {
        let none = found(100.0, |work| 300.0 + work);
        assert_eq!(none, Calibration::OutOfReach { at_none: 300.0, at_most: 100_300.0 });
    }

    #[test]
    fn a_jump_ends_with_the_better_side() {
        let jump = found(10.0, |work| if work < 500.0 { 4.0 } else { 11.0 });
        assert!(matches!(jump, Calibration::Found { value: 11.0, work_ns: 500.. }), "{jump:?}");
    }
}
