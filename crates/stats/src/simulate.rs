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
}
