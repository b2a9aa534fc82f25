//! The command line's definition as help, manual pages and completions need it: with examples, exit codes, surroundings.

use crate::args::Cli;
use crate::examples;
use clap::{Command, CommandFactory};
use std::fmt::Write;

/// Exit code and what it says.
pub(crate) const EXIT_CODES: &[(u8, &str)] = &[
    (0, "done"),
    (1, "a regression was found (--fail-on)"),
    (2, "usage"),
    (3, "the run failed (nothing of it is shown)"),
    (4, "refused before the start"),
    (130, "interrupted (what was measured is shown, marked as partial)"),
];

/// Environment variable and what it does.
pub(crate) const ENVIRONMENT: &[(&str, &str)] = &[
    (
        "XDG_DATA_HOME",
        "where the store of runs is, as vfscale/runs.sqlite; without it ~/.local/share",
    ),
    (
        "XDG_CONFIG_HOME",
        "where vfscale/config.toml and machines of your own (vfscale/machines) are; without it ~/.config",
    ),
    ("HOME", "what ~ stands for here"),
    (
        "VFSCALE_GUEST_BINARY",
        "the static vfscale that is put into a guest; without it this program, if it is static, or what scripts/static-build made",
    ),
    ("NO_COLOR", "if it is not empty, no colours"),
    ("TERM", "dumb means neither colours nor characters beyond ASCII"),
    (
        "LC_ALL, LC_CTYPE, LANG",
        "the first that is set says whether the terminal shows UTF-8; without it curves are plain ASCII",
    ),
];

/// File and what is in it.
pub(crate) const FILES: &[(&str, &str)] = &[
    (
        "~/.local/share/vfscale/runs.sqlite",
        "the store of runs, an SQLite file; --store FILE is another",
    ),
    (
        "~/.config/vfscale/config.toml",
        "store = \"always\" keeps every run, store = \"asked\" only those with --save",
    ),
    ("~/.config/vfscale/machines/NAME.toml", "machines of your own, for sim:NAME/ERA"),
];

/// The definition, with what stands below the options.
pub(crate) fn command() -> Command {
    let mut command = Cli::command().after_help(below("")).subcommand_value_name("COMMAND");
    let names: Vec<String> =
        command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    for name in names {
        let below = below(&name);
        command = command.mut_subcommand(name, |subcommand| subcommand.after_help(below));
    }
    command
}

fn below(command: &str) -> String {
    // Writing to a String cannot fail.
    let mut text = String::from("Examples:\n");
    for example in examples::of(command) {
        let _ = writeln!(text, "  {}:\n      {}", example.does, example.line);
    }
    let codes: Vec<String> =
        EXIT_CODES.iter().map(|(code, what)| format!("{code} {what}")).collect();
    let _ = write!(text, "\nExit codes: {}.", codes.join(", "));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Exit;

    #[test]
    fn the_definition_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn every_argument_of_every_command_says_what_it_is_for() {
        let mut command = command();
        command.build();
        for subcommand in command.get_subcommands() {
            assert!(subcommand.get_about().is_some(), "{}", subcommand.get_name());
            for arg in subcommand.get_arguments() {
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.len() > 4, "{} {}", subcommand.get_name(), arg.get_id());
                assert!(!help.ends_with('.'), "{help}");
            }
        }
    }

    #[test]
    fn exit_codes_are_those_of_the_program() {
        let codes: Vec<u8> = EXIT_CODES.iter().map(|(code, _)| *code).collect();
        let all = [
            Exit::Done,
            Exit::Regression,
            Exit::Usage,
            Exit::Failed,
            Exit::Refused,
            Exit::Interrupted,
        ];
        assert_eq!(codes, all.map(|exit| exit as u8));
    }
}
