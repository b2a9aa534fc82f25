//! What may be said about each task count, all counts taken together: faster, slower, no difference, undecided.
//!
//! Two questions are put to every count. *Different?* The hypothesis of no effect, two-sided, Holm's method over the
//! counts. *Equivalent?* The hypothesis of an effect of at least the bound, two one-sided tests (the 90 % interval inside
//! the bound), Holm's method again. A count that is different is called faster or slower with its size even if that lies
//! inside the bound: a small difference that is sure is still one, and the reader has its size. "No difference larger than
//! the bound" is said only where none was found.
//!
//! The interval beside a verdict never contradicts it. It is the interval for the count's share of the error (Bonferroni:
//! all m intervals hold together with the confidence asked for), for equivalence the one of the two one-sided tests. Where
//! Holm's method, which is sharper than Bonferroni's, rejects a hypothesis that the interval still touches, the interval is
//! cut there: what is rejected is not in it.

use crate::confidence::Confidence;
use crate::estimate::{Estimate, Method, NoEstimate};
use crate::holm::holm;

/// More rounds than this are no advice.
const MAX_MORE_ROUNDS: f64 = 1e6;

/// What may be said about one task count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// After does more work per second than before.
    Faster,
    /// After does less work per second than before.
    Slower,
    /// No difference was found and one larger than the bound is ruled out.
    NoDifference {
        /// As a log ratio, in either direction.
        bound: f64,
    },
    /// Neither a difference nor its absence is shown.
    Undecided {
        /// How many more rounds would probably decide it, if effect and noise stay what they are. None if no number of
        /// rounds can be told, or more than a million.
        more_rounds: Option<u32>,
    },
}

/// A verdict and what is printed beside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// What may be said.
    pub verdict: Verdict,
    /// Interval of the log ratio that agrees with the verdict; none if there is no estimate.
    pub interval: Option<[f64; 2]>,
    /// p-value of no effect, adjusted for the other task counts; none if there is no estimate.
    pub p: Option<f64>,
}

/// Judges all task counts of one comparison together.
///
/// `bound` is the largest log ratio, in either direction, that the reader would call none; `confidence` is that of all
/// verdicts "faster" and "slower" together, and of all "no difference" together. Counts without an estimate are undecided
/// and take no share of the error.
pub fn judge(
    estimates: &[Result<Estimate, NoEstimate>],
    bound: f64,
    confidence: Confidence,
) -> Vec<Judged> {
    let known: Vec<&Estimate> = estimates.iter().flatten().collect();
    let family = Family { count: known.len(), bound: bound.abs(), confidence };
    let different = holm(&known.iter().map(|one| one.p_value(0.0)).collect::<Vec<_>>());
    let equivalent =
        holm(&known.iter().map(|one| one.p_equivalence(family.bound)).collect::<Vec<_>>());
    let mut ps = different.into_iter().zip(equivalent);
    let judged = |estimate: &Result<Estimate, NoEstimate>| match estimate {
        Err(why) => {
            let verdict = Verdict::Undecided { more_rounds: why.more_rounds() };
            Judged { verdict, interval: None, p: None }
        }
        Ok(estimate) => {
            let (different, equivalent) = ps.next().unwrap_or((1.0, 1.0));
            family.judge(estimate, different, equivalent)
        }
    };
    estimates.iter().map(judged).collect()
}

/// What the task counts of a comparison share.
struct Family {
    count: usize,
    bound: f64,
    confidence: Confidence,
}

impl Family {
    fn judge(&self, estimate: &Estimate, different: f64, equivalent: f64) -> Judged {
        let (alpha, bound) = (self.confidence.alpha(), self.bound);
        let [low, high] = estimate.interval(self.confidence.for_each_of(self.count));
        let (verdict, interval) = if different <= alpha && estimate.effect > 0.0 {
            (Verdict::Faster, [low.max(0.0), high])
        } else if different <= alpha && estimate.effect < 0.0 {
            (Verdict::Slower, [low, high.min(0.0)])
        } else if equivalent <= alpha {
            let [low, high] = estimate.interval(self.one_sided());
            // The effect may be sure within the 90 % interval and yet not found: both questions stay apart.
            (Verdict::NoDifference { bound }, [low.clamp(-bound, 0.0), high.clamp(0.0, bound)])
        } else {
            let verdict = Verdict::Undecided { more_rounds: self.more_rounds(estimate) };
            (verdict, [low.min(0.0), high.max(0.0)])
        };
        Judged { verdict, interval: Some(interval), p: Some(different) }
    }

    /// Of the interval that shows equivalence.
    fn one_sided(&self) -> Confidence {
        self.confidence.for_each_of(self.count).two_sided_of_one()
    }

