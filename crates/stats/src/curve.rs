//! Curves by their rounds, and what can be read off a curve without a model: peak, knee, retrograde point.

use crate::effective::Worth;
use crate::trimmed::trimmed_mean;

/// A loss of less than this after the peak is not called retrograde, as in [`Shape`](crate::Shape).
const FALL: f64 = 0.05;

/// Efficiency at the knee: half of what linear scaling would yield.
pub(crate) const KNEE_EFFICIENCY: f64 = 0.5;

/// What one task count did.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveRounds {
    /// Tasks running at the same time, at least 1.
    pub tasks: u32,
    /// Operations per second of all tasks together, one value per round in the order of the rounds.
    pub rates: Vec<f64>,
}

/// A place on the axis of task counts, and how surely. None stands for "not reached".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Task count, not necessarily whole.
    pub at: Option<f64>,
    /// The interval's ends; the upper one, or both, may not be reached.
    pub ci: [Option<f64>; 2],
}

impl Place {
    /// From a value and its resamples, where "not reached" is infinite.
    pub(crate) fn from_resamples(at: f64, resamples: &mut [f64], alpha: f64) -> Place {
        let finite = |x: f64| x.is_finite().then_some(x);
        let [low, high] = percentiles(resamples, alpha)
            .map(|end| [end[0].min(at), end[1].max(at)])
            .unwrap_or([at; 2]);
        Place { at: finite(at), ci: [finite(low), finite(high)] }
    }
}

/// The central interval of resamples; none of no resamples.
pub(crate) fn percentiles(resamples: &mut [f64], alpha: f64) -> Option<[f64; 2]> {
    resamples.sort_by(f64::total_cmp);
    let outside = (alpha / 2.0 * resamples.len() as f64).floor() as usize;
    let high = resamples.len().checked_sub(outside + 1)?;
    Some([*resamples.get(outside)?, resamples[high]])
}

/// Task count at which the efficiency, related to the smallest count, has fallen to a half, interpolated between the counts of
/// `curve` (tasks, rate; ascending); none where it does not fall so far, or where a rate is not positive.
pub fn knee(curve: &[(u32, f64)]) -> Option<f64> {
    let point = |&(tasks, rate): &(u32, f64)| {
        (tasks > 0 && rate > 0.0).then(|| (f64::from(tasks), rate.ln()))
    };
    let points = Points(curve.iter().map(point).collect::<Option<Vec<_>>>()?);
    Some(points.knee()).filter(|knee| knee.is_finite())
}

/// Logarithms of a curve's rates by task count and round, in the order of the task counts.
#[derive(Clone, Debug)]
pub(crate) struct LogCurve(Vec<(u32, Vec<f64>)>);

impl LogCurve {
    /// None if a rate is 0 or a count has no round.
    pub(crate) fn of(curve: &[CurveRounds]) -> Result<LogCurve, u32> {
        let logs = |point: &CurveRounds| {
            let usable = !point.rates.is_empty() && point.rates.iter().all(|&rate| rate > 0.0);
            let logs = || (point.tasks, point.rates.iter().map(|rate| rate.ln()).collect());
            usable.then(logs).ok_or(point.tasks)
        };
        let mut points = curve.iter().map(logs).collect::<Result<Vec<_>, _>>()?;
        points.sort_by_key(|&(tasks, _)| tasks);
        Ok(LogCurve(points))
    }

    pub(crate) fn counts(&self) -> Vec<u32> {
        self.0.iter().map(|&(tasks, _)| tasks).collect()
    }

    pub(crate) fn rounds(&self) -> impl Iterator<Item = &[f64]> {
        self.0.iter().map(|(_, logs)| logs.as_slice())
    }

    /// The least number of rounds of any count.
    pub(crate) fn shortest(&self) -> usize {
        self.rounds().map(<[f64]>::len).min().unwrap_or(0)
    }

    /// How many rounds hang together: the most rounds per effective round of any count.
    pub(crate) fn block(&self) -> usize {
        let per_effective =
            |logs: &[f64]| logs.len() as f64 / Worth::of(logs).effective_rounds.max(1.0);
        self.rounds().map(per_effective).fold(1.0, f64::max).ceil() as usize
    }

    /// The curve as it is.
    pub(crate) fn whole(&self) -> Points {
        self.points(trimmed_mean)
    }

    /// The curve of these rounds only, the same for every task count.
    pub(crate) fn of_rounds(&self, rounds: &[usize]) -> Points {
        self.points(|logs| {
            let drawn: Vec<f64> = rounds.iter().map(|&round| logs[round]).collect();
            trimmed_mean(&drawn)
        })
    }

