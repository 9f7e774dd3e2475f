//! Whose code is at an address of a process: the object files that the server's processes map.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use crate::functions::{Function, Kind};
use crate::mappings::{Mapping, file_of, mappings_of};
use crate::symbols::{Named, Symbols};

/// Compiled code of queries comes and goes in memory of no file: a process's list is not read again
/// for each such address.
const MAPPINGS_LAST: Duration = Duration::from_secs(1);

/// The object files that the server's processes have mapped, and their functions.
pub(crate) struct Images {
    server: u32,
    program: Option<Program>,
    processes: HashMap<u32, Listed>,
    /// By inode and path.
    symbols: HashMap<(u64, String), Symbols>,
}

/// A file by device and inode: its path may lead to another by now.
type Program = (u64, u64);

/// A process's mappings, and when they were read.
struct Listed {
    mappings: Vec<Mapping>,
    read_at: Option<Instant>,
    /// It runs the server's program, as a copy that has the server's mappings where it had them.
    is_copy: bool,
}

impl Images {
    /// Read the functions of the server's own program before they are needed.
    pub(crate) fn of(server: u32) -> Self {
        let mut images = Self {
            server,
            program: program_of(server),
            processes: HashMap::new(),
            symbols: HashMap::new(),
        };
        let mappings = mappings_of(server);
        if let Some(program) = mappings.first() {
            images.symbols_of(server, program);
        }
        let own = Listed { mappings, read_at: Some(Instant::now()), is_copy: true };
        images.processes.insert(server, own);
        images
    }

    /// The function at an address of a process.
    pub(crate) fn function(&mut self, pid: u32, address: u64) -> Function {
        let Some(mapping) = self.mapping(pid, address) else {
            return nameless(Kind::Unnamed, "");
        };
        match (mapping.inode, &*mapping.path) {
            (0, "") => return nameless(Kind::Jit, ""),
            (0, name) => return nameless(Kind::Unnamed, name), // [vdso]
            _ => {}
        }
        let object = mapping.path.trim_end_matches(" (deleted)");
        let object = object.rsplit('/').next().unwrap_or_default().to_owned();
        let symbols = self.symbols_of(pid, &mapping);
        let (kind, name) = match symbols.at_offset(address - mapping.start + mapping.offset) {
            Some(Named::Exact(name)) => (Kind::Named, name),
            Some(Named::Near(name)) => (Kind::Near, name),
            None => (Kind::Unnamed, String::new()),
        };
        Function { kind, name, object }
    }

    /// Forget a process that has ended or runs another program.
    pub(crate) fn forget(&mut self, pid: u32) {
        if pid != self.server {
            self.processes.remove(&pid);
        }
    }

    fn mapping(&mut self, pid: u32, address: u64) -> Option<Mapping> {
        let program = &self.program;
        let its = self.processes.entry(pid).or_insert_with(|| Listed {
            mappings: Vec::new(),
            read_at: None,
            // Of one that is gone nothing else is known, and most are copies.
            is_copy: program_of(pid).is_none_or(|its| Some(its) == *program),
        });
        if its.is_copy
            && let Some(found) = self.processes.get(&self.server)?.find(address)
        {
            return Some(found.clone());
        }
        let its = self.processes.get_mut(&pid)?;
        let is_old = its.read_at.is_none_or(|read_at| read_at.elapsed() > MAPPINGS_LAST);
        if its.find(address).is_none() && is_old {
            its.mappings = mappings_of(pid);
            its.read_at = Some(Instant::now());
        }
        its.find(address).cloned()
    }

    fn symbols_of(&mut self, pid: u32, mapping: &Mapping) -> &Symbols {
        let key = (mapping.inode, mapping.path.clone());
        let read = || file_of(pid, mapping).map(Symbols::read).unwrap_or_default();
        self.symbols.entry(key).or_insert_with(read)
    }
}

impl Listed {
    fn find(&self, address: u64) -> Option<&Mapping> {
        self.mappings.iter().find(|its| (its.start..its.end).contains(&address))
    }
}

fn program_of(pid: u32) -> Option<Program> {
    fs::metadata(format!("/proc/{pid}/exe")).ok().map(|file| (file.dev(), file.ino()))
}

fn nameless(kind: Kind, object: &str) -> Function {
    Function { kind, name: String::new(), object: object.to_owned() }
}
