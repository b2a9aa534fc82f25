//! The user's own machine files: where they are, and which names they may have.

use crate::error::Error;
use machine::sim::{MACHINES, Machine};
use std::ffi::OsString;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// How a machine file's name ends.
const ENDING: &str = "toml";

/// A machine file of the user's.
#[derive(Clone, Debug)]
pub struct UserMachine {
    /// Name on the command line: the file's without its ending.
    pub name: String,
    /// The file.
    pub file: PathBuf,
    /// What is in it; or why it cannot be used, in words.
    pub machine: Result<Machine, String>,
}

/// The folder of the user's machine files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserMachines(PathBuf);

impl UserMachines {
    /// `vfscale/machines` in the user's folder of configuration (XDG base directories); none if there is no such folder, because
    /// neither XDG_CONFIG_HOME nor HOME says where.
    pub fn of_user() -> Option<UserMachines> {
        UserMachines::in_config(std::env::var_os("XDG_CONFIG_HOME"), std::env::var_os("HOME"))
    }

    fn in_config(xdg: Option<OsString>, home: Option<OsString>) -> Option<UserMachines> {
        // The specification: a relative path is to be ignored.
        let absolute = |path: OsString| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
        let config =
            xdg.and_then(absolute).or_else(|| Some(home.and_then(absolute)?.join(".config")));
        Some(UserMachines(config?.join("vfscale/machines")))
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}.{ENDING}"))
    }

    /// The machine called `name`; none if there is no such file.
    ///
    /// # Errors
    /// The file cannot be read, is no machine, or has the name of a built-in one; in words.
    pub fn find(&self, name: &str) -> Result<Option<Machine>, String> {
        if check_name(name).is_err() && !is_built_in(name) {
            return Ok(None);
        }
        let file = self.file(name);
        match fs::read_to_string(&file) {
            Ok(text) => read(name, &file, &text).map(Some),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Ok(None)
            }
            Err(error) => Err(format!("{}: {error}", file.display())),
        }
    }

    /// All of them, by name. A folder that is not there has none.
    ///
    /// # Errors
    /// The folder cannot be read; in words.
    pub fn all(&self) -> Result<Vec<UserMachine>, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", self.0.display());
        let entries = match fs::read_dir(&self.0) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut all = Vec::new();
        for entry in entries {
            let file = entry.map_err(failed)?.path();
            if file.extension().is_none_or(|ending| ending != ENDING) {
                continue;
            }
            let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let machine = match fs::read_to_string(&file) {
                Ok(text) => read(&name, &file, &text),
                Err(error) => Err(format!("{}: {error}", file.display())),
            };
            all.push(UserMachine { name, file, machine });
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    /// Whether no machine of the user's has that name.
    ///
    /// # Errors
    /// [`Error::Refused`]: there is a file.
    pub fn check_free(&self, name: &str) -> Result<(), Error> {
        let file = self.file(name);
        if file.exists() { Err(taken(&file)) } else { Ok(()) }
    }

    /// Keeps a machine under its name, the file whole or not at all, and answers where.
    ///
    /// # Errors
    /// The name is taken or cannot be one; the file cannot be written.
    pub fn save(&self, machine: &Machine) -> Result<PathBuf, Error> {
        check_name(&machine.name)?;
        self.check_free(&machine.name)?;
        let file = self.file(&machine.name);
        let cannot = |error: std::io::Error| Error::Refused {
            what: format!("cannot write {}: {error}", file.display()),
            advice: "make the folder writable, or set XDG_CONFIG_HOME to another".into(),
        };
        fs::create_dir_all(&self.0).map_err(cannot)?;
        let unfinished = self.0.join(format!(".{}.{}", machine.name, std::process::id()));
        let written = write_whole(&unfinished, &machine.to_toml())
            // Unlike a rename it fails if somebody else has made the file meanwhile.
            .and_then(|()| {
                fs::hard_link(&unfinished, &file).or_else(|error| match error.kind() {
                    ErrorKind::AlreadyExists => Err(error),
                    // A file system without hard links.
                    _ => fs::rename(&unfinished, &file),
                })
            });
        // Renamed, or not needed any more.
        let _ = fs::remove_file(&unfinished);
        match written {
            Ok(()) => Ok(file),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(taken(&file)),
            Err(error) => Err(cannot(error)),
        }
    }
}

