//! Each workload makes exactly the calls its operation names, and counts only those.

mod operations;
mod peers;
mod recorder;

use crate::{ALL, NoWorkload, Visitor, find, suite, visit_all};
use operations::TABLE;
use recorder::Recorder;
use std::collections::HashSet;
use vfs_api::{Call, Failure, Params, Place, Selected, Suite, Workload, expect_len};

fn place(params: Params) -> Place {
    Place { dir: c"/d".into(), task: 7, params }
}

/// A task that was prepared and has its first pass behind it, which may still prepare.
fn warm<W: Workload>(fs: &Recorder, params: &Params) -> W::Task {
    let place = place(params.clone());
    W::prepare(fs, &place).unwrap();
    let mut task = W::task(fs, &place).unwrap();
    W::renew(fs, &mut task).unwrap();
    W::step(fs, &mut task).unwrap();
    fs.take();
    task
}

/// Runs something with the type of the workload that is wanted.
struct With<'a, F> {
    want: &'a Selected,
    then: F,
}

/// What runs with a workload's type.
trait Then {
    fn run<W: Workload>(&mut self, params: &Params);
}

impl<F: Then> Visitor for With<'_, F> {
    fn visit<W: Workload>(&mut self) {
        if W::INFO.name == self.want.info().name {
            self.then.run::<W>(self.want.params());
        }
    }
}

fn with<F: Then>(want: &str, then: F) -> F {
    let want = find(want).unwrap();
    let mut with = With { want: &want, then };
    visit_all(&mut with);
    with.then
}

/// Operations and calls of the second pass.
#[derive(Default)]
struct SecondPass {
    ops: u64,
    calls: Vec<String>,
}

impl Then for SecondPass {
    fn run<W: Workload>(&mut self, params: &Params) {
        let fs = Recorder::default();
        let mut task = warm::<W>(&fs, params);
        self.ops = W::step(&fs, &mut task).unwrap();
        self.calls = fs.take();
    }
}

#[test]
fn an_operation_is_the_calls_it_says() {
    for (want, ops, calls) in TABLE {
        let pass = with(want, SecondPass::default());
        assert_eq!(
            (pass.ops, &*pass.calls),
            (*ops, &*calls.iter().map(|c| (*c).to_owned()).collect::<Vec<_>>()),
            "{want}"
        );
    }
    let told: HashSet<&str> =
        TABLE.iter().map(|(name, ..)| find(name).unwrap().info().name).collect();
    let without: Vec<&str> =
        ALL.iter().map(|info| info.name).filter(|n| !told.contains(n)).collect();
    assert!(without.is_empty(), "without a line in the table: {without:?}");
}

#[test]
fn the_extension_of_an_empty_file_is_not_counted() {
    let fs = Recorder::default();
    let mut task = crate::TruncateByByte::task(&fs, &place(Params::new(&[]))).unwrap();
    let counted: u64 =
        (0..4097).map(|_| crate::TruncateByByte::step(&fs, &mut task).unwrap()).sum();
    assert_eq!(counted, 4097);
    let calls = fs.take();
    assert_eq!(calls.iter().filter(|c| c.starts_with("ftruncate")).count(), 4097);
    assert_eq!(calls.iter().filter(|c| *c == "write 4096").count(), 2);
    assert_eq!(calls.last().unwrap(), "ftruncate 4095");
}

/// Fails each call of a pass in turn: the pass must fail with that call.
struct EveryFailure;

impl Visitor for EveryFailure {
    fn visit<W: Workload>(&mut self) {
        let fs = Recorder::default();
        let params = Params::new(W::INFO.params);
        let mut task = warm::<W>(&fs, &params);
        W::step(&fs, &mut task).unwrap();
        let calls = fs.take();
        for (n, call) in calls.iter().enumerate() {
            let mut task = warm::<W>(&fs, &params);
            fs.fail_at(Some(n));
            let failure = W::step(&fs, &mut task).expect_err("a failed call was counted");
            let call = call.split(' ').next().unwrap();
            assert_eq!(failure.call.name(), call, "{}", W::INFO.name);
            fs.fail_at(None);
            fs.take();
        }
    }
}

#[test]
fn nothing_that_failed_is_counted() {
    visit_all(&mut EveryFailure);
    assert!(expect_len(Call::Write, 0, 1).is_err());
}

/// Whether the background does something, exactly where it is announced.
struct Backgrounds;

impl Visitor for Backgrounds {
    fn visit<W: Workload>(&mut self) {
        let fs = Recorder::default();
        let mut task = warm::<W>(&fs, &Params::new(W::INFO.params));
        W::background(&fs, &mut task).unwrap();
        assert_eq!(!fs.take().is_empty(), W::INFO.background, "{}", W::INFO.name);
    }
}

#[test]
fn a_background_works_exactly_where_it_is_announced() {
    visit_all(&mut Backgrounds);
}

/// How many passes until what was made is used up, and whether it is made again.
struct UsedUp;

impl Visitor for UsedUp {
    fn visit<W: Workload>(&mut self) {
        let fs = Recorder::default();
        let mut task = warm::<W>(&fs, &Params::new(W::INFO.params));
        let demand = (W::INFO.demand)(&Params::new(W::INFO.params));
        // What is used up are files or pages.
        let most = demand.inodes.max(demand.bytes / 4096) + 1;
        let until_used_up = |task: &mut W::Task| {
            (1..=most).find(|_| match W::step(&fs, task) {
                Ok(_) => false,
                Err(Failure { cause: vfs_api::Cause::UsedUp, .. }) => true,
                Err(failure) => panic!("{}: {failure}", W::INFO.name),
            })
        };
        let Some(first) = until_used_up(&mut task) else { return };
        assert_eq!(until_used_up(&mut task), Some(1), "{}: it stays used up", W::INFO.name);
        W::renew(&fs, &mut task).unwrap();
        // The first time one pass was done before.
        assert_eq!(until_used_up(&mut task), Some(first + 1), "{}", W::INFO.name);
    }
}

#[test]
fn what_a_slice_uses_up_is_made_again_and_bounded() {
    visit_all(&mut UsedUp);
}

#[test]
fn names_and_aliases_are_unique_and_found() {
    let mut seen = HashSet::new();
    for info in ALL {
        for name in std::iter::once(&info.name).chain(info.aliases) {
            assert!(seen.insert(*name), "{name} twice");
            assert_eq!(find(name).unwrap().info().name, info.name);
        }
        assert!(!info.modes.is_empty());
        let origins = info.suites.iter().filter(|suite| suite.is_origin()).count();
        assert!(origins > 0, "{} stands under no origin", info.name);
    }
    assert_eq!(ALL[0].name, "open_close", "the first is the default");
    for of in Suite::ALL {
        assert!(suite(*of).next().is_some(), "nothing in {}", of.name());
    }
}

#[test]
fn what_cannot_be_found_is_explained() {
    let error = find("opn_close").unwrap_err();
    assert!(matches!(error, NoWorkload::Name(_)));
    let near = find("open_clos").unwrap_err().to_string();
    assert!(near.contains("open_close"), "{near}");
    let error = find("open_close:depth=3").unwrap_err().to_string();
    assert_eq!(error, "open_close: it takes no parameters");
    assert!(find("open_close:").is_err());
    assert!(find("").is_err());
    assert!(find("wis:open1:a=1").unwrap_err().to_string().starts_with("open_close: "));
}
