//! Do values fall into two heaps? Hartigan's dip test, which does not take a heavy tail for a second one.
//!
//! Tests that fit two normal distributions find a second one in any tail. The dip (Hartigan and Hartigan 1985) is the
//! largest distance between the
//! values' distribution function and the nearest unimodal one, whatever its form. Its p-value is taken from uniform values,
//! which of all unimodal ones dip most: the test errs on the side of one heap.

use crate::estimate::MIN_EFFECTIVE_ROUNDS;
use crate::median::median;

/// Above this p-value two heaps are not spoken of.
const SURE: f64 = 0.05;

/// Shares of uniform samples and the √n × dip below which they lie: the largest found for 10 to 1000 values, 2000 to
/// 200 000 samples each. In
/// this scale they hardly depend on n; ten values dip a little less, which again errs on the side of one heap.
const DIPS: [(f64, f64); 8] = [
    (0.50, 0.368),
    (0.75, 0.428),
    (0.90, 0.496),
    (0.95, 0.538),
    (0.99, 0.618),
    (0.995, 0.640),
    (0.999, 0.700),
    (0.9999, 0.770),
];

/// Two heaps of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Modes {
    /// Median of the lower and of the higher heap.
    pub(crate) centres: [f64; 2],
    /// Share of the values in the lower heap.
    pub(crate) low_share: f64,
    /// Of the dip test; a table's, at least 0.0001.
    pub(crate) p: f64,
}

/// The two heaps of values in ascending order, if there is surely (p ≤ 5 %) more than one; none if they are fewer than
/// [`MIN_EFFECTIVE_ROUNDS`]. Many equal values would each be a heap of their own: what is quantised has to be spread
/// out over its steps before.
pub(crate) fn modes(sorted: &[f64]) -> Option<Modes> {
    let dip = dip(sorted).filter(|_| sorted.len() as f64 >= MIN_EFFECTIVE_ROUNDS)?;
    let p = p_value((sorted.len() as f64).sqrt() * dip);
    let split = split(sorted);
    let (low, high) = sorted.split_at(split);
    let centres = [median(low)?, median(high)?];
    let low_share = split as f64 / sorted.len() as f64;
    (p <= SURE).then_some(Modes { centres, low_share, p })
}

fn p_value(scaled: f64) -> f64 {
    let mut last = (0.0, 0.0);
    for (share, quantile) in DIPS {
        if scaled < quantile {
            let part = (scaled - last.1) / (quantile - last.1);
            return 1.0 - (last.0 + part * (share - last.0));
        }
        last = (share, quantile);
    }
    1.0 - last.0
}

/// Where the two heaps part: the split that leaves the least sum of squares (Otsu 1979), outer twentieths left aside so
/// that a single far value
/// is no heap.
fn split(sorted: &[f64]) -> usize {
    let n = sorted.len();
    let edge = (n / 20).max(1);
    let (low, high) = (sorted[edge.min(n - 1)], sorted[n - 1 - edge.min(n - 1)]);
    let clamped = || sorted.iter().map(|x| x.clamp(low.min(high), high.max(low)) - low);
    let total: f64 = clamped().sum();
    let (mut best, mut sum) = ((f64::NEG_INFINITY, n / 2), 0.0);
    for (index, x) in clamped().enumerate().take(n - 1) {
        sum += x;
        let (below, above) = ((index + 1) as f64, (n - index - 1) as f64);
        let between = sum * sum / below + (total - sum) * (total - sum) / above;
        if between > best.0 && sorted[index] < sorted[index + 1] {
            best = (between, index + 1);
        }
    }
    best.1
}

