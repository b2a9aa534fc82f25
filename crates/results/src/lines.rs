//! A run as JSON Lines: the record without samples on the first line, then one sample a line. Such a file can be read, grepped
//! and filtered line by line, however long the run was.

use crate::{Run, Sample};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// A line after the first.
#[derive(Deserialize, Serialize)]
struct Line {
    /// Number of the curve in the record, from 0.
    curve: usize,
    /// Number of the point in the curve, from 0.
    point: usize,
    #[serde(flatten)]
    sample: Sample,
}

/// Why a text is no run in JSON Lines.
#[derive(Debug)]
pub struct NotLines {
    /// From 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: String,
}

impl std::fmt::Display for NotLines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for NotLines {}

impl Run {
    /// One JSON object a line; ends with a newline.
    ///
    /// # Panics
    /// Never for a run that can be written as JSON at all.
    pub fn to_lines(&self) -> String {
        let mut head = self.clone();
        for point in head.curves.iter_mut().flat_map(|curve| &mut curve.points) {
            point.samples.clear();
        }
        let json = "numbers and texts can be written as JSON";
        let mut out = serde_json::to_string(&head).expect(json);
        out.push('\n');
        for (curve, points) in self.curves.iter().enumerate() {
            for (point, samples) in points.points.iter().enumerate() {
                for sample in &samples.samples {
                    let line = Line { curve, point, sample: *sample };
                    writeln!(out, "{}", serde_json::to_string(&line).expect(json))
                        .expect("to a String");
                }
            }
        }
        out
    }

    /// The inverse of [`Run::to_lines`].
    ///
    /// # Errors
    /// A line is not what it should be.
    pub fn from_lines(text: &str) -> Result<Run, NotLines> {
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let bad = |at: usize, what: String| NotLines { line: at + 1, what };
        let Some((at, first)) = lines.next() else {
            return Err(bad(0, "the file is empty".into()));
        };
        let mut run: Run = serde_json::from_str(first).map_err(|e| bad(at, e.to_string()))?;
        for (at, line) in lines {
            let line: Line = serde_json::from_str(line).map_err(|e| bad(at, e.to_string()))?;
            let curve = run.curves.get_mut(line.curve);
            let Some(point) = curve.and_then(|curve| curve.points.get_mut(line.point)) else {
                let what =
                    format!("the record has no point {} in curve {}", line.point, line.curve);
                return Err(bad(at, what));
            };
            point.samples.push(line.sample);
        }
        Ok(run)
    }
}
