//! Everything generated that is checked in: what it is, whether it is up to date, how it gets there.

use crate::{Program, blocks, man, pictures};
use anyhow::Context;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A file as it has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// Path from the root of the repository.
    pub file: PathBuf,
    /// All that is in it.
    pub bytes: Vec<u8>,
}

/// Makes files of one kind; may read the tree, and writes nothing.
type Step = fn(&Program, &Path) -> anyhow::Result<Vec<Generated>>;

/// The kinds. To add one: its module and its word here; a folder that it has for itself stands in [`OWNED`].
const STEPS: &[Step] = &[man::pages, blocks::documents, pictures::pictures];

/// Folders in which nothing is written by hand: what is not generated does not belong there.
const OWNED: &[&str] = &[man::FOLDER, pictures::FOLDER];

/// Makes everything.
///
/// # Errors
/// The program fails, or a document is not as it must be.
pub fn generate(program: &Program, root: &Path) -> anyhow::Result<Vec<Generated>> {
    let mut all = Vec::new();
    for step in STEPS {
        all.extend(step(program, root)?);
    }
    all.sort_by(|a, b| a.file.cmp(&b.file));
    Ok(all)
}

/// What is not as `all` says, one sentence each.
///
/// # Errors
/// A folder cannot be read.
pub fn differences(all: &[Generated], root: &Path) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    for Generated { file, bytes } in all {
        let shown = file.display();
        match fs::read(root.join(file)) {
            Ok(there) if there == *bytes => {}
            Ok(there) => found.push(format!("{shown} is not up to date: {}", first(&there, bytes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                found.push(format!("{shown} is missing"));
            }
            Err(error) => return Err(error).with_context(|| format!("cannot read {shown}")),
        }
    }
    for file in left_over(all, root)? {
        found.push(format!("{} is no longer generated", file.display()));
    }
    Ok(found)
}

/// Writes what differs and removes what is no longer generated; says what it did, one line each.
///
/// # Errors
/// A file or folder cannot be written.
pub fn write(all: &[Generated], root: &Path) -> anyhow::Result<Vec<String>> {
    let mut done = Vec::new();
    for Generated { file, bytes } in all {
        let path = root.join(file);
        if fs::read(&path).is_ok_and(|there| there == *bytes) {
            continue;
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
        }
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", file.display()))?;
        done.push(format!("written: {}", file.display()));
    }
    for file in left_over(all, root)? {
        fs::remove_file(root.join(&file))?;
        done.push(format!("removed: {}", file.display()));
    }
    Ok(done)
}

/// Files in folders for generated ones that nothing generates.
fn left_over(all: &[Generated], root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in OWNED {
        let entries = match fs::read_dir(root.join(folder)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries.with_context(|| format!("cannot list {folder}"))?,
        };
        for entry in entries {
            let file = Path::new(folder).join(entry?.file_name());
            if !all.iter().any(|generated| generated.file == file) {
                files.push(file);
            }
        }
    }
    Ok(files)
}

/// The first line that differs.
fn first(there: &[u8], wanted: &[u8]) -> String {
    let (there, wanted) = (String::from_utf8_lossy(there), String::from_utf8_lossy(wanted));
    let (mut old, mut new) = (there.lines(), wanted.lines());
    for number in 1.. {
        match (old.next(), new.next()) {
            (None, None) => break,
            (old, new) if old != new => {
                let shown = |line: Option<&str>| line.unwrap_or("(the end)").to_owned();
                return format!("line {number} is `{}`, not `{}`", shown(old), shown(new));
            }
            _ => {}
        }
    }
    "line ends".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_found_and_written() {
        let root = tempfile::tempdir().expect("a directory");
        let man = root.path().join(man::FOLDER);
        fs::create_dir_all(&man).expect("a folder");
        fs::write(man.join("old.1"), "x").expect("a file");
        fs::write(man.join("changed.1"), "a\nb\n").expect("a file");
        let generated = |name: &str, text: &str| Generated {
            file: Path::new(man::FOLDER).join(name),
            bytes: text.into(),
        };
        let all = [generated("changed.1", "a\nc\n"), generated("new.1", "")];
        let found = differences(&all, root.path()).expect("it can be read");
        let wanted = [
            "docs/man/changed.1 is not up to date: line 2 is `b`, not `c`",
            "docs/man/new.1 is missing",
            "docs/man/old.1 is no longer generated",
        ];
        assert_eq!(found, wanted);
        assert_eq!(write(&all, root.path()).expect("it can be written").len(), 3);
        assert_eq!(differences(&all, root.path()).expect("it can be read"), [""; 0]);
    }
}
