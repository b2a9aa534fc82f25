//! For programs: the whole record, every sample, as described in `docs/run-format.md`.

use crate::json::rows;
use crate::{Format, Medium, Style};
use results::Run;

pub(super) const FORMAT: Format = Format {
    name: "json",
    summary: "every sample and the conditions, for programs (docs/run-format.md)",
    medium: Medium::Terminal,
    render,
};

fn render(run: &Run, _: &Style) -> String {
    rows(run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn json(run: &Run) -> String {
        render(run, &Style::default())
    }

    #[test]
    fn it_reads_back_as_the_same_run() {
        for run in fixture::odd_runs() {
            let back: Run = serde_json::from_str(&json(&run)).unwrap();
            assert_eq!(back, run);
        }
    }

    #[test]
    fn a_sample_and_a_cpu_take_a_line_each() {
        let run = fixture::run();
        let text = json(&run);
        let samples: usize = run
            .curves
            .iter()
            .flat_map(|curve| &curve.points)
            .map(|point| point.samples.len())
            .sum();
        let lines =
            |with: &str| text.lines().filter(|line| line.contains(with)).collect::<Vec<_>>();
        assert_eq!(lines("\"start_ns\"").len(), samples);
        assert_eq!(
            lines("\"start_ns\"")[0],
            r#"            {"round":0,"task":0,"ops":8100,"start_ns":900,"elapsed_ns":10000000,"user_ns":1500000,"sys_ns":8400000,"vcsw":0,"ivcsw":0,"cpu":[0,0]},"#
        );
        assert_eq!(lines("\"socket\"").len(), run.host.topology.cpus.len());
        assert!(text.contains("\n  \"command\": [\"vfscale\",\"run\","), "{text}");
        assert!(text.ends_with("\n}\n"));
    }

    #[test]
    fn it_is_what_serde_json_writes_but_for_blanks() {
        let run = fixture::run();
        let value = |text: &str| -> serde_json::Value { serde_json::from_str(text).unwrap() };
        assert_eq!(value(&json(&run)), value(&serde_json::to_string(&run).unwrap()));
    }
}
