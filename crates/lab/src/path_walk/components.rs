//! A path cut into components, as link_path_walk sees it.

use super::name::NAME_MAX;
use super::{Dentry, Platform};
use vfs_api::Errno;

/// Longest path, without the byte at its end (PATH_MAX - 1).
const PATH_LEN_MAX: usize = 4095;

/// One step of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Component<'a> {
    Dot,
    DotDot,
    Name(&'a [u8]),
}

/// A component, and whether a slash follows it: then it must be a directory.
pub(super) type Step<'a> = (Component<'a>, bool);

/// What getname says of a path.
///
/// # Errors
/// ENOENT if it is empty, ENAMETOOLONG if it is longer than a page less its final byte.
pub(super) fn check(path: &[u8]) -> Result<(), Errno> {
    match path.len() {
        0 => Err(Errno::NOENT),
        1..=PATH_LEN_MAX => Ok(()),
        _ => Err(Errno::NAMETOOLONG),
    }
}

/// Whether a path begins at the root.
pub(super) fn is_absolute(path: &[u8]) -> bool {
    path.first() == Some(&b'/')
}

/// The steps of a path.
pub(super) fn steps(mut path: &[u8]) -> impl Iterator<Item = Step<'_>> {
    std::iter::from_fn(move || {
        let begin = path.iter().position(|&byte| byte != b'/')?;
        path = &path[begin..];
        let len = path.iter().position(|&byte| byte == b'/').unwrap_or(path.len());
        let (name, rest) = path.split_at(len);
        path = rest;
        let component = match name {
            b"." => Component::Dot,
            b".." => Component::DotDot,
            name => Component::Name(name),
        };
        Some((component, !rest.is_empty()))
    })
}

/// What is wrong with looking `name` up in `directory`, before anything is looked up: a removed directory has no names, not even
/// ones that are too long.
pub(super) fn check_name<P: Platform>(directory: &Dentry<P>, name: &[u8]) -> Result<(), Errno> {
    match (name.len() <= NAME_MAX, directory.is_hashed()) {
        (true, _) => Ok(()),
        (false, true) => Err(Errno::NAMETOOLONG),
        (false, false) => Err(Errno::NOENT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_repeat_and_trail() {
        let cut = |path: &'static str| steps(path.as_bytes()).collect::<Vec<_>>();
        assert_eq!(
            cut("//a///.b/"),
            [(Component::Name(b"a"), true), (Component::Name(b".b"), true)]
        );
        assert_eq!(
            cut(".././/..."),
            [(Component::DotDot, true), (Component::Dot, true), (Component::Name(b"..."), false)]
        );
        assert_eq!(cut("///"), []);
    }

    #[test]
    fn a_path_has_at_most_4095_bytes() {
        assert_eq!(check(&[b'/'; 4095]), Ok(()));
        assert_eq!(check(&[b'/'; 4096]), Err(Errno::NAMETOOLONG));
        assert_eq!(check(b""), Err(Errno::NOENT));
    }
}
