//! Whatever the bytes: a reader gives runs that keep the rules of the record, or an error that says where, and comes back.

use imports::{FORMATS, Format, ImportError};
use proptest::prelude::*;

#[allow(dead_code)] // of each test program a part
mod common;

fn parse(format: &Format, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match (format.parse)("f", &text) {
        Ok(runs) => {
            assert!(!runs.is_empty());
            runs.iter().for_each(|imported| common::check(format, "f", &imported.run));
        }
        Err(ImportError::Content { file, line, expected, found }) => {
            assert!(file == "f" && !expected.is_empty() && !found.is_empty());
            assert!(line.is_none_or(|line| (1..=text.lines().count() + 1).contains(&line)));
        }
        Err(error) => panic!("an error of content expected, not {error}"),
    }
}

/// A file cut off anywhere, as by a full disk, is read up to there or refused.
#[test]
fn every_beginning_of_every_file() {
    for (format, _, bytes) in common::corpus() {
        for end in 0..bytes.len() {
            parse(format, &bytes[..end]);
        }
    }
}

#[test]
fn every_file_as_every_other_format() {
    for (_, _, bytes) in common::corpus() {
        FORMATS.iter().for_each(|format| parse(format, &bytes));
    }
}

/// Bytes, words that mean something to a format, and line ends.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..8),
        "[0-9.:,;%#*() +-]{0,9}".prop_map(String::into_bytes),
        prop::sample::select(WORDS).prop_map(|word| word.as_bytes().to_vec()),
    ];
    prop::collection::vec(word, 0..60).prop_map(|words| words.concat())
}

const WORDS: &[&str] = &[
    "\n",
    "\n",
    "\n",
    " ",
    " ",
    "1",
    "2",
    "0",
    "-1",
    "nan",
    "-nan",
    "inf",
    "1e999",
    "####",
    "18446744073709551616",
    "±",
    "\u{feff}",
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "(",
    ")",
    "%",
    "tasks,processes,threads",
    "testcase:",
    "measurement",
    "min:1 max:2 total:3",
    " -> ",
    "### SYSTEM = ",
    "## a:b:c:1",
    "# ncpu secs works works/sec",
    "SUMMARY rate: ",
    "File creation",
    " tasks, ",
    "{ \"fio version\" : \"3\", \"jobs\" : [",
    "FSUse% Count Size Files/sec",
    "#  ./fs_mark -d",
    "# Version 3, 1 thread(s)",
    "Random Reads\n------",
    "Forks,JPM,",
    "Forked Time SysTime UTime",
    "Tasks jobs/min jti",
    "Throughput ",
    " MB/sec ",
    " clients",
    ":a:1:",
    "{\"results\":[{\"command\":\"a\",\"times\":[",
    "command,mean,stddev,median",
    "commit:\n",
    "0123456789 (\"s\")\n",
    "a/testcase:\n",
    "x/will-it-scale\n",
    "will-it-scale.1.processes",
    "+1.0%",
    "Hmean ",
    "Amean ",
    "( 0.00%)",
    "# Running 'a/b' benchmark:\n",
    "Averaged ",
    " operations/sec",
    "[Run 1]: Wokeup 1 of 2 threads in ",
    " ms",
    "[thread 0] [ 1 ops/sec ]",
    "# Executed 5 pipe",
    " usecs/op",
    "Run summary [PID 1]: 2 threads for 1 secs.",
    "\nstress-ng: info: [1] dispatching hogs: 2 open, 1 dup\n",
    "\nstress-ng: metrc: [1] stressor bogo ops\n",
    "\nstress-ng: metrc: [1] open 5 1.0 0.1 0.1 5.0 25.0",
    "stress-ng: metrc: [1] miscellaneous metrics:",
    "\nstress-ng: metrc: [1] open 5.0 nanosecs per open (2)",
    "- stressor: open\n",
    "  bogo-ops-per-second-real-time: 1.5\n",
    "  cpu-usage-per-instance: 0.5\n",
    "  instances:\n",
    "  - instance: 0\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn arbitrary_bytes(bytes in any_bytes()) {
        FORMATS.iter().for_each(|format| parse(format, &bytes));
    }

    #[test]
    fn files_with_bytes_overwritten(
        file in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let corpus = common::corpus();
        let (format, _, mut bytes) = corpus[file.index(corpus.len())].clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        parse(format, &bytes);
    }

    #[test]
    fn files_with_words_replaced(
        file in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(WORDS)), 1..6),
    ) {
        let corpus = common::corpus();
        let (format, _, bytes) = corpus[file.index(corpus.len())].clone();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let mut words: Vec<&str> = text.split_inclusive(|c: char| c.is_whitespace() || ",:".contains(c)).collect();
        for (at, word) in changes {
            let at = at.index(words.len());
            words[at] = word;
        }
        parse(format, words.concat().as_bytes());
    }
}
