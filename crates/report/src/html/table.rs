//! Tables that are tables: with a caption, and headers that say of what they are.

use crate::escape;
use crate::table::Table;
use maud::{Markup, PreEscaped, html};

/// A table of figures.
pub(super) fn of(caption: &str, table: &Table) -> Markup {
    let titles: Vec<String> = table.header.iter().map(title).collect();
    let rows: Vec<&[String]> = table.rows.iter().map(Vec::as_slice).collect();
    html! {
        (laid_out(caption, &titles, &rows))
        @if let Some(note) = &table.footnote {
            @for line in note.lines() { p.note { (escape::plain(line)) } }
        }
    }
}

/// A table of rows of which the first is the header.
pub(super) fn of_rows(caption: &str, rows: &[Vec<String>]) -> Markup {
    let Some((header, rows)) = rows.split_first() else { return html! {} };
    laid_out(caption, header, &rows.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

/// A label and a text a row.
pub(super) fn facts(facts: &[(&str, String)]) -> Markup {
    html! {
        div {
            table.facts {
                tbody {
                    @for (what, value) in facts {
                        tr { th scope="row" { (what) } td { (escape::plain(value)) } }
                    }
                }
            }
        }
    }
}

fn laid_out(caption: &str, header: &[String], rows: &[&[String]]) -> Markup {
    // A heading stands above what is below it: words begin on the left, numbers end on the right.
    let words = |column: usize| {
        rows.iter().any(|row| row.get(column).is_some_and(|cell| !is_number(cell.trim())))
    };
    let heads = header.iter().enumerate().map(|(column, title)| (title, words(column)));
    html! {
        // Wide tables scroll, and what scrolls has to be reached with the keyboard.
        div.wide tabindex="0" role="group" aria-label="Table" {
            table {
                caption { (escape::plain(caption)) }
                thead { tr { @for (title, words) in heads {
                    @if title.is_empty() { td {} } @else { th class=[words.then_some("word")] scope="col" { (escape::plain(title)) } }
                } } }
                tbody { (PreEscaped(body(rows))) }
            }
        }
    }
}

/// HTML lets rows and cells end by themselves, and there are thousands.
fn body(rows: &[&[String]]) -> String {
    let mut out = String::new();
    for row in rows {
        out.push_str("<tr>");
        for (column, cell) in row.iter().enumerate() {
            let cell = cell.trim();
            out.push_str(match column {
                // A row that goes on from the one above has no header of its own.
                0 if is_number(cell) && !cell.is_empty() => "<th scope=row>",
                0 if !cell.is_empty() => "<th scope=row class=word>",
                _ if is_number(cell) => "<td>",
                _ => "<td class=word>",
            });
            out.push_str(&escape::xml(cell));
        }
        out.push('\n');
    }
    out
}

fn is_number(cell: &str) -> bool {
    cell.is_empty() || cell.starts_with(|c: char| c.is_ascii_digit() || "-+.".contains(c))
}

/// Two lines of a header as one: "effi-" over "ciency" is one word, "speed-" over "up" keeps its hyphen.
fn title([first, second]: &[String; 2]) -> String {
    match (first.as_str(), second.as_str()) {
        ("speed-", "up") => "speed-up".to_owned(),
        (first, second) if first.ends_with('-') => {
            format!("{}{second}", first.trim_end_matches('-'))
        }
        (first, second) => format!("{first} {second}").trim().to_owned(),
    }
}
