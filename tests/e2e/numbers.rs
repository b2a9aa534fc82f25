//! Every number that is shown is computed again, in the plainest way, from the samples of the record.
//!
//! What a program measured and what it shows of it are two things: the record of a run is taken from the program, and each
//! format is made of that record and read back cell by cell. The text of a run of the program itself is held to what its
//! own figures say about each other.

use crate::support::{parse_csv, run, temp_dir, vfscale};
use report::{Format, Style};
use results::{Curve, Point, Run, Sample};
use std::sync::LazyLock;

/// A run of the program, as a record.
fn record(args: &[&str]) -> Run {
    let dir = temp_dir();
    let all = [&["run", "--format", "json"], args].concat();
    let ran = run(vfscale(&all).current_dir(dir.path())).exits(0);
    let wall: f64 = ran.took.as_secs_f64();
    let record = ran.record();
    let measured: f64 = points(&record).map(|(_, point)| point.real_s).sum();
    assert!(measured < wall, "slices of {measured} s in all in a run that took {wall} s");
    record
}

/// Two workloads in both modes, fewer and more tasks than most small machines have CPUs, enough rounds for an interval.
static SEVERAL_CURVES: LazyLock<Run> = LazyLock::new(|| {
    let counts = ["--tasks", "1,2,5", "--rounds", "14", "--slice", "5ms", "--time", "1s"];
    record(&[&["open_close", "fstat", "--mode", "process,thread"], &counts[..]].concat())
});

/// One curve, too few rounds for an interval.
static FEW_ROUNDS: LazyLock<Run> = LazyLock::new(|| {
    record(&["--tasks", "1,2,3,4", "--rounds", "4", "--slice", "5ms", "--time", "500ms"])
});

/// One task is not measured, so that there is no speed-up.
static WITHOUT_ONE_TASK: LazyLock<Run> = LazyLock::new(|| {
    record(&["openbench", "--tasks", "2,3", "--rounds", "9", "--slice", "5ms", "--time", "500ms"])
});

/// All of them.
fn records() -> [&'static Run; 3] {
    [&SEVERAL_CURVES, &FEW_ROUNDS, &WITHOUT_ONE_TASK]
}

fn points(run: &Run) -> impl Iterator<Item = (&Curve, &Point)> {
    run.curves.iter().flat_map(|curve| curve.points.iter().map(move |point| (curve, point)))
}

/// What a table shows of a point, from its samples alone.
#[derive(Debug)]
struct Figures {
    rates: Vec<f64>,
    ops_per_s: f64,
    usecs_per_op: f64,
    usecs_per_op_task: f64,
    real_s: f64,
    user_s: f64,
    sys_s: f64,
    speedup: Option<f64>,
    efficiency: Option<f64>,
    fairness: f64,
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let n = values.len();
    (values[(n - 1) / 2] + values[n / 2]) / 2.0
}

fn rate(sample: &Sample) -> f64 {
    if sample.elapsed_ns == 0 { 0.0 } else { sample.ops as f64 / (sample.elapsed_ns as f64 / 1e9) }
}

/// The rate of each round: of all its tasks together.
fn rates(point: &Point, rounds: u32) -> Vec<f64> {
    let of_round = |round| point.samples.iter().filter(move |sample| sample.round == round);
    (0..rounds).map(|round| of_round(round).map(rate).sum()).collect()
}

