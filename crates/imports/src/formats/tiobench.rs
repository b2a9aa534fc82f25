//! tiobench, its four tables: sequential and random reads and writes, MB/s over threads.
//!
//! The first column is the kernel, so that one file may hold several; each becomes a run. A number that does not fit its column
//! is printed as `####` and is left out with a warning. Latencies have no interval and are not read.

use crate::runs::{Draft, Series, THREAD};
use crate::text::{Line, Text, kebab};
use crate::{Format, ImportError, Imported, names};
use std::collections::BTreeMap;

pub(super) const FORMAT: Format = Format {
    name: "tiobench",
    summary: "tiobench, its tables",
    detect: |head| {
        head.lines().any(|line| line.starts_with("Identifier") && line.contains("Thr"))
            && head.lines().any(|line| SECTIONS.contains(&line.trim()))
    },
    parse,
};

const SECTIONS: [&str; 4] =
    ["Sequential Reads", "Random Reads", "Sequential Writes", "Random Writes"];

/// File size, block size, threads, rate, CPU%, two latencies, two shares of late ones, CPU efficiency.
const NUMBERS: usize = 10;

fn parse(file: &str, text: &str) -> Result<Vec<Imported>, ImportError> {
    let text = Text::new(file, text);
    let mut kernels = Kernels::default();
    let mut section = None;
    let mut in_table = false;
    for line in text.lines() {
        if SECTIONS.contains(&line.text.trim()) {
            (section, in_table) = (Some(line.text.trim()), false);
        } else if line.text.starts_with("-----") {
            in_table = section.is_some();
        } else if line.text.trim().is_empty() || line.text.starts_with("Unit information") {
            in_table = false;
        } else if let Some(section) = section.filter(|_| in_table) {
            row(&text, line, section, &mut kernels)?;
        }
    }
    if kernels.drafts.is_empty() {
        return Err(text.error_at(None, "a table of tiobench with a row", "none"));
    }
    kernels.drafts.into_iter().map(|(kernel, draft)| draft.finish(&text, kernel)).collect()
}

/// More kernels than anybody compares; each costs a run with all its conditions.
const MOST_KERNELS: usize = 64;

/// A run for each kernel, in the order of the file.
#[derive(Default)]
struct Kernels {
    drafts: Vec<(String, Draft)>,
    index: BTreeMap<String, usize>,
}

impl Kernels {
    /// None if there are too many.
    fn draft(&mut self, kernel: &str) -> Option<&mut Draft> {
        let at = *self.index.get(kernel).unwrap_or(&self.drafts.len());
        if at == self.drafts.len() {
            if at == MOST_KERNELS {
                return None;
            }
            let mut draft = Draft::new(FORMAT.name);
            draft.command = vec!["tiobench".into()];
            draft.host.kernel = kernel.into();
            self.index.insert(kernel.into(), at);
            self.drafts.push((kernel.into(), draft));
        }
        Some(&mut self.drafts[at].1)
    }
}

fn row(
    text: &Text<'_>,
    line: Line<'_>,
    section: &str,
    kernels: &mut Kernels,
) -> Result<(), ImportError> {
    let words: Vec<&str> = line.text.split_whitespace().take(2 * NUMBERS).collect();
    let names = words
        .len()
        .checked_sub(NUMBERS)
        .filter(|names| *names > 0)
        .ok_or_else(|| text.error(line, format!("an identifier and {NUMBERS} numbers")))?;
    let draft = kernels
        .draft(&words[..names].join(" "))
        .ok_or_else(|| text.error(line, format!("no more than {MOST_KERNELS} kernels")))?;
    let [_size, block, threads, rate] = [0, 1, 2, 3].map(|column| words[names + column]);
    if [block, threads, rate].iter().any(|word| word.contains('#')) {
        let message = format!("line {}: a number did not fit its column; left out", line.number);
        draft.warn("overflow", message, "run tiobench with --dump or a smaller file");
        return Ok(());
    }
    let block: u64 = text.number(line, "block size", Some(block))?;
    let threads = text.number(line, "threads", Some(threads))?;
    let rate = text.number(line, "rate", Some(rate))?;
    let workload = names::workload("tiobench", &format!("{}-{block}", kebab(section)));
    draft.summary(&Series::rate(workload).unit("MB/s").mode(THREAD), threads, rate);
    Ok(())
}
