//! A page as text, Markdown or JSON.

use crate::calibrate::Calibration;
use crate::page::{Compared, Curve, Mark, Page, Quote, ShapeFound, Taken};
use std::cell::RefCell;
use std::fmt::Write;

/// How to show pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For a terminal.
    Text,
    /// For a document.
    Markdown,
    /// For programs.
    Json,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 3] = [Format::Text, Format::Markdown, Format::Json];

    /// On the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Markdown => "markdown",
            Format::Json => "json",
        }
    }
}

/// Shows `pages`.
pub fn render(pages: &[Page], format: Format) -> String {
    match format {
        Format::Json => {
            let pages = serde_json::to_value(pages).expect("a page has string keys only");
            format!("{pages:#}\n")
        }
        Format::Text => {
            pages.iter().map(|page| people(page, &Plain)).collect::<Vec<_>>().join("\n")
        }
        Format::Markdown => {
            pages.iter().map(|page| people(page, &Markdown)).collect::<Vec<_>>().join("\n")
        }
    }
}

/// A piece of a page, in the order in which people read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// Over what follows.
    Heading(String),
    /// A sentence or more.
    Item(String),
    /// Rows, the first of which is the header.
    Table(Vec<Vec<String>>),
}

/// A page in pieces, without its title, for whom neither text nor Markdown will do.
pub fn blocks(page: &Page) -> Vec<Block> {
    let pieces = Pieces(RefCell::new(Vec::new()));
    people(page, &pieces);
    pieces.0.into_inner()
}

/// A layout that takes the pieces instead of writing them.
struct Pieces(RefCell<Vec<Block>>);

impl Pieces {
    fn take(&self, block: Block) -> String {
        self.0.borrow_mut().push(block);
        String::new()
    }
}

impl Layout for Pieces {
    fn title(&self, _: &str) -> String {
        String::new()
    }
    fn heading(&self, text: &str) -> String {
        self.take(Block::Heading(text.to_owned()))
    }
    fn item(&self, text: &str) -> String {
        self.take(Block::Item(text.to_owned()))
    }
    fn table(&self, rows: &[Vec<String>]) -> String {
        self.take(Block::Table(rows.to_vec()))
    }
}

/// What text and Markdown do differently.
trait Layout {
    fn title(&self, text: &str) -> String;
    fn heading(&self, text: &str) -> String;
    fn item(&self, text: &str) -> String;
    fn table(&self, rows: &[Vec<String>]) -> String;
}

struct Plain;
struct Markdown;

/// A line of text is not longer, if it can be broken.
const WIDTH: usize = 110;

fn wrapped(text: &str, first: &str, others: &str) -> String {
    let mut out = first.to_owned();
    let mut column = first.chars().count();
    let mut empty = true;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if !empty && column + 1 + length > WIDTH {
            out.push('\n');
            out.push_str(others);
            column = others.chars().count();
            empty = true;
        }
        if !empty {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
        empty = false;
    }
    out.push('\n');
    out
}