impl Figures {
    fn of(point: &Point, curve: &Curve, rounds: u32) -> Figures {
        let tasks = f64::from(point.tasks);
        let rates_here = rates(point, rounds);
        let ops_per_s = median(&rates_here);
        let seconds = |of: fn(&Sample) -> u64| {
            point.samples.iter().map(|sample| of(sample) as f64 / 1e9).sum::<f64>() / tasks
        };
        let one_task = curve.points.iter().find(|point| point.tasks == 1);
        let speedup = one_task.map(|one_task| {
            let base = rates(one_task, rounds);
            let pairs = rates_here.iter().zip(base).filter(|(_, base)| *base > 0.0);
            median(&pairs.map(|(rate, base)| rate / base).collect::<Vec<f64>>())
        });
        let of_tasks: Vec<f64> = (0..point.tasks)
            .map(|task| {
                let own = || point.samples.iter().filter(|sample| sample.task == task);
                let elapsed: u64 = own().map(|sample| sample.elapsed_ns).sum();
                own().map(|sample| sample.ops).sum::<u64>() as f64 / elapsed as f64
            })
            .collect();
        let slowest = of_tasks.iter().copied().fold(f64::INFINITY, f64::min);
        Figures {
            ops_per_s,
            usecs_per_op: 1e6 / ops_per_s,
            usecs_per_op_task: tasks * 1e6 / ops_per_s,
            real_s: seconds(|sample| sample.elapsed_ns),
            user_s: seconds(|sample| sample.user_ns),
            sys_s: seconds(|sample| sample.sys_ns),
            speedup,
            efficiency: speedup.map(|speedup| speedup / tasks),
            fairness: slowest / of_tasks.iter().copied().fold(0.0, f64::max),
            rates: rates_here,
        }
    }
}

#[track_caller]
fn same(what: &str, got: f64, expected: f64) {
    assert!((got - expected).abs() <= 1e-9 * expected.abs(), "{what} is {got} and not {expected}");
}

#[track_caller]
fn same_or_none(what: &str, got: Option<f64>, expected: Option<f64>) {
    assert_eq!(got.is_some(), expected.is_some(), "{what} is {got:?} and not {expected:?}");
    same(what, got.unwrap_or(0.0), expected.unwrap_or(0.0));
}

#[test]
fn summaries_follow_from_the_samples() {
    for run in records() {
        for (curve, point) in points(run) {
            let naive = Figures::of(point, curve, run.plan.rounds);
            same("ops_per_s", point.ops_per_s, naive.ops_per_s);
            same("usecs_per_op", point.usecs_per_op, naive.usecs_per_op);
            same("usecs_per_op_task", point.usecs_per_op_task, naive.usecs_per_op_task);
            same("real_s", point.real_s, naive.real_s);
            same("user_s", point.user_s, naive.user_s);
            same("sys_s", point.sys_s, naive.sys_s);
            same_or_none("speedup", point.speedup, naive.speedup);
            same_or_none("efficiency", point.efficiency, naive.efficiency);
            same("fairness", point.fairness, naive.fairness);
            interval(point, &naive.rates);
        }
        assert!(points(run).all(|(_, point)| point.tasks != 1 || point.speedup == Some(1.0)));
    }
}

/// The ends are two of the rounds' rates, equally far from the ends of the sorted rates, around the median.
fn interval(point: &Point, rates: &[f64]) {
    let expected = stats::median_ci95(rates);
    let Some([low, high]) = point.ci95 else {
        assert_eq!(expected, None, "the interval is missing: {rates:?}");
        return;
    };
    assert!(rates.len() >= 6, "an interval of {} rounds", rates.len());
    assert!(low <= point.ops_per_s && point.ops_per_s <= high, "{low} {} {high}", point.ops_per_s);
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b;
    let mut ends = sorted.iter().zip(sorted.iter().rev());
    assert!(ends.any(|(a, b)| close(*a, low) && close(*b, high)), "{low} and {high} of {sorted:?}");
    let [expected_low, expected_high] = expected.expect("no interval is expected");
    same("low end", low, expected_low);
    same("high end", high, expected_high);
}

