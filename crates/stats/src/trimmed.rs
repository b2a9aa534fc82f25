//! The 20 % trimmed mean, its standard error and its jackknife: what stands for many noisy rounds.
//!
//! Why this and not the mean or the median: slices on a shared machine have heavy one-sided tails, which ruin the mean;
//! the median is robust but not smooth (leaving one value out moves it by a whole gap, so that the jackknife, and with it
//! BCa, does not work for it) and wastes a third of the rounds where the noise happens to be tame. The 20 % trimmed mean
//! (Tukey and McLaughlin 1963; Wilcox recommends 20 %) withstands a fifth of the values being anything on either side, is
//! smooth, and has a closed standard error.

/// Share of the values left out at either end.
const TRIM: f64 = 0.2;

/// How many of `n` values are left out at either end.
fn cut(n: usize) -> usize {
    (n as f64 * TRIM).floor() as usize
}

/// How many of `n` values are worth keeping, for a number that need not be whole.
fn kept(n: f64) -> f64 {
    n - 2.0 * (n * TRIM).floor()
}

/// Values in ascending order, at least one.
#[derive(Clone, Debug)]
pub(crate) struct Sorted(Vec<f64>);

impl Sorted {
    /// None of no values.
    pub(crate) fn new(values: &[f64]) -> Option<Sorted> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        (!sorted.is_empty()).then_some(Sorted(sorted))
    }

    pub(crate) fn values(&self) -> &[f64] {
        &self.0
    }

    /// The values that are not cut off.
    pub(crate) fn middle(&self) -> &[f64] {
        let cut = cut(self.0.len());
        &self.0[cut..self.0.len() - cut]
    }

    pub(crate) fn trimmed_mean(&self) -> f64 {
        mean(self.middle())
    }

    /// Sum of squares about the mean after the values cut off are replaced by the outermost that are kept.
    fn winsorised_squares(&self) -> f64 {
        let (cut, middle) = (cut(self.0.len()) as f64, self.middle());
        let (low, high) = (middle[0], middle[middle.len() - 1]);
        // All equal must give exactly 0, which a mean with rounding errors would not.
        if low == high {
            return 0.0;
        }
        let sum = middle.iter().sum::<f64>() + cut * (low + high);
        let mean = sum / self.0.len() as f64;
        let square = |x: f64| (x - mean) * (x - mean);
        middle.iter().map(|&x| square(x)).sum::<f64>() + cut * (square(low) + square(high))
    }

    /// What Yuen (1974) needs of this sample if it is worth only `worth` independent values.
    pub(crate) fn standard_error(&self, worth: f64) -> StandardError {
        let (n, kept_all) = (self.0.len() as f64, kept(self.0.len() as f64));
        let variance = self.winsorised_squares() / (kept_all * (kept_all - 1.0).max(1.0));
        let freedom = (kept(worth) - 1.0).max(1.0);
        StandardError { value: (variance * n / worth).sqrt(), freedom }
    }

    /// The trimmed mean without the value at `index`, for each index.
    pub(crate) fn jackknife(&self) -> Vec<f64> {
        let n = self.0.len() - 1;
        let (from, to) = (cut(n), n - cut(n));
        let mut prefix = vec![0.0];
        prefix.extend(self.0.iter().scan(0.0, |sum, &x| {
            *sum += x;
            Some(*sum)
        }));
        let mean_without = |left_out: usize| {
            // Where the window reaches beyond the value left out it lies one place further.
            let shifted = |end: usize| if end > left_out { end + 1 } else { end };
            let sum = prefix[shifted(to)] - prefix[shifted(from)];
            let inside = (from..to).contains(&left_out);
            (if inside { sum - self.0[left_out] } else { sum }) / (to - from) as f64
        };
        (0..self.0.len()).map(mean_without).collect()
    }

    /// The trimmed mean of a sample of the same size drawn with replacement. `counts` is scratch space.
    pub(crate) fn resampled(&self, random: &mut fastrand::Rng, counts: &mut Vec<u32>) -> f64 {
        let n = self.0.len();
        counts.clear();
        counts.resize(n, 0);
        for _ in 0..n {
            counts[random.usize(..n)] += 1;
        }
        // Counting spares sorting: the values are in order already.
        let (from, to) = (cut(n), n - cut(n));
        let (mut seen, mut sum) = (0, 0.0);
        for (&x, &count) in self.0.iter().zip(&*counts) {
            let (first, end) = (seen, seen + count as usize);
            seen = end;
            sum += x * end.min(to).saturating_sub(first.max(from)) as f64;
            if end >= to {
                break;
            }
        }
        sum / (to - from) as f64
    }
}

