//! What the formats look like, as files in `tests/golden` to look at. `BLESS=1 cargo test -p report` writes them anew; then
//! look at the difference.

use crate::{Format, Style, fixture};
use results::Run;
use std::path::Path;

fn check(file: &str, run: &Run, format: &str, style: Style) -> String {
    let format = Format::by_name(format).expect("a format");
    let text = (format.render)(run, &style);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).expect("the golden file can be written");
    }
    let expected = std::fs::read_to_string(&path).expect("the golden file can be read");
    assert!(text == expected, "{file} is no longer what comes out:\n{text}");
    text
}

fn longest_line(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

#[test]
fn a_small_run_in_text() {
    let style = Style::default();
    assert!(longest_line(&check("small.txt", &fixture::run(), "text", style)) <= 80);
    check("small-ascii.txt", &fixture::run(), "text", Style { unicode: false, ..style });
    check(
        "small-verbose.txt",
        &fixture::run(),
        "text",
        Style { verbose: true, width: 100, ..style },
    );
}

#[test]
fn several_curves_in_text() {
    let style = Style::default();
    check("several.txt", &fixture::several(), "text", style);
    check("several-ascii.txt", &fixture::several(), "text", Style { unicode: false, ..style });
}

#[test]
fn a_large_machine_in_text() {
    let wide = Style { width: 100, ..Style::default() };
    assert!(longest_line(&check("large.txt", &fixture::large(), "text", wide)) <= 100);
}

#[test]
fn an_interrupted_run_in_text() {
    let mut run = fixture::run();
    run.plan.partial = true;
    run.plan.rounds = 3;
    run.curves[0].points.truncate(2);
    for point in &mut run.curves[0].points {
        point.ci95 = None;
    }
    let text = check("partial.txt", &run, "text", Style::default());
    assert!(text.starts_with("PARTIAL: interrupted after 3 of 8 rounds\n"), "{text}");
}

#[test]
fn a_run_with_locks() {
    let style = Style { width: 100, ..Style::default() };
    assert!(longest_line(&check("locks.txt", &fixture::traced_run(), "text", style)) <= 200);
    check("locks.md", &fixture::traced_run(), "markdown", style);
}

#[test]
fn markdown() {
    check("small.md", &fixture::run(), "markdown", Style::default());
}

#[test]
fn mail() {
    check("small.mail", &fixture::run(), "mail", Style::default());
    for run in fixture::odd_runs().iter().chain([&fixture::several()]) {
        let render = Format::by_name("mail").expect("a format").render;
        let text = render(run, &Style { colour: true, width: 200, ..Style::default() });
        assert!(text.is_ascii() && longest_line(&text) <= 72, "{text}");
    }
}

#[test]
fn csv() {
    check("small.csv", &fixture::run(), "csv", Style::default());
}

#[test]
fn colour_adds_nothing_but_colour() {
    let run = fixture::several();
    let render = Format::by_name("text").expect("a format").render;
    let coloured = render(&run, &Style { colour: true, ..Style::default() });
    let mut plain = String::new();
    for (i, part) in coloured.split("\u{1b}[").enumerate() {
        plain.push_str(if i == 0 { part } else { part.split_once('m').expect("a colour").1 });
    }
    assert_eq!(plain, render(&run, &Style::default()));
}
