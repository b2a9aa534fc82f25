//! Values of options: from what is typed to what is meant, or to why it means nothing.

use crate::args::PageFormat;
use harness::machine::topology::Pin;
use reproduce::On;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

/// A format of a run.
pub(crate) fn format(name: &str) -> Result<&'static report::Format, String> {
    report::Format::by_name(name).ok_or_else(|| {
        let names: Vec<&str> = report::FORMATS.iter().map(|format| format.name).collect();
        format!("there are: {}", names.join(", "))
    })
}

/// A format of a comparison.
pub(crate) fn comparison_format(name: &str) -> Result<&'static report::ComparisonFormat, String> {
    report::ComparisonFormat::by_name(name).ok_or_else(|| {
        let names: Vec<&str> =
            report::COMPARISON_FORMATS.iter().map(|format| format.name).collect();
        format!("there are: {}", names.join(", "))
    })
}

/// A format of a run or of a comparison: which of both is asked for, the file says.
pub(crate) fn any_format(name: &str) -> Result<String, String> {
    let runs = report::FORMATS.iter().map(|format| format.name);
    let comparisons = report::COMPARISON_FORMATS.iter().map(|format| format.name);
    let mut names: Vec<&str> = runs.chain(comparisons).collect();
    names.sort_unstable();
    names.dedup();
    match names.contains(&name) {
        true => Ok(name.to_owned()),
        false => Err(format!("there are: {}", names.join(", "))),
    }
}

/// Whom `reproduce` asks.
pub(crate) fn reproduce_on(text: &OsStr) -> Result<On, String> {
    match text.as_bytes() {
        b"sim" => Ok(On::Sim),
        b"lab" => Ok(On::Lab),
        bytes if bytes.starts_with(b"dir:") && bytes.len() > 4 => {
            Ok(On::Dir(OsStr::from_bytes(&bytes[4..]).into()))
        }
        _ => Err("write sim, lab or dir:PATH".into()),
    }
}

/// A name that clap has found among those of `PageFormat::all`.
pub(crate) fn page_format(name: String) -> PageFormat {
    PageFormat::all()
        .find(|format| format.name() == name)
        .expect("clap lets only the names of PageFormat::all through")
}

/// A name that clap has found among those of `Pin::ALL`.
pub(crate) fn pin(name: String) -> Pin {
    name.parse().expect("clap lets only the names of Pin::ALL through")
}

/// A length of time, from a millisecond to a week.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(time) if time < Duration::from_millis(1) => Err("at least 1ms".into()),
        Ok(time) if time > Duration::from_secs(7 * 24 * 3600) => Err("at most 7days".into()),
        Ok(time) => Ok(time),
        Err(error) => Err(format!("{error}; write 10s, 500ms or 2m")),
    }
}

/// A share, written in per cent.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    match number.parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent < 100.0 => Ok(percent / 100.0),
        _ => Err("write a share between 0 and 100, like 1%".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reproduce_asks_three_kinds_of_places() {
        let on = |text: &str| reproduce_on(OsStr::new(text));
        assert_eq!(on("sim"), Ok(On::Sim));
        assert_eq!(on("lab"), Ok(On::Lab));
        assert_eq!(on("dir:/mnt/x"), Ok(On::Dir("/mnt/x".into())));
        for wrong in ["", "dir:", "/mnt/x", "lab:linux-6.18", "sim:x"] {
            assert!(on(wrong).unwrap_err().contains("dir:PATH"), "{wrong}");
        }
    }

    #[test]
    fn durations_and_shares_are_read_or_explained() {
        assert_eq!(duration("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("100ms"), Ok(Duration::from_millis(100)));
        assert!(duration("10").unwrap_err().contains("write 10s"));
        assert!(duration("0s").is_err());
        assert!(duration("-1s").is_err());
        assert_eq!(percent("1%"), Ok(0.01));
        assert_eq!(percent("0.5"), Ok(0.005));
        for wrong in ["0%", "-1%", "x", "100%", "nan", "inf%"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }
}
