//! Examples of every command, for its help and its manual page.

/// A command line and what it is for.
pub(crate) struct Example {
    /// As it is typed.
    pub(crate) line: &'static str,
    /// What it does, without a full stop.
    pub(crate) does: &'static str,
}

impl Example {
    /// On one line, where that may be long.
    pub(crate) fn joined(&self) -> String {
        let parts: Vec<&str> = self.line.split("\\\n").map(str::trim).collect();
        parts.join(" ")
    }
}

const fn example(does: &'static str, line: &'static str) -> Example {
    Example { line, does }
}

/// By the subcommand's name; of the program itself under no name.
pub(crate) const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "",
        &[
            example("Measure the default workload in the current directory", "vfscale run"),
            example("See what there is to measure, and where", "vfscale list"),
            example(
                "Say whether a mount option matters",
                "vfscale compare dir:/mnt/a dir:/mnt/b open_close",
            ),
        ],
    ),
    (
        "run",
        &[
            example(
                "The default workload in the current directory, for ten seconds",
                "vfscale run",
            ),
            example(
                "Two workloads on a mount, as processes and as threads",
                "vfscale run open_close fstat --on dir:/mnt/a --mode process,thread --tasks 1,2,max",
            ),
            example(
                "End as soon as every interval is within one per cent",
                "vfscale run unlink_open --precision 1% --time 5m",
            ),
            example(
                "A locking design of 2007 with every lock counted",
                "vfscale run openbench --on lab:linux-2.6.20+ro-bind --locks",
            ),
            example(
                "A machine that is not there",
                "vfscale run open_close --on sim:8-socket-2007/linux-2.6.20 --tasks 1..8",
            ),
            example(
                "A suite, kept in the store for a later comparison",
                "vfscale run --suite quick --time 1m --save base",
            ),
        ],
    ),
    (
        "compare",
        &[
            example(
                "Two directories, side by side",
                "vfscale compare dir:/mnt/a dir:/mnt/b open_close --time 1m",
            ),
            example(
                "One directory in two states, the first of which is put back",
                "vfscale compare --before-cmd 'mount -o remount,relatime /mnt/a' \\\n          --after-cmd 'mount -o remount,noatime /mnt/a' dir:/mnt/a",
            ),
            example(
                "Two kernels, each booted in a virtual machine",
                "vfscale compare guest:before/bzImage guest:after/bzImage open_close creat_close",
            ),
            example(
                "Two stored runs, as text for the cover letter of a patch",
                "vfscale compare base patched --format mail",
            ),
            example(
                "Two locking designs",
                "vfscale compare lab:linux-3.15 lab:linux-3.16 truncate_by_byte --fail-on slower",
            ),
        ],
    ),
    (
        "check",
        &[
            example("Fail if anything is slower than it was", "vfscale check --against base"),
            example(
                "Only if by more than 5 per cent is it looked at; elsewhere than it was",
                "vfscale check --against base --on dir:/mnt/b --precision 5%",
            ),
        ],
    ),
    ("power", &[example("For one workload, in half a minute", "vfscale power fstat --time 30s")]),
    (
        "history",
        &[
            example("Everything that is stored", "vfscale history"),
            example("One workload, for a program", "vfscale history open_close --format json"),
        ],
    ),
    (
        "import",
        &[
            example("See what is in a file", "vfscale import open1.csv --dry-run"),
            example(
                "Store it under a name",
                "vfscale import results.json --from fio --save fio-before",
            ),
        ],
    ),
    (
        "export",
        &[
            example("The newest run of a name, with every sample", "vfscale export base"),
            example(
                "The first run of that name, as a table for a spreadsheet",
                "vfscale export base@1 --format csv --output base.csv",
            ),
        ],
    ),
    (
        "report",
        &[
            example("A page of a stored run", "vfscale report base --output base.html"),
            example("Two runs in one picture", "vfscale report base patched --output curves.svg"),
            example("A file that --format json wrote", "vfscale report run.json"),
        ],
    ),
    (
        "list",
        &[
            example("Everything", "vfscale list"),
            example("Workloads by what the tasks share", "vfscale list workloads --by sharing"),
            example("The lab's designs, for a program", "vfscale list designs --format json"),
        ],
    ),
    (
        "reproduce",
        &[
            example("One thread's page", "vfscale reproduce fd-lookup"),
            example(
                "The same designs on this machine, and its own kernel",
                "vfscale reproduce file-list --on lab --on dir:/mnt/a --time 30s",
            ),
        ],
    ),
    (
        "topology",
        &[
            example("Look", "vfscale topology"),
            example("Keep it, to run on as sim:mine/linux-6.18", "vfscale topology --save mine"),
        ],
    ),
    (
        "doctor",
        &[
            example("This machine and the current directory", "vfscale doctor"),
            example("Before a mount is measured", "vfscale doctor /mnt/a"),
        ],
    ),
    (
        "fetch-kernel",
        &[example(
            "Two kernels to compare as guest:6.1 and guest:6.12",
            "vfscale fetch-kernel 6.1 6.12",
        )],
    ),
    (
        "clean",
        &[
            example("After a power failure", "vfscale clean /mnt/a"),
            example(
                "What a run on another machine left on a shared file system",
                "vfscale clean /mnt/a --force",
            ),
        ],
    ),
    (
        "completions",
        &[
            example(
                "For bash, from the next login on",
                "vfscale completions bash > ~/.local/share/bash-completion/completions/vfscale",
            ),
            example(
                "For zsh, in a directory of $fpath",
                "vfscale completions zsh > ~/.zfunc/_vfscale",
            ),
            example(
                "For fish",
                "vfscale completions fish > ~/.config/fish/completions/vfscale.fish",
            ),
        ],
    ),
    ("man", &[example("For oneself", "vfscale man ~/.local/share/man/man1")]),
];

