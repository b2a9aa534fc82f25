//! Operations per second over tasks, drawn with characters.
//!
//! Both axes are honest: ops/s begins at 0, so that the height of a mark is its rate, and the dotted line shows what the first
//! point would grow to if every task added as much. The number of tasks is spread by its logarithm where the counts are
//! spread that way themselves (1, 2, 4, ... 4096), for else all but the last would lie on top of each other.

use crate::Style;
use crate::canvas::{At, Canvas, Glyphs, SHARED_MARK, paint};
use crate::{curves, escape};
use results::{Curve, Run};

/// Rows of the drawing itself, about; ops/s, the axis, its labels and a line of legend come to it.
const ROWS: u32 = 10;
/// A narrower drawing shows little, and its legend would not fit below it.
const MIN_COLUMNS: usize = 32;
/// Steps of the axis of ops/s at most.
const MAX_STEPS: f64 = 5.0;
/// Blank columns between the axes' ends and the outermost marks.
const MARGIN: f64 = 2.0;

/// What differs between terminals that show Unicode and those that do not.
struct Signs {
    glyphs: Glyphs,
    /// One a curve, used again from the start if there are more curves.
    marks: &'static [char],
    axis: char,
    tick: char,
    corner: char,
    floor: char,
    floor_tick: char,
    ideal: &'static str,
    interval: &'static str,
    cut: char,
}

const UNICODE: Signs = Signs {
    glyphs: Glyphs::Braille,
    marks: &['●', '▲', '■', '◆', '○', '△', '□', '◇'],
    axis: '│',
    tick: '┤',
    corner: '└',
    floor: '─',
    floor_tick: '┬',
    ideal: "⠄⠠⠄",
    interval: "⡇",
    cut: '…',
};

const ASCII: Signs = Signs {
    glyphs: Glyphs::Ascii,
    marks: &['o', 'x', '+', '#', '@', '%', '&', '$'],
    axis: '|',
    tick: '+',
    corner: '+',
    floor: '-',
    floor_tick: '+',
    ideal: ". .",
    interval: "|",
    cut: '~',
};

/// What of a point can be drawn.
struct Dot {
    tasks: f64,
    rate: f64,
    interval: Option<[f64; 2]>,
}

/// A curve to draw: its points in ascending order of tasks.
struct Drawn {
    label: String,
    dots: Vec<Dot>,
    /// A rate, which would grow with the tasks at best; a cost would not.
    scales: bool,
}

impl Drawn {
    /// Between which the ideal line is drawn, if it has a meaning.
    fn ends(&self) -> Option<[&Dot; 2]> {
        match &self.dots[..] {
            [first, .., last] if self.scales => Some([first, last]),
            _ => None,
        }
    }
}

/// The curves of the run in one plot of at most `style.width` columns, a line an element. Empty if there is nothing to see:
/// fewer than two task counts, or no room.
pub(crate) fn plot(run: &Run, style: &Style) -> Vec<String> {
    let labels = curves::labels(&run.curves.iter().collect::<Vec<_>>());
    plot_curves(&labels.into_iter().zip(&run.curves).collect::<Vec<_>>(), style)
}

