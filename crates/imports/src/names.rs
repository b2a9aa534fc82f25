//! Other tools' names of what is a workload of vfscale too.
//!
//! Only where the loop is the same operation on the same layout of files: a wrong pair would invite a comparison of things that
//! differ.

/// Tool, its name of the loop, the workload.
const SAME: &[(&str, &str, &str)] = &[
    ("wis", "open1", "open_close"),
    ("wis", "open3", "open_shared"),
    ("aim7", "creat-clo", "creat_close"),
];

/// The workload that `name` of `tool` is, or `tool:name`.
pub(crate) fn workload(tool: &str, name: &str) -> String {
    let same = SAME.iter().find(|(of, theirs, _)| (*of, *theirs) == (tool, name));
    same.map_or_else(|| format!("{tool}:{name}"), |(_, _, ours)| (*ours).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_loops_get_our_name_and_others_keep_theirs() {
        assert_eq!(workload("wis", "open1"), "open_close");
        assert_eq!(workload("wis", "open2"), "wis:open2");
        assert_eq!(workload("fxmark", "open1"), "fxmark:open1");
    }
}