    /// Rounds until the interval leaves out 0 or lies inside the bound, whichever is sooner. An interval's width falls with
    /// the root of the number of rounds.
    fn more_rounds(&self, estimate: &Estimate) -> Option<u32> {
        if estimate.method == Method::Sign {
            // 2 × 2⁻ⁿ has to come down to the count's share of the error.
            let needed = (2.0 * self.count as f64 / self.confidence.alpha()).log2();
            return (estimate.effect != 0.0)
                .then(|| (needed - estimate.effective_rounds).ceil().max(1.0) as u32);
        }
        let size = estimate.effect.abs();
        let difference = estimate.half_width(self.confidence.for_each_of(self.count)) / size;
        let equivalence = estimate.half_width(self.one_sided()) / (self.bound - size);
        let factor = [difference, equivalence]
            .into_iter()
            .filter(|ratio| ratio.is_finite() && *ratio > 0.0)
            .map(|ratio| ratio * ratio)
            .reduce(f64::min)?;
        let more = (estimate.rounds as f64 * (factor - 1.0)).ceil();
        // So near to a decision that chance kept it back: as many rounds as are worth one more that is independent.
        let more = more.max(estimate.rounds_per_effective().ceil());
        (more <= MAX_MORE_ROUNDS).then_some(more as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate;
    use crate::simulate::{Noise, Random};

    const BOUND: f64 = 0.01;

    /// Rounds of tame noise (1 %) about `effect`.
    fn rounds(random: &mut Random, effect: f64, n: usize) -> Vec<f64> {
        random.log_ratios(Noise::Ar1(0.0), n).iter().map(|x| x + effect).collect()
    }

    fn judge_all(effects: &[(f64, usize)], seed: u64) -> Vec<Judged> {
        let mut random = Random(seed);
        let estimates: Vec<_> = effects
            .iter()
            .map(|&(effect, n)| estimate(&rounds(&mut random, effect, n), Confidence::P95))
            .collect();
        judge(&estimates, BOUND, Confidence::P95)
    }

    #[test]
    fn says_what_the_rounds_show() {
        let judged = judge_all(&[(0.05, 60), (-0.05, 60), (0.0, 100), (0.0, 8), (0.0, 4)], 3);
        let verdicts: Vec<_> = judged.iter().map(|one| one.verdict).collect();
        assert!(
            matches!(
                verdicts[..],
                [
                    Verdict::Faster,
                    Verdict::Slower,
                    Verdict::NoDifference { bound: BOUND },
                    Verdict::Undecided { more_rounds: Some(_) },
                    Verdict::Undecided { more_rounds: Some(2) }
                ]
            ),
            "{verdicts:?}"
        );
        assert_eq!((judged[4].interval, judged[4].p), (None, None));
    }

    #[test]
    fn a_difference_that_is_sure_is_one_even_within_the_bound() {
        let judged = judge_all(&[(0.005, 400)], 4)[0];
        assert_eq!(judged.verdict, Verdict::Faster);
        let [low, high] = judged.interval.unwrap();
        assert!(low > 0.0 && high < BOUND, "{judged:?}");
    }

    #[test]
    fn the_verdict_never_contradicts_its_interval() {
        let mut seen = [0; 4];
        for seed in 0..200 {
            let effects =
                [(0.004, 40), (0.0, 40), (0.008, 15), (0.0, 90), (-0.02, 12), (0.003, 12)];
            for judged in judge_all(&effects[..1 + seed as usize % 6], seed) {
                let (Some([low, high]), Some(p)) = (judged.interval, judged.p) else {
                    // Few rounds that look correlated by chance.
                    assert!(matches!(judged.verdict, Verdict::Undecided { .. }));
                    continue;
                };
                assert!(low <= high);
                match judged.verdict {
                    Verdict::Faster => assert!(low >= 0.0 && p <= 0.05),
                    Verdict::Slower => assert!(high <= 0.0 && p <= 0.05),
                    Verdict::NoDifference { bound } => {
                        assert!(-bound <= low && low <= 0.0 && 0.0 <= high && high <= bound);
                        assert!(p > 0.05);
                    }
                    Verdict::Undecided { .. } => assert!(low <= 0.0 && 0.0 <= high && p > 0.05),
                }
                seen[match judged.verdict {
                    Verdict::Faster => 0,
                    Verdict::Slower => 1,
                    Verdict::NoDifference { .. } => 2,
                    Verdict::Undecided { .. } => 3,
                }] += 1;
            }
        }
        assert!(seen.iter().all(|&count| count > 10), "{seen:?}");
    }

    #[test]
    fn as_many_rounds_as_it_says_mostly_decide() {
        let mut decided = 0;
        for seed in 0..60 {
            let mut random = Random(seed);
            let mut run = rounds(&mut random, 0.006, 10);
            let first = judge(&[estimate(&run, Confidence::P95)], 0.02, Confidence::P95)[0].verdict;
            let Verdict::Undecided { more_rounds: Some(more) } = first else {
                decided += 1;
                continue;
            };
            run.extend(rounds(&mut random, 0.006, more as usize));
            let then = judge(&[estimate(&run, Confidence::P95)], 0.02, Confidence::P95)[0].verdict;
            decided += usize::from(!matches!(then, Verdict::Undecided { .. }));
        }
        assert!(decided >= 40, "{decided} of 60");
    }

    #[test]
    fn equal_rounds_need_as_many_as_a_sign_test() {
        let estimates =
            vec![estimate(&[0.02; 6], Confidence::P95), estimate(&[0.02; 6], Confidence::P95)];
        let judged = judge(&estimates, BOUND, Confidence::P95);
        // 2 × 2⁻⁶ > 0.05 / 2, 2 × 2⁻⁷ is not.
        assert_eq!(judged[0].verdict, Verdict::Undecided { more_rounds: Some(1) });
        assert_eq!(judged[0].interval, Some([0.0, 0.02]));
    }

    /// Share of families of five equal pairs in which any is called different, and share in which a difference of exactly
    /// the bound is called none.
    #[test]
    fn a_family_is_wrong_as_seldom_as_promised() {
        let (mut different, mut equal) = (0, 0);
        for seed in 0..1000 {
            let judged = judge_all(&[(0.0, 15); 5], seed);
            different += usize::from(
                judged.iter().any(|one| matches!(one.verdict, Verdict::Faster | Verdict::Slower)),
            );
            let judged = judge_all(&[(BOUND, 18); 5], 1000 + seed);
            equal += usize::from(
                judged.iter().any(|one| matches!(one.verdict, Verdict::NoDifference { .. })),
            );
        }
        // 5 % and two standard errors.
        assert!(different <= 64, "{different} of 1000");
        assert!(equal <= 64, "{equal} of 1000");
    }
}
