//! Tables as text and as Markdown: where the cells go, for every format that people read.

use crate::table::{Table, ascii, holds_words};
use crate::{Style, escape};
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Row};

/// `text` made to stand out, where the style has colour.
pub(crate) fn emphasis(text: &str, style: &Style) -> String {
    if style.colour { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
}

/// As text: two blanks between columns, one where the table would be wider than the style allows.
pub(crate) fn text(table: &Table, style: &Style) -> String {
    let wide = columns(table, 2, style);
    let fits = wide.lines().all(|line| line.chars().count() <= usize::from(style.width));
    let mut text = if fits { wide } else { columns(table, 1, style) };
    if let Some(note) = &table.footnote {
        text.push('\n');
        text.push_str(note);
    }
    text
}

fn columns(table: &Table, gap: u16, style: &Style) -> String {
    let sign = |text: &str| if style.unicode { text.to_owned() } else { ascii(text) };
    let mut out = comfy_table::Table::new();
    out.load_style(NOTHING);
    out.set_header(Row::from(
        table.header.iter().map(|lines| sign(&lines.join("\n"))).collect::<Vec<_>>(),
    ));
    out.add_rows(table.rows.iter().cloned().map(Row::from));
    for (index, column) in out.column_iter_mut().enumerate() {
        column.set_padding((if index == 0 { 0 } else { gap }, 0));
        column.set_cell_alignment(match holds_words(&table.rows, index) {
            true => CellAlignment::Left,
            false => CellAlignment::Right,
        });
    }
    out.trim_fmt()
}

/// As a Markdown table, padded, so that the source reads well too.
pub(crate) fn markdown(table: &Table, style: &Style) -> String {
    // "speed-" over "up" is "speed-up", but "effi-" over "ciency" is one word; a Markdown header has one line for both.
    let title = |[first, second]: &[String; 2]| {
        let title = match (first.as_str(), second.as_str()) {
            ("speed-", "up") => "speed-up".to_owned(),
            (first, second) if first.ends_with('-') => {
                format!("{}{second}", first.trim_end_matches('-'))
            }
            ("", second) => second.to_owned(),
            (first, second) => format!("{first} {second}"),
        };
        if style.unicode { title } else { ascii(&title) }
    };
    let titles: Vec<String> = table.header.iter().map(title).collect();
    let width = |column: usize| {
        let cells = table.rows.iter().map(|row| &row[column]).chain([&titles[column]]);
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..titles.len()).map(width).collect();
    let words: Vec<bool> =
        (0..titles.len()).map(|column| holds_words(&table.rows, column)).collect();
    let line = |cells: &[String]| {
        let padded = cells.iter().zip(&widths).zip(&words).map(|((cell, &width), &words)| {
            let cell = cell.replace('*', "\\*");
            if words { format!(" {cell:<width$} |") } else { format!(" {cell:>width$} |") }
        });
        format!("|{}", padded.collect::<String>())
    };
    let rule = |(&width, &words): (&usize, &bool)| {
        let dashes = "-".repeat(width + 1);
        if words { format!("{dashes}-|") } else { format!("{dashes}:|") }
    };
    let rule: String = widths.iter().zip(&words).map(rule).collect();
    let mut lines = vec![line(&titles), format!("|{rule}")];
    lines.extend(table.rows.iter().map(|row| line(row)));
    if let Some(note) = &table.footnote {
        lines.push(String::new());
        lines.push(escape::markdown(note));
    }
    lines.join("\n")
}
