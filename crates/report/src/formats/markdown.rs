//! For an issue or a wiki: the numbers as GitHub-flavoured Markdown tables, with the conditions, for such text travels.

use crate::layout::markdown as lay_out;
use crate::table::Table;
use crate::{Format, Medium, Style, conditions, curves, escape, lines, locks, plot, scheduling};
use results::Run;

pub(super) const FORMAT: Format = Format {
    name: "markdown",
    summary: "tables, plot, verdict and conditions, for an issue or a wiki",
    medium: Medium::Terminal,
    render,
};

/// Columns of a table of locks.
pub(crate) const WIDE: u16 = 160;

fn render(run: &Run, style: &Style) -> String {
    let mut blocks: Vec<String> = Vec::new();
    blocks.extend(curves::partial(run).map(|line| format!("**{line}**")));
    for curve in &run.curves {
        let cpus = curves::cpus(run, curve);
        blocks.push(format!("## {}", curves::heading(run, curve, escape::markdown)));
        if curve.points.is_empty() {
            blocks.push("no point was measured".to_owned());
            continue;
        }
        blocks.push(lay_out(&Table::of_curve(curve, cpus), style));
        // A page is as wide as it needs to be.
        let wide = Style { width: WIDE, ..*style };
        let tables = locks::tables(curve, cpus, &wide);
        blocks.extend(tables.iter().map(|table| lay_out(table, style)));
        let code = |stack: String| format!("```text\n{stack}\n```");
        blocks.extend(locks::stacks(curve, style).into_iter().map(code));
        let said = locks::said(curve);
        let items = said.iter().map(|line| format!("- {}", escape::markdown(line)));
        blocks.push(items.collect::<Vec<_>>().join("\n"));
        blocks.extend(lines::table(curve, cpus).map(|table| lay_out(&table, style)));
        if style.verbose {
            blocks.push(lay_out(&scheduling::table(curve, cpus), style));
        }
    }
    // In a code block nothing is coloured, and the fonts of web pages draw braille with gaps.
    let plot = plot::plot(run, &Style { colour: false, unicode: false, ..*style });
    if !plot.is_empty() {
        blocks.push(format!("```text\n{}\n```", plot.join("\n")));
    }
    blocks.extend(curves::sentences(run, escape::markdown));
    blocks.extend(run.warnings.iter().map(|warning| {
        format!(
            "> **Warning:** {}\\\n> {}",
            escape::markdown(&warning.message),
            escape::markdown(&warning.advice)
        )
    }));
    blocks.retain(|block| !block.is_empty());
    blocks.push("### Conditions".to_owned());
    let conditions = conditions::conditions(run);
    let items = conditions
        .iter()
        .map(|(what, value)| format!("- {what}: {}", escape::markdown_code(value)));
    blocks.push(items.collect::<Vec<_>>().join("\n"));
    blocks.join("\n\n") + "\n"
}