#[test]
fn samples_are_complete_and_sane() {
    const TICK_NS: u64 = 10_000_000;
    const SLICE_NS: u64 = 5_000_000;
    let run = &*SEVERAL_CURVES;
    assert_eq!((run.plan.rounds, run.plan.slice_s), (14, 0.005));
    for (curve, point) in points(run) {
        let what = format!("{} {} {}", curve.workload, curve.mode, point.tasks);
        let keys: Vec<(u32, u32)> = point.samples.iter().map(|s| (s.round, s.task)).collect();
        let all: Vec<(u32, u32)> =
            (0..14).flat_map(|round| (0..point.tasks).map(move |task| (round, task))).collect();
        assert_eq!(keys, all, "{what}: rounds × tasks, in order");
        let crowded = point.tasks as usize > run.host.cpus.len();
        for sample in &point.samples {
            let Sample { start_ns, elapsed_ns, user_ns, sys_ns, .. } = *sample;
            // Where tasks take turns the time counts from the opening of the barrier, else from the task's own start.
            let until_end = if crowded { elapsed_ns } else { start_ns + elapsed_ns };
            assert!(until_end >= SLICE_NS * 97 / 100, "{what}: a slice ended early: {sample:?}");
            assert!(
                until_end < SLICE_NS + 2_000_000_000,
                "{what}: a slice never ended: {sample:?}"
            );
            let most = elapsed_ns + elapsed_ns / 10 + TICK_NS;
            assert!(user_ns + sys_ns <= most, "{what}: more CPU time than there was: {sample:?}");
            let cpu = point.cpus[sample.task as usize];
            assert_eq!(sample.cpu, [cpu, cpu], "{what}: pinned to {cpu}");
        }
        // Of the whole point the ticks of the single slices do not matter any more.
        assert!(point.user_s + point.sys_s <= 1.1 * point.real_s + 0.01, "{what}: {point:?}");
        assert!(point.user_s + point.sys_s > 0.0, "{what}: work takes CPU time");
        assert!(point.samples.iter().map(|sample| sample.ops).sum::<u64>() > 0, "{what}");
    }
    // On a busy machine a task may not get to run within a slice. Then the run has to say so.
    let idle = points(run).flat_map(|(_, point)| &point.samples).filter(|s| s.ops == 0).count();
    let starved = run.warnings.iter().find(|warning| warning.code == "starved");
    assert_eq!(
        starved.is_some(),
        idle > 0,
        "{idle} slices without an operation: {:?}",
        run.warnings
    );
    assert!(starved.is_none_or(|warning| warning.message.contains(&format!("in {idle} of "))));
}

/// A curve in a text: heading, rows of cells, what stands below.
struct Shown {
    heading: String,
    rows: Vec<Vec<String>>,
    footnote: Option<String>,
    /// Whether it says why an interval is missing.
    unsure: bool,
}

const COLUMNS: usize = 11;

/// The tables of a text, each below a heading.
fn tables(text: &str) -> Vec<Shown> {
    let lines: Vec<&str> = text.lines().collect();
    let mut shown = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if !line.starts_with("tasks ") || !line.contains("ops/s") {
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let expected = "tasks ops/s ± 95 % usecs/op per task s s s up ciency ness";
        assert_eq!(words.join(" "), expected);
        let body = lines[at + 1..].iter().take_while(|line| !line.is_empty());
        let is_note = |line: &&&str| line.starts_with('*') || line.starts_with("- ");
        let (notes, rows): (Vec<&str>, Vec<&str>) = body.partition(is_note);
        let cells =
            |row: &str| -> Vec<String> { row.split_whitespace().map(String::from).collect() };
        shown.push(Shown {
            heading: lines[at - 2].to_owned(),
            rows: rows.into_iter().map(cells).collect(),
            unsure: notes.contains(&"- too few or too unsteady rounds for an interval"),
            footnote: notes.iter().find(|note| note.starts_with('*')).map(ToString::to_string),
        });
    }
    shown
}

/// A cell as a number, and half of its last digit's worth. Zeros at the end of a whole number may be digits or not.
fn number(cell: &str) -> (f64, f64) {
    let plain = cell.trim_end_matches('*').replace(',', "");
    let value = plain.parse().unwrap_or_else(|_| panic!("{cell:?} is no number"));
    let unit = match plain.split_once('.') {
        Some((_, decimals)) => 0.1f64.powi(decimals.len() as i32),
        None => 10f64.powi(plain.bytes().rev().take_while(|digit| *digit == b'0').count() as i32),
    };
    (value, if value == 0.0 { 0.5 } else { unit / 2.0 })
}

