//! Which tasks belong to the server: its main process and whatever descends from it.

use std::collections::HashMap;
use std::fs;

/// How many generations below the server are followed.
const GENERATIONS_MAX: usize = 8;

/// The server's processes, as far as samples have named them.
#[derive(Debug)]
pub(crate) struct Family {
    server: u32,
    /// Of processes that samples or forks have named.
    parents: HashMap<u32, u32>,
    titles: HashMap<u32, String>,
}

impl Family {
    pub(crate) fn of(server: u32) -> Self {
        Self { server, parents: HashMap::new(), titles: HashMap::new() }
    }

    /// A process was born: it may be gone before `/proc` could be asked.
    pub(crate) fn born(&mut self, pid: u32, parent: u32) {
        if pid != parent {
            self.parents.insert(pid, parent);
            self.titles.remove(&pid);
        }
    }

    /// A process has ended: its number may be given to another.
    pub(crate) fn ended(&mut self, pid: u32) {
        self.parents.remove(&pid);
        self.titles.remove(&pid);
    }

    /// Whether a process is the server or descends from it.
    pub(crate) fn has(&mut self, pid: u32) -> bool {
        let mut at = pid;
        for _ in 0..GENERATIONS_MAX {
            if at == self.server {
                return true;
            }
            if at <= 1 {
                return false;
            }
            at = *self.parents.entry(at).or_insert_with(|| parent_of(at).unwrap_or(0));
        }
        false
    }

    /// What a process calls itself, as first seen; empty if it was gone by then.
    ///
    /// One that has just begun still has the title of the server, of which it is a copy: it is
    /// asked again.
    pub(crate) fn title(&mut self, pid: u32) -> String {
        if let Some(known) = self.titles.get(&pid) {
            return known.clone();
        }
        let title = title_of(pid);
        if pid == self.server || (!title.is_empty() && title != self.title(self.server)) {
            self.titles.insert(pid, title.clone());
        }
        title
    }

    /// The processes of the family that exist now.
    pub(crate) fn alive(&mut self) -> Vec<u32> {
        let Ok(entries) = fs::read_dir("/proc") else {
            return vec![self.server];
        };
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        pids.filter(|pid| self.has(*pid)).collect()
    }
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is a name in parentheses that may contain anything.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn title_of(pid: u32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = String::from_utf8_lossy(&line).replace('\0', " ");
    words.trim_end().to_owned()
}

/// The threads of a process that exist now.
pub(crate) fn threads_of(pid: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    names.collect()
}

/// What a thread is called (`comm`); empty if it is gone.
pub(crate) fn thread_name(pid: u32, tid: u32) -> String {
    let name = fs::read(format!("/proc/{pid}/task/{tid}/comm")).unwrap_or_default();
    String::from_utf8_lossy(&name).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn children_belong_to_the_family_and_others_do_not() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let mut own = Family::of(std::process::id());
        assert!(own.has(child.id()));
        assert!(own.alive().contains(&child.id()));
        // It is a copy of this process until it runs its own program.
        let title = |_| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            own.title(child.id())
        };
        assert!((0..500).map(title).any(|title| title == "sleep 60"));
        assert!(!Family::of(child.id()).has(std::process::id()));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_process_that_is_gone_is_known_by_its_birth() {
        let mut family = Family::of(1000);
        family.born(4_000_001, 1000);
        family.born(4_000_002, 4_000_001);
        assert!(family.has(4_000_002));
        family.ended(4_000_002);
        assert!(!family.has(4_000_002));
    }
}
