//! An effect with its uncertainty: one interval for any confidence and a p-value for any hypothesis, which agree.

use crate::confidence::{Confidence, normal_cdf, normal_quantile, t_tail};

/// Rounds that are worth fewer independent ones than this get no interval.
pub const MIN_EFFECTIVE_ROUNDS: f64 = 6.0;

/// The relation of two rates as the logarithm of after / before, with all that was found about its uncertainty.
///
/// Positive is more work per second after than before. [`percent`] turns logarithms into the figures people read.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// ln(after / before), the 20 % trimmed mean over rounds.
    pub effect: f64,
    /// Interval of `effect` with confidence [`confidence`](Estimate::confidence).
    pub ci: [f64; 2],
    /// What `ci` may be relied on.
    pub confidence: Confidence,
    /// How the interval was made.
    pub method: Method,
    /// Rounds it is made of; of two stored runs the lesser number.
    pub rounds: usize,
    /// How many independent rounds they are worth, at most `rounds`.
    pub effective_rounds: f64,
    /// Two-sided probability of an effect at least so far from none if there is none. Not adjusted for other task counts.
    pub p: f64,
    /// What was seen in the rounds that the reader should know.
    pub notes: Vec<Note>,
    spread: Spread,
}

/// How an interval was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Bias-corrected and accelerated bootstrap (Efron 1987), seeded, with Student's t in place of the normal quantile.
    Bca,
    /// Student's t with the winsorised variance (Tukey and McLaughlin 1963): too few rounds for a bootstrap.
    T,
    /// Welch's t for two independent trimmed means (Yuen 1974): stored runs.
    Welch,
    /// All rounds are exactly equal: the interval has no width, and p is that of the sign test.
    Sign,
}

impl Method {
    /// For the user: "BCa bootstrap".
    pub fn name(self) -> &'static str {
        match self {
            Method::Bca => "BCa bootstrap",
            Method::T => "trimmed t",
            Method::Welch => "Yuen-Welch t",
            Method::Sign => "sign test",
        }
    }
}

/// Something seen in the rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Note {
    /// The effect itself changed during the run. Its neighbouring rounds resemble each other then, which widened the
    /// interval (see [`Note::Autocorrelation`]).
    Drift {
        /// Median log ratio of the last third minus that of the first.
        change: f64,
    },
    /// Neighbouring rounds resemble each other more than chance explains.
    Autocorrelation {
        /// Of neighbours, corrected for the bias of short series.
        r: f64,
        /// The interval is this many times as wide as independent rounds would have it.
        widened_by: f64,
    },
    /// The rounds fall into two heaps. The interval is for the mean over both; neither may ever be near it.
    Bimodal {
        /// Centres of the lower and the higher heap.
        modes: [f64; 2],
        /// Share of the rounds in the lower heap.
        low_share: f64,
        /// Of the dip test.
        p: f64,
    },
    /// The ratios take few values, as those of slices with few operations do. Equal ones are spread evenly over the step
    /// that they stand for.
    Quantised {
        /// Distance of neighbouring values.
        step: f64,
        /// What was added to the interval at either end: half a step where the noise is smaller than it, so that the truth
        /// may be anywhere within it; else nothing.
        widened_by: f64,
    },
}

/// Why there is no estimate.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum NoEstimate {
    /// Too few rounds for any interval.
    #[error("{rounds} rounds are worth {effective:.1} independent ones, at least 6 are needed")]
    TooFewRounds {
        /// That there are.
        rounds: usize,
        /// That they are worth.
        effective: f64,
    },
    /// A rate of zero has no ratio to anything.
    #[error("no operation was done in round {round}, so that there is no ratio", round = .round + 1)]
    ZeroRate {
        /// Index of the first such round.
        round: usize,
    },
    /// Paired rounds need as many of one as of the other.
    #[error("{before} rounds before and {after} after are no pairs")]
    UnequalRounds {
        /// Number of rounds before.
        before: usize,
        /// Number of rounds after.
        after: usize,
    },
}

impl NoEstimate {
    /// How many more rounds will probably do, as far as it is a matter of rounds.
    pub fn more_rounds(&self) -> Option<u32> {
        let NoEstimate::TooFewRounds { rounds, effective } = *self else { return None };
        let per_effective = if effective > 0.0 { rounds as f64 / effective } else { 1.0 };
        let needed = (MIN_EFFECTIVE_ROUNDS * per_effective).ceil() as u32;
        Some(needed.saturating_sub(rounds as u32).max(1))
    }
}

/// A log ratio as a change in per cent: ln 1.1 is 10.
pub fn percent(log_ratio: f64) -> f64 {
    100.0 * log_ratio.exp_m1()
}