/// The standard error of a trimmed mean and what it is worth.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StandardError {
    pub(crate) value: f64,
    /// Degrees of freedom.
    pub(crate) freedom: f64,
}

/// The 20 % trimmed mean; none of no values.
pub fn trimmed_mean(values: &[f64]) -> Option<f64> {
    Sorted::new(values).map(|sorted| sorted.trimmed_mean())
}

fn mean(values: &[f64]) -> f64 {
    // Exact where all are equal.
    let first = values[0];
    first + values.iter().map(|x| x - first).sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sorted(values: &[f64]) -> Sorted {
        Sorted::new(values).unwrap()
    }

    #[test]
    fn a_fifth_is_left_out_at_either_end() {
        assert_eq!(trimmed_mean(&[]), None);
        assert_eq!(trimmed_mean(&[4.0]), Some(4.0));
        assert_eq!(trimmed_mean(&[1.0, 2.0, 3.0, 4.0]), Some(2.5));
        assert_eq!(trimmed_mean(&[1e9, 2.0, 3.0, 4.0, -1e9]), Some(3.0));
    }

    /// Self-awareness data of Dana (1990) as Wilcox's textbooks have them: trimmed mean 282.7, winsorised variance 21551.4.
    #[test]
    fn agrees_with_the_textbook() {
        let data = [
            77., 87., 88., 114., 151., 210., 219., 246., 253., 262., 296., 299., 306., 376., 428.,
            515., 666., 1310., 2611.,
        ];
        let sorted = sorted(&data);
        let error = sorted.standard_error(data.len() as f64);
        assert!((sorted.trimmed_mean() - 282.7).abs() < 0.05, "{}", sorted.trimmed_mean());
        assert_eq!(error.freedom, 12.0);
        let yuen = (18.0 * 21551.4f64 / (13.0 * 12.0)).sqrt();
        assert!((error.value - yuen).abs() < 0.01, "{error:?}");
    }

    #[test]
    fn equal_values_have_exactly_no_error() {
        assert_eq!(sorted(&[0.1; 7]).standard_error(7.0).value, 0.0);
        assert_eq!(sorted(&[0.1; 7]).trimmed_mean(), 0.1);
    }

    #[test]
    fn rounds_worth_a_quarter_double_the_error() {
        let sorted = sorted(&(0..40).map(f64::from).collect::<Vec<_>>());
        let (all, quarter) = (sorted.standard_error(40.0), sorted.standard_error(10.0));
        assert!((quarter.value / all.value - 2.0).abs() < 1e-12);
        assert_eq!((all.freedom, quarter.freedom), (23.0, 5.0));
    }

    #[test]
    fn resampling_spreads_as_the_standard_error_says() {
        let values: Vec<f64> = (0..100).map(|i| f64::from(i * i % 101)).collect();
        let (sorted, mut random, mut counts) =
            (sorted(&values), fastrand::Rng::with_seed(1), Vec::new());
        let means: Vec<f64> =
            (0..4000).map(|_| sorted.resampled(&mut random, &mut counts)).collect();
        let centre = mean(&means);
        let sd = (means.iter().map(|x| (x - centre).powi(2)).sum::<f64>() / 3999.0).sqrt();
        let ratio = sd / sorted.standard_error(100.0).value;
        assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
    }

    proptest! {
        #[test]
        fn the_jackknife_is_leaving_one_out(values in prop::collection::vec(-1e3..1e3f64, 2..40)) {
            let sorted = sorted(&values);
            for (index, mean) in sorted.jackknife().into_iter().enumerate() {
                let mut others = sorted.values().to_vec();
                others.remove(index);
                prop_assert!((mean - trimmed_mean(&others).unwrap()).abs() < 1e-8);
            }
        }

        #[test]
        fn the_mean_is_among_the_middle(values in prop::collection::vec(-1e3..1e3f64, 1..40)) {
            let (sorted, mut counts) = (sorted(&values), Vec::new());
            let (low, high) = (sorted.values()[0], sorted.values()[values.len() - 1]);
            let drawn = sorted.resampled(&mut fastrand::Rng::with_seed(7), &mut counts);
            for mean in [sorted.trimmed_mean(), drawn] {
                prop_assert!(low - 1e-9 <= mean && mean <= high + 1e-9);
            }
        }
    }
}
