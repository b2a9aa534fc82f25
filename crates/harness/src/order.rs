//! In which order the slices of a round come.

use crate::plan::Sides;

/// The order of slices, round after round.
pub(crate) struct Order {
    points: usize,
    arrangement: Arrangement,
}

enum Arrangement {
    /// All in random order.
    Shuffled,
    /// The two of a pair side by side; per pair, whether the second side comes first.
    Pairs { turned: Vec<bool>, redraw: bool },
    /// All of one side, then all of the other: a switch of state is dear, and every other one is saved.
    Blocks { turned: bool, redraw: bool },
}

impl Order {
    /// Of `points` points. With two sides the second half of them are the other side of the first half, in the same order.
    pub(crate) fn new(sides: &Sides, points: usize) -> Order {
        let arrangement = match sides {
            Sides::One => Arrangement::Shuffled,
            Sides::Two { switch: None } => {
                Arrangement::Pairs { turned: vec![false; points / 2], redraw: true }
            }
            Sides::Two { switch: Some(_) } => Arrangement::Blocks { turned: false, redraw: true },
        };
        Order { points, arrangement }
    }

    /// 0 for a point of the first side, 1 for one of the second.
    pub(crate) fn side(&self, point: usize) -> usize {
        match self.arrangement {
            Arrangement::Shuffled => 0,
            Arrangement::Pairs { .. } | Arrangement::Blocks { .. } => {
                usize::from(point >= self.points / 2)
            }
        }
    }

    /// The points of the next round.
    pub(crate) fn next(&mut self, random: &mut fastrand::Rng) -> Vec<usize> {
        let half = self.points / 2;
        match &mut self.arrangement {
            Arrangement::Shuffled => shuffled(0..self.points, random),
            Arrangement::Pairs { turned, redraw } => {
                for turned in turned.iter_mut() {
                    *turned = if *redraw { random.bool() } else { !*turned };
                }
                *redraw = !*redraw;
                let pair = |at: usize| match turned[at] {
                    false => [at, at + half],
                    true => [at + half, at],
                };
                shuffled(0..half, random).into_iter().flat_map(pair).collect()
            }
            Arrangement::Blocks { turned, redraw } => {
                *turned = if *redraw { random.bool() } else { !*turned };
                *redraw = !*redraw;
                let mut first = shuffled(0..half, random);
                let mut second = shuffled(half..half * 2, random);
                if *turned {
                    std::mem::swap(&mut first, &mut second);
                }
                first.extend(second);
                first
            }
        }
    }
}

fn shuffled(points: std::ops::Range<usize>, random: &mut fastrand::Rng) -> Vec<usize> {
    let mut order: Vec<usize> = points.collect();
    random.shuffle(&mut order);
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Switch;

    fn two(switch: bool) -> Sides {
        let commands = || Switch { before: "true".into(), after: "true".into() };
        Sides::Two { switch: switch.then(commands) }
    }

    #[test]
    fn every_round_has_every_point_once() {
        for sides in [Sides::One, two(false), two(true)] {
            let mut order = Order::new(&sides, 8);
            let mut random = fastrand::Rng::with_seed(1);
            for _ in 0..20 {
                let mut round = order.next(&mut random);
                round.sort();
                assert_eq!(round, (0..8).collect::<Vec<_>>(), "{sides:?}");
            }
        }
    }

    #[test]
    fn a_pair_stands_together_and_is_turned_round_in_every_other_round() {
        let mut order = Order::new(&two(false), 8);
        let mut random = fastrand::Rng::with_seed(7);
        let mut firsts = [0; 4];
        for _ in 0..50 {
            let mut seen = [None; 4];
            for _ in 0..2 {
                let round = order.next(&mut random);
                for pair in round.chunks(2) {
                    assert_eq!(pair[0] % 4, pair[1] % 4, "not side by side");
                    let first = order.side(pair[0]);
                    assert_ne!(seen[pair[0] % 4].replace(first), Some(first), "not turned round");
                    firsts[pair[0] % 4] += first;
                }
            }
        }
        assert_eq!(firsts, [50; 4], "each side was first in half of 100 rounds");
    }

    #[test]
    fn with_a_switch_each_side_is_one_block_and_every_other_switch_is_saved() {
        let mut order = Order::new(&two(true), 6);
        let mut random = fastrand::Rng::with_seed(3);
        let mut sides = Vec::new();
        for _ in 0..40 {
            let round = order.next(&mut random);
            sides.extend(round.iter().map(|point| order.side(*point)));
        }
        let switches = sides.windows(2).filter(|pair| pair[0] != pair[1]).count();
        // One within each of 40 rounds, and between two rounds none or, at a new draw, one in two.
        assert!((40..=60).contains(&switches), "{switches}");
        for round in sides.chunks(6) {
            assert_eq!(round.iter().sum::<usize>(), 3, "both sides in each round");
        }
    }
}
