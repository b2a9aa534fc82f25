//! Programs of this machine that guests are made with.

use std::path::PathBuf;

/// Where `name` is installed. An ordinary user's path leaves out /usr/sbin, where mkfs is.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/sbin", "/usr/local/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(usual).map(|dir| dir.join(name)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_found() {
        assert!(find("sh").is_some_and(|path| path.is_absolute()));
        assert_eq!(find("no-program-of-this-name"), None);
    }
}
