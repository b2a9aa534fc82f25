//! A chart as SVG: no script, text as text, told apart in grey as well as in colour.
//!
//! On its own it is a picture for a paper or a wiki; inside a page it is what is seen without script and on paper, and the page's
//! style sheet gives it the theme's colours.

mod ink;
mod legend;
mod panel;
mod scale;
mod text;
mod writer;

use crate::chart::{Chart, Spread};
use scale::Scale;
use writer::{Anchor, Writer};

pub(crate) use legend::swatch;

/// Width of every picture, in user units.
const WIDTH: f64 = 760.0;
/// Around everything.
const PAD: f64 = 14.0;
/// From one base line to the next.
const LINE: f64 = 19.0;
/// Between the ends of the x axis and the outermost marks.
const MARGIN: f64 = 16.0;
/// Between the legend and the sentences.
const ABOVE_CAPTION: f64 = 6.0;
/// Heights of a panel's drawing.
const MAJOR: f64 = 280.0;
const MINOR: f64 = 130.0;

/// Charts below each other as a picture of its own.
pub(crate) fn document(charts: &[Chart]) -> String {
    let heights: Vec<f64> =
        charts.iter().map(|chart| Layout::of(chart, Heading::Shown).height).collect();
    let height = heights.iter().sum::<f64>().max(LINE + 2.0 * PAD);
    let mut out = Writer::default();
    let shape = format!(
        "width=\"{WIDTH:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\""
    );
    let title: Vec<&str> = charts.iter().map(|chart| chart.title.as_str()).collect();
    let heading =
        if charts.is_empty() { "no point was measured".to_owned() } else { title.join("; ") };
    let font = format!("font-family=\"{}\" font-size=\"{}\"", text::FAMILY, text::SIZE);
    out.open(
        "svg",
        format_args!(
            "xmlns=\"http://www.w3.org/2000/svg\" {shape} {font} color=\"#1a1a1a\" role=\"img\""
        ),
    );
    out.text("title", format_args!(""), &heading);
    out.empty("rect", format_args!("width=\"100%\" height=\"100%\" fill=\"#fff\""));
    if charts.is_empty() {
        out.open("g", format_args!("fill=\"currentColor\""));
        out.label(PAD, PAD + text::SIZE, Anchor::Start, &heading);
        out.close();
    }
    let mut top = 0.0;
    for (number, (chart, height)) in charts.iter().zip(heights).enumerate() {
        out.open("g", format_args!("transform=\"translate(0 {top:.0})\""));
        draw(&mut out, chart, &format!("c{number}"), Heading::Shown);
        out.close();
        top += height;
    }
    out.finish()
}

/// A chart as an element of a page, which has its title and its sentences as text: `labelled` is the id of the heading. `id` is
/// unique in the page.
pub(crate) fn element(chart: &Chart, id: &str, labelled: &str) -> String {
    let height = Layout::of(chart, Heading::Elsewhere).height;
    let mut out = Writer::default();
    let font = format!("font-family=\"{}\" font-size=\"{}\"", text::FAMILY, text::SIZE);
    let shape = format!("viewBox=\"0 0 {WIDTH:.0} {height:.0}\"");
    out.open("svg", format_args!("{shape} {font} role=\"img\" aria-labelledby=\"{labelled}\""));
    draw(&mut out, chart, id, Heading::Elsewhere);
    out.finish()
}

/// Whether title and sentences are part of the drawing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Heading {
    Shown,
    Elsewhere,
}

/// Where everything goes; user units from the top left.
struct Layout {
    x: Scale,
    /// Per panel: its axis and the y of its drawing's upper edge and height.
    panels: Vec<(Scale, f64, f64)>,
    left: f64,
    title: Vec<String>,
    legend: Vec<legend::Row>,
    caption: Vec<String>,
    height: f64,
}