/// The same of curves from anywhere, each with the name that it has in the legend. The axis has the unit of the first.
pub(crate) fn plot_curves(curves: &[(String, &Curve)], style: &Style) -> Vec<String> {
    let signs = if style.unicode { &UNICODE } else { &ASCII };
    let unit = curves.first().map_or("", |(_, curve)| curve.metric.unit.as_str());
    let curves = drawable(curves);
    let mut counts: Vec<f64> =
        curves.iter().flat_map(|curve| curve.dots.iter().map(|dot| dot.tasks)).collect();
    counts.sort_unstable_by(f64::total_cmp);
    counts.dedup();
    if counts.len() < 2 {
        return Vec::new();
    }
    let rates = Rates::new(&curves);
    let labels = rates.labels();
    let gutter = labels.iter().map(|(_, label)| label.len()).max().unwrap_or(0).max("tasks".len());
    let width = usize::from(style.width);
    let Some(columns) = width.checked_sub(gutter + 2).filter(|&columns| columns >= MIN_COLUMNS)
    else {
        return Vec::new();
    };
    let tasks = Tasks::new(&counts, columns);
    let mut canvas = Canvas::new(columns, rates.rows(), signs.glyphs);
    draw(&mut canvas, &curves, &tasks, &rates, signs);

    let mut lines = vec![format!("{:>gutter$}", escape::plain(unit))];
    for (row, drawing) in canvas.lines(style.colour).into_iter().enumerate() {
        let label = labels.iter().find(|(value, _)| canvas.row(value / rates.top) == row);
        let axis = if label.is_some() { signs.tick } else { signs.axis };
        let label = label.map_or("", |(_, label)| label.as_str());
        lines.push(format!("{label:>gutter$} {axis}{drawing}"));
    }
    let ticks: Vec<(usize, String)> = counts
        .iter()
        .map(|&count| (canvas.column(tasks.position(count)), count.to_string()))
        .collect();
    let (floor, numbers) = tasks_axis(&ticks, columns, signs);
    lines.push(format!("{:>gutter$} {}{floor}", "", signs.corner));
    lines.push(format!("{:>gutter$}  {numbers}", "tasks"));
    lines.extend(legend(&curves, &canvas, &rates, signs, style));
    lines
}

fn drawable(curves: &[(String, &Curve)]) -> Vec<Drawn> {
    let dots = |curve: &Curve| {
        let real = |rate: f64| rate.is_finite() && rate >= 0.0;
        let points = curve.points.iter().filter(|point| point.tasks > 0 && real(point.ops_per_s));
        points
            .map(|point| Dot {
                tasks: f64::from(point.tasks),
                rate: point.ops_per_s,
                interval: point.ci95.filter(|ends| ends.iter().all(|end| end.is_finite())),
            })
            .collect()
    };
    let drawn = |(label, curve): &(String, &Curve)| Drawn {
        label: label.clone(),
        dots: dots(curve),
        scales: !curve.metric.lower_is_better,
    };
    curves.iter().map(drawn).collect()
}

fn draw(canvas: &mut Canvas, curves: &[Drawn], tasks: &Tasks, rates: &Rates, signs: &Signs) {
    let at = |dot: &Dot| -> At { (tasks.position(dot.tasks), dot.rate / rates.top) };
    // In this order, because what comes later lies on top.
    for (ink, curve) in curves.iter().enumerate() {
        if let Some([first, last]) = curve.ends() {
            let ideal =
                |count: f64| (tasks.position(count), first.rate / first.tasks * count / rates.top);
            canvas.dotted(tasks.between(first.tasks, last.tasks).map(ideal), ink);
        }
    }
    for (ink, curve) in curves.iter().enumerate() {
        for pair in curve.dots.windows(2) {
            canvas.line(at(&pair[0]), at(&pair[1]), ink);
        }
    }
    for (ink, curve) in curves.iter().enumerate() {
        for dot in &curve.dots {
            if let Some(ends) = dot.interval.filter(|&ends| rates.shows(ends)) {
                let [low, high] = ends.map(|end| (end / rates.top).clamp(0.0, 1.0));
                canvas.line((at(dot).0, low), (at(dot).0, high), ink);
            }
        }
    }
    for (ink, curve) in curves.iter().enumerate() {
        for dot in &curve.dots {
            canvas.mark(at(dot), mark(signs, ink), ink);
        }
    }
}

fn mark(signs: &Signs, ink: usize) -> char {
    signs.marks[ink % signs.marks.len()]
}