/// The dip of values in ascending order, from 1/(2n) to 1/4, by the algorithm of the Hartigans (Applied Statistics AS
/// 217): the interval that
/// holds the mode is narrowed down to where the greatest convex minorant and the least concave majorant of the
/// distribution function are farthest
/// apart, until the function's distance from the two outside of it is the larger one. None if all values are equal.
fn dip(x: &[f64]) -> Option<f64> {
    let n = x.len();
    if n < 2 || x[0] == x[n - 1] {
        return None;
    }
    let (minorant, majorant) = (convex_from_left(x), concave_from_right(x));
    let (mut low, mut high) = (0, n - 1);
    // In steps of the distribution function, 1/n each, and twice the dip.
    let mut dip: f64 = 1.0;
    while low < high {
        let gcm = chain(&minorant, high, low);
        let lcm = chain(&majorant, low, high);
        let (apart, left, right) = farthest(x, &gcm, &lcm);
        if apart < dip {
            break;
        }
        let below = gcm[left..].windows(2).map(|knots| above_chord(x, knots[1], knots[0]));
        let above = lcm[right..].windows(2).map(|knots| below_chord(x, knots[0], knots[1]));
        dip = below.chain(above).fold(dip, f64::max);
        if (low, high) == (gcm[left], lcm[right]) {
            break;
        }
        (low, high) = (gcm[left], lcm[right]);
    }
    Some(dip / (2 * n) as f64)
}

/// The knot before each value on the greatest convex minorant of the values up to it.
fn convex_from_left(x: &[f64]) -> Vec<usize> {
    let mut before = vec![0; x.len()];
    for j in 1..x.len() {
        let mut knot = j - 1;
        while knot > 0 {
            let earlier = before[knot];
            let (run, earlier_run) = (x[j] - x[knot], x[knot] - x[earlier]);
            if run * (knot - earlier) as f64 <= earlier_run * (j - knot) as f64 - f64::MIN_POSITIVE
            {
                break;
            }
            knot = earlier;
        }
        before[j] = knot;
    }
    before
}

/// The knot after each value on the least concave majorant of the values from it on: the same, seen from the other end.
fn concave_from_right(x: &[f64]) -> Vec<usize> {
    let last = x.len() - 1;
    let turned: Vec<f64> = x.iter().rev().map(|x| -x).collect();
    convex_from_left(&turned).into_iter().rev().map(|knot| last - knot).collect()
}

/// The knots from `from` to `to`.
fn chain(next: &[usize], from: usize, to: usize) -> Vec<usize> {
    let mut knots = vec![from];
    let mut at = from;
    while at != to {
        at = next[at];
        knots.push(at);
    }
    knots
}

/// The largest vertical distance between minorant (`gcm`, from the high end) and majorant (`lcm`, from the low end),
/// and the indices into both
/// between which it lies.
fn farthest(x: &[f64], gcm: &[usize], lcm: &[usize]) -> (f64, usize, usize) {
    if gcm.len() == 2 && lcm.len() == 2 {
        return (1.0, 1, 1);
    }
    let slope = |a: usize, b: usize| (b as f64 - a as f64) / (x[b] - x[a]);
    let (mut best, mut left, mut right) = (0.0, gcm.len() - 1, lcm.len() - 1);
    let (mut ix, mut iv) = (gcm.len() - 2, 1);
    loop {
        let (g, l) = (gcm[ix], lcm[iv]);
        if g > l {
            let before = gcm[ix + 1];
            let dx = (l - before + 1) as f64 - (x[l] - x[before]) * slope(before, g);
            iv += 1;
            if dx >= best {
                (best, left, right) = (dx, ix + 1, iv - 1);
            }
        } else {
            let before = lcm[iv - 1];
            let dx = (x[g] - x[before]) * slope(before, l) - (g as f64 - before as f64 - 1.0);
            if dx >= best {
                (best, left, right) = (dx, ix, iv);
            }
            ix = ix.saturating_sub(1);
        }
        iv = iv.min(lcm.len() - 1);
        if gcm[ix] == lcm[iv] {
            return (best, left, right);
        }
    }
}

/// How far the distribution function rises above the chord of the minorant between two knots, at least 1.
fn above_chord(x: &[f64], from: usize, to: usize) -> f64 {
    chord_distances(x, from, to, |steps, chord| steps + 1.0 - chord)
}

/// How far it stays below the chord of the majorant, at least 1.
fn below_chord(x: &[f64], from: usize, to: usize) -> f64 {
    chord_distances(x, from, to, |steps, chord| chord - steps + 1.0)
}