/// Checks that a cell is this number, rounded to the digits the cell has.
#[track_caller]
fn shows(what: &str, cell: &str, value: f64) {
    let (shown, half) = number(cell);
    let off = (shown - value).abs();
    assert!(off <= half * 1.000_001, "{what}: {cell} stands for {value}");
}

#[track_caller]
fn shows_or_dash(what: &str, cell: &str, value: Option<f64>) {
    match value {
        Some(value) => shows(what, cell, value),
        None => assert_eq!(cell, "-", "{what}"),
    }
}

/// How precise a rate may be shown: to the leading digit of the interval's half-width, one more if that is a 1.
fn last_place(half: f64) -> f64 {
    let exponent = half.log10().floor();
    let leading = half / 10f64.powf(exponent);
    10f64.powf(if leading < 2.0 { exponent - 1.0 } else { exponent })
}

fn check_row(row: &[String], point: &Point, naive: &Figures, cpus: usize) {
    assert_eq!(row.len(), COLUMNS, "{row:?}");
    let crowded = point.tasks as usize > cpus;
    assert_eq!(row[0], format!("{}{}", point.tasks, if crowded { "*" } else { "" }));
    shows("ops/s", &row[1], naive.ops_per_s);
    let half = point.ci95.map(|[low, high]| (high - low) / 2.0);
    if let Some(half) = half.filter(|half| *half > 0.0 && *half < naive.ops_per_s) {
        let places = number(&row[1]).0 / last_place(half);
        let whole = (places - places.round()).abs() < 1e-6;
        assert!(whole, "{} ± {half}: digits that mean nothing", row[1]);
    }
    shows_or_dash("± 95 %", &row[2], half.map(|half| half / naive.ops_per_s * 100.0));
    shows("usecs/op", &row[3], naive.usecs_per_op);
    shows("usecs/op per task", &row[4], naive.usecs_per_op_task);
    shows("real", &row[5], naive.real_s);
    shows("user", &row[6], naive.user_s);
    shows("sys", &row[7], naive.sys_s);
    shows_or_dash("speed-up", &row[8], naive.speedup);
    shows_or_dash("efficiency", &row[9], naive.efficiency);
    shows("fairness", &row[10], naive.fairness);
}

fn render(format: &str, run: &Run, style: &Style) -> String {
    (Format::by_name(format).expect("a format").render)(run, style)
}

#[test]
fn the_table_shows_what_the_samples_say() {
    for run in records() {
        for width in [72, 100] {
            let text = render("text", run, &Style { width, ..Style::default() });
            let shown = tables(&text);
            assert_eq!(shown.len(), run.curves.len(), "{text}");
            for (table, curve) in shown.iter().zip(&run.curves) {
                check_table(table, curve, run);
            }
        }
    }
}

fn check_table(table: &Shown, curve: &Curve, run: &Run) {
    let fs = &run.host.fs[0].fs_type;
    let Curve { workload, target, mode, points, .. } = curve;
    assert_eq!(
        table.heading,
        format!("{workload} on {target} ({fs}), {mode} mode, pinned by cores")
    );
    assert_eq!(table.rows.len(), points.len());
    for (row, point) in table.rows.iter().zip(points) {
        let naive = Figures::of(point, curve, run.plan.rounds);
        check_row(row, point, &naive, run.host.cpus.len());
    }
    let cpus = run.host.cpus.len();
    let crowded = points.iter().any(|point| point.tasks as usize > cpus);
    let note = crowded.then(|| format!("* more tasks than CPUs ({cpus}): they take turns"));
    assert_eq!(table.footnote, note);
    assert_eq!(table.unsure, points.iter().any(|point| point.ci95.is_none()));
}

#[test]
fn markdown_has_the_cells_of_the_text() {
    let run = &*SEVERAL_CURVES;
    let text = tables(&render("text", run, &Style::default()));
    let markdown = render("markdown", run, &Style::default());
    let rows: Vec<Vec<String>> = markdown
        .lines()
        .filter(|line| line.starts_with('|') && line.contains(|c: char| c.is_ascii_digit()))
        .filter(|line| !line.contains("usecs/op"))
        .map(|line| {
            let cells = line.trim_matches('|').split('|');
            cells.map(|cell| cell.trim().replace('\\', "")).collect()
        })
        .collect();
    let expected: Vec<Vec<String>> = text.into_iter().flat_map(|table| table.rows).collect();
    assert_eq!(rows, expected);
}

