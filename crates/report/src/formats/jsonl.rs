//! For programs that read line by line: the record without samples, then one sample a line (`docs/run-format.md`).

use crate::{Format, Medium, Style};
use results::Run;

pub(super) const FORMAT: Format = Format {
    name: "jsonl",
    summary: "the record on one line and then one sample a line, for programs",
    medium: Medium::Terminal,
    render,
};

fn render(run: &Run, _: &Style) -> String {
    run.to_lines()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn it_reads_back_as_the_same_run() {
        for run in fixture::odd_runs() {
            let text = render(&run, &Style::default());
            assert_eq!(Run::from_lines(&text).expect("it was just written"), run);
        }
    }

    #[test]
    fn a_line_that_is_none_is_named() {
        let mut text = render(&fixture::run(), &Style::default());
        text.push_str("{\"curve\":7}\n");
        let lines = text.lines().count();
        assert_eq!(Run::from_lines(&text).expect_err("no such sample").line, lines);
        assert!(Run::from_lines("").is_err());
    }
}
