//! `vfscale doctor`: what this machine can and cannot do.

use crate::Exit;
use crate::args::DoctorArgs;
use crate::guests;
use crate::output;
use harness::machine::Roots;
use harness::machine::doctor::{State, examine};
use std::fmt::Write;
use std::path::Path;

/// One line per finding, the remedy below it.
pub(crate) fn doctor(args: &DoctorArgs) -> anyhow::Result<Exit> {
    let findings = match args.dir == Path::new("guest") {
        true => guests::findings(),
        false => examine(&Roots::default(), &args.dir),
    };
    let width = findings.iter().map(|finding| finding.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for finding in &findings {
        let state = match finding.state {
            State::Ok => "ok     ",
            State::Note => "note   ",
            State::Problem => "PROBLEM",
        };
        let _ = writeln!(text, "{state}  {:width$}  {}", finding.name, finding.what);
        if let Some(remedy) = &finding.remedy {
            let _ = writeln!(text, "         {:width$}  {remedy}", "");
        }
    }
    output::print(&text)?;
    Ok(Exit::Done)
}
