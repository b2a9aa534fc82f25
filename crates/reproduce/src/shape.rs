//! Whether a curve has the shape that a mail describes.

use crate::published::ShapeSpec;

/// More tasks than before with this much more work done are a rise; with less it is flat.
const RISE: f64 = 1.05;

/// The task count from which on throughput rises no more: at no larger one it is [`RISE`] times what it is there.
/// `points`: tasks and operations per second, by tasks.
pub(crate) fn wall(points: &[(usize, f64)]) -> usize {
    let stops = |&(at, (_, rate)): &(usize, &(usize, f64))| {
        points[at + 1..].iter().all(|(_, later)| *later < rate * RISE)
    };
    points.iter().enumerate().find(stops).map_or(0, |(_, (tasks, _))| *tasks)
}

/// The largest task count up to which every step is a rise.
pub(crate) fn scales_to(points: &[(usize, f64)]) -> usize {
    let first = points.first().map_or(0, |(tasks, _)| *tasks);
    let rises = points.windows(2).take_while(|pair| pair[1].1 >= pair[0].1 * RISE);
    rises.last().map_or(first, |pair| pair[1].0)
}

impl ShapeSpec {
    /// Whether the curve has it.
    pub(crate) fn fits(self, points: &[(usize, f64)]) -> bool {
        match self {
            ShapeSpec::WallAt(tasks) => wall(points) == tasks,
            ShapeSpec::ScalesTo(tasks) => scales_to(points) >= tasks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walls_and_rises_are_told_apart() {
        let linear = [(1, 1.0), (2, 2.0), (4, 4.0), (8, 8.0)];
        assert_eq!((wall(&linear), scales_to(&linear)), (8, 8));
        let hill = [(1, 1.0), (2, 1.6), (4, 1.62), (8, 0.5)];
        assert_eq!((wall(&hill), scales_to(&hill)), (2, 2));
        let dip = [(1, 1.0), (2, 0.9), (4, 3.0)];
        assert_eq!((wall(&dip), scales_to(&dip)), (4, 1));
        assert!(ShapeSpec::WallAt(2).fits(&hill) && !ShapeSpec::WallAt(4).fits(&hill));
        assert!(ShapeSpec::ScalesTo(8).fits(&linear) && !ShapeSpec::ScalesTo(4).fits(&hill));
        assert_eq!((wall(&[]), scales_to(&[])), (0, 0));
    }
}
