//! Opens a file, with a limit, and finds out what it is.

use crate::{FORMATS, Format, ImportError, Imported};
use results::Warning;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::SystemTime;

/// Bytes that are read of a file at most. The largest results known, fio's JSON with histograms, have a few MiB.
pub const LIMIT: u64 = 64 << 20;

/// Bytes of a file that are looked at to find out its format: a mail has a long head before its table.
const HEAD: usize = 256 << 10;

/// The runs in the file at `path`, which is of the format `forced` or else of the one it looks like.
///
/// Bytes that are not UTF-8 (mails in Latin-1, a cut-off character) are taken for the replacement character. Where the file
/// does not tell when it was measured, the run has the time the file was last written, and a warning.
///
/// # Errors
///
/// See [`ImportError`]. A file in which nothing can be used as a figure is an error, not an empty run.
pub fn read(path: &Path, forced: Option<&str>) -> Result<Vec<Imported>, ImportError> {
    let name = path.to_string_lossy();
    let unreadable = |source| ImportError::Unreadable { file: name.to_string(), source };
    let file = File::open(path).map_err(unreadable)?;
    let written = file.metadata().and_then(|metadata| metadata.modified()).ok();
    read_from(&name, file, written, forced)
}

/// The same of a file that is open already, a pipe for example: its name for messages, what is in it, and when it was written.
///
/// # Errors
///
/// See [`read`].
pub fn read_from(
    name: &str,
    contents: impl Read,
    written: Option<SystemTime>,
    forced: Option<&str>,
) -> Result<Vec<Imported>, ImportError> {
    let forced = forced
        .map(|name| {
            Format::by_name(name).ok_or_else(|| ImportError::NoSuchFormat { name: name.into() })
        })
        .transpose()?;
    let text = text(contents, name)?;
    let format = forced.map_or_else(|| detect(name, &text), Ok)?;
    let mut imported = (format.parse)(name, &text)?;
    if let Some(written) = written {
        imported.iter_mut().for_each(|imported| date_from_file(imported, written));
    }
    Ok(imported)
}

/// The one format that `text` looks like. `file` is its name, for the message.
///
/// # Errors
///
/// None or several do.
pub fn detect(file: &str, text: &str) -> Result<&'static Format, ImportError> {
    let head = &text[..text.floor_char_boundary(HEAD)];
    let candidates: Vec<_> = FORMATS.iter().filter(|format| (format.detect)(head)).collect();
    match candidates[..] {
        [format] => Ok(format),
        [] => Err(ImportError::UnknownFormat { file: file.into() }),
        _ => Err(ImportError::Ambiguous {
            file: file.into(),
            candidates: candidates.iter().map(|format| format.name).collect(),
        }),
    }
}

fn text(contents: impl Read, name: &str) -> Result<String, ImportError> {
    let unreadable = |source| ImportError::Unreadable { file: name.into(), source };
    let mut bytes = Vec::new();
    // One more than allowed, which says that there is more.
    contents.take(LIMIT + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LIMIT {
        return Err(ImportError::TooLarge { file: name.into(), limit: LIMIT });
    }
    // The mark that some editors put before UTF-8.
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// The record needs a time to be put in order by.
fn date_from_file(imported: &mut Imported, written: SystemTime) {
    let run = &mut imported.run;
    if run.started.is_empty() {
        run.started = humantime::format_rfc3339_seconds(written).to_string();
        run.warnings.push(Warning {
            code: "date-of-file".into(),
            message: "the file does not tell when it was measured; started is when the file was last written".into(),
            advice: "do not read an order in time out of it if the file was copied".into(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CSV: &str = "tasks,processes,processes_idle,threads,threads_idle,linear\n0,0,100,0,100,0\n1,10,50.00,20,50.00,20\n";

    #[test]
    fn a_file_is_read_by_its_content_and_dated() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("open1.txt");
        std::fs::write(&path, CSV).unwrap();
        for forced in [None, Some("will-it-scale")] {
            let [imported] = &read(&path, forced).unwrap()[..] else { panic!("one run") };
            assert_eq!(imported.label, "open1");
            assert!(humantime::parse_rfc3339(&imported.run.started).is_ok());
            assert!(imported.run.warnings.iter().any(|warning| warning.code == "date-of-file"));
        }
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let error = || read(&path, None).unwrap_err();
        assert!(matches!(error(), ImportError::Unreadable { .. }));
        for nothing in [&b""[..], b"hello\n", b"\xff\xfe\0\0", b"{}", b"{\"results\": 1}"] {
            std::fs::write(&path, nothing).unwrap();
            assert!(matches!(error(), ImportError::UnknownFormat { .. }), "{nothing:?}");
        }
        std::fs::write(&path, format!("{CSV}FSUse% Count Size Files/sec\n")).unwrap();
        assert!(
            matches!(error(), ImportError::Ambiguous { candidates, .. } if candidates.len() == 2)
        );
        let error = read(dir.path(), None).unwrap_err();
        assert!(matches!(error, ImportError::Unreadable { .. }), "{error}");
        let error = read(&path, Some("xml")).unwrap_err();
        assert!(error.to_string().contains("will-it-scale"), "{error}");
    }

    #[test]
    fn a_file_without_end_is_refused() {
        let error = read(Path::new("/dev/zero"), None).unwrap_err();
        assert!(matches!(error, ImportError::TooLarge { .. }), "{error}");
        assert!(error.to_string().contains("64 MiB"), "{error}");
    }

    #[test]
    fn bytes_that_are_no_utf8_do_not_keep_a_file_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("open1.csv");
        std::fs::write(&path, [b"# gr\xfc\xdfe\n", CSV.as_bytes()].concat()).unwrap();
        assert_eq!(read(&path, None).unwrap().len(), 1);
        std::fs::write(&path, [b"\xef\xbb\xbf", CSV.as_bytes()].concat()).unwrap();
        assert_eq!(read(&path, None).unwrap().len(), 1, "a byte order mark");
    }
}
