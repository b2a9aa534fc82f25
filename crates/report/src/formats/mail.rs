//! For a mail about a patch: 72 columns of plain ASCII, with the conditions that it was measured under.

use crate::layout::text as lay_out;
use crate::table::Table;
use crate::{Format, Medium, Style, conditions, curves, mail, plot};
use results::Run;

pub(super) const FORMAT: Format = Format {
    name: "mail",
    summary: "72 columns of ASCII for a mail: verdict, table, curves, conditions",
    medium: Medium::Terminal,
    render,
};

fn render(run: &Run, _: &Style) -> String {
    let style = mail::STYLE;
    let mut paragraphs: Vec<String> = Vec::new();
    paragraphs.extend(curves::partial(run).map(|line| mail::wrap(&line)));
    paragraphs.extend(curves::sentences(run, mail::name).iter().map(|line| mail::wrap(line)));
    for curve in &run.curves {
        let heading = mail::wrap(&curves::heading(run, curve, mail::name));
        let table = match curve.points.len() {
            0 => "no point was measured".to_owned(),
            _ => mail::ascii(&lay_out(
                &Table::of_curve_short(curve, curves::cpus(run, curve)),
                &style,
            )),
        };
        paragraphs.push(format!("{heading}\n{table}"));
    }
    paragraphs.push(mail::ascii(&plot::plot(run, &style).join("\n")));
    let warnings = run.warnings.iter().map(|warning| {
        mail::wrap(&format!(
            "warning: {} ({})",
            mail::name(&warning.message),
            mail::name(&warning.advice)
        ))
    });
    paragraphs.extend(warnings);
    paragraphs.push(conditions::for_mail(run));
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    paragraphs.join("\n\n") + "\n"
}
