//! One panel: grid, bands, lines and marks, in this order, for what comes later lies on top.

use super::writer::{Anchor, Writer};
use super::{Layout, ink, named, text};
use crate::chart::{Dot, Form, Panel, Series};
use std::fmt::Write;

/// Steps of a line that is no polyline.
const SMOOTH: u32 = 32;

/// A place in the picture.
type At = (f64, f64);

struct Frame<'a> {
    layout: &'a Layout,
    number: usize,
}

impl Frame<'_> {
    fn edges(&self) -> (f64, f64) {
        let (_, top, height) = &self.layout.panels[self.number];
        (*top, top + height)
    }

    /// Where a value of the y axis lies; far outside is just outside, for no reader takes numbers without end.
    fn up(&self, value: f64) -> Option<f64> {
        let (scale, top, height) = &self.layout.panels[self.number];
        Some(top + (1.0 - scale.position(value)?.clamp(-1.0, 3.0)) * height)
    }

    fn at(&self, x: f64, y: f64) -> Option<At> {
        Some((self.layout.across(x)?, self.up(y)?))
    }

    /// The floor of areas and of bars that a logarithmic axis has no place for.
    fn floor(&self) -> f64 {
        self.edges().1
    }
}

/// Draws panel number `number`.
pub(super) fn draw(out: &mut Writer, panel: &Panel, layout: &Layout, number: usize, id: &str) {
    let frame = Frame { layout, number };
    let (top, bottom) = frame.edges();
    let (left, right) = (layout.left, layout.right());
    let unit = text::fit(&named(&panel.y.label, panel.y.spread), right - left);
    out.label(left, top - 7.0, Anchor::Start, &unit);
    grid(out, panel, &frame);
    out.open("clipPath", format_args!("id=\"{id}\""));
    out.empty(
        "rect",
        format_args!(
            "x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"",
            top - 6.0,
            right - left,
            bottom - top + 12.0
        ),
    );
    out.close();
    out.open("g", format_args!("clip-path=\"url(#{id})\" stroke-linejoin=\"round\""));
    let rows = panel.laid_out();
    for (number, (series, dots)) in panel.series.iter().zip(&rows).enumerate() {
        let colour = ink::colour(series.ink);
        out.open(
            "g",
            format_args!(
                "class=\"{}\" fill=\"{colour}\" stroke=\"{colour}\"",
                ink::class(series.ink)
            ),
        );
        match series.form {
            Form::Area => {
                let below = number.checked_sub(1).map(|below| rows[below].as_slice());
                area(out, &frame, dots, below.filter(|_| panel.stacked));
            }
            Form::Dots => scatter(out, &frame, series.ink, dots),
            Form::Marks => whiskers(out, &frame, dots),
            Form::Curve => {
                band(out, &frame, dots);
                whiskers(out, &frame, dots);
                ideal(out, &frame, series);
                fit(out, &frame, series);
                line(out, &frame, series, dots);
            }
        }
        out.close();
    }
    // Above all lines, so that no mark is crossed out.
    for (series, dots) in panel.series.iter().zip(&rows) {
        if matches!(series.form, Form::Curve | Form::Marks) {
            marks(out, &frame, series, dots, &panel.y.label);
        }
    }
    out.close();
}

fn grid(out: &mut Writer, panel: &Panel, frame: &Frame<'_>) {
    let (top, bottom) = frame.edges();
    let (left, right) = (frame.layout.left, frame.layout.right());
    let labels = frame.layout.panels[frame.number].0.labels();
    out.open("g", format_args!("stroke=\"currentColor\" stroke-opacity=\"0.16\""));
    for (value, _) in &labels {
        if let Some(y) = frame.up(*value) {
            out.empty("path", format_args!("d=\"M{left:.1} {y:.1}H{right:.1}\""));
        }
    }
    out.close();
    for (value, label) in &labels {
        if let Some(y) = frame.up(*value) {
            out.label(left - 8.0, y + text::SIZE * 0.36, Anchor::End, label);
        }
    }
    let axes = format!("M{left:.1} {top:.1}V{bottom:.1}H{right:.1}");
    out.empty("path", format_args!("d=\"{axes}\" fill=\"none\" stroke=\"currentColor\""));
    if let Some(y) = panel.reference.and_then(|value| frame.up(value)) {
        out.empty("path", format_args!("d=\"M{left:.1} {y:.1}H{right:.1}\" stroke=\"currentColor\" stroke-width=\"1.3\" stroke-dasharray=\"4 3\""));
    }
}

