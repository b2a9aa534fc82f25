//! The user's config file: `vfscale/config.toml` in $XDG_CONFIG_HOME or ~/.config.

use anyhow::{Context, anyhow};
use serde::Deserialize;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::PathBuf;

/// What it may say.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// When runs are kept in the store.
    #[serde(default)]
    pub(crate) store: Keep,
}

/// When runs are kept in the store.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Keep {
    /// With `--save`.
    #[default]
    Asked,
    /// Always; without `--save` they have no name.
    Always,
}

/// The folder of the user's own files, if the environment names one.
pub(crate) fn folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
    Some(config?.join("vfscale"))
}

/// Reads it. Without one everything is as by default.
///
/// # Errors
/// It cannot be read, or says something that is not known.
pub(crate) fn read() -> anyhow::Result<Config> {
    let Some(file) = folder(|name| std::env::var_os(name)).map(|folder| folder.join("config.toml"))
    else {
        return Ok(Config::default());
    };
    match std::fs::read_to_string(&file) {
        Ok(text) => parse(&text).with_context(|| format!("in {}", file.display())),
        // Somebody else's home (su without -): what stands there is not for this user.
        // And HOME may be no folder at all (/dev/null, for a service).
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied
            ) =>
        {
            Ok(Config::default())
        }
        Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
    }
}

fn parse(text: &str) -> anyhow::Result<Config> {
    toml::from_str(text).map_err(|error| {
        anyhow!("{}\n  it may say: store = \"always\" or store = \"asked\"", error.message())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_says_is_understood_or_refused() {
        assert_eq!(parse("").unwrap(), Config { store: Keep::Asked });
        assert_eq!(parse("store = \"always\"").unwrap().store, Keep::Always);
        for wrong in ["store = \"sometimes\"", "stroe = \"always\"", "store ="] {
            let error = parse(wrong).unwrap_err().to_string();
            assert!(error.contains("it may say"), "{error}");
        }
    }

    #[test]
    fn the_folder_is_that_of_the_xdg_specification() {
        let of = |pairs: &'static [(&str, &str)]| {
            folder(|name| {
                pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
            })
        };
        assert_eq!(of(&[("XDG_CONFIG_HOME", "/c"), ("HOME", "/h")]), Some("/c/vfscale".into()));
        assert_eq!(
            of(&[("XDG_CONFIG_HOME", "c"), ("HOME", "/h")]),
            Some("/h/.config/vfscale".into())
        );
        assert_eq!(of(&[]), None);
    }
}