fn chord_distances(x: &[f64], from: usize, to: usize, distance: fn(f64, f64) -> f64) -> f64 {
    let width = x[to] - x[from];
    if to - from <= 1 || width == 0.0 {
        return 1.0;
    }
    let slope = (to - from) as f64 / width;
    let at = |i: usize| distance((i - from) as f64, (x[i] - x[from]) * slope);
    (from..=to).map(at).fold(1.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Noise, Random};
    use proptest::prelude::*;

    #[test]
    fn dips_are_those_of_known_samples() {
        let even: Vec<f64> = (0..50).map(f64::from).collect();
        assert!((dip(&even).unwrap() - 0.01).abs() < 1e-12);
        let halves: Vec<f64> =
            (0..40).map(|i| f64::from(i) * 1e-6 + if i < 20 { 0.0 } else { 1.0 }).collect();
        assert!((dip(&halves).unwrap() - 0.25).abs() < 0.02, "{:?}", dip(&halves));
        assert_eq!(dip(&[1.0; 9]), None);
    }

    /// The table's values are the scale of the test: without them every p would be wrong together with the dip.
    #[test]
    fn uniform_samples_dip_as_the_table_says() {
        let mut random = Random(6);
        let mut dips: Vec<f64> = (0..1000)
            .map(|_| {
                let mut values: Vec<f64> = (0..100).map(|_| random.uniform()).collect();
                values.sort_by(f64::total_cmp);
                10.0 * dip(&values).unwrap()
            })
            .collect();
        dips.sort_by(f64::total_cmp);
        for (share, low, high) in [(0.50, 0.33, 0.37), (0.95, 0.48, 0.54)] {
            let quantile = dips[(share * 1000.0) as usize];
            assert!((low..high).contains(&quantile), "{share}: {quantile}");
        }
    }

    fn alarms(noise: impl Fn(&mut Random) -> Vec<f64>) -> usize {
        let mut random = Random(3);
        let found = |_: &i32| {
            let mut values = noise(&mut random);
            values.sort_by(f64::total_cmp);
            modes(&values).is_some()
        };
        (0..500).filter(found).count()
    }

    #[test]
    fn a_heavy_tail_is_no_second_heap() {
        for noise in [Noise::Tails, Noise::OneTail, Noise::Skewed, Noise::Cauchy, Noise::Ar1(0.0)] {
            for n in [10, 60, 250] {
                let found = alarms(|random| random.log_ratios(noise, n));
                assert!(found <= 5, "{noise:?}, n = {n}: {found} of 500");
            }
        }
        // The hardest of all with one heap.
        let uniform = alarms(|random| (0..100).map(|_| random.uniform()).collect());
        assert!(uniform <= 25, "{uniform} of 500");
    }

    #[test]
    fn two_heaps_are_found_and_told_apart() {
        // Two of three values in the higher heap, six standard deviations away.
        let two = |random: &mut Random, n: usize| -> Vec<f64> {
            let mut values: Vec<f64> =
                (0..n).map(|i| random.normal() + if i % 3 == 0 { 0.0 } else { 6.0 }).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let mut random = Random(4);
        let found: Vec<_> = (0..100).filter_map(|_| modes(&two(&mut random, 90))).collect();
        assert!(found.len() >= 95, "{}", found.len());
        for Modes { centres: [low, high], low_share, p } in found {
            assert!(low.abs() < 1.0 && (high - 6.0).abs() < 1.0, "{low} {high}");
            assert!((low_share - 1.0 / 3.0).abs() < 0.1 && p <= SURE);
        }
    }

    proptest! {
        #[test]
        fn the_dip_is_within_its_bounds_and_knows_no_unit(
            mut values in prop::collection::vec((-40i32..40).prop_map(f64::from), 2..60),
        ) {
            values.sort_by(f64::total_cmp);
            if let Some(dip_here) = dip(&values) {
                let bounds = 0.5 / values.len() as f64 - 1e-12..=0.25 + 1e-12;
                prop_assert!(bounds.contains(&dip_here), "{}", dip_here);
                let scaled: Vec<f64> = values.iter().map(|x| x * 4.0 + 64.0).collect();
                prop_assert!((dip(&scaled).unwrap() - dip_here).abs() < 1e-9);
                prop_assert!(modes(&values).is_none_or(|found| found.centres[0] <= found.centres[1]));
            }
        }
    }
}