fn path(points: impl IntoIterator<Item = At>) -> String {
    let mut out = String::new();
    for (x, y) in points {
        let command = if out.is_empty() { 'M' } else { 'L' };
        let _ = write!(out, "{command}{x:.1} {y:.1}");
    }
    out
}

fn area(out: &mut Writer, frame: &Frame<'_>, dots: &[Dot], below: Option<&[Dot]>) {
    let upper = || dots.iter().filter_map(|dot| frame.at(dot.x, dot.y));
    let lower: Vec<At> = match below {
        Some(below) => below.iter().filter_map(|dot| frame.at(dot.x, dot.y)).collect(),
        None => upper().map(|(x, _)| (x, frame.floor())).collect(),
    };
    // A single count has no extent; it gets the width of a bar.
    let wide = |(x, y): At| {
        if dots.len() == 1 { vec![(x - 12.0, y), (x + 12.0, y)] } else { vec![(x, y)] }
    };
    let edge: Vec<At> = upper().flat_map(wide).collect();
    let back: Vec<At> = lower.into_iter().flat_map(wide).rev().collect();
    if !edge.is_empty() {
        let d = path(edge.into_iter().chain(back));
        out.empty("path", format_args!("d=\"{d}z\" fill-opacity=\"0.55\" stroke-width=\"1\""));
    }
}

/// In whole units, each dot from the one before: there are thousands.
fn scatter(out: &mut Writer, frame: &Frame<'_>, ink: usize, dots: &[Dot]) {
    let (speck, stroke) = ink::speck(ink);
    let mut d = String::new();
    let mut at = (0, 0);
    for (x, y) in dots.iter().filter_map(|dot| frame.at(dot.x, dot.y)) {
        // A bar begins half its length before its place and leaves the pen at its end.
        let here = match speck {
            "v6" => (x.round() as i32, y.round() as i32 - 3),
            "h6" => (x.round() as i32 - 3, y.round() as i32),
            _ => (x.round() as i32, y.round() as i32),
        };
        let _ = write!(d, "m{} {}{speck}", here.0 - at.0, here.1 - at.1);
        at = match speck {
            "v6" => (here.0, here.1 + 6),
            "h6" => (here.0 + 6, here.1),
            _ => here,
        };
    }
    if !d.is_empty() {
        out.empty("path", format_args!("d=\"{d}\" {stroke} fill=\"none\" stroke-opacity=\"0.75\""));
    }
}

/// The intervals as a band; where a point has none, it is interrupted.
fn band(out: &mut Writer, frame: &Frame<'_>, dots: &[Dot]) {
    for run in dots.split(|dot| dot.interval.is_none()) {
        let ends = |end: usize| {
            run.iter().filter_map(move |dot| {
                let x = frame.layout.across(dot.x)?;
                Some((x, frame.up(dot.interval?[end]).unwrap_or_else(|| frame.floor())))
            })
        };
        if run.len() > 1 {
            let d = path(ends(1).chain(ends(0).collect::<Vec<_>>().into_iter().rev()));
            out.empty("path", format_args!("d=\"{d}z\" fill-opacity=\"0.18\" stroke=\"none\""));
        }
    }
}

