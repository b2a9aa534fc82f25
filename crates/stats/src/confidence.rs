//! A confidence as a type, and the quantiles of the normal and Student's t distributions that belong to it.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// How often a statement may be relied on: 0.95 is wrong at most once in twenty times. Strictly between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Confidence(f64);

impl Confidence {
    /// 95 %, what is meant where nothing is said.
    pub const P95: Confidence = Confidence(0.95);

    /// None unless 0 < `level` < 1.
    pub fn new(level: f64) -> Option<Confidence> {
        (level > 0.0 && level < 1.0).then_some(Confidence(level))
    }

    /// Between 0 and 1.
    pub fn level(self) -> f64 {
        self.0
    }

    /// 1 - level: the share of statements that may be wrong.
    pub fn alpha(self) -> f64 {
        1.0 - self.0
    }

    /// The confidence that each of `statements` needs, so that all of them hold together with this one (Bonferroni).
    pub fn for_each_of(self, statements: usize) -> Confidence {
        Confidence(1.0 - self.alpha() / statements.max(1) as f64)
    }

    /// The confidence of the two-sided interval whose either end is as sure as this one-sided: 90 % for 95 %.
    pub(crate) fn two_sided_of_one(self) -> Confidence {
        // Below a half a single end says nothing, and twice the error would be more than all.
        Confidence((1.0 - 2.0 * self.alpha()).max(f64::EPSILON))
    }

    /// How many standard errors of `freedom` degrees of freedom a two-sided interval reaches to either side.
    pub(crate) fn reach(self, freedom: f64) -> f64 {
        t_quantile(1.0 - self.alpha() / 2.0, freedom)
    }
}

/// The standard normal quantile of `p`, 0 < p < 1.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    Normal::standard().inverse_cdf(p)
}

/// P(standard normal ≤ z).
pub(crate) fn normal_cdf(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// Student's t quantile of `p`, 0 < p < 1; that of the normal distribution if `freedom` is no positive number.
pub(crate) fn t_quantile(p: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or_else(|_| normal_quantile(p), |t| t.inverse_cdf(p))
}

/// P(T > t) for `t` ≥ 0, exact in the far tail.
pub(crate) fn t_tail(t: f64, freedom: f64) -> f64 {
    // By symmetry the lower tail, which is no difference of nearly equal numbers.
    StudentsT::new(0.0, 1.0, freedom).map_or_else(|_| normal_cdf(-t), |dist| dist.cdf(-t))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confidence_is_between_none_and_all() {
        for level in [0.0, 1.0, -1.0, 95.0, f64::NAN] {
            assert_eq!(Confidence::new(level), None, "{level}");
        }
        assert_eq!(Confidence::new(0.95), Some(Confidence::P95));
    }

    #[test]
    fn several_statements_share_the_error() {
        assert!((Confidence::P95.for_each_of(5).level() - 0.99).abs() < 1e-12);
        assert_eq!(Confidence::P95.for_each_of(0), Confidence::P95);
        assert!((Confidence::P95.two_sided_of_one().level() - 0.90).abs() < 1e-12);
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, p, t) in [
            (1.0, 0.975, 12.706_2),
            (3.0, 0.975, 3.182_4),
            (9.0, 0.95, 1.833_1),
            (10.0, 0.995, 3.169_3),
            (29.0, 0.975, 2.045_2),
            (1000.0, 0.975, 1.962_3),
        ] {
            assert!((t_quantile(p, freedom) - t).abs() < 1e-3, "{freedom} {p}");
            assert!((t_tail(t, freedom) - (1.0 - p)).abs() < 1e-5, "{freedom} {p}");
        }
        assert!((Confidence::P95.reach(9.0) - 2.262_2).abs() < 1e-3);
        assert!((normal_quantile(0.975) - 1.959_964).abs() < 1e-5);
        assert!((normal_cdf(-3.0) - 0.001_349_9).abs() < 1e-6);
    }

    #[test]
    fn far_tails_are_small_and_not_nothing() {
        let tail = t_tail(40.0, 200.0);
        assert!(tail > 0.0 && tail < 1e-80, "{tail}");
    }
}
