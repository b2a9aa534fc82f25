//! The median and an interval for it that assumes no distribution, but does not take drifting rounds for independent ones.

use crate::lag1_autocorrelation;
use statrs::distribution::{Binomial, DiscreteCDF};

/// Independent values below which no interval between two of them covers the median in 95 % of cases: 1 - 2 × 2⁻⁵ < 0.95.
const MIN_INDEPENDENT: usize = 6;

/// The median; of an even number of values the midpoint of the middle two. None of no values.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let (low, high) = (sorted.get(values.len().saturating_sub(1) / 2)?, sorted[values.len() / 2]);
    Some(low.midpoint(high))
}

/// The geometric mean of values that are not negative; 0 if one of them is. None of no values.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logs: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (logs / values.len() as f64).exp())
}

/// A 95 % confidence interval of the median of `values`, which are in the order in which they were measured.
///
/// Its ends are two of the values, the k-th smallest and the k-th largest (Thompson 1936): how many of n independent values
/// lie below the median of the population is binomial(n, 1/2) whatever the distribution, and k is the largest rank for which
/// both tails together hold at most 5 %. The coverage is therefore at least 95 %, mostly a little more.
///
/// Rounds that follow each other on a drifting machine resemble each other and say less than as many independent ones. If
/// the lag-1 autocorrelation r is positive, k is the rank for n(1-r)/(1+r) values (the effective number of observations of
/// an AR(1) series, Bayley and Hammersley 1946), scaled back to n. That number is meant for means; for the median of a
/// normal AR(1) process it is on the safe side, since the correlation of being below the median at lag j, (2/π) asin(rʲ),
/// is at most rʲ.
///
/// Checked by simulation of AR(1) series: at least 95 % from 40 values on at r ≤ 0.6, and from 100 on at r = 0.8. Fewer
/// values tell little about their own correlation: 20 values cover 93 % at r = 0.6, ten 82 %.
///
/// None if there are fewer than six values, or if they are worth fewer than six: then no two of them enclose the median
/// surely enough. A correlation so small that independent values often show it too (r ≤ 1/√n) never withholds the
/// interval, only widens it.
pub fn median_ci95(values: &[f64]) -> Option<[f64; 2]> {
    interval(values, lag1_autocorrelation(values).unwrap_or(0.0))
}

/// The interval of [`median_ci95`] for a lag-1 autocorrelation `r` that the caller knows better.
pub(crate) fn interval(values: &[f64], r: f64) -> Option<[f64; 2]> {
    let n = values.len();
    let worth = effective_count(n, r);
    let rank = lower_rank(worth)?;
    // The count below the median exceeds rank - 1/2 with the same probability if both are stretched alike. Rounding down
    // moves the ends outwards.
    let rank = ((rank as f64 - 0.5) * n as f64 / worth as f64 + 0.5).floor() as usize;
    let sorted = sorted(values);
    Some([sorted[rank - 1], sorted[n - rank]])
}

/// How many independent values `n` values with lag-1 autocorrelation `r` are worth, at most `n`.
fn effective_count(n: usize, r: f64) -> usize {
    if r <= 0.0 {
        return n;
    }
    let worth = (n as f64 * (1.0 - r) / (1.0 + r)).floor() as usize;
    let may_be_chance = r <= 1.0 / (n as f64).sqrt();
    if may_be_chance { worth.max(MIN_INDEPENDENT.min(n)) } else { worth }
}

