//! The legend: every series with its look, as many a row as fit, and what the other lines mean.

use super::writer::{Anchor, Writer};
use super::{PAD, ink, text};
use crate::chart::{Chart, Form, Series};

/// Width of the sample of a line.
const SAMPLE: f64 = 34.0;
/// Between a sample and its text, and between entries.
const GAP: f64 = 8.0;

/// What stands before the text of an entry.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sample {
    Series { ink: usize, form: Form },
    Ideal,
    Fit,
    Knee,
    Band,
}

/// An entry: its place in the row, its sample and its text.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    x: f64,
    sample: Sample,
    text: String,
}

/// Entries beside each other.
pub(super) type Row = Vec<Entry>;

/// The rows of a chart's legend in a width of `room`.
pub(super) fn rows(chart: &Chart, room: f64) -> Vec<Row> {
    let all: Vec<&Series> = chart.panels.iter().flat_map(|panel| &panel.series).collect();
    let mut entries: Vec<(Sample, String)> = Vec::new();
    for series in &all {
        let knee = series.knee.map_or(String::new(), |knee| format!(", knee at {knee:.1}"));
        let entry =
            (Sample::Series { ink: series.ink, form: series.form }, series.name.clone() + &knee);
        if !entries.contains(&entry) {
            entries.push(entry);
        }
    }
    let mut note = |wanted: fn(&Series) -> bool, sample, text: &str| {
        if all.iter().any(|series| wanted(series)) {
            entries.push((sample, text.to_owned()));
        }
    };
    note(
        |one| one.ideal.is_some() && one.dots.len() > 1,
        Sample::Ideal,
        "linear from the first point",
    );
    note(|one| one.fit.is_some(), Sample::Fit, "universal scalability law");
    note(|one| one.knee.is_some(), Sample::Knee, "knee: half of linear");
    let with_interval =
        |one: &Series| one.form != Form::Area && one.dots.iter().any(|dot| dot.interval.is_some());
    note(with_interval, Sample::Band, "95 % interval");

    let mut rows: Vec<Row> = Vec::new();
    let mut x = 0.0;
    for (sample, text) in entries {
        let text = text::fit(&text, room - SAMPLE - GAP);
        let width = SAMPLE + GAP + text::width(&text);
        if rows.is_empty() || x + width > room {
            rows.push(Vec::new());
            x = 0.0;
        }
        if let Some(row) = rows.last_mut() {
            row.push(Entry { x: PAD + x, sample, text });
        }
        x += width + 2.0 * GAP;
    }
    rows
}

/// Draws a row whose texts stand on `y`.
pub(super) fn draw(out: &mut Writer, row: &[Entry], y: f64) {
    for entry in row {
        sample(out, entry.sample, entry.x, y - text::SIZE * 0.36);
        out.label(entry.x + SAMPLE + GAP, y, Anchor::Start, &entry.text);
    }
}

fn sample(out: &mut Writer, sample: Sample, x: f64, y: f64) {
    let d = format!("M{x:.1} {y:.1}h{SAMPLE}");
    match sample {
        Sample::Series { ink, form } => {
            let colour = ink::colour(ink);
            out.open("g", format_args!("class=\"{}\" stroke=\"{colour}\" fill=\"{colour}\"", ink::class(ink)));
            let middle = x + SAMPLE / 2.0;
            match form {
                Form::Area => out.empty("path", format_args!("d=\"M{x:.1} {:.1}h{SAMPLE}v10h-{SAMPLE}z\" fill-opacity=\"0.55\"", y - 5.0)),
                Form::Dots => {
                    let (speck, stroke) = ink::speck(ink);
                    let up = if speck == "v6" { 3.0 } else { 0.0 };
                    let d: String = [-10.0, 0.0, 10.0]
                        .map(|beside| format!("M{:.1} {:.1}{speck}", middle + beside, y - up))
                        .concat();
                    out.empty("path", format_args!("d=\"{d}\" {stroke} fill=\"none\""));
                }
                Form::Curve | Form::Marks => {
                    let dash = ink::dash(ink).map_or(String::new(), |dash| format!(" stroke-dasharray=\"{dash}\""));
                    if form == Form::Curve {
                        out.empty("path", format_args!("d=\"{d}\" fill=\"none\" stroke-width=\"2\"{dash}"));
                    }
                    let (mark, filled) = ink::mark(ink, middle, y);
                    let hollow = if filled { "" } else { " class=\"hollow\" fill=\"#fff\"" };
                    out.empty("path", format_args!("d=\"{mark}\" stroke-width=\"1.6\"{hollow}"));
                }
            }
            out.close();
        }
        Sample::Ideal => out.empty("path", format_args!("d=\"{d}\" stroke=\"currentColor\" stroke-width=\"1.3\" stroke-dasharray=\"1.5 4\"")),
        Sample::Fit => out.empty("path", format_args!("d=\"{d}\" stroke=\"currentColor\" stroke-width=\"5\" stroke-opacity=\"0.28\"")),
        Sample::Knee => out.empty("path", format_args!("d=\"M{:.1} {y:.1}a8 8 0 1 0 16 0a8 8 0 1 0 -16 0\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.6\"", x + SAMPLE / 2.0 - 8.0)),
        Sample::Band => {
            let d = format!("M{x:.1} {:.1}h{SAMPLE}v10h-{SAMPLE}z", y - 5.0);
            out.empty("path", format_args!("d=\"{d}\" fill-opacity=\"0.22\""));
            let bar = format!("M{:.1} {:.1}v10m-3 0h6m0 -10h-6", x + SAMPLE / 2.0, y - 5.0);
            out.empty("path", format_args!("d=\"{bar}\" stroke=\"currentColor\" fill=\"none\""));
        }
    }
}

/// The look of a series, to stand beside its name in a page.
pub(crate) fn swatch(ink: usize, form: Form) -> String {
    let mut out = Writer::default();
    out.open(
        "svg",
        format_args!(
            "viewBox=\"0 0 {SAMPLE} 14\" width=\"{SAMPLE}\" height=\"14\" aria-hidden=\"true\""
        ),
    );
    sample(&mut out, Sample::Series { ink, form }, 0.0, 7.0);
    out.finish()
}