/// A change in per cent as a log ratio: 10 is ln 1.1. None if it is not above -100.
pub fn log_ratio_of_percent(percent: f64) -> Option<f64> {
    (percent > -100.0).then(|| (percent / 100.0).ln_1p())
}

impl Estimate {
    pub(crate) fn new(
        effect: f64,
        spread: Spread,
        basis: Basis,
        confidence: Confidence,
    ) -> Estimate {
        let Basis { method, rounds, effective_rounds, notes } = basis;
        let ci = spread.interval(effect, confidence);
        let p = spread.p_value(effect, 0.0);
        Estimate { effect, ci, confidence, method, rounds, effective_rounds, p, notes, spread }
    }

    /// The interval for another confidence. A higher one never gives a narrower interval.
    pub fn interval(&self, confidence: Confidence) -> [f64; 2] {
        self.spread.interval(self.effect, confidence)
    }

    /// Two-sided p-value of the hypothesis that the effect is `hypothesis`: at most `confidence.alpha()` exactly where
    /// [`interval`](Estimate::interval) leaves it out.
    pub fn p_value(&self, hypothesis: f64) -> f64 {
        self.spread.p_value(self.effect, hypothesis)
    }

    /// p-value of the hypothesis that the effect is at least as large as `bound` in either direction (two one-sided
    /// tests, Schuirmann 1987). Small means: no such effect.
    /// Never small for a bound of 0, since no interval fits into nothing.
    pub fn p_equivalence(&self, bound: f64) -> f64 {
        let bound = bound.abs();
        if self.effect.abs() >= bound {
            return 1.0;
        }
        // The effect lies inside: either one-sided p is half of the two-sided one.
        self.p_value(bound).max(self.p_value(-bound)) / 2.0
    }

    /// Half of the interval's width for `confidence`, as a log ratio: what "± 1 %" means.
    pub fn half_width(&self, confidence: Confidence) -> f64 {
        let [low, high] = self.interval(confidence);
        (high - low) / 2.0
    }

    /// Can more rounds of the same kind be spoken of? The number of rounds that one effective round takes.
    pub(crate) fn rounds_per_effective(&self) -> f64 {
        self.rounds as f64 / self.effective_rounds
    }
}

/// What an estimate is made of, beside numbers.
pub(crate) struct Basis {
    pub(crate) method: Method,
    pub(crate) rounds: usize,
    pub(crate) effective_rounds: f64,
    pub(crate) notes: Vec<Note>,
}

/// How far the truth may be from the effect.
#[derive(Clone, Debug)]
pub(crate) enum Spread {
    /// Student's t: `error` > 0. `margin` is added at either end.
    T { error: f64, freedom: f64, margin: f64 },
    /// Bootstrap distribution.
    Bca(Bca),
    /// None was seen in `worth` effective rounds.
    Equal { worth: f64 },
}

/// A bootstrap distribution of the effect, and how to read it.
#[derive(Clone, Debug)]
pub(crate) struct Bca {
    /// Effects of the resamples in ascending order.
    pub(crate) replicates: Vec<f64>,
    /// Their standard deviation, > 0.
    pub(crate) sd: f64,
    /// Normal quantile of the share of the replicates below the effect.
    pub(crate) bias: f64,
    pub(crate) acceleration: f64,
    pub(crate) freedom: f64,
    /// Factor on t: the variance of a resample is (n-1)/n of what it should be (Hesterberg 2015).
    pub(crate) small_sample: f64,
    /// Factor on the distance from the effect: rounds that resemble each other.
    pub(crate) stretch: f64,
    pub(crate) margin: f64,
}

/// Replicates farther out than this many from either end are too few to go by: the tail is continued as a normal one.
const TAIL_REPLICATES: f64 = 10.0;

/// Beyond this many standard errors every p-value is as good as nothing.
const FAR: f64 = 1e3;

impl Spread {
    fn interval(&self, effect: f64, confidence: Confidence) -> [f64; 2] {
        match self {
            Spread::T { freedom, .. } => self.ends(effect, confidence.reach(*freedom)),
            Spread::Bca(bca) => self.ends(effect, confidence.reach(bca.freedom)),
            Spread::Equal { .. } => [effect, effect],
        }
    }

    fn p_value(&self, effect: f64, hypothesis: f64) -> f64 {
        match self {
            Spread::T { error, freedom, margin } => {
                let distance = ((effect - hypothesis).abs() - margin).max(0.0);
                (2.0 * t_tail(distance / error, *freedom)).min(1.0)
            }
            Spread::Bca(bca) => {
                let reach = self.reach_that_leaves_out(effect, hypothesis);
                (2.0 * t_tail(reach, bca.freedom)).min(1.0)
            }
            Spread::Equal { .. } if effect == hypothesis => 1.0,
            Spread::Equal { worth } => (2.0 * 0.5f64.powf(*worth)).min(1.0),
        }
    }

