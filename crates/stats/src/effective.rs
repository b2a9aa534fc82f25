//! How many independent rounds a series of rounds is worth to its trimmed mean.
//!
//! Not by ranks as for the median (see [`median_ci95`](crate::median_ci95)): what counts is how the values that make up the
//! trimmed mean resemble each other, and those are the winsorised ones, its influence function. Two estimates are made and
//! the more cautious is used. The first takes the series for an AR(1) process, whose lag-1 correlation r makes n values
//! worth n(1-r)/(1+r), r taken larger than it was seen; it is the surer one for short series. The second
//! adds up the correlations of longer lags, for what a machine does slowly underneath quick noise has a small correlation
//! that lasts.

use crate::estimate::MIN_EFFECTIVE_ROUNDS;
use crate::series::shift;
use crate::trimmed::Sorted;

/// What rounds tell about each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Worth {
    /// How many independent rounds they are worth, at most their number.
    pub(crate) effective_rounds: f64,
    /// The correlation of neighbours, corrected for its bias, if chance seldom shows as much (one-sided 1 %).
    pub(crate) correlation: Option<f64>,
}

impl Worth {
    /// Of values in the order of their measurement.
    pub(crate) fn of(values: &[f64]) -> Worth {
        let n = values.len() as f64;
        let Some(correlations) = Correlations::of(values) else {
            return Worth { effective_rounds: n, correlation: None };
        };
        let seen = correlations.at(1);
        let r = corrected(seen, n);
        let slow = correlations.sum_of_lags();
        let inflation = first_order(r).max(slow).max(1.0);
        let cautious = first_order((r + caution(seen, n)).min(MOST)).max(inflation);
        // A correlation that independent values often show too widens an interval but never withholds it.
        let may_be_chance = seen <= 1.0 / n.sqrt();
        // Nor does a drift: what it is worth is then told by the width, and the caller tells of the drift. Nor does caution.
        let has_floor = may_be_chance || shift(values).is_some();
        let least = if has_floor { n } else { n / inflation };
        let effective_rounds = (n / cautious).max(MIN_EFFECTIVE_ROUNDS.min(least));
        let significant = seen > 2.326 / n.sqrt() || inflation > SLOW && !may_be_chance;
        Worth { effective_rounds, correlation: significant.then_some(r) }
    }
}

/// The largest correlation that is believed.
const MOST: f64 = 0.99;

/// An inflation of the variance that is worth a word even if neighbours show little.
const SLOW: f64 = 3.0;

/// By which an AR(1) process with this correlation has a larger variance of its mean than independent values.
fn first_order(r: f64) -> f64 {
    (1.0 + r) / (1.0 - r)
}

/// A lag-1 correlation freed from its bias: a short series is centred on its own mean, which hides (1 + 4r)/n of its
/// correlation (Marriott and Pope 1954). At most [`MOST`], for a series that is all trend is worth next to nothing.
fn corrected(seen: f64, n: f64) -> f64 {
    (seen + (1.0 + 4.0 * seen.max(0.0)) / n).min(MOST)
}

/// What is added to a correlation, lest it be taken for too small: the end of its one-sided 90 % interval, and less if it is
/// less than its own standard error, for independent rounds need none. Whoever stops when intervals are narrow stops where
/// chance has shown too little correlation; see [`precise_enough`](crate::precise_enough).
fn caution(seen: f64, n: f64) -> f64 {
    (seen * n.sqrt()).clamp(0.0, 1.0) * 1.28 * ((1.0 - seen * seen) / n).sqrt()
}

/// Correlations of the winsorised values of a series by lag.
struct Correlations {
    centred: Vec<f64>,
    square: f64,
}

impl Correlations {
    /// None if the winsorised values are all equal or none.
    fn of(values: &[f64]) -> Option<Correlations> {
        let sorted = Sorted::new(values)?;
        let middle = sorted.middle();
        let (low, high) = (middle[0], middle[middle.len() - 1]);
        let winsorised = || values.iter().map(|x| x.clamp(low, high));
        let mean = winsorised().sum::<f64>() / values.len() as f64;
        let centred: Vec<f64> = winsorised().map(|x| x - mean).collect();
        let square = centred.iter().map(|x| x * x).sum();
        (low < high && square > 0.0).then_some(Correlations { centred, square })
    }

    fn at(&self, lag: usize) -> f64 {
        let later = self.centred.iter().skip(lag);
        self.centred.iter().zip(later).map(|(a, b)| a * b).sum::<f64>() / self.square
    }

    /// 1 + 2 Σ r(j), by which the variance of the mean is larger than that of independent values. The correlations are
    /// added in pairs of lags as long as a pair is more than its standard error (after Geyer 1992, whose rule, as long as
    /// it is positive, finds correlation in independent values half of the time).
    fn sum_of_lags(&self) -> f64 {
        let n = self.centred.len();
        let error = (2.0 / n as f64).sqrt();
        let r = |lag| corrected(self.at(lag), n as f64);
        let pairs = (1..n / 3).step_by(2).map(|lag| r(lag) + r(lag + 1));
        1.0 + 2.0 * pairs.take_while(|&pair| pair > error).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Noise, Random};

    /// Mean of rounds per effective round over some series.
    fn inflation(noise: Noise, n: usize) -> f64 {
        let mut random = Random(11);
        let one = |_| n as f64 / Worth::of(&random.log_ratios(noise, n)).effective_rounds;
        (0..200).map(one).sum::<f64>() / 200.0
    }

    #[test]
    fn finds_the_inflation_of_known_processes() {
        // (1 + r)/(1 - r), which is 1.9 and 4.0, and what caution adds; for `Slow` 1 + 2 × 0.28 × 0.9/0.1.
        for (noise, n, low, high) in [
            (Noise::Ar1(0.0), 100, 1.0, 1.4),
            (Noise::Tails, 100, 1.0, 1.4),
            (Noise::Ar1(0.3), 400, 1.9, 2.4),
            (Noise::Ar1(0.6), 400, 4.0, 5.3),
            (Noise::Modes { stay: 0.8 }, 400, 4.0, 5.3),
            (Noise::Slow, 400, 3.5, 6.5),
        ] {
            let found = inflation(noise, n);
            assert!((low..high).contains(&found), "{noise:?}: {found}");
        }
    }

    #[test]
    fn independent_rounds_are_seldom_called_correlated() {
        let mut random = Random(12);
        let alarms = (0..1000)
            .filter(|_| Worth::of(&random.log_ratios(Noise::Tails, 60)).correlation.is_some())
            .count();
        assert!(alarms <= 20, "{alarms} of 1000");
    }

    #[test]
    fn neither_chance_nor_a_drift_withholds_an_interval() {
        let trend: Vec<f64> = (0..60).map(f64::from).collect();
        assert_eq!(Worth::of(&trend).effective_rounds, MIN_EFFECTIVE_ROUNDS);
        // Too short to tell a drift from a correlation.
        assert!(Worth::of(&trend[..12]).effective_rounds < MIN_EFFECTIVE_ROUNDS);
        assert_eq!(Worth::of(&[1.0; 9]).effective_rounds, 9.0);
        assert_eq!(Worth::of(&[]).effective_rounds, 0.0);
    }
}
