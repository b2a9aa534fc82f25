//! For a patch's cover letter: 72 columns of plain ASCII, with the conditions that it was measured under.

use super::{ComparisonFormat, labels, sentence, table, text};
use crate::layout::text as lay_out;
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
        paragraphs.push(mail::wrap(&format!(
            "{}, {} mode",
            mail::name(&curve.workload),
            mail::name(&curve.mode)
        )));
        let [before, after] = labels(comparison, curve);
        paragraphs.push(format!(
            "{}\n{}",
            mail::wrap(&format!("before: {}", mail::name(before))),
            mail::wrap(&format!("after:  {}", mail::name(after)))
        ));
        paragraphs.push(mail::ascii(&lay_out(&table::of(comparison, number), &style)));
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
    let same = comparison.before.host == comparison.after.host;
    paragraphs.push(conditions::for_mail(&comparison.before));
    if !same {
        paragraphs.push(format!("after:\n{}", conditions::for_mail(&comparison.after)));
    }
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    paragraphs.join("\n\n") + "\n"
}
