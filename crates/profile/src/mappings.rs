//! What is mapped where in a process's memory, and the files that are mapped.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;

/// One mapping that may hold code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Of its first byte in the file.
    pub(crate) offset: u64,
    pub(crate) inode: u64,
    /// A file's path, a name in brackets, or nothing: memory that belongs to no file.
    pub(crate) path: String,
}

/// The executable mappings of a process, by address; none if it is gone.
pub(crate) fn mappings_of(pid: u32) -> Vec<Mapping> {
    let text = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().filter_map(parse).collect()
}

fn parse(line: &str) -> Option<Mapping> {
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    if !fields.next()?.contains('x') {
        return None;
    }
    let hex = |text| u64::from_str_radix(text, 16).ok();
    Some(Mapping {
        start: hex(start)?,
        end: hex(end)?,
        offset: hex(fields.next()?)?,
        inode: fields.nth(1)?.parse().ok()?,
        path: fields.next().unwrap_or_default().trim_start().to_owned(),
    })
}

/// Open the file of a mapping, also one that was replaced or deleted since it was mapped.
///
/// Its link in `map_files` needs a right that only root has. The program itself can be read by
/// `exe`, whatever became of its path; a library only by the path, if it is still the same file.
pub(crate) fn file_of(pid: u32, mapping: &Mapping) -> Option<File> {
    let Mapping { start, end, path, .. } = mapping;
    let ways = [
        format!("/proc/{pid}/map_files/{start:x}-{end:x}"),
        format!("/proc/{pid}/exe"),
        format!("/proc/{pid}/root{path}"),
    ];
    let is_it = |file: &File| file.metadata().is_ok_and(|its| its.ino() == mapping.inode);
    ways.iter().filter_map(|way| File::open(way).ok()).find(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_is_listed() {
        let code = "55d0-55f0 r-xp 00002000 fe:01 1234       /usr/lib/a b/postgres (deleted)";
        let mapping = parse(code).unwrap();
        assert_eq!((mapping.start, mapping.end), (0x55d0, 0x55f0));
        assert_eq!((mapping.offset, mapping.inode), (0x2000, 1234));
        assert_eq!(mapping.path, "/usr/lib/a b/postgres (deleted)");
        assert_eq!(parse("55d0-55f0 rw-p 00002000 fe:01 1234 /usr/lib/postgres"), None);
        assert_eq!(parse("55d0-55f0 r-xp 00000000 00:00 0 ").unwrap().path, "");
    }

    #[test]
    fn the_file_of_a_mapping_can_be_opened() {
        let own = mappings_of(std::process::id());
        let at = the_file_of_a_mapping_can_be_opened as *const () as u64;
        let mapping = own.iter().find(|its| (its.start..its.end).contains(&at)).unwrap();
        let file = file_of(std::process::id(), mapping).unwrap();
        assert_eq!(file.metadata().unwrap().ino(), mapping.inode);
    }
}
