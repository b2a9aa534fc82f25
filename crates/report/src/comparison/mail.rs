//! For a patch's cover letter: 72 columns of plain ASCII, with the conditions that it was measured under.

use super::{ComparisonFormat, labels, sentence, table, text};
use crate::layout::text as lay_out;
use crate::table::Table;
use crate::{Medium, Style, conditions, locks, mail, plot};
use results::Comparison;

pub(super) const FORMAT: ComparisonFormat = ComparisonFormat {
    name: "mail",
    summary: "72 columns of ASCII for a cover letter: verdict, table, curves, conditions",
    medium: Medium::Terminal,
    render,
};

fn render(comparison: &Comparison, _: &Style) -> String {
    let style = mail::STYLE;
    let mut blocks: Vec<String> = Vec::new();
    blocks.extend(sentence::verdict(comparison, mail::name));
    blocks.extend(sentence::pairing(comparison));
    blocks.extend(text::partial(comparison));
    blocks.extend(text::differences(comparison));
    let mut paragraphs: Vec<String> = blocks.iter().map(|block| mail::wrap(block)).collect();
    for (number, curve) in comparison.curves.iter().enumerate() {
        paragraphs.push(mail::wrap(&mail::name(&text::title(comparison, curve))));
        let [before, after] = labels(comparison, curve);
        paragraphs.push(format!(
            "{}\n{}",
            mail::wrap(&format!("before: {}", mail::name(before))),
            mail::wrap(&format!("after:  {}", mail::name(after)))
        ));
        paragraphs.push(table_or_list(&table::of(comparison, number)));
        let notes = text::notes(curve);
        paragraphs.extend(notes.iter().map(|note| mail::wrap(note)));
        if let Some((before, after)) = text::sides(comparison, curve) {
            let tables = locks::compared_tables(before, after, &style);
            paragraphs.extend(tables.iter().map(|table| mail::ascii(&lay_out(table, &style))));
            let said = locks::both_said(before, after);
            let said: Vec<String> = said.iter().map(|line| mail::wrap(line)).collect();
            paragraphs.push(said.join("\n"));
        }
        let both = [("before", 0), ("after", 1)];
        let drawn: Vec<_> = text::both(comparison, curve)
            .into_iter()
            .zip(both)
            .map(|((_, curve), (word, _))| (word.to_owned(), curve))
            .collect();
        paragraphs.push(mail::ascii(&plot::plot_curves(&drawn, &style).join("\n")));
    }
    let unmatched = text::unmatched(comparison);
    paragraphs.extend(unmatched.iter().map(|line| mail::wrap(&mail::name(line))));
    for warning in text::warned(comparison) {
        paragraphs.push(mail::wrap(&format!("warning: {}", mail::name(&warning.message))));
    }
    let same = comparison.before.host == comparison.after.host;
    paragraphs.push(conditions::for_mail(&comparison.before));
    if !same {
        paragraphs.push(format!("after:\n{}", conditions::for_mail(&comparison.after)));
    }
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    paragraphs.join("\n\n") + "\n"
}

/// The table, or what stands in it row by row where it would be wider than a mail.
fn table_or_list(table: &Table) -> String {
    let text = mail::ascii(&lay_out(table, &mail::STYLE));
    if text.lines().all(|line| line.len() <= usize::from(mail::STYLE.width)) {
        return text;
    }
    let row = |cells: &Vec<String>| {
        let of = |([first, second], cell): (&[String; 2], &String)| {
            mail::name(format!("{first} {second} {cell}").trim_start())
        };
        let cells: Vec<String> = table.header.iter().zip(cells).map(of).collect();
        mail::wrap(&cells.join(", "))
    };
    table.rows.iter().map(row).collect::<Vec<_>>().join("\n")
}
