//! The corpus, and what is true of whatever comes out of a file.

use imports::{FORMATS, Format};
use results::{Curve, Kind, Point, Run};
use std::path::{Path, PathBuf};

/// A directory for each format, with files of it.
pub(crate) fn dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files")
}

/// Every file of the corpus with its format.
pub(crate) fn corpus() -> Vec<(&'static Format, PathBuf, Vec<u8>)> {
    let mut corpus = Vec::new();
    for format in FORMATS {
        let files = std::fs::read_dir(dir().join(format.name)).expect("files of each format");
        for file in files {
            let path = file.expect("a file").path();
            let bytes = std::fs::read(&path).expect("a readable file");
            corpus.push((format, path, bytes));
        }
    }
    corpus.sort_by(|(_, a, _), (_, b, _)| a.cmp(b));
    corpus
}

/// A run that came from `file` keeps the rules of the record and of imports.
pub(crate) fn check(format: &Format, file: &str, run: &Run) {
    let import = run.import.as_ref().expect("an import");
    assert_eq!((import.tool.as_str(), import.file.as_str()), (format.name, file));
    assert!(!run.command.is_empty() && !run.curves.is_empty());
    let samples = |curve: &Curve| curve.points.iter().any(|point| !point.samples.is_empty());
    assert_eq!(import.summary_only, !run.curves.iter().any(samples));
    for curve in &run.curves {
        assert_eq!(curve.kind, Kind::Imported);
        assert!(["process", "thread", "unknown"].contains(&curve.mode.as_str()));
        assert!(!curve.metric.unit.is_empty() && !curve.points.is_empty());
        assert!(curve.points.is_sorted_by(|a, b| a.tasks < b.tasks));
        curve.points.iter().for_each(|point| check_point(curve, point));
    }
    // Also that every number is finite: JSON has no others.
    let json = serde_json::to_string(run).expect("JSON");
    assert_eq!(&serde_json::from_str::<Run>(&json).expect("the record"), run);
}

fn check_point(curve: &Curve, point: &Point) {
    assert!(point.tasks > 0 && point.ops_per_s > 0.0 && point.ops_per_s.is_finite(), "{point:?}");
    assert!((0.0..=1.0).contains(&point.fairness), "{point:?}");
    if point.samples.is_empty() {
        assert_eq!(point.ci95, None);
    } else {
        // The value is what the samples say: only then may intervals be made of them.
        let mut rates = point.round_rates();
        rates.sort_by(f64::total_cmp);
        let median = rates[(rates.len() - 1) / 2].midpoint(rates[rates.len() / 2]);
        assert!(
            (point.ops_per_s / median - 1.0).abs() < 1e-6,
            "{} is not {median}",
            point.ops_per_s
        );
        assert!(["ops/s", "runs/s"].contains(&curve.metric.unit.as_str()));
    }
}