fn write_whole(file: &Path, text: &str) -> std::io::Result<()> {
    let mut out = fs::File::create(file)?;
    out.write_all(text.as_bytes())?;
    out.sync_all()
}

fn taken(file: &Path) -> Error {
    Error::Refused {
        what: format!("{} is there already", file.display()),
        advice: "choose another name, or remove that file".into(),
    }
}

fn read(name: &str, file: &Path, text: &str) -> Result<Machine, String> {
    if is_built_in(name) {
        return Err(format!("{} has the name of a built-in machine: rename it", file.display()));
    }
    Machine::from_toml(text).map_err(|error| format!("{}: {error}", file.display()))
}

fn is_built_in(name: &str) -> bool {
    MACHINES.iter().any(|(known, _)| *known == name)
}

/// Whether a machine of the user's may be called so: as a word of `sim:NAME/ERA` and as a file.
///
/// # Errors
/// [`Error::Refused`], which says what a name is.
pub fn check_name(name: &str) -> Result<(), Error> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "-_+.".contains(c);
    let problem = if is_built_in(name) {
        "is the name of a built-in machine"
    } else if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) || !name.chars().all(is_word) {
        "is no name: a letter or digit, then letters, digits, '-', '_', '+' and '.'"
    } else if name.ends_with(&format!(".{ENDING}")) {
        "would be taken for a file: leave out the ending"
    } else if name.len() > 64 {
        "is too long: at most 64 bytes"
    } else {
        return Ok(());
    };
    Err(Error::Refused {
        what: format!("'{name}' {problem}"),
        advice: "choose another name (taken are those of: vfscale list machines)".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(name: &str) -> Machine {
        Machine { name: name.into(), ..Machine::named("dual-core-2007").expect("built in") }
    }

    #[test]
    fn the_folder_is_where_xdg_says() {
        let folder = |xdg: Option<&str>, home: Option<&str>| {
            let of = UserMachines::in_config(xdg.map(OsString::from), home.map(OsString::from));
            of.map(|machines| machines.0.to_string_lossy().into_owned())
        };
        assert_eq!(folder(Some("/c"), Some("/h")).as_deref(), Some("/c/vfscale/machines"));
        for xdg in [None, Some(""), Some("c")] {
            assert_eq!(folder(xdg, Some("/h")).as_deref(), Some("/h/.config/vfscale/machines"));
            assert_eq!(folder(xdg, None), None);
        }
    }

    #[test]
    fn names_that_cannot_be_used_are_refused() {
        for name in ["mine", "2x8375C", "a.b-c_d+e"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        let long = "x".repeat(65);
        for name in ["", ".x", "-x", "a/b", "a b", "a,b", "x.toml", "numa-4096", "ä", &long] {
            assert!(check_name(name).is_err_and(|error| error.is_refusal()), "{name}");
        }
    }

    #[test]
    fn what_is_saved_is_found_and_nothing_is_overwritten() {
        let dir = tempfile::tempdir().expect("a folder");
        let machines = UserMachines(dir.path().join("vfscale/machines"));
        assert_eq!(machines.find("mine"), Ok(None));
        assert!(machines.all().expect("none yet").is_empty());
        let mine = machine("mine");
        let file = machines.save(&mine).expect("saved");
        assert_eq!(machines.find("mine"), Ok(Some(mine.clone())));
        assert!(machines.save(&mine).expect_err("it is there").to_string().contains("already"));
        assert!(machines.save(&machine("numa-1024")).is_err());
        assert_eq!(machines.find("../machines/mine"), Ok(None), "a name is no path");

        fs::write(file.with_file_name("numa-1024.toml"), mine.to_toml()).expect("written");
        fs::write(file.with_file_name("broken.toml"), "name = 1").expect("written");
        let all = machines.all().expect("three");
        let names: Vec<_> = all.iter().map(|m| (m.name.as_str(), m.machine.is_ok())).collect();
        assert_eq!(names, [("broken", false), ("mine", true), ("numa-1024", false)]);
        assert!(machines.find("numa-1024").expect_err("shadows").contains("rename it"));
        assert!(machines.find("broken").expect_err("no machine").contains("broken.toml"));
        let left = fs::read_dir(machines.folder()).expect("there").count();
        assert_eq!(left, 3, "nothing unfinished is left");
    }
}
