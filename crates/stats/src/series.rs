//! Values in the order of their measurement: do neighbours resemble each other, and did the machine change underneath?
//!
//! Both questions are put to ranks, not to the values: a single slice that was preempted is so far out that it would hide
//! any resemblance of the others.

use crate::median::{interval, median};

/// Correlation of each value's rank with that of the value after it, from -1 to 1 (serial rank correlation, Wald and
/// Wolfowitz 1943; equal values share the mean of their ranks). Independent values give about -1/n.
///
/// None if it is not defined: fewer than two values, or all equal.
pub fn lag1_autocorrelation(values: &[f64]) -> Option<f64> {
    let mean = (values.len() as f64 + 1.0) / 2.0;
    correlation_of_neighbours(&ranks(values).iter().map(|rank| rank - mean).collect::<Vec<_>>())
}

/// Relative change from the median of the first third to the median of the last third of `values`: 0.1 is 10 % faster if
/// they are rates.
///
/// None if noise explains it, that is, unless the 95 % intervals of the two medians are disjoint. That is stricter than a
/// test of the difference at 5 %: less than 1 % false alarms for independent noise. The intervals are those of
/// [`median_ci95`](crate::median_ci95), but the correlation that widens them is taken after removal of each third's own
/// linear trend (as Hamed and Rao 1998 do for the Mann-Kendall test): otherwise a steady drift, the very thing looked
/// for, would count as noise. Also none if there are fewer than 18 values, or if the first median is 0.
pub fn drift(values: &[f64]) -> Option<f64> {
    let (before, after) = changed_thirds(values)?;
    (before != 0.0).then(|| after / before - 1.0)
}

/// As [`drift`], but the difference of the two medians: for values that may be negative, such as log ratios.
pub(crate) fn shift(values: &[f64]) -> Option<f64> {
    changed_thirds(values).map(|(before, after)| after - before)
}

/// The medians of the first and the last third if noise does not explain their difference.
fn changed_thirds(values: &[f64]) -> Option<(f64, f64)> {
    let third = values.len() / 3;
    let (first, last) = (&values[..third], &values[values.len() - third..]);
    let [first_low, first_high] = interval(first, autocorrelation_without_trend(first))?;
    let [last_low, last_high] = interval(last, autocorrelation_without_trend(last))?;
    let (before, after) = (median(first)?, median(last)?);
    let disjoint = last_high < first_low || first_high < last_low;
    disjoint.then_some((before, after))
}

/// Lag-1 autocorrelation of what is left of the ranks after their least-squares line; 0 if nothing is.
fn autocorrelation_without_trend(values: &[f64]) -> f64 {
    let mean = (values.len() as f64 + 1.0) / 2.0;
    let centred: Vec<(f64, f64)> = ranks(values)
        .iter()
        .enumerate()
        .map(|(i, rank)| ((i + 1) as f64 - mean, rank - mean))
        .collect();
    let time_square: f64 = centred.iter().map(|(time, _)| time * time).sum();
    let slope = centred.iter().map(|(time, rank)| time * rank).sum::<f64>() / time_square;
    let residuals: Vec<f64> = centred.iter().map(|(time, rank)| rank - slope * time).collect();
    correlation_of_neighbours(&residuals).unwrap_or(0.0)
}

/// Σ x(t) x(t+1) / Σ x(t)² of values with mean 0; none if they are all 0.
pub(crate) fn correlation_of_neighbours(centred: &[f64]) -> Option<f64> {
    let square: f64 = centred.iter().map(|x| x * x).sum();
    let product: f64 = centred.windows(2).map(|pair| pair[0] * pair[1]).sum();
    (square > 0.0).then(|| product / square)
}

/// The rank of each value, from 1; equal values share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for equal in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let shared = before as f64 + (equal.len() as f64 + 1.0) / 2.0;
        equal.iter().for_each(|&i| ranks[i] = shared);
        before += equal.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Random;

    #[test]
    fn equal_values_share_their_ranks() {
        assert_eq!(ranks(&[5.0, 1.0, 5.0, 9.0]), [2.5, 1.0, 2.5, 4.0]);
        assert_eq!(ranks(&[]), [] as [f64; 0]);
    }

    #[test]
    fn autocorrelation_of_known_series() {
        assert_eq!(lag1_autocorrelation(&[]), None);
        assert_eq!(lag1_autocorrelation(&[1.0]), None);
        assert_eq!(lag1_autocorrelation(&[2.0, 2.0, 2.0]), None);
        // Ranks 1 2 3 4 about 2.5: (0.75 - 0.25 + 0.75) / 5.
        assert_eq!(lag1_autocorrelation(&[1.0, 2.0, 4.0, 8.0]), Some(0.25));
        assert_eq!(lag1_autocorrelation(&[1.0, 9.0, 1.0, 9.0]), Some(-0.75));
    }

    #[test]
    fn autocorrelation_finds_the_correlation_behind_a_heavy_tail() {
        for rho in [0.0, 0.5, 0.8] {
            let mut values = Random(7).rates(5000, rho);
            values[1234] = -1e9;
            let r = lag1_autocorrelation(&values).unwrap();
            assert!((r - rho).abs() < 0.05, "rho = {rho}: {r}");
        }
    }

    #[test]
    fn a_steady_drift_and_a_step_are_found_with_their_size() {
        let slope: Vec<f64> = (0..60).map(|i| 100.0 + f64::from(i)).collect();
        // Medians of 100..=119 and 140..=159.
        assert_eq!(drift(&slope), Some(149.5 / 109.5 - 1.0));

        let step = |i: usize| if i < 30 { 1.0 } else { 0.95 };
        let stepped = |seed| -> Vec<f64> {
            Random(seed).rates(60, 0.0).iter().enumerate().map(|(i, x)| x * step(i)).collect()
        };
        let found: Vec<f64> = (0..200).filter_map(|seed| drift(&stepped(seed))).collect();
        assert!(found.len() >= 190, "found {} of 200 steps of five times the noise", found.len());
        assert!(found.iter().all(|change| (change + 0.05).abs() < 0.02), "{found:?}");
    }

    #[test]
    fn too_few_values_or_none_to_relate_to_say_nothing() {
        assert_eq!(drift(&[]), None);
        assert_eq!(drift(&(1..=17).map(f64::from).collect::<Vec<_>>()), None);
        assert!(drift(&(1..=18).map(f64::from).collect::<Vec<_>>()).is_some());
        let from_zero: Vec<f64> = (0..18).map(|i| if i < 6 { 0.0 } else { 1.0 }).collect();
        assert_eq!(drift(&from_zero), None);
    }

    fn false_alarms(n: usize, rho: f64) -> f64 {
        let mut random = Random(3);
        (0..2000).filter(|_| drift(&random.rates(n, rho)).is_some()).count() as f64 / 2000.0
    }

    #[test]
    fn noise_is_seldom_called_drift() {
        for n in [18, 60, 150] {
            let alarms = false_alarms(n, 0.0);
            assert!(alarms < 0.01, "n = {n}: {alarms}");
        }
        for n in [60, 150] {
            let alarms = false_alarms(n, 0.5);
            assert!(alarms < 0.03, "n = {n}, correlated: {alarms}");
        }
    }
}
