//! `vfscale man`: manual pages, made from the definition of the command line.

use crate::Exit;
use crate::args::{ManArgs, Usage};
use crate::help::{ENVIRONMENT, EXIT_CODES, FILES};
use crate::{examples, help, output};
use anyhow::Context;
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

/// Writes a page for the program and one for each command.
pub(crate) fn man(args: &ManArgs) -> anyhow::Result<Exit> {
    if !args.dir.is_dir() {
        let shown = args.dir.display();
        return Err(Usage(format!("{shown} is no directory; make it first")).into());
    }
    let pages = pages()?;
    for (name, text) in &pages {
        let file = args.dir.join(name);
        std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    output::tell(&format!("written to {}: {} pages", args.dir.display(), pages.len()));
    Ok(Exit::Done)
}

/// File names and texts.
fn pages() -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    // `vfscale help` has no page: what it says are the others.
    let mut program = help::command().disable_help_subcommand(true);
    program.build();
    let others: Vec<String> =
        program.get_subcommands().map(|command| page_name(&program, command)).collect();
    let mut pages = vec![("vfscale.1".to_owned(), page(&program, "", &others)?)];
    for command in program.get_subcommands() {
        let text = page(command, command.get_name(), &["vfscale".to_owned()])?;
        pages.push((format!("{}.1", page_name(&program, command)), text));
    }
    Ok(pages)
}

fn page_name(program: &Command, command: &Command) -> String {
    format!("{}-{}", program.get_name(), command.get_name())
}

/// The page of the program (no name) or of a command.
fn page(command: &Command, name: &str, see_also: &[String]) -> anyhow::Result<Vec<u8>> {
    let title = command.get_display_name().unwrap_or(command.get_name()).to_uppercase();
    let man = Man::new(command.clone())
        .title(title)
        // An empty date would be left out, and what stands behind it would be taken for the date.
        .date(" ")
        .source(concat!("vfscale ", env!("CARGO_PKG_VERSION")))
        .manual("User Commands");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if name.is_empty() {
        man.render_subcommands_section(&mut text)?;
    }
    let mut roff = Roff::new();
    roff.control("SH", ["EXAMPLES"]);
    for example in examples::of(name) {
        roff.control("TP", []);
        roff.text([roman(format!("{}:", example.does))]);
        roff.text([bold(example.joined())]);
    }
    let codes: Vec<(String, &str)> =
        EXIT_CODES.iter().map(|(code, what)| (code.to_string(), *what)).collect();
    section(&mut roff, "EXIT STATUS", codes.iter().map(|(code, what)| (code.as_str(), *what)));
    if name.is_empty() {
        section(&mut roff, "ENVIRONMENT", ENVIRONMENT.iter().copied());
        section(&mut roff, "FILES", FILES.iter().copied());
    }
    roff.control("SH", ["SEE ALSO"]);
    for (at, page) in see_also.iter().enumerate() {
        let end = if at + 1 < see_also.len() { "(1)," } else { "(1)" };
        roff.text([bold(page), roman(end)]);
    }
    roff.to_writer(&mut text)?;
    Ok(text)
}

fn section<'a>(roff: &mut Roff, head: &str, items: impl Iterator<Item = (&'a str, &'a str)>) {
    roff.control("SH", [head]);
    for (what, does) in items {
        roff.control("TP", []);
        roff.text([bold(what)]);
        roff.text([roman(does)]);
    }
}
