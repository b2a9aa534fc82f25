//! A flame graph of what `--locks` found, as SVG.

use crate::{Format, Medium, Style, curves, flame, stacks};
use results::Run;

pub(crate) const FORMAT: Format = Format {
    name: "flame",
    medium: Medium::File,
    summary: "a flame graph (SVG) of what --locks found: time waited by stack, else samples",
    render,
};

fn render(run: &Run, _: &Style) -> String {
    let (unit, stacks) = stacks::weighted(run);
    let what = if unit == "ns" { "waits for locks" } else { "samples in the kernel" };
    let title =
        format!("{what}: {}", curves::labels(&run.curves.iter().collect::<Vec<_>>()).join("; "));
    let unit = if unit == "ns" { "ns waited" } else { unit };
    flame::svg(&title, unit, &stacks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn waits_of_every_task_count_stand_in_one_picture() {
        let svg = render(&fixture::traced_run(), &Style::default());
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert!(svg.contains("<title>[rwsem write]: 81234567 ns waited"), "{svg}");
        assert!(svg.contains("<title>2 tasks: "), "{svg}");
    }
}
