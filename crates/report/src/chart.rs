//! What is to be drawn, before it is known with what: the same chart becomes an SVG picture and, in a page, an interactive one.
//!
//! Serialized it is what the page's script reads.

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

/// One picture: panels above each other on one x axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chart {
    /// Heading. May hold names from outside.
    #[serde(skip)]
    pub title: String,
    /// What there is to see, a sentence an element, for those too who cannot see it.
    #[serde(skip)]
    pub caption: Vec<String>,
    /// The common axis.
    pub x: Axis,
    /// From the top; at least one.
    pub panels: Vec<Panel>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Axis {
    /// Unit, or what is counted.
    pub label: String,
    /// How its values are spread.
    pub spread: Spread,
}

/// How values are spread over an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Spread {
    /// Equal differences have equal length.
    Linear,
    /// Doubling has equal length. Values that are not positive are left out.
    Log,
}

/// A y axis and what is drawn over it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Panel {
    /// The y axis.
    pub y: Axis,
    /// The linear axis begins at 0, so that heights are proportions.
    pub from_zero: bool,
    /// Series lie upon each other, the first at the bottom.
    pub stacked: bool,
    /// A horizontal line, like 1 under ratios.
    pub reference: Option<f64>,
    /// Not the main thing: it is drawn half as high.
    pub minor: bool,
    /// In the order of the legend.
    pub series: Vec<Series>,
}

/// Points that belong together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// In the legend. May hold names from outside.
    pub name: String,
    /// Which colour, mark and dash: the same number, the same look.
    pub ink: usize,
    /// How it is drawn.
    pub form: Form,
    /// In ascending order of x.
    pub dots: Vec<Dot>,
    /// Rate of one task if scaling were linear: the dotted line y = slope × x.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ideal: Option<f64>,
    /// A fit of the universal scalability law, over the dots' range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fit: Option<Law>,
    /// Where the efficiency has fallen to a half.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knee: Option<f64>,
}

/// X(n) = λn / (1 + σ(n-1) + κn(n-1)).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Law {
    /// Rate of one task.
    pub lambda: f64,
    /// Contention.
    pub sigma: f64,
    /// Coherence.
    pub kappa: f64,
}

impl Law {
    /// The rate of `n` tasks.
    pub fn at(&self, n: f64) -> f64 {
        self.lambda * n / (1.0 + self.sigma * (n - 1.0) + self.kappa * n * (n - 1.0))
    }
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Marks, joined by a line, with a band where there are intervals.
    Curve,
    /// Marks that nothing joins.
    Marks,
    /// Many small dots.
    Dots,
    /// Filled down to the series below.
    Area,
}

/// A point. All numbers are finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dot {
    /// Right.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// 95 % interval of `y`.
    pub interval: Option<[f64; 2]>,
}

/// As `[x, y]` or `[x, y, low, high]`: there are many.
impl Serialize for Dot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_seq(None)?;
        row.serialize_element(&Short(self.x))?;
        row.serialize_element(&Short(self.y))?;
        for end in self.interval.iter().flatten() {
            row.serialize_element(&Short(*end))?;
        }
        row.end()
    }
}

/// A whole number without ".0".
struct Short(f64);

impl Serialize for Short {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            whole if whole.fract() == 0.0 && whole.abs() < 1e15 => {
                serializer.serialize_i64(whole as i64)
            }
            value => serializer.serialize_f64(value),
        }
    }
}

impl Dot {
    /// None of what cannot be drawn: a number that is not finite. An interval that is not is left out.
    pub fn new(x: f64, y: f64, interval: Option<[f64; 2]>) -> Option<Dot> {
        let interval = interval.filter(|ends| ends.iter().all(|end| end.is_finite()));
        (x.is_finite() && y.is_finite()).then_some(Dot { x, y, interval })
    }
}

impl Series {
    /// A series with nothing but its dots.
    pub fn new(name: String, ink: usize, form: Form, dots: Vec<Dot>) -> Series {
        Series { name, ink, form, dots, ideal: None, fit: None, knee: None }
    }
}

impl Axis {
    /// With equal steps.
    pub fn linear(label: &str) -> Axis {
        Axis { label: label.to_owned(), spread: Spread::Linear }
    }

    /// Of task counts: spread by their logarithm if the gaps between them grow, for else all but the last would lie on top of
    /// each other.
    pub fn of_tasks(series: &[Series]) -> Axis {
        let mut counts: Vec<f64> =
            series.iter().flat_map(|one| one.dots.iter().map(|dot| dot.x)).collect();
        counts.sort_unstable_by(f64::total_cmp);
        counts.dedup();
        let gaps = || counts.windows(2).map(|pair| pair[1] - pair[0]);
        let (narrow, wide) = (gaps().fold(f64::INFINITY, f64::min), gaps().fold(0.0, f64::max));
        let grows = wide >= 2.0 * narrow && counts.first().is_some_and(|&first| first > 0.0);
        let spread = if grows { Spread::Log } else { Spread::Linear };
        Axis { label: "tasks".to_owned(), spread }
    }
}

impl Panel {
    /// A large panel from 0 on.
    pub fn new(unit: &str, series: Vec<Series>) -> Panel {
        Panel {
            y: Axis::linear(unit),
            from_zero: true,
            stacked: false,
            reference: None,
            minor: false,
            series,
        }
    }

    /// The same dots with each series on top of those before it, where it is stacked.
    pub(crate) fn laid_out(&self) -> Vec<Vec<Dot>> {
        let mut rows: Vec<Vec<Dot>> = self.series.iter().map(|one| one.dots.clone()).collect();
        if self.stacked {
            for upper in 1..rows.len() {
                let (below, above) = rows.split_at_mut(upper);
                for (dot, base) in above[0].iter_mut().zip(&below[upper - 1]) {
                    dot.y += base.y;
                }
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_short_rows() {
        let dot = |y, interval| Dot::new(2.0, y, interval).expect("finite");
        let json = serde_json::to_string(&[dot(1.5, None), dot(3.0, Some([2.5, 4.0]))]);
        assert_eq!(json.expect("numbers"), "[[2,1.5],[2,3,2.5,4]]");
        assert_eq!(Dot::new(1.0, f64::NAN, None), None);
        assert_eq!(dot(1.0, Some([0.0, f64::INFINITY])).interval, None);
    }

    #[test]
    fn stacked_series_lie_upon_each_other() {
        let row = |y| vec![Dot { x: 1.0, y, interval: None }];
        let series = [1.0, 2.0, 4.0].map(|y| Series::new(String::new(), 0, Form::Area, row(y)));
        let panel = Panel { stacked: true, ..Panel::new("s", series.to_vec()) };
        let tops: Vec<f64> = panel.laid_out().iter().map(|dots| dots[0].y).collect();
        assert_eq!(tops, [1.0, 3.0, 7.0]);
    }
}