fn legend(
    curves: &[Drawn],
    canvas: &Canvas,
    rates: &Rates,
    signs: &Signs,
    style: &Style,
) -> Vec<String> {
    let mut intervals = curves.iter().flat_map(|curve| &curve.dots).filter_map(|dot| dot.interval);
    let mut notes = Vec::new();
    if curves.iter().any(|curve| curve.scales) {
        notes.push(format!("{} linear from the first point", signs.ideal));
    }
    if intervals.any(|ends| rates.shows(ends)) {
        notes.push(format!("{} 95 % interval", signs.interval));
    }
    if canvas.has_shared_mark() {
        notes.push(format!("{SHARED_MARK} several curves"));
    }
    let mut lines = Vec::new();
    match curves {
        [_] => notes.insert(0, format!("{} measured", mark(signs, 0))),
        _ => {
            for (ink, curve) in curves.iter().enumerate() {
                let label = cut(
                    &escape::plain(&curve.label),
                    usize::from(style.width).saturating_sub(4),
                    signs.cut,
                );
                lines.push(format!(
                    "  {} {label}",
                    paint(&mark(signs, ink).to_string(), ink, style.colour)
                ));
            }
        }
    }
    // As many notes a line as fit.
    let mut line = String::new();
    for note in notes {
        if !line.is_empty()
            && line.chars().count() + 2 + note.chars().count() > usize::from(style.width)
        {
            lines.push(std::mem::take(&mut line));
        }
        line.push_str("  ");
        line.push_str(&note);
    }
    lines.push(line);
    lines
}

/// `text` in at most `width` columns. Characters beyond ASCII are taken as two columns wide, which some are.
fn cut(text: &str, width: usize, sign: char) -> String {
    let wide = |c: char| if c.is_ascii() { 1 } else { 2 };
    if text.chars().map(wide).sum::<usize>() <= width {
        return text.to_owned();
    }
    let mut left = width.saturating_sub(1);
    let fits = text.chars().take_while(|&c| {
        let fits = wide(c) <= left;
        left = left.saturating_sub(wide(c));
        fits
    });
    let mut out: String = fits.collect();
    out.push(sign);
    out
}

/// The axis of tasks and the numbers under it. First and last number are always there, the others where there is room.
fn tasks_axis(ticks: &[(usize, String)], columns: usize, signs: &Signs) -> (String, String) {
    let mut floor = vec![signs.floor; columns];
    let mut numbers = vec![' '; columns];
    let last = ticks.len() - 1;
    for (column, number) in
        [0, last].iter().chain(&(1..last).collect::<Vec<_>>()).map(|&i| &ticks[i])
    {
        let start =
            column.saturating_sub((number.len() - 1) / 2).min(columns.saturating_sub(number.len()));
        let room = start.saturating_sub(1)..(start + number.len() + 1).min(columns);
        if numbers[room].iter().all(|&c| c == ' ') {
            floor[*column] = signs.floor_tick;
            for (cell, digit) in numbers[start..].iter_mut().zip(number.chars()) {
                *cell = digit;
            }
        }
    }
    (floor.into_iter().collect(), numbers.into_iter().collect::<String>().trim_end().to_owned())
}

/// Where a number of tasks lies.
struct Tasks {
    first: f64,
    last: f64,
    logarithmic: bool,
    margin: f64,
}

impl Tasks {
    /// `counts` ascend and are at least two. Counts are spread by their logarithm if the gaps between them grow.
    fn new(counts: &[f64], columns: usize) -> Tasks {
        let gaps = || counts.windows(2).map(|pair| pair[1] - pair[0]);
        let (narrow, wide) = (gaps().fold(f64::INFINITY, f64::min), gaps().fold(0.0, f64::max));
        Tasks {
            first: counts[0],
            last: counts[counts.len() - 1],
            logarithmic: wide >= 2.0 * narrow,
            margin: MARGIN / columns as f64,
        }
    }

    fn spread(&self, tasks: f64) -> f64 {
        if self.logarithmic { tasks.log2() } else { tasks }
    }

    fn position(&self, tasks: f64) -> f64 {
        let (first, last) = (self.spread(self.first), self.spread(self.last));
        self.margin + (1.0 - 2.0 * self.margin) * (self.spread(tasks) - first) / (last - first)
    }

    /// Many numbers of tasks from `first` to `last`, close together in the drawing.
    fn between(&self, first: f64, last: f64) -> impl Iterator<Item = f64> {
        const STEPS: u32 = 2000;
        let (logarithmic, from, to) = (self.logarithmic, self.spread(first), self.spread(last));
        (0..=STEPS).map(move |i| {
            let spread = from + (to - from) * f64::from(i) / f64::from(STEPS);
            if logarithmic { spread.exp2() } else { spread }
        })
    }
}

