//! What a mail of the kernel test robot says around its tables: date, machine, parameters, commits.

use crate::text::Line;

/// A commit that is compared.
#[derive(Debug, PartialEq)]
pub(super) struct Commit {
    pub(super) hash: String,
    /// Hash and subject.
    pub(super) label: String,
}

/// What has been read so far of a mail.
#[derive(Default)]
pub(super) struct Mail {
    /// RFC 3339, empty if there was no head.
    pub(super) date: String,
    pub(super) cpu_model: Option<String>,
    /// CPUs of the test machine.
    pub(super) cpus: Option<u32>,
    pub(super) parameters: Parameters,
    pub(super) commits: Vec<Commit>,
    expects: Expects,
}

/// What the next line may be.
#[derive(Clone, Copy, Default, PartialEq)]
enum Expects {
    #[default]
    Nothing,
    /// Values of the parameters.
    Values,
    Commits,
}

/// Names and values of the heading of a table.
#[derive(Default)]
pub(super) struct Parameters {
    names: Vec<String>,
    values: Vec<String>,
}

impl Parameters {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let at = self.names.iter().position(|known| known == name)?;
        self.values.get(at).map(String::as_str)
    }

    /// The benchmark; LKP calls it testcase.
    pub(super) fn suite(&self) -> &str {
        self.get("testcase").unwrap_or("")
    }

    /// `16`, `16t`, or `50%` of the machine's CPUs.
    pub(super) fn tasks(&self, cpus: Option<u32>) -> Option<u32> {
        let names = ["nr_task", "nr_threads", "load", "thread_nr", "nr_job"];
        let value = names.iter().find_map(|name| self.get(name))?;
        let tasks = match value.strip_suffix('%') {
            Some(percent) => u64::from(cpus?).checked_mul(percent.parse().ok()?)? / 100,
            None => value.strip_suffix('t').unwrap_or(value).parse().ok()?,
        };
        u32::try_from(tasks).ok().filter(|tasks| *tasks > 0)
    }
}

/// Names and values may have slashes of their own no more than this.
const MOST_PARAMETERS: usize = 64;

/// More commits than any mail compares.
const MOST_COMMITS: usize = 16;

impl Mail {
    /// Takes the line if it belongs to the surroundings of a table.
    pub(super) fn take(&mut self, line: Line<'_>) -> bool {
        let text = line.text.trim();
        let expects = std::mem::take(&mut self.expects);
        match expects {
            Expects::Values => {
                self.parameters.values = slashed(text);
                return true;
            }
            Expects::Commits if self.commit(text) => {
                self.expects = Expects::Commits;
                return true;
            }
            Expects::Commits | Expects::Nothing => {}
        }
        if let Some(date) = text.strip_prefix("Date:").filter(|_| self.date.is_empty()) {
            self.date = rfc_3339(date.trim()).unwrap_or_default();
        } else if let Some(machine) = text.strip_prefix("test machine:") {
            self.machine(machine);
        } else if text == "commit:" {
            self.commits.clear();
            self.expects = Expects::Commits;
        } else if let Some(names) = parameter_names(text) {
            self.parameters.names = slashed(names);
            self.expects = Expects::Values;
        } else {
            return false;
        }
        true
    }

    /// `ec81deb6b7 ("subject")`.
    fn commit(&mut self, text: &str) -> bool {
        let hash = text.split_whitespace().next().unwrap_or("");
        let is_hash = (7..=40).contains(&hash.len()) && hash.bytes().all(|b| b.is_ascii_hexdigit());
        // The rows of hashes over the columns are not in parentheses.
        let rest = text[hash.len()..].trim();
        let is_commit = is_hash && (rest.is_empty() || rest.starts_with('('));
        if is_commit && self.commits.len() < MOST_COMMITS {
            let subject = rest.trim_start_matches("(\"").trim_end_matches("\")");
            let label = format!("{hash} {subject}").trim_end().to_owned();
            self.commits.push(Commit { hash: hash.into(), label });
        }
        is_commit
    }

    /// `104 threads 2 sockets (Skylake) with 192G memory`.
    fn machine(&mut self, text: &str) {
        let words: Vec<&str> = text.split_whitespace().take(32).collect();
        let threads = words.iter().position(|word| word.trim_end_matches(',') == "threads");
        self.cpus = threads.and_then(|at| words.get(at.checked_sub(1)?)?.parse().ok());
        if let Some((_, model)) = text.split_once('(')
            && let Some((model, _)) = model.rsplit_once(')')
        {
            self.cpu_model = Some(model.into());
        }
    }
}

/// `compiler/cpufreq_governor/.../testcase:`.
fn parameter_names(text: &str) -> Option<&str> {
    let names = text.strip_suffix(':')?;
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
    };
    (names.contains('/') && names.split('/').all(is_name)).then_some(names)
}

fn slashed(text: &str) -> Vec<String> {
    text.split('/').take(MOST_PARAMETERS).map(str::to_owned).collect()
}

/// `Tue, 5 Dec 2023 15:30:00 +0800` as UTC of RFC 3339.
fn rfc_3339(date: &str) -> Option<String> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let date = date.split_once(',').map_or(date, |(_, date)| date);
    let mut words = date.split_whitespace();
    let day: u32 = words.next()?.parse().ok()?;
    let name = words.next()?;
    let month = MONTHS.iter().position(|month| *month == name)? + 1;
    let year: u32 = words.next()?.parse().ok()?;
    let time = words.next()?;
    let local = humantime::parse_rfc3339(&format!("{year:04}-{month:02}-{day:02}T{time}Z")).ok()?;
    let (sign, offset) = words.next()?.split_at_checked(1)?;
    let offset: u64 = offset.parse().ok().filter(|offset| *offset <= 2400)?;
    let seconds = std::time::Duration::from_secs((offset / 100 * 60 + offset % 100) * 60);
    let utc = match sign {
        "+" => local.checked_sub(seconds)?,
        "-" => local.checked_add(seconds)?,
        _ => return None,
    };
    // Before 1970 and after 9999 it cannot be written.
    let since = utc.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs();
    (since < 253_402_300_800).then(|| humantime::format_rfc3339_seconds(utc).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_of_a_mail_becomes_utc() {
        let cases = [
            ("Tue, 5 Dec 2023 15:30:00 +0800", Some("2023-12-05T07:30:00Z")),
            ("5 Dec 2023 23:30:00 -0130 (XYZ)", Some("2023-12-06T01:00:00Z")),
            ("Thu, 1 Jan 1970 00:30:00 +0800", None),
            ("31 Dec 9999 23:59:59 -1200", None),
            ("Tue, 5 Foo 2023 15:30:00 +0800", None),
            ("5 Dec 2023 15:30:00 +é", None),
            ("yesterday", None),
            ("", None),
        ];
        for (date, expected) in cases {
            assert_eq!(rfc_3339(date).as_deref(), expected, "of {date}");
        }
    }

    #[test]
    fn tasks_come_from_the_parameters() {
        let tasks = |value: &str, cpus| {
            let parameters =
                Parameters { names: vec!["nr_task".into()], values: vec![value.into()] };
            parameters.tasks(cpus)
        };
        assert_eq!(tasks("16", None), Some(16));
        assert_eq!(tasks("32t", None), Some(32));
        assert_eq!(tasks("50%", Some(104)), Some(52));
        assert_eq!(tasks("50%", None), None);
        assert_eq!(tasks("1x", Some(8)), None);
        assert_eq!(tasks("0%", Some(8)), None);
        assert_eq!(tasks("99999999999999999999%", Some(8)), None);
    }
}
