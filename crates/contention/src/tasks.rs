//! The threads to watch: from ids of processes and threads to threads.

use crate::error::Error;
use std::fs;
use std::io;

/// Threads that were there when they were looked up, without repeats, in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tasks(Vec<u32>);

impl Tasks {
    /// The id of a process stands for all threads that it has now, any other id of a thread for that thread alone.
    ///
    /// # Errors
    /// There are none, or one is not there.
    pub(crate) fn find(ids: &[u32]) -> Result<Tasks, Error> {
        let mut threads = Vec::new();
        for &id in ids {
            threads.extend(threads_of(id)?);
        }
        threads.sort_unstable();
        threads.dedup();
        if threads.is_empty() { Err(Error::NoTasks) } else { Ok(Tasks(threads)) }
    }

    /// Their ids.
    pub(crate) fn threads(&self) -> &[u32] {
        &self.0
    }
}

fn threads_of(id: u32) -> Result<Vec<u32>, Error> {
    let gone = |error: io::Error, path: String| match error.kind() {
        io::ErrorKind::NotFound => Error::NoTask(id),
        _ => Error::file(path, error),
    };
    let path = format!("/proc/{id}/status");
    let status = fs::read_to_string(&path).map_err(|error| gone(error, path))?;
    if field(&status, "Tgid:") != Some(u64::from(id)) {
        return Ok(vec![id]);
    }
    let path = format!("/proc/{id}/task");
    let entries = fs::read_dir(&path).map_err(|error| gone(error, path.clone()))?;
    let mut threads = Vec::new();
    for entry in entries {
        let name = entry.map_err(|error| gone(error, path.clone()))?.file_name();
        threads.extend(name.to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    Ok(threads)
}

/// The number behind `name` in a file of lines `name value`.
pub(crate) fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_process_is_all_its_threads_and_a_thread_only_itself() {
        let (tell, told) = channel();
        let (end, ended) = channel::<()>();
        let thread = std::thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
            let _ = ended.recv();
        });
        let thread_id = told.recv().unwrap();
        let process = std::process::id();
        assert_eq!(Tasks::find(&[thread_id]).unwrap().threads(), [thread_id]);
        let all = Tasks::find(&[process, thread_id]).unwrap();
        assert!(all.threads().contains(&process));
        assert_eq!(all.threads().iter().filter(|&&id| id == thread_id).count(), 1, "no repeats");
        drop(end);
        thread.join().unwrap();
    }

    #[test]
    fn who_is_not_there_is_said() {
        // Above the greatest id that the kernel gives (2^22).
        assert!(matches!(Tasks::find(&[5_000_000]), Err(Error::NoTask(5_000_000))));
        assert!(matches!(Tasks::find(&[]), Err(Error::NoTasks)));
    }

    #[test]
    fn a_field_is_the_first_number_behind_its_name() {
        let status = "Name:\tx\nTgid:\t12\nvoluntary_ctxt_switches:\t7\n";
        assert_eq!(field(status, "Tgid:"), Some(12));
        assert_eq!(field(status, "Ngid:"), None);
    }
}
