//! For an issue or a wiki: the numbers as GitHub-flavoured Markdown tables, with the conditions, for such text travels.

use crate::table::{Table, ascii};
use crate::{Format, Style, conditions, curves, escape, plot, scheduling};
use results::Run;

pub(super) const FORMAT: Format = Format {
    name: "markdown",
    summary: "tables, plot, verdict and conditions, for an issue or a wiki",
    render,
};

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
    blocks.push("### Conditions".to_owned());
    let conditions = conditions::conditions(run);
    let items = conditions
        .iter()
        .map(|(what, value)| format!("- {what}: {}", escape::markdown_code(value)));
    blocks.push(items.collect::<Vec<_>>().join("\n"));
    blocks.join("\n\n") + "\n"
}

/// Padded, so that the source reads well too.
fn lay_out(table: &Table, style: &Style) -> String {
    // "speed-" over "up" is "speed-up", but "effi-" over "ciency" is one word; a Markdown header has one line for both.
    let title = |[first, second]: &[&str; 2]| {
        let title = match (*first, *second) {
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
    let line = |cells: &[String]| {
        let padded = cells
            .iter()
            .zip(&widths)
            .map(|(cell, &width)| format!(" {:>width$} |", cell.replace('*', "\\*")));
        format!("|{}", padded.collect::<String>())
    };
    let rule: String = widths.iter().map(|&width| format!("{}:|", "-".repeat(width + 1))).collect();
    let mut lines = vec![line(&titles), format!("|{rule}")];
    lines.extend(table.rows.iter().map(|row| line(row)));
    if let Some(note) = &table.footnote {
        lines.push(String::new());
        lines.push(escape::markdown(note));
    }
    lines.join("\n")
}
