//! Kernel modules: where they are, what has to be loaded before them, and their bytes.
//!
//! Debian's packages hold no modules.dep, so the order comes from the modules themselves. They are unpacked here, because not
//! every kernel can do that for itself (CONFIG_MODULE_DECOMPRESS).

use crate::error::Error;
use crate::modinfo;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A module to put into a guest.
#[derive(Clone, Debug)]
pub(crate) struct Module {
    /// With underscores, as the kernel names it.
    pub(crate) name: String,
    /// The ELF file.
    pub(crate) bytes: Vec<u8>,
}

/// The modules of one kernel.
#[derive(Debug)]
pub(crate) struct Modules {
    dir: PathBuf,
    built_in: BTreeSet<String>,
    files: BTreeMap<String, PathBuf>,
}

/// How deep a tree of modules is at most.
const DEPTH: usize = 16;

/// Endings of a module's file, and the program that unpacks it to its standard output.
const ENDINGS: [(&str, Option<&str>); 4] =
    [(".ko", None), (".ko.xz", Some("xz")), (".ko.zst", Some("zstd")), (".ko.gz", Some("gzip"))];

impl Modules {
    /// Looks at what is in `dir`: /lib/modules/RELEASE, or a build tree.
    pub(crate) fn read(dir: &Path) -> Modules {
        let built_in = std::fs::read_to_string(dir.join("modules.builtin")).unwrap_or_default();
        let built_in = built_in.lines().filter_map(|line| name_of(Path::new(line))).collect();
        let mut files = BTreeMap::new();
        find(dir, DEPTH, &mut files);
        Modules { dir: dir.to_owned(), built_in, files }
    }

    /// `wanted` and all that they need, in the order in which they have to be loaded. What is built in is left out.
    ///
    /// # Errors
    /// There is no such module, or its file cannot be read.
    pub(crate) fn in_order(&self, wanted: &[&str]) -> Result<Vec<Module>, Error> {
        let mut loaded = Loaded { seen: BTreeSet::new(), order: Vec::new() };
        for name in wanted {
            self.load(&normal(name), &mut loaded)?;
        }
        Ok(loaded.order)
    }

    fn load(&self, name: &str, loaded: &mut Loaded) -> Result<(), Error> {
        if self.built_in.contains(name) || !loaded.seen.insert(name.to_owned()) {
            return Ok(());
        }
        let Some(file) = self.files.get(name) else {
            return Err(Error::lacks(
                format!(
                    "the kernel has no {name}, neither built in nor as a module in {}",
                    self.dir.display()
                ),
                "choose another fs= or disk=, or a kernel that has it; in a build tree: make modules",
            ));
        };
        let bytes = unpacked(file)?;
        let modinfo = modinfo::read(&bytes).ok_or_else(|| {
            Error::refused(
                format!("{} is not a module for x86-64", file.display()),
                "unpack or install the kernel's modules again",
            )
        })?;
        for before in modinfo.before.iter().map(|name| normal(name)) {
            if self.files.contains_key(&before) {
                self.load(&before, loaded)?;
            }
        }
        for needed in &modinfo.depends {
            self.load(&normal(needed), loaded)?;
        }
        loaded.order.push(Module { name: name.to_owned(), bytes });
        Ok(())
    }
}

struct Loaded {
    seen: BTreeSet<String>,
    order: Vec<Module>,
}

/// A dash in a module's file name is an underscore in its name.
fn normal(name: &str) -> String {
    name.replace('-', "_")
}

/// The module's name, if it is the file of one.
fn name_of(file: &Path) -> Option<String> {
    let file = file.file_name()?.to_str()?;
    ENDINGS.iter().find_map(|(ending, _)| file.strip_suffix(ending)).map(normal)
}

fn find(dir: &Path, depth: usize, files: &mut BTreeMap<String, PathBuf>) {
    // What cannot be read is not there; a module that is needed then is missed by name.
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        // Not through symbolic links: `build` and `source` lead out of the tree.
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth > 0 {
            find(&entry.path(), depth - 1, files);
        } else if kind.is_file()
            && let Some(name) = name_of(&entry.path())
        {
            files.insert(name, entry.path());
        }
    }
}

fn unpacked(file: &Path) -> Result<Vec<u8>, Error> {
    let shown = file.display();
    let name = file.to_string_lossy();
    let program = ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)).and_then(|(_, p)| *p);
    let Some(program) = program else {
        return std::fs::read(file).map_err(|error| {
            Error::refused(format!("{shown}: {error}"), "make the kernel's modules readable")
        });
    };
    let output = Command::new(program).arg("-dc").arg(file).output().map_err(|error| {
        Error::refused(
            format!("cannot run {program} to unpack {shown}: {error}"),
            format!("install {program}"),
        )
    })?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(Error::refused(
            format!(
                "{program} cannot unpack {shown}: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            ),
            "unpack or install the kernel's modules again",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modinfo::tests::module;

    #[test]
    fn what_is_needed_comes_first_and_once() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, modinfo: &[u8]| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, module(modinfo)).unwrap();
        };
        put(
            "kernel/fs/btrfs/btrfs.ko",
            b"depends=xor,raid6_pq,libcrc32c\0softdep=pre: blake2b-256 nowhere\0",
        );
        put("kernel/crypto/blake2b-256.ko", b"depends=\0");
        put("kernel/lib/xor.ko", b"depends=libcrc32c\0");
        put("kernel/lib/raid6_pq.ko", b"depends=\0");
        put("kernel/fs/lost.ko", b"depends=gone\0");
        std::fs::write(
            dir.path().join("modules.builtin"),
            "kernel/lib/libcrc32c.ko\nkernel/fs/ext4/ext4.ko\n",
        )
        .unwrap();
        let modules = Modules::read(dir.path());
        let order = modules.in_order(&["btrfs", "ext4", "xor"]).unwrap();
        let order: Vec<_> = order.iter().map(|module| module.name.as_str()).collect();
        assert_eq!(order, ["blake2b_256", "xor", "raid6_pq", "btrfs"]);
        for (wanted, missing) in [("xfs", "xfs"), ("lost", "gone")] {
            let error = modules.in_order(&[wanted]).unwrap_err().to_string();
            assert!(error.contains(&format!("has no {missing},")), "{error}");
        }
    }

    #[test]
    fn a_packed_module_is_unpacked_and_a_broken_one_refused() {
        let dir = tempfile::tempdir().unwrap();
        let plain = dir.path().join("brd.ko");
        std::fs::write(&plain, module(b"depends=\0")).unwrap();
        assert!(Command::new("gzip").arg(&plain).status().unwrap().success());
        std::fs::write(dir.path().join("bad.ko.gz"), "no gzip").unwrap();
        let modules = Modules::read(dir.path());
        assert_eq!(modules.in_order(&["brd"]).unwrap()[0].bytes, module(b"depends=\0"));
        assert!(modules.in_order(&["bad"]).unwrap_err().to_string().contains("cannot unpack"));
    }
}