    /// The interval that reaches `reach` ≥ 0 standard errors to either side.
    fn ends(&self, effect: f64, reach: f64) -> [f64; 2] {
        match self {
            Spread::T { error, margin, .. } => {
                [effect - reach * error - margin, effect + reach * error + margin]
            }
            Spread::Bca(bca) => {
                let end = |z: f64| effect + bca.stretch * (bca.quantile(bca.adjusted(z)) - effect);
                let z = reach * bca.small_sample;
                [end(-z) - bca.margin, end(z) + bca.margin]
            }
            Spread::Equal { .. } => [effect, effect],
        }
    }

    /// The least reach whose interval does not hold `hypothesis`. By bisection, so that it is the interval's own inverse.
    fn reach_that_leaves_out(&self, effect: f64, hypothesis: f64) -> f64 {
        let holds = |reach| {
            let [low, high] = self.ends(effect, reach);
            low <= hypothesis && hypothesis <= high
        };
        if holds(FAR) {
            let (mut outside, mut inside) = (0.0, FAR);
            for _ in 0..60 {
                let middle = f64::midpoint(outside, inside);
                if holds(middle) { inside = middle } else { outside = middle }
            }
            outside
        } else {
            FAR
        }
    }
}

impl Bca {
    /// The normal score in the bootstrap distribution that stands for the score `z` (Efron 1987).
    fn adjusted(&self, z: f64) -> f64 {
        let score = self.bias + z;
        // At 1 the formula turns over; no sample of reasonable size comes near.
        self.bias + score / (1.0 - self.acceleration * score).max(0.1)
    }

    fn quantile(&self, z: f64) -> f64 {
        let count = self.replicates.len() as f64 + 1.0;
        let edge = normal_quantile(1.0 - TAIL_REPLICATES / count);
        let inside = z.clamp(-edge, edge);
        let place = (normal_cdf(inside) * count - 1.0).clamp(0.0, count - 2.0);
        let (index, part) = (place.floor() as usize, place.fract());
        let next = self.replicates[(index + 1).min(self.replicates.len() - 1)];
        let known = self.replicates[index] + part * (next - self.replicates[index]);
        known + (z - inside) * self.sd
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{estimate, simulate};

    #[test]
    fn per_cent_and_back() {
        assert!((percent(1.1f64.ln()) - 10.0).abs() < 1e-9);
        assert!((percent(log_ratio_of_percent(-12.4).unwrap()) + 12.4).abs() < 1e-9);
        assert_eq!(log_ratio_of_percent(-100.0), None);
    }

    #[test]
    fn equivalence_is_the_ninety_per_cent_interval_inside_the_bound() {
        let ninety = Confidence::new(0.9).unwrap();
        for n in [12, 60] {
            let rounds = simulate::Random(5).log_ratios(simulate::Noise::Tails, n);
            let one = estimate(&rounds, Confidence::P95).unwrap();
            let [low, high] = one.interval(ninety);
            let reach = low.abs().max(high.abs());
            assert!(one.p_equivalence(reach * 1.001) <= 0.05, "n = {n}");
            assert!(one.p_equivalence(reach * 0.999) >= 0.05, "n = {n}");
            assert_eq!(one.p_equivalence(0.0), 1.0);
            assert_eq!(one.p_equivalence(one.effect.abs()), 1.0);
        }
    }

    #[test]
    fn a_far_hypothesis_is_refuted_beyond_what_the_replicates_reach() {
        let rounds = simulate::Random(5).log_ratios(simulate::Noise::Tails, 100);
        let one = estimate(&rounds, Confidence::P95).unwrap();
        let (near, far) = (one.p_value(0.01), one.p_value(0.05));
        assert!(far < near && near < 1e-6 && far > 0.0, "{near} {far}");
    }

    #[test]
    fn what_is_missing_is_told_in_rounds() {
        let missing =
            |rounds, effective| NoEstimate::TooFewRounds { rounds, effective }.more_rounds();
        assert_eq!(missing(0, 0.0), Some(6));
        assert_eq!(missing(4, 4.0), Some(2));
        assert_eq!(missing(30, 3.0), Some(30));
        assert_eq!(NoEstimate::ZeroRate { round: 0 }.more_rounds(), None);
        let text = NoEstimate::ZeroRate { round: 0 }.to_string();
        assert_eq!(text, "no operation was done in round 1, so that there is no ratio");
    }
}
