//! One file per format.

use crate::Format;

macro_rules! formats {
    ($($module:ident),* $(,)?) => {
        $(pub(crate) mod $module;)*

        /// Every format; the first is the default.
        pub const FORMATS: &[Format] = &[$($module::FORMAT),*];
    };
}

// To add a format, write its file and add its name here.
formats!(text, markdown, csv, json, jsonl, mail, svg, html, folded, flame);

impl Format {
    /// Whether it shows nothing but what was seen of locks.
    pub fn needs_locks(&self) -> bool {
        [folded::FORMAT, flame::FORMAT].iter().any(|format| format.name == self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn names_are_unique_and_found() {
        for format in FORMATS {
            let found = Format::by_name(format.name).map(|format| format.summary);
            assert_eq!(found, Some(format.summary));
            assert!(!format.summary.is_empty() && !format.summary.ends_with('.'));
        }
        assert!(Format::by_name("xml").is_none());
    }

    /// The runs that are easy to forget: interrupted before the first round, one task, no curve at all.
    #[test]
    fn every_format_writes_every_run_and_ends_with_a_newline() {
        for run in fixture::odd_runs() {
            for format in FORMATS {
                for style in fixture::styles() {
                    let text = (format.render)(&run, &style);
                    assert!(text.ends_with('\n') || text.is_empty(), "{}: {text:?}", format.name);
                    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
                }
            }
        }
    }

    #[test]
    fn nothing_that_a_terminal_would_obey_gets_out_of_a_name() {
        let mut run = fixture::run();
        run.curves[0].target = "dir:/mnt/\u{1b}[2J\n\u{202e}x".into();
        run.host.fs[0].target = run.curves[0].target.clone();
        run.host.fs[0].mount_point = "/mnt/\u{1b}[2J\n".into();
        run.host.cpu_model = Some("evil\u{9b}2J".into());
        run.command.push("\u{7}".into());
        run.warnings[0].message = "in dir:/mnt/\u{1b}]0;owned\u{7}".into();
        run.curves[0].workload = "w\u{61c}\u{2067}\u{200f}".into();
        run.curves[0].points[1].traced = Some(Box::new(fixture::traced(1)));
        let traced = run.curves[0].points[1].traced.as_mut().expect("traced");
        traced.waits[0].stacks[0].frames.push("f\u{1b}[2J\u{200e}".into());
        traced.waits[0].path.push("p\u{9b}2J".into());
        traced.waits[1].kind = "k\u{2028}".into();
        traced.notes.push("n\u{202d}\u{7}".into());
        // In JSON and CSV a name is data: it reads back as it was.
        for format in
            FORMATS.iter().filter(|format| !["json", "jsonl", "csv"].contains(&format.name))
        {
            for style in fixture::styles().into_iter().filter(|style| !style.colour) {
                let text = (format.render)(&run, &style);
                let bad = text.chars().find(|&c| c != '\n' && crate::escape::is_unprintable(c));
                assert_eq!(bad, None, "{}: {text}", format.name);
            }
        }
    }
}