    fn points(&self, mean: impl Fn(&[f64]) -> Option<f64>) -> Points {
        let point = |(tasks, logs): &(u32, Vec<f64>)| Some((f64::from(*tasks), mean(logs)?));
        Points(self.0.iter().filter_map(point).collect())
    }
}

/// Rounds drawn with replacement in circular blocks, so that what hangs together stays together (Politis and Romano 1992).
pub(crate) fn draw(rounds: usize, block: usize, random: &mut fastrand::Rng) -> Vec<usize> {
    let mut drawn = Vec::with_capacity(rounds + block);
    while drawn.len() < rounds {
        let first = random.usize(..rounds);
        drawn.extend((0..block).map(|i| (first + i) % rounds));
    }
    drawn.truncate(rounds);
    drawn
}

/// Task counts in ascending order, with the logarithm of the rate.
#[derive(Clone, Debug)]
pub(crate) struct Points(pub(crate) Vec<(f64, f64)>);

impl Points {
    /// The first task count with the highest rate.
    pub(crate) fn peak(&self) -> Option<(f64, f64)> {
        let better =
            |best: (f64, f64), point: (f64, f64)| if point.1 > best.1 { point } else { best };
        self.0.iter().copied().reduce(better)
    }

    /// The first count after the peak with a rate clearly below it.
    pub(crate) fn retrograde(&self) -> Option<f64> {
        let (peak, top) = self.peak()?;
        let falls = |&&(tasks, log): &&(f64, f64)| tasks > peak && log < top + (-FALL).ln_1p();
        self.0.iter().find(falls).map(|&(tasks, _)| tasks)
    }

    /// Where the efficiency, related to the smallest count, falls to a half, interpolated; infinite if it does not.
    pub(crate) fn knee(&self) -> f64 {
        let Some(&(base, base_log)) = self.0.first() else { return f64::INFINITY };
        let efficiency = |&(tasks, log): &(f64, f64)| log - base_log - (tasks / base).ln();
        let limit = KNEE_EFFICIENCY.ln();
        let crossing = self.0.windows(2).find(|pair| efficiency(&pair[1]) <= limit);
        crossing.map_or(f64::INFINITY, |pair| {
            let (before, after) = (efficiency(&pair[0]), efficiency(&pair[1]));
            let part = (limit - before) / (after - before);
            pair[0].0 * (pair[1].0 / pair[0].0).powf(part)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(rates: &[(f64, f64)]) -> Points {
        Points(rates.iter().map(|&(tasks, rate)| (tasks, rate.ln())).collect())
    }

    #[test]
    fn knee_and_fall_are_where_a_reader_would_put_them() {
        // Efficiencies 1, 1, 0.75, 0.375: a half lies between 4 and 8, at 4 × 2^(ln 1.5 / ln 2).
        let falling = points(&[(1.0, 10.0), (2.0, 20.0), (4.0, 30.0), (8.0, 30.0), (16.0, 25.0)]);
        assert!((falling.knee() - 6.0).abs() < 1e-9, "{}", falling.knee());
        assert_eq!(falling.peak().map(|peak| peak.0), Some(4.0));
        assert_eq!(falling.retrograde(), Some(16.0));

        assert_eq!(knee(&[(1, 10.0), (2, 20.0), (4, 30.0), (8, 30.0)]).map(f64::round), Some(6.0));
        assert_eq!(
            [knee(&[(1, 10.0), (2, 20.0)]), knee(&[(1, 10.0), (8, 0.0)]), knee(&[])],
            [None; 3]
        );

        let linear = points(&[(2.0, 10.0), (4.0, 20.0)]);
        assert_eq!((linear.knee(), linear.retrograde()), (f64::INFINITY, None));
        assert_eq!(points(&[]).peak(), None);
    }

    #[test]
    fn rounds_are_drawn_in_blocks() {
        let mut random = fastrand::Rng::with_seed(1);
        let drawn = draw(10, 4, &mut random);
        assert_eq!(drawn.len(), 10);
        assert!(drawn[..4].windows(2).all(|pair| (pair[0] + 1) % 10 == pair[1]), "{drawn:?}");
        assert!(drawn.iter().all(|&round| round < 10));
    }

    #[test]
    fn percentiles_leave_out_a_share_at_either_end() {
        let mut values: Vec<f64> = (0..1000).map(f64::from).collect();
        assert_eq!(percentiles(&mut values, 0.05), Some([25.0, 974.0]));
        assert_eq!(percentiles(&mut [], 0.05), None);
        let never = Place::from_resamples(9.0, &mut [8.0, 9.0, f64::INFINITY], 0.05);
        assert_eq!(never, Place { at: Some(9.0), ci: [Some(8.0), None] });
    }
}
