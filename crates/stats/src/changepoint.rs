//! Where a series of stored results changed level: binary segmentation with a permutation test.
//!
//! The statistic of a split is the difference of the weighted means of both sides over its standard error, the weight of
//! a point being what its half-width and the scatter of the series make it worth. Whether the largest of all splits is more
//! than chance is asked of shuffled series, so that no distribution is assumed: a single result that is far out is far out
//! wherever it is shuffled to. A level that changes and comes back shows no good single split; therefore the stretch between
//! any two places is tried as well (circular binary segmentation, Olshen et al. 2004). What is found parts the series, and
//! either part is searched in turn.

use crate::median::median;

/// Least number of points between two changes. Fewer do not tell a level from an accident.
const MIN_POINTS: usize = 3;

/// Shuffles of a series at most.
const SHUFFLES: usize = 1999;

/// With so many shuffles that are as extreme there is no need for more.
const ENOUGH: usize = 60;

/// Largest p of a single split. Five points on either side can reach 2/252.
const SURE_SPLIT: f64 = 0.015;

/// Largest p of a stretch: there are many more of them, and few points do not suffice.
const SURE_STRETCH: f64 = 0.005;

/// Stretches are not tried in longer series, whose square is a long time; single splits are.
const MAX_FOR_STRETCHES: usize = 300;

/// One seed for all: the same series must give the same changes.
const SEED: u64 = 0x6869_7374;

/// One stored result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HistoryPoint {
    /// In any unit; a logarithm if steps are meant to be relative.
    pub value: f64,
    /// Half of its interval's width in the same unit; 0 if unknown.
    pub half_width: f64,
}

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// Index of the first point on the new level.
    pub at: usize,
    /// Median of the points from the last change to this one.
    pub before: f64,
    /// Median of the points from this change to the next one.
    pub after: f64,
    /// Of the permutation test that found it.
    pub p: f64,
}

/// The changes of level in `series`, in the order of time.
///
/// A series without any change shows one in about 2 % of the cases. Levels last three points at least; a step of five times
/// the noise is found from five points on either side.
pub fn change_points(series: &[HistoryPoint]) -> Vec<ChangePoint> {
    let mut random = fastrand::Rng::with_seed(SEED);
    let weighted = weighted(series);
    let mut found = Vec::new();
    let mut open = vec![(0, series.len())];
    while let Some((from, to)) = open.pop() {
        let Some((places, p)) = change_in(&weighted[from..to], &mut random) else { continue };
        let mut last = from;
        for place in places.into_iter().map(|place| from + place) {
            found.push((place, p));
            open.push((last, place));
            last = place;
        }
        open.push((last, to));
    }
    found.sort_by_key(|&(at, _)| at);
    levels(series, &found)
}

/// The changes with the medians between them.
fn levels(series: &[HistoryPoint], found: &[(usize, f64)]) -> Vec<ChangePoint> {
    let bounds: Vec<usize> =
        [0].into_iter().chain(found.iter().map(|&(at, _)| at)).chain([series.len()]).collect();
    let level = |from: usize, to: usize| {
        let values: Vec<f64> = series[from..to].iter().map(|point| point.value).collect();
        median(&values).unwrap_or(0.0)
    };
    found
        .iter()
        .zip(bounds.windows(3))
        .map(|(&(at, p), place)| ChangePoint {
            at,
            before: level(place[0], place[1]),
            after: level(place[1], place[2]),
            p,
        })
        .collect()
}

/// Value and weight.
type Weighted = (f64, f64);

/// The weight is 1 / (half-width² + scatter²), the scatter that of neighbours, which a change of level hardly touches.
fn weighted(series: &[HistoryPoint]) -> Vec<Weighted> {
    let steps: Vec<f64> =
        series.windows(2).map(|pair| (pair[1].value - pair[0].value).abs()).collect();
    // Median of |N(0, 2 s²)| is 0.954 s.
    let scatter = median(&steps).unwrap_or(0.0) / 0.954;
    let variance = |point: &HistoryPoint| (point.half_width / 2.0).powi(2) + scatter * scatter;
    let known = series.iter().all(|point| variance(point) > 0.0);
    let weight = |point: &HistoryPoint| if known { 1.0 / variance(point) } else { 1.0 };
    series.iter().map(|point| (point.value, weight(point))).collect()
}

/// Where the series changes, one place or the two ends of a stretch, and how surely.
fn change_in(series: &[Weighted], random: &mut fastrand::Rng) -> Option<(Vec<usize>, f64)> {
    let (place, score) = best_split(series)?;
    if let Some(p) = shuffled_p(series, score, SURE_SPLIT, random, |series| {
        best_split(series).map(|best| best.1)
    }) {
        return Some((vec![place], p));
    }
    let (from, to, score) = best_stretch(series)?;
    let p = shuffled_p(series, score, SURE_STRETCH, random, |series| {
        best_stretch(series).map(|best| best.2)
    })?;
    Some((vec![from, to], p))
}

/// The share of shuffled series whose score is no less; none if it is more than `sure`.
fn shuffled_p(
    series: &[Weighted],
    score: f64,
    sure: f64,
    random: &mut fastrand::Rng,
    scored: fn(&[Weighted]) -> Option<f64>,
) -> Option<f64> {
    let mut shuffled = series.to_vec();
    let mut no_less = 0;
    for _ in 0..SHUFFLES {
        random.shuffle(&mut shuffled);
        // Rounding must not tell the same partition from itself.
        if scored(&shuffled).is_some_and(|other| other >= score * (1.0 - 1e-9)) {
            no_less += 1;
        }
        if no_less >= ENOUGH {
            return None;
        }
    }
    let p = (no_less + 1) as f64 / (SHUFFLES + 1) as f64;
    (p <= sure).then_some(p)
}

