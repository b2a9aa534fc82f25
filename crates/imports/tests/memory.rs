//! No reader takes more memory than a small multiple of its input, however the input was made.

#[allow(dead_code)] // of each test program a part
mod common;
// One test in this program, so that nothing else counts.
#[path = "common/counting.rs"]
mod counting;

use counting::{FOR_ANY, PER_BYTE, peak_of};

/// Bytes allowed for each byte of a file as its tool writes it.
const PER_REAL_BYTE: f64 = 40.0;

/// Heads and the shortest rows that each format allows, to be repeated with a number that counts up.
const ROWS: &[(&str, &str, &str)] = &[
    ("will-it-scale", "tasks,processes,threads\n", "@,1,1\n"),
    ("will-it-scale-raw", "testcase:x\nmeasurement\n", "min:1 max:1 total:1\n"),
    ("will-it-scale-raw", "", "testcase:@\nmeasurement\nmin:1 max:1 total:1\n"),
    ("will-it-scale-raw", "testcase:x\nmeasurement\n", "0 -> 1\n"),
    ("fxmark", "## a:b:c:1\n", "@ 1 1 1\n"),
    ("fxmark", "", "## a:b:@:1\n1 1 1 1\n"),
    ("mdtest", "1 tasks,\nSUMMARY rate: \n", "File @ x 1 1 1 1\n"),
    ("mdtest", "SUMMARY rate: \n", "@ tasks,\nSUMMARY:\nFile 1 1 1 1\n"),
    ("fio", "{ \"fio version\":\"\",\"jobs\":[{\"jobname\":\"\"}", ",{\"jobname\":\"\"}"),
    (
        "fio",
        "{ \"fio version\":\"\",\"jobs\":[{\"jobname\":\"\"}",
        ",{\"jobname\":\"@\",\"read\":{\"iops\":1}}",
    ),
    ("fs_mark", "# 1 thread(s)\nFSUse% Files/sec\n", "1 @ 1 1\n"),
    ("tiobench", "Random Reads\n-----\n", "a 1 1 @ 1 1 1 1 1 1 1\n"),
    ("tiobench", "Random Reads\n-----\n", "@ 1 1 1 1 1 1 1 1 1 1\n"),
    ("reaim", "Forks,JPM,\n", "@,1,1,1,1,1,1\n"),
    ("dbench", "Throughput 1 MB/sec 1 procs\n", ":@:1:1\n"),
    ("dbench", "", ";1;@\n"),
    ("hyperfine", "{\"results\":[{\"command\":\"\",\"times\":[1", ",1"),
    ("hyperfine", "{\"results\":[{\"command\":\"\",\"mean\":1}", ",{\"command\":\"@\",\"mean\":1}"),
    ("hyperfine", "command,mean,stddev,median\n", "@,1,,1,1,1\n"),
    ("lkp", "a/testcase:\nb/t\ncommit:\n0123456 \n0123457 \n\n%stddev %change\n", "1 +1% 2 t.@\n"),
    ("mmtests", "a b\nc d\n", "Hmean a-@ 1 (0%) 1 (0%)\n"),
    ("mmtests", "a b\nc d\n", "Hmean @-1 1 (0%) 1 (0%)\n"),
    ("perf-bench", "", "# Running a/@ benchmark\n1 usecs/op\n"),
    ("perf-bench", "# Running a/b benchmark\n", "[thread [ 1 ops/sec ]\n"),
    ("perf-bench", "", "1\n"),
    ("stress-ng", "stress-ng:]stressor \n", "stress-ng:]@ 1 1 1 1 1\n"),
    (
        "stress-ng",
        "stress-ng:]stressor \nstress-ng:]a 1 1 1 1 1\nstress-ng:]miscellaneous metrics\n",
        "stress-ng:]a @ 1 per sec\n",
    ),
    ("stress-ng", "", "- stressor:@\n bogo-ops-per-second-real-time:1\n"),
    ("stress-ng", "- stressor:a\n bogo-ops-per-second-real-time:1\n", " @-per-sec:1\n"),
];

/// Ends of those that are JSON.
fn tail(format: &str, head: &str) -> &'static str {
    match format {
        "fio" => "]}",
        "hyperfine" if head.ends_with("[1") => "]}]}",
        "hyperfine" if head.starts_with('{') => "]}",
        _ => "",
    }
}

#[test]
fn memory_is_a_small_multiple_of_the_input() {
    for (format, head, row) in ROWS {
        let mut text = (*head).to_owned();
        for number in 1..=10_000 {
            text.push_str(&row.replace('@', &number.to_string()));
        }
        text.push_str(tail(format, head));
        assert_takes_at_most(PER_BYTE, format, &text);
    }
    for (format, _, bytes) in common::corpus() {
        let text = String::from_utf8_lossy(&bytes);
        assert_takes_at_most(PER_REAL_BYTE, format.name, &text);
        assert_takes_at_most(PER_REAL_BYTE, format.name, &text.repeat(100));
    }
}

#[track_caller]
fn assert_takes_at_most(per_byte: f64, format: &str, text: &str) {
    let of = imports::Format::by_name(format).expect("a format");
    let (peak, read) = peak_of(|| (of.parse)("f", text).is_ok());
    let found = peak.saturating_sub(FOR_ANY) as f64 / text.len() as f64;
    let start: String = text.chars().take(40).collect();
    println!("{format}: {} bytes, {found:.1} times, read {read}: {start:?}", text.len());
    assert!(found <= per_byte, "{format}: {peak} bytes for {}: {start:?}", text.len());
}
