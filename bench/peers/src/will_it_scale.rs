//! will-it-scale's programs, which the user has built.

use crate::{At, output_of};
use anyhow::Context;
use std::path::Path;
use std::process::Command;

/// Operations a second of all tasks: the mean that it prints after its warm-up.
pub(crate) fn run(at: &At<'_>, built: &Path, test: &str) -> anyhow::Result<f64> {
    let program = built.join(format!("{test}_processes"));
    let (tasks, seconds) = (at.tasks.to_string(), at.seconds.to_string());
    let text = output_of(Command::new(program).args(["-t", &tasks, "-s", &seconds]))?;
    average(&text).with_context(|| format!("{test} prints no average"))
}

fn average(text: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix("average:")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::average;

    #[test]
    fn the_average_is_read() {
        let text = "testcase:Separate file open/close\nwarmup\nmin:1 max:2 total:3\nmeasurement\n\
                    min:10 max:20 total:30\naverage:30\n";
        assert_eq!(average(text), Some(30.0));
        assert_eq!(average("warmup\n"), None);
    }
}
