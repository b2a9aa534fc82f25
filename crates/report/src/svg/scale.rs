//! Axes: which values they hold, where each lies, what is written at them.

use crate::chart::{Panel, Spread};

/// Steps of a linear axis at most.
const STEPS: f64 = 6.0;

/// Labels of a logarithmic axis at most.
const LOG_LABELS: usize = 9;

/// From values to a length, and back to labels.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    spread: Spread,
    ticks: Vec<f64>,
    /// Between ticks of a linear axis.
    step: f64,
}

impl Scale {
    /// The y axis of a panel: high enough for every mark. Ideal lines and wide intervals get room too, but never more than the
    /// marks have.
    pub(super) fn of(panel: &Panel) -> Scale {
        let rows = panel.laid_out();
        let logarithmic = panel.y.spread == Spread::Log;
        let drawn = |y: f64| y.is_finite() && (!logarithmic || y > 0.0);
        let marks: Vec<f64> = rows
            .iter()
            .flatten()
            .map(|dot| dot.y)
            .chain(panel.reference)
            .filter(|&y| drawn(y))
            .collect();
        let highest = marks.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let lowest = marks.iter().copied().fold(f64::INFINITY, f64::min);
        if marks.is_empty() {
            return Scale::linear(0.0, 1.0);
        }
        let ends: Vec<f64> = rows
            .iter()
            .flatten()
            .filter_map(|dot| dot.interval)
            .flatten()
            .filter(|&y| drawn(y))
            .collect();
        let ideals = panel.series.iter().filter_map(|one| Some(one.ideal? * one.dots.last()?.x));
        match panel.y.spread {
            Spread::Log => {
                let wide = |y: &f64| (lowest / 4.0..=highest * 4.0).contains(y);
                let values = || ends.iter().copied().chain(ideals.clone()).filter(wide);
                let high = values().fold(highest, f64::max);
                Scale::log(values().fold(lowest, f64::min), high)
            }
            Spread::Linear if panel.from_zero => {
                let fair = ideals.filter(|&ideal| ideal <= 2.0 * highest);
                let high = fair.chain(ends.iter().copied()).fold(highest, f64::max);
                Scale::linear(0.0, high.min(2.0 * highest))
            }
            Spread::Linear => {
                let room = (highest - lowest).max(highest.abs() * 0.02);
                let wide = |y: &f64| (lowest - room..=highest + room).contains(y);
                let values = || ends.iter().copied().filter(wide);
                let low = values().fold(lowest, f64::min);
                let high = values().fold(highest, f64::max);
                // What is all the same lies in the middle, not on the frame.
                let around = if low == high { high.abs() * 0.01 } else { 0.0 };
                Scale::linear(low - around, high + around)
            }
        }
    }

    /// The x axis over these values.
    pub(super) fn across(values: &[f64], spread: Spread) -> Scale {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !(low.is_finite() && high.is_finite()) {
            return Scale::linear(0.0, 1.0);
        }
        let spread = if low > 0.0 { spread } else { Spread::Linear };
        let nice = Scale::linear(low, high);
        let ticks: Vec<f64> =
            nice.ticks.into_iter().filter(|tick| (low..=high).contains(tick)).collect();
        // One value still has a place: the middle.
        let (low, high) = match (low == high, spread) {
            (false, _) => (low, high),
            (true, Spread::Log) => (low / 2.0, high * 2.0),
            (true, Spread::Linear) => (low - 1.0, high + 1.0),
        };
        Scale { low, high, spread, ticks, step: nice.step }
    }

