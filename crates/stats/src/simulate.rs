//! Seeded noise for the tests that check a promise about error rates by trying it often.

/// splitmix64 (Steele, Lea, Flood 2014): small, seeded, good enough to test coverage with.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in the open interval (0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Normal, mean 0, variance 1 (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// `n` values of a stationary AR(1) process with lag-1 correlation `rho`, median 0, variance 1.
    pub(crate) fn ar1(&mut self, n: usize, rho: f64) -> Vec<f64> {
        let mut x = self.normal();
        let next = |_| {
            x = rho * x + (1.0 - rho * rho).sqrt() * self.normal();
            x
        };
        (0..n).map(next).collect()
    }

    /// Rates with median 1 as a noisy machine yields them: a tail towards slow, none towards fast.
    pub(crate) fn rates(&mut self, n: usize, rho: f64) -> Vec<f64> {
        self.ar1(n, rho).into_iter().map(|x| 1.0 + 0.01 * (1.0 - x.exp())).collect()
    }

    /// Exponential with mean 1.
    fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// ln of the rate of a slice: 0.5 % of normal noise, and one slice in eight loses a good part to something else.
    fn slice(&mut self) -> f64 {
        let lost = if self.uniform() < 0.125 { 0.1 * self.exponential() } else { 0.0 };
        0.005 * self.normal() - lost
    }

    /// `n` log ratios of `noise` about an effect of none.
    pub(crate) fn log_ratios(&mut self, noise: Noise, n: usize) -> Vec<f64> {
        match noise {
            Noise::Tails => (0..n).map(|_| self.slice() - self.slice()).collect(),
            Noise::OneTail => (0..n).map(|_| self.slice() - 0.005 * self.normal()).collect(),
            Noise::Skewed => (0..n).map(|_| 0.01 * self.normal().exp()).collect(),
            Noise::Cauchy => (0..n)
                .map(|_| 0.005 * (std::f64::consts::PI * (self.uniform() - 0.5)).tan())
                .collect(),
            Noise::Ar1(rho) => self.ar1(n, rho).into_iter().map(|x| 0.01 * x).collect(),
            Noise::Slow => {
                let slow = self.ar1(n, 0.9);
                slow.iter().map(|x| 0.005 * x + 0.008 * self.normal()).collect()
            }
            Noise::Modes { stay } => {
                let mut mode = if self.uniform() < 0.5 { -0.02 } else { 0.02 };
                let mut next = |_| {
                    mode = if self.uniform() < stay { mode } else { -mode };
                    mode + 0.003 * self.normal()
                };
                (0..n).map(&mut next).collect()
            }
            Noise::Quantised(step) => {
                let off = step / 3.0;
                let rounded = |x: f64| ((x + off) / step).round() * step - off;
                (0..n).map(|_| rounded(0.01 * self.normal())).collect()
            }
        }
    }
}

/// What log ratios may look like.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Noise {
    /// Heavy one-sided tails on either side of the ratio.
    Tails,
    /// On one side only, so that the ratio is skewed.
    OneTail,
    /// Log-normal with sigma 1: no symmetric middle at all.
    Skewed,
    /// No moments.
    Cauchy,
    /// Neighbours with this correlation.
    Ar1(f64),
    /// Quick noise with something slow underneath: correlation 0.9 of a quarter of the variance.
    Slow,
    /// Two modes, each kept with probability `stay`: 0.5 is independent.
    Modes {
        /// Probability.
        stay: f64,
    },
    /// Normal with standard deviation 1 %, rounded to a grid with this step on which 0 is no point.
    Quantised(f64),
}

impl Noise {
    /// The trimmed mean of the population, from many values.
    pub(crate) fn centre(self) -> f64 {
        match self {
            Noise::OneTail | Noise::Skewed => {
                crate::trimmed_mean(&Random(99).log_ratios(self, 200_000)).unwrap()
            }
            _ => 0.0,
        }
    }
}