/// The interval of each point: a band between them says nothing about a single one.
fn whiskers(out: &mut Writer, frame: &Frame<'_>, dots: &[Dot]) {
    let mut d = String::new();
    for dot in dots {
        let Some((x, [low, high])) = frame.layout.across(dot.x).zip(dot.interval) else { continue };
        let low = frame.up(low).unwrap_or_else(|| frame.floor());
        if let Some(high) = frame.up(high) {
            let _ = write!(d, "M{x:.1} {low:.1}V{high:.1}m-3 0h6M{:.1} {low:.1}h6", x - 3.0);
        }
    }
    if !d.is_empty() {
        out.empty("path", format_args!("d=\"{d}\" stroke-width=\"1.1\" stroke-opacity=\"0.8\""));
    }
}

fn smooth(frame: &Frame<'_>, series: &Series, of: impl Fn(f64) -> f64) -> String {
    let ends = series.dots.first().zip(series.dots.last());
    let Some((first, last)) = ends.filter(|(first, last)| first.x < last.x) else {
        return String::new();
    };
    let values = frame.layout.x.between(first.x, last.x, SMOOTH);
    path(values.into_iter().filter_map(|x| frame.at(x, of(x))))
}

fn ideal(out: &mut Writer, frame: &Frame<'_>, series: &Series) {
    let Some(slope) = series.ideal else { return };
    let d = smooth(frame, series, |x| slope * x);
    if !d.is_empty() {
        out.empty(
            "path",
            format_args!("d=\"{d}\" fill=\"none\" stroke-width=\"1.3\" stroke-dasharray=\"1.5 4\""),
        );
    }
}

fn fit(out: &mut Writer, frame: &Frame<'_>, series: &Series) {
    let Some(law) = series.fit else { return };
    let d = smooth(frame, series, |x| law.at(x));
    out.empty(
        "path",
        format_args!("d=\"{d}\" fill=\"none\" stroke-width=\"5\" stroke-opacity=\"0.28\""),
    );
}

fn line(out: &mut Writer, frame: &Frame<'_>, series: &Series, dots: &[Dot]) {
    let d = path(dots.iter().filter_map(|dot| frame.at(dot.x, dot.y)));
    let dash =
        ink::dash(series.ink).map_or(String::new(), |dash| format!(" stroke-dasharray=\"{dash}\""));
    if dots.len() > 1 {
        out.empty("path", format_args!("d=\"{d}\" fill=\"none\" stroke-width=\"2\"{dash}"));
    }
    let Some((x, y)) = series.knee.and_then(|knee| on_line(frame, dots, knee)) else { return };
    out.empty(
        "path",
        format_args!(
            "d=\"M{:.1} {y:.1}a8 8 0 1 0 16 0a8 8 0 1 0 -16 0\" fill=\"none\" stroke-width=\"1.6\"",
            x - 8.0
        ),
    );
}

/// The place of the drawn line at `x`.
fn on_line(frame: &Frame<'_>, dots: &[Dot], x: f64) -> Option<At> {
    let pair = dots.windows(2).find(|pair| (pair[0].x..=pair[1].x).contains(&x))?;
    let (from, to) = (frame.at(pair[0].x, pair[0].y)?, frame.at(pair[1].x, pair[1].y)?);
    let across = frame.layout.across(x)?;
    Some((across, from.1 + (across - from.0) / (to.0 - from.0) * (to.1 - from.1)))
}

fn marks(out: &mut Writer, frame: &Frame<'_>, series: &Series, dots: &[Dot], unit: &str) {
    let colour = ink::colour(series.ink);
    out.open(
        "g",
        format_args!(
            "class=\"{}\" stroke=\"{colour}\" fill=\"{colour}\" stroke-width=\"1.6\"",
            ink::class(series.ink)
        ),
    );
    for dot in dots {
        let Some((x, y)) = frame.at(dot.x, dot.y) else { continue };
        let (d, filled) = ink::mark(series.ink, x, y);
        let hollow = if filled { "" } else { " class=\"hollow\" fill=\"#fff\"" };
        out.open("path", format_args!("d=\"{d}\"{hollow}"));
        // What a browser shows when the pointer rests on the mark.
        out.text(
            "title",
            format_args!(""),
            &format!("{}, {}: {} {unit}", series.name, dot.x, crate::number::significant(dot.y, 4)),
        );
        out.close();
    }
    out.close();
}
