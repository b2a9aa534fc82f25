//! The default: tables, a plot and sentences for a terminal or a mail.

use crate::layout::{emphasis, text as lay_out};
use crate::table::Table;
use crate::{
    Format, Medium, Style, conditions, curves, escape, fixed, lines, locks, plot, scheduling,
};
use results::Run;

pub(super) const FORMAT: Format = Format {
    name: "text",
    summary: "tables, a plot and a verdict, for a terminal or a mail",
    medium: Medium::Terminal,
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
        blocks.extend(fixed::latencies(curve, cpus).map(|table| lay_out(&table, style)));
        let seen = locks::tables(curve, cpus, style);
        blocks.extend(seen.iter().map(|table| lay_out(table, style)));
        blocks.extend(locks::stacks(curve, style));
        blocks.push(locks::said(curve).join("\n"));
        blocks.extend(lines::table(curve, cpus).map(|table| lay_out(&table, style)));
        blocks.extend(lines::shares(curve, cpus).map(|table| lay_out(&table, style)));
        if style.verbose {
            blocks.push(locks::backlog(curve).join("\n"));
        }
        if style.verbose && !curve.points.is_empty() {
            blocks.push(lay_out(&scheduling::table(curve, cpus), style));
        }
    }
    blocks.extend(fixed::tables(run));
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