/// The axis of ops/s, from 0 to `top` in equal steps.
struct Rates {
    top: f64,
    step: f64,
    steps: u32,
}

impl Rates {
    /// High enough for every mark. The ideal line and wide intervals get room too, but never more than the marks have.
    fn new(curves: &[Drawn]) -> Rates {
        let dots = || curves.iter().flat_map(|curve| &curve.dots);
        let highest = dots().map(|dot| dot.rate).fold(0.0, f64::max);
        let intervals = dots().filter_map(|dot| dot.interval).map(|[_, high]| high);
        let ideals = curves.iter().filter_map(|curve| {
            let [first, last] = curve.ends()?;
            Some(first.rate / first.tasks * last.tasks)
        });
        let wanted =
            ideals.filter(|&ideal| ideal <= 2.0 * highest).chain(intervals).fold(highest, f64::max);
        let wanted = wanted.min(2.0 * highest);
        if !(1e-300..1e300).contains(&wanted) {
            // Nothing was done at all, or more than can be divided: the marks still need an axis.
            let top = wanted.clamp(1.0, f64::MAX);
            return Rates { top, step: top, steps: 1 };
        }
        let ten = 10f64.powi(wanted.log10().floor() as i32 - 1);
        let nice = [2.0, 2.5, 5.0, 10.0, 20.0].map(|nice| nice * ten);
        let step = nice.into_iter().find(|step| wanted / step <= MAX_STEPS).unwrap_or(wanted);
        let steps = (wanted / step).ceil().clamp(1.0, MAX_STEPS);
        Rates { top: (steps * step).max(wanted), step, steps: steps as u32 }
    }

    /// About [`ROWS`], and such that the labels are equally far apart: so many rows a step, and one for the 0.
    fn rows(&self) -> usize {
        let per_step = (ROWS - 1 + self.steps / 2) / self.steps;
        (self.steps * per_step + 1) as usize
    }

    /// True for an interval that would stick out from behind its mark.
    fn shows(&self, [low, high]: [f64; 2]) -> bool {
        (high - low) / self.top * self.rows() as f64 >= 1.5
    }

