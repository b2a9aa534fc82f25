//! When the warm-up is over: seen from the rates, not assumed.

/// By how much a round must beat every round before it to count as still warming up. Caches, allocators and clock
/// frequencies bring factors; what the machine's noise brings is smaller than this in short interleaved slices.
const STILL_RISING: f64 = 1.02;

/// An online rule: the warm-up is over with the first round that is not more than 2 % faster than the best before it.
///
/// The first round has none before it, so there are at least two. A rate that rises for ever never ends it: the caller
/// limits the number of rounds.
#[derive(Clone, Debug, Default)]
pub struct WarmUp {
    best: Option<f64>,
    over: bool,
}

impl WarmUp {
    /// Before the first round.
    pub fn new() -> WarmUp {
        WarmUp::default()
    }

    /// Takes in the rate of one more warm-up round, one number for all points: their
    /// [`geometric_mean`](crate::geometric_mean), so that a slow point weighs as much as a fast one. True if the warm-up is
    /// over, and from then on always.
    pub fn push(&mut self, rate: f64) -> bool {
        self.over |= self.best.is_some_and(|best| rate <= best * STILL_RISING);
        self.best = Some(self.best.map_or(rate, |best| best.max(rate)));
        self.over
    }

    /// Whether the warm-up is over.
    pub fn is_over(&self) -> bool {
        self.over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of `rates` are warm-up; none if they do not suffice.
    fn rounds(rates: &[f64]) -> Option<usize> {
        let mut warm_up = WarmUp::new();
        rates.iter().position(|&rate| warm_up.push(rate)).map(|last| last + 1)
    }

    #[test]
    fn is_over_with_the_first_round_that_brings_nothing() {
        for (rates, expected) in [
            (&[][..], None),
            (&[100.0], None),
            (&[100.0, 100.0], Some(2)),
            (&[100.0, 102.0], Some(2)),
            (&[100.0, 102.1], None),
            (&[100.0, 150.0, 170.0, 171.0, 300.0], Some(4)),
            // A slow round is no rise, and the round after it is compared with the best, not with it.
            (&[100.0, 60.0, 100.0], Some(2)),
            (&[0.0, 0.0], Some(2)),
            (&[0.0, 5.0, 5.0], Some(3)),
        ] {
            assert_eq!(rounds(rates), expected, "{rates:?}");
        }
    }

    #[test]
    fn stays_over() {
        let mut warm_up = WarmUp::new();
        assert!(!warm_up.is_over());
        assert!(!warm_up.push(1.0));
        assert!(warm_up.push(1.0));
        assert!(warm_up.push(9.0));
        assert!(warm_up.is_over());
    }
}
