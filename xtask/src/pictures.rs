//! Pictures that documents show, drawn by the program itself.
//!
//! A document names the command that prints the picture, and shows it below:
//!
//! ```text
//! <!-- picture: vfscale run open_close --on sim:8-socket-2007/linux-2.6.20 --rounds 8 --seed 1 --format svg -->
//! ![What is to be seen](../pictures/name.svg)
//! ```

use crate::docs::Generated;
use crate::{Program, blocks};
use anyhow::{Context, bail, ensure};
use std::fs;
use std::path::Path;

/// Where they are kept.
pub(crate) const FOLDER: &str = "docs/pictures";

pub(crate) fn pictures(program: &Program, root: &Path) -> anyhow::Result<Vec<Generated>> {
    let mut pictures: Vec<Generated> = Vec::new();
    for document in blocks::files(root)? {
        let shown = document.display();
        let text = fs::read_to_string(root.join(&document))
            .with_context(|| format!("cannot read {shown}"))?;
        for (command, name) in named(&text).with_context(|| format!("{shown}"))? {
            let file = Path::new(FOLDER).join(name);
            ensure!(
                pictures.iter().all(|picture| picture.file != file),
                "{shown}: {} is drawn twice",
                file.display()
            );
            let bytes = program.typed(&command)?.into_bytes();
            pictures.push(Generated { file, bytes });
        }
    }
    Ok(pictures)
}

/// Commands of a document, and names of the files that they draw.
fn named(text: &str) -> anyhow::Result<Vec<(String, String)>> {
    let mut named = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let mark = line.strip_prefix("<!-- picture: ");
        let Some(command) = mark.and_then(|rest| rest.strip_suffix(" -->")) else { continue };
        let link = lines.next().and_then(|line| line.strip_prefix("![")?.split_once("]("));
        let name = link.and_then(|(_, target)| target.strip_suffix(')')?.rsplit_once("pictures/"));
        match name {
            Some((_, name)) if !name.contains('/') => named.push((command.into(), name.into())),
            _ => bail!("the line below `{command}` shows no file of {FOLDER}"),
        }
    }
    Ok(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_a_command_and_a_file() {
        let text = "a\n<!-- picture: vfscale x -->\n![b](../pictures/c.svg)\n";
        assert_eq!(named(text).expect("both are there"), [("vfscale x".into(), "c.svg".into())]);
        for wrong in ["", "![b](c.svg)", "![b](../pictures/d/c.svg)", "[b](pictures/c.svg)"] {
            assert!(named(&format!("<!-- picture: x -->\n{wrong}\n")).is_err(), "{wrong}");
        }
    }
}