#[test]
fn csv_has_every_digit() {
    for run in records() {
        let rows = parse_csv(&render("csv", run, &Style::default()));
        assert_eq!(rows.len(), 1 + points(run).count());
        for (row, (curve, point)) in rows[1..].iter().zip(points(run)) {
            let cell = |column: &str| {
                let at = rows[0].iter().position(|name| name == column).expect(column);
                row[at].as_str()
            };
            let float = |column: &str| -> Option<f64> {
                let cell = cell(column);
                (!cell.is_empty()).then(|| cell.parse().expect(column))
            };
            assert_eq!(
                [cell("workload"), cell("target"), cell("mode")],
                [&*curve.workload, &*curve.target, &*curve.mode]
            );
            assert_eq!(cell("tasks"), point.tasks.to_string());
            assert_eq!(cell("rounds"), run.plan.rounds.to_string());
            let naive = Figures::of(point, curve, run.plan.rounds);
            same_or_none("ops_per_s", float("ops_per_s"), Some(naive.ops_per_s));
            same_or_none("ci95_low", float("ci95_low"), point.ci95.map(|[low, _]| low));
            same_or_none("ci95_high", float("ci95_high"), point.ci95.map(|[_, high]| high));
            same_or_none("usecs_per_op", float("usecs_per_op"), Some(naive.usecs_per_op));
            same_or_none(
                "usecs_per_op_task",
                float("usecs_per_op_task"),
                Some(naive.usecs_per_op_task),
            );
            same_or_none("real_s", float("real_s"), Some(naive.real_s));
            same_or_none("user_s", float("user_s"), Some(naive.user_s));
            same_or_none("sys_s", float("sys_s"), Some(naive.sys_s));
            same_or_none("speedup", float("speedup"), naive.speedup);
            same_or_none("efficiency", float("efficiency"), naive.efficiency);
            same_or_none("fairness", float("fairness"), Some(naive.fairness));
        }
    }
}

/// A number that is only known to lie within `slack` of `value`.
#[derive(Clone, Copy, Debug)]
struct About {
    value: f64,
    slack: f64,
}

impl About {
    fn exactly(value: f64) -> About {
        About { value, slack: 0.0 }
    }

    fn cell(cell: &str) -> About {
        let (value, slack) = number(cell);
        About { value, slack }
    }

    /// The quotient, with the slack of both. Anything if the divisor may be 0.
    fn over(self, other: About) -> About {
        let value = self.value / other.value;
        let most = (self.value + self.slack) / (other.value - other.slack).max(0.0);
        let least = (self.value - self.slack) / (other.value + other.slack);
        About { value, slack: (most - value).max(value - least) }
    }

    #[track_caller]
    fn is(self, what: &str, said: f64, rounding: f64) {
        let off = (self.value - said).abs();
        assert!(off <= (self.slack + rounding) * 1.000_001, "{what}: {said} is said of {self:?}");
    }
}

/// Checks the numbers of a verdict against the work done by so many tasks, in any unit.
fn check_sentence(sentence: &str, work: impl Fn(f64) -> About) {
    // The interval of the speed-up stands behind the sentence.
    let (sentence, interval) = match sentence.rsplit_once(" [") {
        Some((sentence, interval)) => (sentence, interval.trim_end_matches(']')),
        None => (sentence, "no interval"),
    };
    if let Some((low, high)) = interval.split_once(", ") {
        let bound = |text: &str| text.parse::<f64>().expect("a number");
        assert!(bound(low) <= bound(high), "{sentence} [{interval}]");
    } else {
        assert_eq!(interval, "no interval", "{sentence}");
    }
    let not_of_a_number = |c: char| !c.is_ascii_digit() && c != '.';
    let numbers: Vec<f64> =
        sentence.split(not_of_a_number).filter_map(|word| word.parse().ok()).collect();
    let grown = |from: f64, to: f64| work(to).over(work(from));
    match (sentence.split(' ').next(), &numbers[..]) {
        (Some("scales"), &[to, times, percent]) => {
            scaling(grown(1.0, to), to, times, percent, sentence)
        }
        (Some("scales"), &[to, times, base, percent]) => {
            scaling(grown(base, to), to / base, times, percent, sentence);
        }
        (Some("flattens"), &[at, to, times, again]) => {
            assert_eq!(at, again, "{sentence}");
            grown(at, to).is(sentence, times, 0.005);
        }
        (Some("falls"), &[after, to, percent, again]) => {
            assert_eq!(after, again, "{sentence}");
            grown(after, to).is(sentence, 1.0 - percent / 100.0, 0.005);
        }
        (Some("has"), []) => assert!(sentence.contains("nothing to compare"), "{sentence}"),
        _ => panic!("an unknown verdict: {sentence}"),
    }
}

