//! `--tasks`: 1,2,4 or 1..8 or max or 50%, and mixtures of them.

use std::str::FromStr;

/// No machine is asked for more tasks than that.
const MOST: usize = 4096;

/// Task counts as written; percentages and `max` depend on the machine.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Counts(Vec<Item>);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Item {
    One(Bound),
    /// Both ends included.
    Range(Bound, Bound),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    Tasks(usize),
    /// Of the usable CPUs.
    Percent(f64),
}

impl Bound {
    fn resolve(self, cpus: usize) -> usize {
        match self {
            Bound::Tasks(tasks) => tasks,
            Bound::Percent(percent) => ((cpus as f64 * percent / 100.0).round() as usize).max(1),
        }
    }
}

impl Counts {
    /// Exactly these.
    pub(crate) fn of(counts: impl IntoIterator<Item = usize>) -> Counts {
        Counts(counts.into_iter().map(|tasks| Item::One(Bound::Tasks(tasks))).collect())
    }

    /// The counts on a machine with `cpus` usable CPUs, ascending, each once.
    ///
    /// # Errors
    /// A range that runs backwards, or more than 4096 tasks.
    pub(crate) fn resolve(&self, cpus: usize) -> Result<Vec<usize>, String> {
        let mut counts = Vec::new();
        for item in &self.0 {
            match *item {
                Item::One(bound) => counts.push(bound.resolve(cpus)),
                Item::Range(from, to) => {
                    let (from, to) = (from.resolve(cpus), to.resolve(cpus));
                    if from > to {
                        return Err(format!("--tasks: {from}..{to} runs backwards"));
                    }
                    counts.extend(from..=to.min(MOST + 1));
                }
            }
        }
        counts.sort_unstable();
        counts.dedup();
        match counts.last() {
            Some(&most) if most > MOST => Err(format!("--tasks: at most {MOST} tasks")),
            _ => Ok(counts),
        }
    }
}

/// Powers of two up to the number of usable CPUs, and that number.
pub(crate) fn default_counts(cpus: usize) -> Vec<usize> {
    let powers = std::iter::successors(Some(1), |tasks| Some(tasks * 2));
    let mut counts: Vec<usize> = powers.take_while(|tasks| *tasks < cpus).collect();
    counts.push(cpus.clamp(1, MOST));
    counts.dedup();
    counts
}

impl FromStr for Counts {
    type Err = String;

    fn from_str(text: &str) -> Result<Counts, String> {
        let item = |item: &str| match item.split_once("..") {
            Some((from, to)) => Ok(Item::Range(bound(from)?, bound(to.trim_start_matches('='))?)),
            None => Ok(Item::One(bound(item)?)),
        };
        text.split(',').map(item).collect::<Result<_, String>>().map(Counts)
    }
}

fn bound(text: &str) -> Result<Bound, String> {
    let text = text.trim();
    let wrong = || format!("'{text}' is no task count; write 1,2,4 or 1..8 or max or 50%");
    if text == "max" {
        return Ok(Bound::Percent(100.0));
    }
    if let Some(percent) = text.strip_suffix('%') {
        return match percent.trim().parse::<f64>() {
            Ok(percent) if percent > 0.0 && percent.is_finite() => Ok(Bound::Percent(percent)),
            _ => Err(wrong()),
        };
    }
    match text.parse::<usize>() {
        Ok(0) => Err("a run needs at least 1 task".into()),
        Ok(tasks) => Ok(Bound::Tasks(tasks)),
        Err(_) => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_what_they_say() {
        let table: &[(&str, usize, &[usize])] = &[
            ("1,2,4", 2, &[1, 2, 4]),
            ("4,1,2,2", 2, &[1, 2, 4]),
            ("1..8", 2, &[1, 2, 3, 4, 5, 6, 7, 8]),
            ("max", 6, &[6]),
            ("50%", 6, &[3]),
            ("1%", 6, &[1]),
            ("1,max", 6, &[1, 6]),
            ("1..max", 3, &[1, 2, 3]),
            ("200%", 3, &[6]),
            ("4096", 2, &[4096]),
        ];
        for (text, cpus, counts) in table {
            let got = text.parse::<Counts>().unwrap().resolve(*cpus).unwrap();
            assert_eq!(got, *counts, "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "0", "-1", "a", "1,,2", "0..3", "0%", "nan%", "1.5", "..", "inf%"] {
            assert!(text.parse::<Counts>().is_err(), "{text}");
        }
        for text in ["8..1", "4097", "1..100000000000"] {
            assert!(text.parse::<Counts>().unwrap().resolve(2).is_err(), "{text}");
        }
    }

    #[test]
    fn the_default_doubles_up_to_the_machine() {
        assert_eq!(default_counts(1), [1]);
        assert_eq!(default_counts(2), [1, 2]);
        assert_eq!(default_counts(6), [1, 2, 4, 6]);
        assert_eq!(default_counts(8), [1, 2, 4, 8]);
    }
}
