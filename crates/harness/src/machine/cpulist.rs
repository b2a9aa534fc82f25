//! The kernel's list format for sets of CPUs and nodes: `0-3,8,10-11`.

use std::fmt::Write;

/// No kernel numbers CPUs as high as this. It bounds the memory that a nonsensical list or range can ask for.
pub const ID_LIMIT: u32 = 1 << 20;

/// A list that is not in the kernel's format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a list of CPUs: write numbers and ascending ranges below 1048576, as in 0-3,8,10-11"
)]
pub struct Malformed(String);

/// The numbers of a list in ascending order, each once. Blanks around the list are ignored, as the kernel ends it with a
/// newline; an empty list is empty.
pub fn parse(list: &str) -> Result<Vec<u32>, Malformed> {
    let malformed = || Malformed(list.trim().to_owned());
    let mut ids = Vec::new();
    for part in list.trim().split(',').filter(|_| !list.trim().is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first = number(first).ok_or_else(malformed)?;
        let last = number(last).filter(|&last| last >= first).ok_or_else(malformed)?;
        ids.extend(first..=last);
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// The shortest list of these numbers, which may come in any order.
pub fn format(ids: &[u32]) -> String {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids.dedup();
    let mut list = String::new();
    for run in ids.chunk_by(|a, b| a + 1 == *b) {
        let (first, last) = (run[0], run[run.len() - 1]);
        let comma = if list.is_empty() { "" } else { "," };
        // Writing to a String cannot fail.
        let _ = match first == last {
            true => write!(list, "{comma}{first}"),
            false => write!(list, "{comma}{first}-{last}"),
        };
    }
    list
}

/// Digits only: `u32::from_str` would take a sign.
fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten().filter(|&id| id < ID_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_the_kernel_prints() {
        let cases: [(&str, &[u32]); 6] = [
            ("", &[]),
            ("\n", &[]),
            ("0\n", &[0]),
            ("0-3,8,10-11\n", &[0, 1, 2, 3, 8, 10, 11]),
            ("5-5", &[5]),
            ("8,0-1,1-2", &[0, 1, 2, 8]),
        ];
        for (list, ids) in cases {
            assert_eq!(parse(list).as_deref(), Ok(ids), "{list:?}");
        }
    }

    #[test]
    fn refuses_what_is_not_a_list() {
        for list in [
            "a",
            "1,",
            ",1",
            "3-1",
            "1-",
            "-1",
            "+1",
            "1 2",
            "0-31:2/8",
            "4294967296",
            "0-4294967295",
        ] {
            assert!(parse(list).is_err(), "{list:?}");
        }
    }

    #[test]
    fn joins_neighbours() {
        assert_eq!(format(&[]), "");
        assert_eq!(format(&[11, 0, 1, 2, 10, 8, 8]), "0-2,8,10-11");
    }

    proptest! {
        #[test]
        fn parse_undoes_format(ids in proptest::collection::btree_set(0..5000u32, 0..200)) {
            let ids: Vec<u32> = ids.into_iter().collect();
            prop_assert_eq!(parse(&format(&ids)), Ok(ids));
        }

        #[test]
        fn parse_never_panics(list in "[0-9,\\-x ]{0,20}") {
            let _ = parse(&list);
        }
    }
}
