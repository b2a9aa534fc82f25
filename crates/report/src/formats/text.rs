//! The default: tables, a plot and sentences for a terminal or a mail.

use crate::table::{Table, ascii};
use crate::{Format, Style, conditions, curves, escape, lines, locks, plot, scheduling};
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Row};
use results::Run;

pub(super) const FORMAT: Format = Format {
    name: "text",
    summary: "tables, a plot and a verdict, for a terminal or a mail",
    render,
};

fn render(run: &Run, style: &Style) -> String {
    let name = |name: &str| escape::plain(name).into_owned();
    let mut blocks: Vec<String> = Vec::new();
    blocks.extend(curves::partial(run).map(|line| emphasis(&line, style)));
    for curve in &run.curves {
        let cpus = curves::cpus(run, curve);
        blocks.push(format!(
            "{}\n{}",
            emphasis(&curves::heading(run, curve, name), style),
            match curve.points.len() {
                0 => "no point was measured".to_owned(),
                _ => lay_out(&Table::of_curve(curve, cpus), style),
            }
        ));
        blocks.extend(locks::table(curve, cpus).map(|table| lay_out(&table, style)));
        blocks.extend(lines::table(curve, cpus).map(|table| lay_out(&table, style)));
        blocks.extend(lines::shares(curve, cpus).map(|table| lay_out(&table, style)));
        if style.verbose {
            blocks.push(locks::backlog(curve).join("\n"));
        }
        if style.verbose && !curve.points.is_empty() {
            blocks.push(lay_out(&scheduling::table(curve, cpus), style));
        }
    }
    blocks.push(plot::plot(run, style).join("\n"));
    blocks.push(curves::sentences(run, name).join("\n"));
    if style.verbose {
        let conditions = conditions::conditions(run);
        let label = conditions.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
        let lines = conditions
            .iter()
            .map(|(what, value)| format!("{what:label$}  {}", escape::plain(value)));
        blocks.push(lines.collect::<Vec<_>>().join("\n"));
    }
    let warnings = run.warnings.iter().map(|warning| {
        format!(
            "{} {}\n  {}",
            emphasis("warning:", style),
            escape::plain(&warning.message),
            escape::plain(&warning.advice)
        )
    });
    blocks.push(warnings.collect::<Vec<_>>().join("\n"));
    blocks.retain(|block| !block.is_empty());
    blocks.join("\n\n") + "\n"
}

fn emphasis(text: &str, style: &Style) -> String {
    if style.colour { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
}

/// Two blanks between columns, one where the table would be wider than the style allows.
fn lay_out(table: &Table, style: &Style) -> String {
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
        column.set_cell_alignment(CellAlignment::Right);
    }
    out.trim_fmt()
}
