//! For an issue or a wiki: as the text, with Markdown tables and the conditions, for such text travels.

use super::{ComparisonFormat, sentence, table, text};
use crate::layout::markdown as lay_out;
use crate::{Medium, Style, conditions, escape, formats, locks, plot};
use results::{Comparison, Warning};

pub(super) const FORMAT: ComparisonFormat = ComparisonFormat {
    name: "markdown",
    summary: "verdict, tables, plot and conditions, for an issue or a wiki",
    medium: Medium::Terminal,
    render,
};

fn render(comparison: &Comparison, style: &Style) -> String {
    let mut blocks: Vec<String> = Vec::new();
    let verdicts = sentence::verdict(comparison, escape::markdown);
    blocks.extend(verdicts.into_iter().map(|line| format!("**{line}**")));
    let said = sentence::pairing(comparison).into_iter().chain(text::partial(comparison));
    blocks.extend(said.map(|line| format!("> {}", escape::markdown(&line))));
    let differences = text::differences(comparison);
    blocks.push(list(&differences));
    for (number, curve) in comparison.curves.iter().enumerate() {
        blocks.push(format!("## {}", escape::markdown(&text::heading(comparison, curve))));
        blocks.push(lay_out(&table::of(comparison, number), style));
        blocks.push(list(&text::notes(curve)));
        if let Some((before, after)) = text::sides(comparison, curve) {
            let wide = Style { width: formats::markdown::WIDE, ..*style };
            let tables = locks::compared_tables(before, after, &wide);
            blocks.extend(tables.iter().map(|table| lay_out(table, style)));
            blocks.push(list(&locks::both_said(before, after)));
        }
        // In a code block nothing is coloured, and the fonts of web pages draw braille with gaps.
        let plain = Style { colour: false, unicode: false, ..*style };
        let plot = plot::plot_curves(&text::both(comparison, curve), &plain);
        if !plot.is_empty() {
            blocks.push(format!("```text\n{}\n```", plot.join("\n")));
        }
    }
    blocks.push(list(&text::unmatched(comparison)));
    let warning = |warning: &Warning| format!("warning: {}: {}", warning.message, warning.advice);
    let warnings: Vec<String> = text::warned(comparison).iter().map(warning).collect();
    blocks.push(list(&warnings));
    blocks.push("### Conditions".to_owned());
    for (side, run) in [("before", &comparison.before), ("after", &comparison.after)] {
        let items = conditions::conditions(run);
        let items = items
            .iter()
            .map(|(what, value)| format!("- {side}, {what}: {}", escape::markdown_code(value)));
        blocks.push(items.collect::<Vec<_>>().join("\n"));
        if comparison.before.host == comparison.after.host
            && comparison.before.plan == comparison.after.plan
        {
            break;
        }
    }
    blocks.retain(|block| !block.is_empty());
    blocks.join("\n\n") + "\n"
}

fn list(lines: &[String]) -> String {
    lines.iter().map(|line| format!("- {}", escape::markdown(line))).collect::<Vec<_>>().join("\n")
}