impl Layout {
    fn of(chart: &Chart, heading: Heading) -> Layout {
        let room = WIDTH - 2.0 * PAD;
        let wrapped = |lines: &[String], room: f64| -> Vec<String> {
            let shown = lines.iter().filter(|_| heading == Heading::Shown);
            shown.flat_map(|line| text::wrap(line, room)).collect()
        };
        // Bold text is wider.
        let title = wrapped(std::slice::from_ref(&chart.title), room / 1.1);
        let values: Vec<f64> = chart
            .panels
            .iter()
            .flat_map(|panel| &panel.series)
            .flat_map(|one| &one.dots)
            .map(|dot| dot.x)
            .collect();
        let x = Scale::across(&values, chart.x.spread);
        let scales: Vec<Scale> = chart.panels.iter().map(Scale::of).collect();
        let widest = |scale: &Scale| {
            scale.labels().iter().map(|(_, label)| text::width(label)).fold(0.0, f64::max)
        };
        let left = PAD + scales.iter().map(widest).fold(0.0, f64::max) + 8.0;
        let mut top = PAD + title.len() as f64 * LINE + 4.0;
        let mut panels = Vec::new();
        for (panel, scale) in chart.panels.iter().zip(scales) {
            let height = if panel.minor { MINOR } else { MAJOR };
            // A line for the unit.
            top += LINE;
            panels.push((scale, top, height));
            top += height + 8.0;
        }
        // Numbers and name of the x axis.
        top += 2.0 * LINE;
        let legend = legend::rows(chart, room);
        let caption = wrapped(&chart.caption, room);
        let lines = legend.len() + caption.len();
        Layout {
            x,
            panels,
            left,
            title,
            legend,
            caption,
            height: top + lines as f64 * LINE + ABOVE_CAPTION + PAD,
        }
    }

    fn right(&self) -> f64 {
        WIDTH - PAD - 4.0
    }

    /// Where a value of the x axis lies; none for what the axis has no place for.
    fn across(&self, value: f64) -> Option<f64> {
        let (from, to) = (self.left + MARGIN, self.right() - MARGIN);
        Some(from + self.x.position(value)? * (to - from))
    }
}

fn draw(out: &mut Writer, chart: &Chart, id: &str, heading: Heading) {
    let layout = Layout::of(chart, heading);
    out.open("g", format_args!("fill=\"currentColor\""));
    if heading == Heading::Shown {
        out.open("g", format_args!("font-weight=\"bold\""));
        for (number, line) in layout.title.iter().enumerate() {
            out.label(PAD, PAD + text::SIZE + number as f64 * LINE, Anchor::Start, line);
        }
        out.close();
    }
    for (number, panel) in chart.panels.iter().enumerate() {
        panel::draw(out, panel, &layout, number, &format!("{id}p{number}"));
    }
    let foot = layout.panels.last().map_or(0.0, |(_, top, height)| top + height);
    for (x, label) in x_labels(chart, &layout) {
        out.label(x, foot + 18.0, Anchor::Middle, &label);
    }
    let name = text::fit(&named(&chart.x.label, chart.x.spread), layout.right() - layout.left);
    out.label((layout.left + layout.right()) / 2.0, foot + 18.0 + LINE, Anchor::Middle, &name);
    let mut y = foot + 18.0 + 2.2 * LINE;
    for row in &layout.legend {
        legend::draw(out, row, y);
        y += LINE;
    }
    if heading == Heading::Shown {
        y += ABOVE_CAPTION;
        for line in &layout.caption {
            out.label(PAD, y, Anchor::Start, line);
            y += LINE;
        }
    }
    out.close();
}

/// The axis's name, and how it is spread where that is not the usual way.
fn named(label: &str, spread: Spread) -> String {
    match spread {
        Spread::Linear => label.to_owned(),
        Spread::Log => format!("{label} (log scale)"),
    }
}

/// The numbers below the x axis: the values that there are, as far as there is room, or round ones if those are many. First and
/// last are always there, then powers of two.
fn x_labels(chart: &Chart, layout: &Layout) -> Vec<(f64, String)> {
    let mut values: Vec<f64> = chart
        .panels
        .iter()
        .flat_map(|panel| &panel.series)
        .flat_map(|one| &one.dots)
        .map(|dot| dot.x)
        .collect();
    values.sort_unstable_by(f64::total_cmp);
    values.dedup();
    if values.len() > 40 && chart.x.spread == Spread::Linear {
        return layout
            .x
            .labels()
            .into_iter()
            .filter_map(|(value, label)| Some((layout.across(value)?, label)))
            .collect();
    }
    let power_of_two = |value: f64| value >= 1.0 && value.log2().fract() == 0.0;
    let ends = [values.first(), values.last()].into_iter().flatten();
    let inner = || values.iter();
    let order = ends
        .chain(inner().filter(|&&v| power_of_two(v)))
        .chain(inner().filter(|&&v| !power_of_two(v)));
    let mut taken: Vec<(f64, f64)> = Vec::new();
    let mut labels = Vec::new();
    for &value in order {
        let Some(x) = layout.across(value) else { continue };
        let label = value.to_string();
        let half = text::width(&label) / 2.0 + 4.0;
        let free = taken.iter().all(|&(from, to)| x + half <= from || x - half >= to);
        if free {
            taken.push((x - half, x + half));
            labels.push((x, label));
        }
    }
    labels
}

#[cfg(test)]
mod tests;