impl Layout for Plain {
    fn title(&self, text: &str) -> String {
        format!("{text}\n{}\n", "=".repeat(text.chars().count()))
    }
    fn heading(&self, text: &str) -> String {
        format!("\n{text}\n")
    }
    fn item(&self, text: &str) -> String {
        wrapped(text, "  - ", "    ")
    }
    fn table(&self, rows: &[Vec<String>]) -> String {
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut out = String::new();
        for row in rows {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let _ = match column {
                    0 => write!(line, "  {cell:<width$}"),
                    _ => write!(line, "  {cell:>width$}"),
                };
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

impl Layout for Markdown {
    fn title(&self, text: &str) -> String {
        format!("# {}\n\n", escaped(text))
    }
    fn heading(&self, text: &str) -> String {
        format!("\n## {}\n\n", escaped(text))
    }
    fn item(&self, text: &str) -> String {
        format!("- {}\n", escaped(text))
    }
    fn table(&self, rows: &[Vec<String>]) -> String {
        let mut out = String::new();
        for (number, row) in rows.iter().enumerate() {
            let cells: Vec<String> = row.iter().map(|cell| escaped(cell)).collect();
            let _ = writeln!(out, "| {} |", cells.join(" | "));
            if number == 0 {
                let _ = writeln!(out, "|{}", " --- |".repeat(row.len()));
            }
        }
        out
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if matches!(c, '|' | '*' | '_' | '<' | '\\' | '`') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Four digits: more than a simulation deserves, enough to see a difference.
fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let digits = 3 - value.abs().log10().floor() as i32;
    format!("{value:.*}", usize::try_from(digits).unwrap_or(0))
}

fn percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

fn people(page: &Page, layout: &dyn Layout) -> String {
    let mut out = layout.title(&page.title);
    if page.partial {
        out.push_str(&layout.item("PARTIAL: interrupted. What is missing below was not finished."));
    }
    out.push_str(&layout.item(&format!("From: {}.", page.source)));
    out.push_str(&layout.item(&format!("Setup: {}.", page.setup)));
    let not_simulated = if page.is_simulated { &page.not_simulated[..] } else { &[] };
    for (heading, lines) in [("Slips and gaps", &page.slips[..]), ("Not simulated", not_simulated)]
    {
        if !lines.is_empty() {
            out.push_str(&layout.heading(heading));
            lines.iter().for_each(|line| out.push_str(&layout.item(line)));
        }
    }
    if !page.published.is_empty() {
        out.push_str(&layout.heading("The table as published"));
        out.push_str(&quotes(&page.published, layout));
    }
    if page.is_simulated {
        out.push_str(&layout.heading("Calibration"));
        for line in calibration(page) {
            out.push_str(&layout.item(&line));
        }
        out.push_str(&layout.heading("Published and ours, simulated"));
        out.push_str(&layout.table(&compared(&page.compared)));
        for (rows, reason) in reasons(&page.compared) {
            out.push_str(&layout.item(&format!("{}: {reason}", rows.join("; "))));
        }
    }
    if !page.measured_on.is_empty() {
        out.push_str(&layout.heading("Published and ours, measured on this machine"));
        out.push_str(&layout.table(&measured(page)));
        page.notes.iter().for_each(|note| out.push_str(&layout.item(note)));
    }
    if !page.curves.is_empty() {
        out.push_str(&layout.heading("Curves, operations per second"));
        out.push_str(&curves(&page.curves, layout));
    }
    out
}

/// Reasons in the order of their first rows, each with all of its rows.
fn reasons(rows: &[Compared]) -> Vec<(Vec<&str>, &str)> {
    let mut reasons: Vec<(Vec<&str>, &str)> = Vec::new();
    for row in rows {
        let Some(reason) = row.reason.as_deref() else { continue };
        match reasons.iter_mut().find(|(_, known)| *known == reason) {
            Some((rows, _)) => rows.push(&row.what),
            None => reasons.push((vec![&row.what], reason)),
        }
    }
    reasons
}

/// The tables of the mail, each a matrix of rows and columns.
fn quotes(quotes: &[Quote], layout: &dyn Layout) -> String {
    fn distinct<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
        let mut seen = Vec::new();
        all.for_each(|one| {
            if !seen.contains(&one) {
                seen.push(one)
            }
        });
        seen
    }
    let mut out = String::new();
    for name in distinct(quotes.iter().map(|quote| &*quote.table)) {
        let of_table: Vec<&Quote> = quotes.iter().filter(|quote| quote.table == name).collect();
        let columns = distinct(of_table.iter().map(|quote| &*quote.column));
        let title = if name.is_empty() { Mark::Published.name() } else { name };
        let mut rows = vec![vec![title.to_owned()]];
        rows[0].extend(columns.iter().map(|column| (*column).to_owned()));
        for row in distinct(of_table.iter().map(|quote| &*quote.row)) {
            let cell = |column: &&str| {
                let found =
                    of_table.iter().find(|quote| quote.row == row && quote.column == *column);
                found.map_or_else(String::new, |quote| {
                    format!("{} {}", quote.printed, quote.unit).trim_end().to_owned()
                })
            };
            let mut line = vec![row.to_owned()];
            line.extend(columns.iter().map(cell));
            rows.push(line);
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&layout.table(&rows));
    }
    out
}

fn calibration(page: &Page) -> Vec<String> {
    let mut lines = Vec::new();
    let mut found = false;
    for (row, calibration) in &page.calibration {
        lines.push(match *calibration {
            Calibration::Found { work_ns, value } => {
                found = true;
                format!(
                    "The one parameter, the local work of a call, is {work_ns} ns: set by bisection from the row \"{row}\", which \
                     comes out as {} with it. It is the same in every other row, and every other row is predicted.",
                    number(value)
                )
            }
            Calibration::OutOfReach { at_none, at_most } => format!(
                "The one parameter, the local work of a call, was to be set from the row \"{row}\"; but that row comes out as {} \
                 without any work and as {} with the most that was tried.",
                number(at_none),
                number(at_most)
            ),
        });
    }
    if !found && !page.partial {
        lines.push(
            "Nothing is calibrated: the work of a call is 1200 cycles of the machine (assumed, as everywhere else), and every \
             row is predicted."
                .into(),
        );
    }
    lines
}

/// A value with its unit; a ratio with an x.
fn with_unit(value: &str, unit: &str) -> String {
    if unit.is_empty() { format!("{value}x") } else { format!("{value} {unit}") }
}

/// Nothing to show.
const NONE: &str = "-";

fn as_published(row: &Compared) -> String {
    let words = row.published.starts_with('"');
    if words { row.published.clone() } else { with_unit(&row.published, &row.unit) }
}

fn compared(rows: &[Compared]) -> Vec<Vec<String>> {
    let header = ["", "published", "ours", "", "error", "latency -10 %", "latency +10 %", "seeds"];
    let mut table = vec![header.map(str::to_owned).to_vec()];
    table.extend(rows.iter().map(|row| {
        let mut line = vec![row.what.clone(), as_published(row)];
        let Some(ours) = &row.simulated else {
            line.resize(header.len(), NONE.to_owned());
            return line;
        };
        let change = |at: usize| {
            let value = ours.sensitivity.map(|values| values[at]);
            value.map_or_else(|| NONE.to_owned(), |value| percent(value / ours.value - 1.0))
        };
        line.extend([
            with_unit(&number(ours.value), &row.unit),
            ours.mark.name().to_owned(),
            percent(ours.error),
            change(0),
            change(1),
            ours.spread
                .map_or_else(|| NONE.to_owned(), |spread| format!("{:.1} %", spread * 100.0)),
        ]);
        line
    }));
    table
}

/// A row per published value, and for each thing that was measured a value, its 95 % interval and the tasks.
fn measured(page: &Page) -> Vec<Vec<String>> {
    let mut header = vec![String::new(), "published".to_owned()];
    for on in &page.measured_on {
        header.extend([on.clone(), "95 %".to_owned(), "tasks".to_owned(), String::new()]);
    }
    let cells = |row: &Compared, taken: &Option<Taken>| match taken {
        None => [NONE; 4].map(str::to_owned),
        Some(taken) => [
            with_unit(&number(taken.value), &row.unit),
            taken.ci95.map_or_else(
                || NONE.to_owned(),
                |[low, high]| format!("{} to {}", number(low), number(high)),
            ),
            taken.tasks.to_string(),
            taken.mark.name().to_owned(),
        ],
    };
    let mut table = vec![header];
    table.extend(page.compared.iter().map(|row| {
        let mut line = vec![row.what.clone(), as_published(row)];
        line.extend(row.measured.iter().flat_map(|taken| cells(row, taken)));
        line
    }));
    table
}

fn curves(curves: &[Curve], layout: &dyn Layout) -> String {
    let mut counts: Vec<usize> =
        curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.0)).collect();
    counts.sort_unstable();
    counts.dedup();
    let mut rows = vec![vec!["tasks".to_owned(), String::new()]];
    rows[0].extend(counts.iter().map(usize::to_string));
    for curve in curves {
        let mut row = vec![curve.what.clone(), curve.mark.name().to_owned()];
        row.extend(counts.iter().map(|count| {
            let found = curve.points.iter().find(|(tasks, _)| tasks == count);
            found.map_or_else(String::new, |(_, rate)| number(*rate))
        }));
        rows.push(row);
    }
    let mut out = layout.table(&rows);
    for curve in curves {
        if let Some(shape) = &curve.shape {
            out.push_str(&layout.item(&verdict(&curve.what, shape)));
        }
    }
    out
}

fn verdict(what: &str, shape: &ShapeFound) -> String {
    let [now, less, more] = shape.fits;
    let said = if now == Some(true) { "has" } else { "does not have" };
    let others = match (less, more) {
        (None, _) | (_, None) => "not simulated",
        (less, more) if now == less && now == more => "the same",
        (less, more) if now != less && now != more => "the opposite",
        _ => "different with one of them",
    };
    let reason = shape.reason.as_ref().map_or_else(String::new, |reason| format!(" {reason}"));
    format!(
        "{what}: \"{}\" (published). The simulated curve {said} that shape: it rises at every step up to {} tasks, and from {} on \
         it rises no more. With latencies 10 % less and more: {others}.{reason}",
        shape.words, shape.scales_to, shape.wall_at
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Measurements;
    use crate::published::{Point, Published, THREADS};
    use crate::simulation::{Simulated, Simulation, Stop};

    struct Fake;

    impl Simulation for Fake {
        fn run(&self, point: &Point, work: Option<u32>, factor: f64) -> Result<Simulated, Stop> {
            let usecs_per_op = f64::from(work.unwrap_or(500)) / 1e3 + factor / point.tasks as f64;
            Ok(Simulated { usecs_per_op, cpu_usecs_per_op: usecs_per_op, spread: Some(0.0) })
        }
    }

    fn pages() -> Vec<(Published, Page)> {
        let page = |(name, _): &(&str, &str)| {
            let data = Published::named(name).unwrap();
            let page = crate::page(&data, Some(&Fake), &Measurements::default(), &|_, _, _| {});
            let page = page.unwrap();
            (data, page)
        };
        THREADS.iter().map(page).collect()
    }

    #[test]
    fn every_published_figure_and_every_slip_is_in_every_format() {
        for (data, page) in pages() {
            for format in Format::ALL {
                let text = render(std::slice::from_ref(&page), format);
                for figure in &data.figures {
                    assert!(text.contains(&figure.printed), "{}: {}", data.name, figure.id);
                }
                let words = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('\\', "");
                for slip in data.slips.iter().chain(&data.not_simulated) {
                    let slip = slip.replace('"', "");
                    assert!(words.replace('"', "").contains(&slip), "{}: {slip}", data.name);
                }
            }
        }
    }

    #[test]
    fn the_pieces_of_a_page_are_those_of_its_text() {
        for (data, page) in pages() {
            let pieces = blocks(&page);
            let text = render(std::slice::from_ref(&page), Format::Text);
            for piece in &pieces {
                let words = match piece {
                    Block::Heading(words) | Block::Item(words) => vec![words.clone()],
                    Block::Table(rows) => rows.concat(),
                };
                let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
                for words in words {
                    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
                    assert!(flat.contains(&words), "{}: {words}", data.name);
                }
            }
            let tables = pieces.iter().filter(|piece| matches!(piece, Block::Table(_))).count();
            assert!(tables >= 2, "{}: published and compared", data.name);
        }
    }

    #[test]
    fn every_row_carries_its_mark() {
        for (data, page) in pages() {
            let text = render(std::slice::from_ref(&page), Format::Text);
            for row in &page.compared {
                let mark = row.simulated.as_ref().unwrap().mark.name();
                let line = text
                    .lines()
                    .find(|line| line.trim_start().starts_with(&row.what) && line.contains(mark));
                assert!(line.is_some(), "{}: {}", data.name, row.what);
            }
        }
    }

    #[test]
    fn what_was_measured_is_marked_and_what_is_missing_is_a_dash() {
        let (_, mut page) = pages().swap_remove(0);
        page.measured_on = vec!["lab".into(), "dir:/x".into()];
        page.notes = vec!["two CPUs".into()];
        page.partial = true;
        for row in &mut page.compared {
            let taken =
                Taken { value: 2.0, ci95: Some([1.5, 2.5]), tasks: 2, mark: Mark::Measured };
            row.measured = vec![Some(taken), None];
        }
        page.compared[0].simulated = None;
        let text = render(std::slice::from_ref(&page), Format::Text);
        assert!(text.contains("PARTIAL") && text.contains("two CPUs"), "{text}");
        let line = text.lines().rfind(|line| line.contains("no patch, real")).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        let expected =
            "no patch, real 30.111 s 2.000 s 1.500 to 2.500 2 measured - - - -".split(' ');
        assert_eq!(words, expected.collect::<Vec<_>>());
        let missing = text.lines().find(|line| line.contains("no patch, real")).unwrap();
        assert_eq!(missing.split_whitespace().filter(|word| *word == "-").count(), 6, "{missing}");

        page.is_simulated = false;
        let text = render(&[page], Format::Text);
        assert!(!text.contains("Calibration") && !text.contains("Not simulated"), "{text}");
    }

    #[test]
    fn json_reads_back() {
        let pages: Vec<Page> = pages().into_iter().map(|(_, page)| page).collect();
        let value: serde_json::Value = serde_json::from_str(&render(&pages, Format::Json)).unwrap();
        assert_eq!(value.as_array().unwrap().len(), THREADS.len());
        assert_eq!(value[0]["published"][0]["mark"], "published");
        assert_eq!(value[0]["compared"][0]["published_range"][0], 30.111);
    }

    #[test]
    fn numbers_have_four_digits() {
        let cases = [(0.0, "0"), (1.23456, "1.235"), (12345.6, "12346"), (0.012345, "0.01235")];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
        assert_eq!(percent(-0.0123), "-1.2 %");
    }

    #[test]
    fn lines_of_text_break_at_words() {
        let text = wrapped(&"word ".repeat(60), "  - ", "    ");
        assert!(text.lines().all(|line| line.len() <= WIDTH));
        assert_eq!(text.split_whitespace().filter(|word| *word == "word").count(), 60);
    }
}