/// Those of a subcommand.
pub(crate) fn of(command: &str) -> &'static [Example] {
    let found = EXAMPLES.iter().find(|(name, _)| *name == command);
    found.map_or(&[], |(_, examples)| examples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::help;

    /// Words as the shell makes them of an example: blanks part, single quotes hold together, `>` ends the command.
    fn words(line: &str) -> Vec<String> {
        let command = line.split(" > ").next().unwrap_or(line);
        let odd = |(at, part): (usize, &str)| -> Vec<String> {
            if at % 2 == 1 {
                vec![part.to_owned()]
            } else {
                part.split_whitespace().map(str::to_owned).collect()
            }
        };
        command.split('\'').enumerate().flat_map(odd).collect()
    }

    #[test]
    fn every_example_is_understood() {
        for (name, examples) in EXAMPLES {
            for example in *examples {
                let words = words(&example.joined());
                let parsed = help::command().try_get_matches_from(&words);
                let parsed = parsed.unwrap_or_else(|error| panic!("{}: {error}", example.line));
                assert!(name.is_empty() || parsed.subcommand_name() == Some(name), "{words:?}");
                assert!(!example.does.ends_with('.'), "{}", example.does);
            }
        }
    }

    /// The help is at most 100 columns wide, and a command that it breaks cannot be copied.
    #[test]
    fn no_example_is_broken_by_the_help() {
        let lines = EXAMPLES.iter().flat_map(|(_, examples)| *examples);
        for line in lines.flat_map(|example| example.line.lines()) {
            assert!(line.len() <= 92, "{line}");
        }
    }

    #[test]
    fn every_command_has_examples_and_no_other() {
        let command = help::command();
        for command in command.get_subcommands() {
            assert!(!of(command.get_name()).is_empty(), "{}", command.get_name());
        }
        for (name, _) in EXAMPLES {
            assert!(name.is_empty() || command.find_subcommand(name).is_some(), "{name}");
        }
    }
}