fn scaling(grown: About, linear: f64, times: f64, percent: f64, sentence: &str) {
    grown.is(sentence, times, 0.05);
    grown.over(About::exactly(linear)).is(sentence, percent / 100.0, 0.005);
    let partly = sentence.starts_with("scales partly");
    assert!(if partly { percent <= 75.0 } else { percent >= 75.0 }, "{sentence}");
}

/// The verdicts of a text: lines that begin with a label of a curve and are no heading.
fn sentences<'a>(text: &'a str, workload: &str) -> Vec<&'a str> {
    let verdict = |line: &&str| {
        ["scales ", "flattens ", "falls ", "has nothing"]
            .iter()
            .any(|word| line.contains(&format!(" {word}")))
    };
    let starts = |line: &&str| line.starts_with(workload);
    text.lines().filter(verdict).filter(starts).collect()
}

#[test]
fn the_verdict_says_what_the_samples_say() {
    for run in records() {
        let text = render("text", run, &Style::default());
        let all = sentences(&text, "");
        assert_eq!(all.len(), run.curves.len(), "{text}");
        for (sentence, curve) in all.iter().zip(&run.curves) {
            let rest =
                sentence.strip_prefix(&*curve.workload).expect("the workload first").trim_start();
            let mode = format!("({} mode)", curve.mode);
            let rest = rest.strip_prefix(&mode).unwrap_or(rest).trim_start();
            check_sentence(rest, |tasks| {
                let point = curve.points.iter().find(|point| f64::from(point.tasks) == tasks);
                let point =
                    point.unwrap_or_else(|| panic!("{tasks} were not measured: {sentence}"));
                let naive = Figures::of(point, curve, run.plan.rounds);
                About::exactly(naive.speedup.unwrap_or(naive.ops_per_s))
            });
        }
    }
}

/// Marks of a plot of one curve: the value each stands at, in the order of tasks, and how much a row is worth.
fn plotted(text: &str) -> (Vec<f64>, f64) {
    let plot = text.lines().skip_while(|line| line.trim() != "ops/s").skip(1);
    let rows: Vec<&str> = plot.take_while(|line| !line.contains('└')).collect();
    let label = |row: &&str| {
        let label = row.split(['┤', '│']).next().expect("a part before the axis").trim();
        let scale = match label.chars().last()? {
            'k' => 1e3,
            'M' => 1e6,
            'G' => 1e9,
            _ => 1.0,
        };
        Some(label.trim_end_matches(['k', 'M', 'G']).parse::<f64>().expect(label) * scale)
    };
    let labels: Vec<Option<f64>> = rows.iter().map(label).collect();
    let last = rows.len() - 1;
    let top = labels[0].expect("the top of the axis has a label");
    assert_eq!(labels[last], Some(0.0), "ops/s begins at 0:\n{text}");
    let worth = top / last as f64;
    for (row, label) in labels.iter().enumerate() {
        let here = top - worth * row as f64;
        assert!(
            label.is_none_or(|label| (label - here).abs() <= worth / 2.0),
            "the axis is not straight:\n{text}"
        );
    }
    let mut marks: Vec<(usize, f64)> = Vec::new();
    for (row, line) in rows.iter().enumerate() {
        let columns = line.chars().enumerate().filter(|(_, c)| *c == '●').map(|(column, _)| column);
        marks.extend(columns.map(|column| (column, top - worth * row as f64)));
    }
    marks.sort_by_key(|(column, _)| *column);
    (marks.into_iter().map(|(_, value)| value).collect(), worth)
}

