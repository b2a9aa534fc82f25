//! Tables that are tables: with a caption, and headers that say of what they are.

use crate::escape;
use crate::table::{Table, holds_words};
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
    let words: Vec<bool> = (0..header.len()).map(|column| holds_words(rows, column)).collect();
    let heads = header.iter().zip(&words);
    html! {
        // Wide tables scroll, and what scrolls has to be reached with the keyboard.
        div.wide tabindex="0" role="group" aria-label="Table" {
            table {
                caption { (escape::plain(caption)) }
                thead { tr { @for (title, words) in heads {
                    @if title.is_empty() { td {} } @else { th class=[words.then_some("word")] scope="col" { (escape::plain(title)) } }
                } } }
                tbody { (PreEscaped(body(rows, &words))) }
            }
        }
    }
}

/// HTML lets rows and cells end by themselves, and there are thousands.
fn body(rows: &[&[String]], words: &[bool]) -> String {
    let mut out = String::new();
    for row in rows {
        out.push_str("<tr>");
        for (column, cell) in row.iter().enumerate() {
            let (cell, words) = (cell.trim(), words.get(column).is_some_and(|words| *words));
            // A row that goes on from the one above has no header of its own.
            let heads = column == 0 && !cell.is_empty();
            out.push_str(match (heads, words) {
                (true, true) => "<th scope=row class=word>",
                (true, false) => "<th scope=row>",
                (false, true) => "<td class=word>",
                (false, false) => "<td>",
            });
            out.push_str(&escape::xml(cell));
        }
        out.push('\n');
    }
    out
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