/// Sums of weights and of weighted values before each point.
struct Sums(Vec<(f64, f64)>);

impl Sums {
    fn of(series: &[Weighted]) -> Sums {
        // About the mean, so that what is summed is small.
        let (total, weight) =
            series.iter().fold((0.0, 0.0), |(sum, all), (x, w)| (sum + x * w, all + w));
        let mean = if weight > 0.0 { total / weight } else { 0.0 };
        let mut sums = vec![(0.0, 0.0)];
        let mut sum = (0.0, 0.0);
        for (x, w) in series {
            sum = (sum.0 + w, sum.1 + w * (x - mean));
            sums.push(sum);
        }
        Sums(sums)
    }

    /// Squared difference of the mean of [from, to) to that of the rest, over its variance if weights are what they claim.
    fn score(&self, from: usize, to: usize) -> f64 {
        let (all, total) = self.0[self.0.len() - 1];
        let (inside, sum) = (self.0[to].0 - self.0[from].0, self.0[to].1 - self.0[from].1);
        let outside = all - inside;
        let difference = sum / inside - (total - sum) / outside;
        difference * difference * inside * outside / all
    }
}

/// The place that parts the series best, and its score; none if it is too short or does not vary.
fn best_split(series: &[Weighted]) -> Option<(usize, f64)> {
    let (sums, n) = (Sums::of(series), series.len());
    (MIN_POINTS..(n + 1).saturating_sub(MIN_POINTS))
        .map(|place| (place, sums.score(0, place)))
        .filter(|&(_, score)| score > 0.0)
        .max_by(|a, b| a.1.total_cmp(&b.1))
}

/// The stretch that differs most from what is around it, with both ends inside the series.
fn best_stretch(series: &[Weighted]) -> Option<(usize, usize, f64)> {
    let (sums, n) = (Sums::of(series), series.len());
    if n > MAX_FOR_STRETCHES {
        return None;
    }
    let last = n.saturating_sub(MIN_POINTS);
    (MIN_POINTS..last)
        .flat_map(|from| (from + MIN_POINTS..=last).map(move |to| (from, to)))
        .map(|(from, to)| (from, to, sums.score(from, to)))
        .filter(|&(_, _, score)| score > 0.0)
        .max_by(|a, b| a.2.total_cmp(&b.2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Random;

    /// 1 % of noise about levels that last so many points.
    fn series(random: &mut Random, levels: &[(f64, usize)]) -> Vec<HistoryPoint> {
        levels
            .iter()
            .flat_map(|&(level, points)| std::iter::repeat_n(level, points))
            .map(|level| HistoryPoint { value: level + 0.01 * random.normal(), half_width: 0.01 })
            .collect()
    }

    fn places(series: &[HistoryPoint]) -> Vec<usize> {
        change_points(series).iter().map(|change| change.at).collect()
    }

    #[test]
    fn a_step_of_five_times_the_noise_is_found_from_five_points_on_either_side() {
        let mut random = Random(1);
        let found =
            (0..50).filter(|_| places(&series(&mut random, &[(1.0, 5), (0.95, 5)])) == [5]).count();
        assert!(found >= 45, "{found} of 50");
        let change = change_points(&series(&mut random, &[(1.0, 5), (0.95, 5)]))[0];
        assert!((change.before - 1.0).abs() < 0.02 && (change.after - 0.95).abs() < 0.02);
        assert!(change.p <= SURE_SPLIT);
    }

    #[test]
    fn several_changes_are_found_and_also_one_that_comes_back() {
        let mut random = Random(2);
        let near = |found: &[usize], expected: &[usize]| {
            found.len() == expected.len()
                && found.iter().zip(expected).all(|(&a, &b)| a.abs_diff(b) <= 1)
        };
        let found = places(&series(&mut random, &[(1.0, 12), (0.9, 15), (0.97, 12)]));
        assert!(near(&found, &[12, 27]), "{found:?}");
        let found = places(&series(&mut random, &[(1.0, 25), (0.94, 6), (1.0, 25)]));
        assert!(near(&found, &[25, 31]), "{found:?}");
    }

    #[test]
    fn noise_is_seldom_called_a_change() {
        let mut random = Random(3);
        for n in [8, 15, 40] {
            let alarms =
                (0..150).filter(|_| !places(&series(&mut random, &[(1.0, n)])).is_empty()).count();
            // 2 % and two standard errors.
            assert!(alarms <= 6, "n = {n}: {alarms} of 150");
        }
    }

    #[test]
    fn a_single_point_that_is_far_out_is_no_change_of_level() {
        let mut random = Random(4);
        let alarms = (0..60)
            .filter(|_| {
                let mut series = series(&mut random, &[(1.0, 25)]);
                series[12].value = 0.7;
                !places(&series).is_empty()
            })
            .count();
        assert!(alarms <= 3, "{alarms} of 60");
    }

    #[test]
    fn points_that_are_unsure_weigh_little() {
        let mut random = Random(5);
        let mut series = series(&mut random, &[(1.0, 24)]);
        for point in &mut series[10..14] {
            *point = HistoryPoint { value: point.value - 0.06, half_width: 0.5 };
        }
        assert_eq!(places(&series), [] as [usize; 0]);
    }

    #[test]
    fn too_short_or_constant_series_have_no_change() {
        let constant = |n| vec![HistoryPoint { value: 3.0, half_width: 0.0 }; n];
        for n in [0, 1, 5, 6, 20] {
            assert_eq!(change_points(&constant(n)), [], "{n}");
        }
        let mut step = constant(20);
        step[10..].iter_mut().for_each(|point| point.value = 4.0);
        assert_eq!(places(&step), [10]);
    }
}