fn check_plot(text: &str, rates: &[About]) {
    let (marks, worth) = plotted(text);
    assert_eq!(marks.len(), rates.len(), "a mark for each point:\n{text}");
    for (mark, rate) in marks.into_iter().zip(rates) {
        rate.is(text, mark, worth);
    }
}

#[test]
fn the_plot_shows_what_the_samples_say() {
    for run in [&*FEW_ROUNDS, &*WITHOUT_ONE_TASK] {
        let curve = &run.curves[0];
        let rate = |point| About::exactly(Figures::of(point, curve, run.plan.rounds).ops_per_s);
        let rates: Vec<About> = curve.points.iter().map(rate).collect();
        check_plot(&render("text", run, &Style::default()), &rates);
    }
}

/// What the program itself prints, where nothing but the text is known.
#[test]
fn the_text_of_a_run_agrees_with_itself() {
    let dir = temp_dir();
    let args = ["run", "--tasks", "1,2,3", "--rounds", "12", "--slice", "5ms", "--time", "500ms"];
    let ran = run(vfscale(&args).current_dir(dir.path())).exits(0);
    let table = tables(&ran.stdout).pop().expect("a table");
    assert_eq!(table.rows.len(), 3, "{ran}");
    for (row, tasks) in table.rows.iter().zip([1.0, 2.0, 3.0]) {
        assert_eq!((row.len(), number(&row[0]).0), (COLUMNS, tasks), "{ran}");
        let cell = |column: usize| About::cell(&row[column]);
        let usecs = About::exactly(1e6).over(cell(1));
        usecs.is("usecs/op", cell(3).value, cell(3).slack);
        let usecs = About { value: cell(3).value * tasks, slack: cell(3).slack * tasks };
        usecs.is("usecs/op per task", cell(4).value, cell(4).slack);
        let efficiency = cell(8).over(About::exactly(tasks));
        efficiency.is("efficiency", cell(9).value, cell(9).slack);
        let busy = cell(6).value + cell(7).value;
        assert!(busy <= cell(5).value * 1.1 + 0.01, "CPU time beyond wall time: {row:?}");
        assert!(cell(10).value <= 1.0, "{row:?}");
    }
    assert_eq!(number(&table.rows[0][8]).0, 1.0, "one task is the measure of speed-up");
    check_plot(&ran.stdout, &[0, 1, 2].map(|row| About::cell(&table.rows[row][1])));
    let sentence = *sentences(&ran.stdout, "open_close ").first().expect("a verdict");
    let sentence = sentence.trim_start_matches("open_close ");
    check_sentence(sentence, |tasks| About::cell(&table.rows[tasks as usize - 1][8]));
}

#[test]
fn the_csv_of_a_run_agrees_with_itself() {
    let dir = temp_dir();
    let args = [
        "run", "--tasks", "1,2", "--rounds", "8", "--slice", "5ms", "--time", "500ms", "--format",
        "csv",
    ];
    let rows = parse_csv(&run(vfscale(&args).current_dir(dir.path())).exits(0).stdout);
    for (row, tasks) in rows[1..].iter().zip([1.0, 2.0]) {
        let number = |column: &str| -> f64 {
            let at = rows[0].iter().position(|name| name == column).expect(column);
            row[at].parse().expect(column)
        };
        assert_eq!((number("tasks"), number("rounds")), (tasks, 8.0));
        same("usecs_per_op", number("usecs_per_op"), 1e6 / number("ops_per_s"));
        same("usecs_per_op_task", number("usecs_per_op_task"), tasks * number("usecs_per_op"));
        same("efficiency", number("efficiency"), number("speedup") / tasks);
        assert!(number("real_s") > 0.035, "8 slices of 5 ms: {row:?}");
    }
}
