//! One file per format.

use crate::Format;

macro_rules! formats {
    ($($module:ident),* $(,)?) => {
        $(mod $module;)*

        /// Every format that can be read.
        pub const FORMATS: &[Format] = &[$($module::FORMAT),*];
    };
}

// To add a format, write its file and add its name here.
formats!(
    will_it_scale,
    will_it_scale_raw,
    fxmark,
    mdtest,
    fio,
    fs_mark,
    tiobench,
    reaim,
    dbench,
    hyperfine,
    lkp,
    mmtests,
    perf_bench,
    stress_ng,
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for format in FORMATS {
            let found = Format::by_name(format.name).map(|format| format.summary);
            assert_eq!(found, Some(format.summary));
            assert!(!format.summary.is_empty() && !format.summary.ends_with('.'));
        }
        assert!(Format::by_name("xml").is_none());
    }

    #[test]
    fn nothing_is_an_error_of_every_format() {
        for format in FORMATS {
            for text in ["", "\n", "\0", "{", "{}", "[]", ",,,", "1", "# \n## \n### =\n"] {
                let parsed = (format.parse)("f", text);
                // A bare number is a time of `perf bench -f simple`.
                let is_time = format.name == "perf-bench" && text == "1";
                assert_eq!(parsed.is_ok(), is_time, "{} of {text:?}", format.name);
                assert!(!(format.detect)(text), "{} of {text:?}", format.name);
            }
        }
    }
}
