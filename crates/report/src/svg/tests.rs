//! Pictures over the extremes that they are made for: every text inside, none on another.

use super::*;
use crate::chart::{Axis, Dot, Form, Panel, Series};
use crate::figures::{Named, compared, scaling};
use crate::{comparison, fixture};
use std::path::Path;

/// `curves` series of `points` counts up to `most` tasks, with heights around `rate`.
fn chart(curves: usize, points: u32, most: f64, rate: f64, spread: Spread) -> Chart {
    let series = |ink: usize| {
        let place = |i: u32| f64::from(i) / f64::from((points - 1).max(1));
        let dots = (0..points).map(|i| {
            let x = most.powf(place(i)).round();
            let y = rate * x.powf(1.0 - 0.12 * ink as f64);
            Dot { x, y, interval: Some([y * 0.93, y * 1.08]) }
        });
        let name = format!("workload_number_{ink} on dir:/mnt/some/where/that/is/long");
        let mut series = Series::new(name, ink, Form::Curve, dots.collect());
        series.dots.dedup_by_key(|dot| dot.x);
        (series.ideal, series.knee) = (Some(rate), Some(most.sqrt()));
        series
    };
    let series: Vec<Series> = (0..curves).map(series).collect();
    let x = Axis::of_tasks(&series);
    let mut panel = Panel::new("ops/s", series);
    panel.y.spread = spread;
    let title = format!("{curves} curves, {points} points, up to {most} tasks, from {rate} ops/s");
    Chart {
        title,
        caption: vec!["a sentence that says what there is to see ".repeat(4)],
        x,
        panels: vec![panel],
    }
}

fn extremes() -> Vec<Chart> {
    let mut charts = Vec::new();
    for spread in [Spread::Linear, Spread::Log] {
        for (curves, points, most) in
            [(1, 1, 1.0), (1, 12, 12.0), (3, 12, 4096.0), (8, 13, 4096.0), (2, 2, 2.0)]
        {
            for rate in [0.1, 812_345.6, 1e9] {
                charts.push(chart(curves, points, most, rate, spread));
            }
        }
    }
    charts
}

/// Place and text of every `<text>` in a picture.
fn texts(svg: &str) -> Vec<(f64, f64, String, String)> {
    let attribute = |tag: &str, name: &str| {
        tag.split_once(&format!(" {name}=\""))
            .and_then(|(_, rest)| rest.split_once('"'))
            .map(|(value, _)| value.to_owned())
    };
    let texts = svg.split("<text").skip(1).filter_map(|rest| {
        let (tag, rest) = rest.split_once('>')?;
        let (text, _) = rest.split_once("</text>")?;
        let number = |name| attribute(tag, name)?.parse::<f64>().ok();
        Some((
            number("x")?,
            number("y")?,
            attribute(tag, "text-anchor").unwrap_or_default(),
            text.to_owned(),
        ))
    });
    texts.collect()
}

/// All between the extremes: 1 to 12 points, 1 to 8 curves, 1 to 4096 tasks, 0.1 to 10^9 ops/s.
fn all_between() -> impl Iterator<Item = Chart> {
    let shapes = [1, 2, 5, 8].into_iter().flat_map(|curves| {
        [1, 2, 3, 7, 12].into_iter().flat_map(move |points| {
            [1.0, 2.0, 12.0, 96.0, 4096.0].into_iter().map(move |most| (curves, points, most))
        })
    });
    shapes.flat_map(|(curves, points, most)| {
        [0.1, 99_999.0, 1e9].into_iter().flat_map(move |rate| {
            [Spread::Linear, Spread::Log]
                .into_iter()
                .map(move |spread| chart(curves, points, most, rate, spread))
        })
    })
}

#[test]
fn no_text_is_cut_or_lies_on_another() {
    for chart in extremes().into_iter().chain(all_between()) {
        let svg = document(std::slice::from_ref(&chart));
        let height: f64 = svg
            .split_once("height=\"")
            .and_then(|(_, rest)| rest.split_once('"')?.0.parse().ok())
            .expect("a height");
        let boxes: Vec<(f64, f64, f64, f64, String)> = texts(&svg)
            .into_iter()
            .map(|(x, y, anchor, text)| {
                let width = text::width(&text);
                let left = match anchor.as_str() {
                    "middle" => x - width / 2.0,
                    "end" => x - width,
                    _ => x,
                };
                (left, y - 10.0, left + width, y + 3.0, text)
            })
            .collect();
        assert!(boxes.len() > 5, "{}", chart.title);
        for (i, a) in boxes.iter().enumerate() {
            let inside = a.0 >= 0.0 && a.2 <= WIDTH && a.1 >= 0.0 && a.3 <= height;
            assert!(inside, "{}: {} is cut", chart.title, a.4);
            for b in &boxes[i + 1..] {
                let apart = a.2 <= b.0 || b.2 <= a.0 || a.3 <= b.1 || b.3 <= a.1;
                assert!(apart, "{}: {} lies on {}", chart.title, a.4, b.4);
            }
        }
    }
}

/// Elements are closed in the order they were opened, and no character is there that XML does not have.
fn assert_well_formed(svg: &str) {
    let mut open = Vec::new();
    for tag in svg.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').expect("a tag ends");
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name.to_owned()), "{svg}"),
            None if tag.ends_with('/') => (),
            None => open.push(tag.split([' ', '\n']).next().unwrap_or_default().to_owned()),
        }
    }
    assert!(open.is_empty(), "{open:?}");
    assert!(svg.chars().all(|c| c == '\n' || !crate::escape::is_unprintable(c)), "{svg}");
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
}

#[test]
fn pictures_are_well_formed_whatever_names_and_numbers_there_are() {
    let mut run = fixture::several();
    run.curves[0].target = "dir:/mnt/<script>alert('&')\u{1b}[2J\"\u{ffff}".into();
    run.curves[1].metric.unit = "<b>".into();
    for run in fixture::odd_runs().iter().chain([&run]) {
        assert_well_formed(&document(&scaling(&[
            Named { name: "a", run },
            Named { name: "]]>", run },
        ])));
    }
    for comparison in comparison::tests::odd() {
        assert_well_formed(&document(&compared(&comparison)));
    }
    extremes().iter().for_each(|chart| assert_well_formed(&element(chart, "x", "y")));
}

#[test]
fn what_they_look_like() {
    let drawn = [
        ("small.svg", document(&scaling(&[Named { name: "", run: &fixture::run() }]))),
        ("several.svg", document(&scaling(&[Named { name: "", run: &fixture::several() }]))),
        ("compare.svg", document(&compared(&comparison::tests::comparison()))),
    ];
    for (file, svg) in drawn {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &svg).expect("the golden file can be written");
        }
        let expected = std::fs::read_to_string(&path).expect("the golden file can be read");
        assert!(svg == expected, "{file} is no longer what comes out:\n{svg}");
    }
}

/// To look at: every extreme in one picture, where `VFSCALE_PICTURES` names a directory.
#[test]
fn extremes_can_be_looked_at() {
    let all = document(&extremes());
    assert_well_formed(&all);
    if let Some(dir) = std::env::var_os("VFSCALE_PICTURES") {
        for (number, chart) in extremes().iter().enumerate() {
            let file = Path::new(&dir).join(format!("extreme-{number:02}.svg"));
            std::fs::write(file, document(std::slice::from_ref(chart)))
                .expect("the picture can be written");
        }
    }
}