    fn linear(low: f64, high: f64) -> Scale {
        let span = high - low;
        if !(1e-300..1e300).contains(&span) {
            // Nothing was done at all: the marks still need an axis.
            let high = if high > low { high } else { low + 1.0 };
            return Scale {
                low,
                high,
                spread: Spread::Linear,
                ticks: vec![low, high],
                step: high - low,
            };
        }
        let ten = 10f64.powi(span.log10().floor() as i32 - 1);
        let nice = [1.0, 2.0, 2.5, 5.0, 10.0, 20.0, 25.0].map(|nice| nice * ten);
        let step = nice.into_iter().find(|step| span / step <= STEPS - 1.0).unwrap_or(span);
        // A value that is a step but for the last bit is no reason for another step.
        let (first, last) = ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil());
        let count = (last - first) as usize;
        let ticks: Vec<f64> = (0..=count).map(|i| (first + i as f64) * step).collect();
        Scale { low: first * step, high: last * step, spread: Spread::Linear, ticks, step }
    }

    fn log(low: f64, high: f64) -> Scale {
        let (low, high) = (low / 1.25, high * 1.25);
        let first = low.log10().floor() as i32;
        let last = high.log10().ceil() as i32;
        let inside = |digits: &[f64], every: i32| -> Vec<f64> {
            (first..=last)
                .filter(|power| power.rem_euclid(every) == 0)
                .flat_map(|power| digits.iter().map(move |digit| digit * 10f64.powi(power)))
                .filter(|tick| (low..=high).contains(tick))
                .collect()
        };
        let finer: [(&[f64], i32); 6] = [
            (&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], 1),
            (&[1.0, 2.0, 5.0], 1),
            (&[1.0], 1),
            (&[1.0], 2),
            (&[1.0], 3),
            (&[1.0], 100),
        ];
        let ticks = finer.into_iter().map(|(digits, every)| inside(digits, every));
        let ticks = ticks.into_iter().find(|ticks| ticks.len() <= LOG_LABELS).unwrap_or_default();
        Scale { low, high, spread: Spread::Log, ticks, step: 0.0 }
    }

    /// From 0 at the low end to 1 at the high end; none of what a logarithmic axis has no place for.
    pub(super) fn position(&self, value: f64) -> Option<f64> {
        let place = match self.spread {
            Spread::Linear => (value - self.low) / (self.high - self.low),
            Spread::Log if value > 0.0 => (value / self.low).ln() / (self.high / self.low).ln(),
            Spread::Log => return None,
        };
        place.is_finite().then_some(place)
    }

    /// Many values from `from` to `to`, close together in the drawing.
    pub(super) fn between(&self, from: f64, to: f64, steps: u32) -> Vec<f64> {
        let part = |i: u32| f64::from(i) / f64::from(steps);
        (0..=steps)
            .map(|i| match self.spread {
                Spread::Log => from * (to / from).powf(part(i)),
                Spread::Linear => from + (to - from) * part(i),
            })
            .collect()
    }

    /// Values and what to write at them, all in the same unit.
    pub(super) fn labels(&self) -> Vec<(f64, String)> {
        let decimals_of = |step: f64, unit: f64| {
            (0..6).find(|&d| (step / unit * 10f64.powi(d) + 1e-7).fract() < 1e-6).unwrap_or(6)
                as usize
        };
        let top = self.high.abs().max(self.low.abs());
        let label = |value: f64| {
            let (unit, suffix) = unit(if self.spread == Spread::Log { value } else { top });
            match value / unit {
                scaled if scaled.abs() < self.step / unit * 1e-9 => "0".to_owned(),
                _ if !(1e-3..1e16).contains(&top) => format!("{value:.1e}"),
                scaled if self.spread == Spread::Log => format!("{}{suffix}", round(scaled)),
                scaled => format!("{scaled:.*}{suffix}", decimals_of(self.step, unit)),
            }
        };
        fn unit(of: f64) -> (f64, &'static str) {
            match of.abs() {
                size if size >= 0.999e12 => (1e12, "T"),
                size if size >= 0.999e9 => (1e9, "G"),
                size if size >= 0.999e6 => (1e6, "M"),
                size if size >= 0.999e4 => (1e3, "k"),
                _ => (1.0, ""),
            }
        }
        self.ticks.iter().map(|&value| (value, label(value))).collect()
    }
}

/// The number without the noise of powers of ten.
fn round(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Dot, Form, Series};

    fn labels(values: &[f64], spread: Spread, from_zero: bool) -> Vec<String> {
        let dots = values.iter().map(|&y| Dot { x: 1.0, y, interval: None }).collect();
        let mut panel = Panel::new("ops/s", vec![Series::new("a".into(), 0, Form::Curve, dots)]);
        (panel.y.spread, panel.from_zero) = (spread, from_zero);
        Scale::of(&panel).labels().into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn labels_are_round_from_a_tenth_to_a_billion() {
        let cases: [(&[f64], Spread, bool, &[&str]); 9] = [
            (&[0.1], Spread::Linear, true, &["0", "0.02", "0.04", "0.06", "0.08", "0.10"]),
            (&[1534210.0], Spread::Linear, true, &["0", "0.5M", "1.0M", "1.5M", "2.0M"]),
            (&[1e9], Spread::Linear, true, &["0", "0.2G", "0.4G", "0.6G", "0.8G", "1.0G"]),
            (&[0.0], Spread::Linear, true, &["0", "1"]),
            (
                &[0.93, 1.12],
                Spread::Linear,
                false,
                &["0.90", "0.95", "1.00", "1.05", "1.10", "1.15"],
            ),
            (&[1.0], Spread::Linear, false, &["0.990", "0.995", "1.000", "1.005", "1.010"]),
            (&[1.0, 8.0], Spread::Log, true, &["1", "2", "5", "10"]),
            (&[1e3, 1e6], Spread::Log, true, &["1000", "10k", "100k", "1M"]),
            (&[0.1, 1e9], Spread::Log, true, &["1", "100", "10k", "1M", "100M"]),
        ];
        for (values, spread, from_zero, expected) in cases {
            assert_eq!(labels(values, spread, from_zero), expected, "{values:?}");
        }
    }

    #[test]
    fn places_are_fractions_of_the_axis() {
        let log = Scale::across(&[1.0, 16.0], Spread::Log);
        assert_eq!([1.0, 4.0, 16.0].map(|x| log.position(x).expect("positive")), [0.0, 0.5, 1.0]);
        assert_eq!(log.position(0.0), None);
        let one = Scale::across(&[3.0], Spread::Linear);
        assert_eq!(one.position(3.0), Some(0.5));
        assert_eq!(Scale::across(&[], Spread::Log).position(0.5), Some(0.5));
    }
}