/// The largest k for which the k-th smallest and k-th largest of `n` independent values enclose the median with a
/// probability of at least 95 %; none if even the extremes do not.
fn lower_rank(n: usize) -> Option<usize> {
    // P(X < k) ≤ 2.5 % holds up to the smallest k with P(X ≤ k) > 2.5 %. Equality cannot occur: 1/40 is no dyadic number.
    let count_below = Binomial::new(0.5, n as u64).ok()?;
    let rank = count_below.inverse_cdf(0.025) as usize;
    (n >= MIN_INDEPENDENT && rank > 0).then_some(rank)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Random;
    use proptest::prelude::*;

    #[test]
    fn median_of_odd_even_and_none() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
        assert_eq!(median(&[9.0, 1.0, 5.0]), Some(5.0));
        assert_eq!(median(&[9.0, 1.0, 5.0, 6.0]), Some(5.5));
    }

    #[test]
    fn geometric_mean_is_that_of_the_factors() {
        assert_eq!(geometric_mean(&[]), None);
        assert!((geometric_mean(&[2.0, 8.0]).unwrap() - 4.0).abs() < 1e-12);
        assert_eq!(geometric_mean(&[0.0, 8.0]), Some(0.0));
    }

    #[test]
    fn ranks_are_those_of_the_published_table() {
        for n in 0..6 {
            assert_eq!(lower_rank(n), None, "n = {n}");
        }
        let table = [
            (6, 1),
            (7, 1),
            (8, 1),
            (9, 2),
            (10, 2),
            (11, 2),
            (12, 3),
            (15, 4),
            (17, 5),
            (20, 6),
            (25, 8),
            (30, 10),
            (50, 18),
            (51, 19),
            (71, 27),
            (100, 40),
        ];
        for (n, rank) in table {
            assert_eq!(lower_rank(n), Some(rank), "n = {n}");
        }
    }

    #[test]
    fn ranks_are_the_largest_with_at_most_a_fortieth_below() {
        for n in 6..=400usize {
            let (mut term, mut below, mut rank) = (0.5f64.powi(n as i32), 0.0, 0);
            while below + term <= 0.025 {
                below += term;
                term *= (n - rank) as f64 / (rank + 1) as f64;
                rank += 1;
            }
            assert_eq!(lower_rank(n), Some(rank), "n = {n}");
        }
    }

    #[test]
    fn ends_are_the_ranked_values_if_neighbours_are_unlike() {
        // 1, 20, 2, 19, ...: as far from a drift as can be.
        let values: Vec<f64> =
            (0..20).map(|i| if i % 2 == 0 { 1 + i / 2 } else { 20 - i / 2 } as f64).collect();
        assert_eq!(median_ci95(&values), Some([6.0, 15.0]));
    }

    #[test]
    fn a_pure_trend_has_no_interval_and_a_constant_has_width_zero() {
        assert_eq!(median_ci95(&(0..50).map(f64::from).collect::<Vec<_>>()), None);
        assert_eq!(median_ci95(&[7.0; 6]), Some([7.0, 7.0]));
        assert_eq!(median_ci95(&[7.0; 5]), None);
    }

    #[test]
    fn effective_count_follows_the_formula_but_not_chance() {
        assert_eq!(effective_count(100, -0.5), 100);
        assert_eq!(effective_count(100, 0.5), 33);
        assert_eq!(effective_count(6, 0.3), 6);
        assert_eq!(effective_count(6, 0.5), 2);
        assert_eq!(effective_count(3, 0.1), 3);
        assert_eq!(effective_count(100, 1.0), 0);
    }

    /// Share of the intervals that hold the true median, and share of the series that have one.
    fn coverage(n: usize, rho: f64, tries: usize) -> (f64, f64) {
        let mut random = Random(n as u64);
        let intervals: Vec<_> =
            (0..tries).filter_map(|_| median_ci95(&random.rates(n, rho))).collect();
        let covering = intervals.iter().filter(|[low, high]| (*low..=*high).contains(&1.0)).count();
        (covering as f64 / intervals.len() as f64, intervals.len() as f64 / tries as f64)
    }

    #[test]
    fn covers_as_promised_when_rounds_are_independent() {
        for n in [6, 9, 20, 50, 100] {
            let (covered, given) = coverage(n, 0.0, 2000);
            assert!(covered >= 0.95, "n = {n}: {covered}");
            assert!(given >= 0.85, "n = {n}: {given}");
        }
    }

    #[test]
    fn covers_as_promised_when_rounds_resemble_their_neighbours() {
        for (n, rho, promise) in [
            (20, 0.3, 0.94),
            (20, 0.6, 0.91),
            (40, 0.3, 0.95),
            (40, 0.6, 0.95),
            (100, 0.6, 0.95),
            (100, 0.8, 0.95),
            (300, 0.8, 0.95),
        ] {
            let (covered, _) = coverage(n, rho, 1000);
            assert!(covered >= promise, "n = {n}, rho = {rho}: {covered}");
        }
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_median_and_ends_at_values(
            values in prop::collection::vec(-1e9..1e9f64, 0..80),
        ) {
            if let Some([low, high]) = median_ci95(&values) {
                let median = median(&values).unwrap();
                prop_assert!(low <= median && median <= high);
                prop_assert!(values.contains(&low) && values.contains(&high));
            }
        }

        #[test]
        fn correlation_never_narrows_the_interval(
            values in prop::collection::vec(0.0..1.0f64, 6..80),
            r in -1.0..1.0f64,
        ) {
            let [low, high] = interval(&values, 0.0).unwrap();
            if let Some([wide_low, wide_high]) = interval(&values, r) {
                prop_assert!(wide_low <= low && high <= wide_high);
            }
        }
    }
}