    /// Values and what to write at them, all in the same unit.
    fn labels(&self) -> Vec<(f64, String)> {
        let (unit, suffix) = match self.top {
            top if top >= 1e9 => (1e9, "G"),
            top if top >= 1e6 => (1e6, "M"),
            top if top >= 1e3 => (1e3, "k"),
            _ => (1.0, ""),
        };
        let decimals =
            (0..3).find(|&d| (self.step / unit * 10f64.powi(d)).fract().abs() < 1e-6).unwrap_or(3);
        let label = |value: f64| match value / unit {
            0.0 => "0".to_owned(),
            _ if !(1e-2..1e13).contains(&self.top) => format!("{value:.1e}"),
            scaled => format!("{scaled:.*}{suffix}", decimals as usize),
        };
        (0..=self.steps)
            .map(|i| self.step * f64::from(i))
            .map(|value| (value, label(value)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use proptest::prelude::*;
    use results::{Curve, Point};

    fn ascii(curves: Vec<Curve>) -> Vec<String> {
        plot(&fixture::run_of(curves), &Style { unicode: false, ..Style::default() })
    }

    #[test]
    fn one_task_count_is_no_curve() {
        assert!(ascii(vec![]).is_empty());
        assert!(ascii(vec![fixture::curve("a", &[])]).is_empty());
        assert!(
            ascii(vec![fixture::curve("a", &[(3, 1e6)]), fixture::curve("b", &[(3, 2e6)])])
                .is_empty()
        );
        assert!(
            !ascii(vec![fixture::curve("a", &[(1, 1e6)]), fixture::curve("b", &[(2, 2e6)])])
                .is_empty()
        );
    }

    #[test]
    fn tasks_are_spread_as_their_counts_are() {
        let cases: [(&[f64], bool); 6] = [
            (&[1.0, 2.0], false),
            (&[1.0, 2.0, 3.0, 4.0], false),
            (&[1.0, 2.0, 4.0], true),
            (&[1.0, 2.0, 4.0, 8.0, 10.0], true),
            (&[4.0, 8.0, 12.0, 16.0], false),
            (&[1.0, 4.0, 8.0, 12.0], false),
        ];
        for (counts, logarithmic) in cases {
            assert_eq!(Tasks::new(counts, 60).logarithmic, logarithmic, "{counts:?}");
        }
    }

    #[test]
    fn the_axis_of_rates_has_round_labels() {
        let cases = [
            (812_345.0, ["0", "0.2M", "0.4M", "0.6M", "0.8M", "1.0M"].as_slice()),
            (1_100_000.0, &["0", "0.25M", "0.50M", "0.75M", "1.00M", "1.25M"]),
            (1_534_210.0, &["0", "0.5M", "1.0M", "1.5M", "2.0M"]),
            (40.0, &["0", "10", "20", "30", "40"]),
            (2.6e9, &["0", "1G", "2G", "3G"]),
            (0.004, &["0", "1.0e-3", "2.0e-3", "3.0e-3", "4.0e-3"]),
            (0.0, &["0", "1"]),
        ];
        for (rate, expected) in cases {
            let dots = vec![Dot { tasks: 1.0, rate, interval: None }];
            let rates = Rates::new(&[Drawn { label: String::new(), dots, scales: true }]);
            let labels: Vec<String> = rates.labels().into_iter().map(|(_, label)| label).collect();
            assert_eq!(labels, expected, "{rate}");
        }
    }

    #[test]
    fn numbers_of_tasks_never_touch() {
        let counts = (1..=64).map(|n| (n, f64::from(n) * 1e5)).collect::<Vec<_>>();
        let lines = ascii(vec![fixture::curve("a", &counts)]);
        let numbers = lines.iter().find(|line| line.starts_with("tasks")).unwrap();
        let numbers: Vec<u32> =
            numbers.split_whitespace().skip(1).map(|n| n.parse().unwrap()).collect();
        assert!(numbers.is_sorted() && numbers.len() > 8, "{numbers:?}");
        assert_eq!((numbers[0], numbers[numbers.len() - 1]), (1, 64));
    }

    #[test]
    fn a_long_name_is_cut() {
        assert_eq!(cut("open_close", 10, '~'), "open_close");
        assert_eq!(cut("open_close", 9, '~'), "open_clo~");
        assert_eq!(cut("\u{6f22}\u{5b57}x", 4, '~'), "\u{6f22}~");
        assert_eq!(cut("x", 0, '~'), "~");
    }

    #[test]
    fn without_unicode_all_is_ascii() {
        let [a, b] = ["a", "b"].map(|name| fixture::curve(name, &[(1, 1e6), (2, 1.9e6), (4, 2e6)]));
        let lines = ascii(vec![a, b]);
        assert!(lines.iter().all(|line| line.is_ascii()), "{lines:#?}");
    }

    fn any_point() -> impl Strategy<Value = Point> {
        let tasks = prop_oneof![0..9u32, 1..5000u32, any::<u32>()];
        let rate = prop_oneof![0.0..1e7f64, any::<f64>(), Just(0.0), Just(f64::MAX)];
        (tasks, rate.clone(), proptest::option::of([rate.clone(), rate])).prop_map(
            |(tasks, ops_per_s, ci95)| Point { ops_per_s, ci95, ..fixture::summary(tasks, 1.0) },
        )
    }

    proptest! {
        #[test]
        fn it_fits_the_width_whatever_is_drawn(
            curves in prop::collection::vec((prop::collection::vec(any_point(), 0..14), ".{0,90}"), 0..11),
            width in 0..160u16,
            unicode: bool,
        ) {
            let curve = |(points, target): (Vec<Point>, String)| Curve { target, points, ..fixture::curve("a", &[]) };
            let run = fixture::run_of(curves.into_iter().map(curve).collect());
            for line in plot(&run, &Style { width, unicode, ..Style::default() }) {
                prop_assert!(line.chars().count() <= usize::from(width), "{width}: {line}");
            }
        }
    }
}
