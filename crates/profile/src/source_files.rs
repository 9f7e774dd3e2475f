//! Which source files the code of a binary mentions, and where.
//!
//! Assertions and instrumentation pass the name of their source file (`__FILE__`), which stripping
//! leaves: whatever code refers to that text belongs to that file. Compilers put what is hardly
//! ever run, as a failing assertion, far from the rest of its function, which then branches there.

use std::ops::Range;

use object::read::elf::ElfFile64;
use object::{Architecture, Endianness, Object, ObjectSection, ReadRef};

const ENDINGS: [&str; 4] = [".c", ".cc", ".cpp", ".cxx"];

/// An address in the code, and the source file that is mentioned there.
#[derive(Debug)]
pub(crate) struct Mention {
    pub(crate) address: u64,
    /// With its folder (`row/row0sel.cc`), which says what it is for.
    pub(crate) file: Box<str>,
}

/// Find all mentions in functions without a name, by their addresses.
///
/// `nameless` is the extent of such a function, given an address within it. Instructions are
/// recognized for one kind of processor; on others there are no mentions.
pub(crate) fn mentions<'a>(
    elf: &ElfFile64<'a, Endianness, impl ReadRef<'a>>,
    nameless: impl Fn(u64) -> Option<Range<u64>>,
) -> Vec<Mention> {
    if elf.architecture() != Architecture::X86_64 {
        return Vec::new();
    }
    let section = |name| {
        let found = elf.section_by_name(name)?;
        Some((found.address(), found.data().ok()?))
    };
    let (Some((texts_at, texts)), Some((code_at, code))) = (section(".rodata"), section(".text"))
    else {
        return Vec::new();
    };
    let files = files_in(texts, texts_at);
    let mut mentioning: Vec<(Range<u64>, &str)> = Vec::new();
    let mut found = Vec::new();
    for (address, target) in loads(code, code_at) {
        if let Ok(index) = files.binary_search_by_key(&target, |&(at, _)| at)
            && let Some(extent) = nameless(address)
        {
            mentioning.push((extent, files[index].1));
            found.push(Mention { address, file: files[index].1.into() });
        }
    }
    for (address, target) in branches(code, code_at) {
        let next = mentioning.partition_point(|(extent, _)| extent.start <= target);
        if let Some((extent, file)) = next.checked_sub(1).map(|index| &mentioning[index])
            && extent.contains(&target)
            && nameless(address).is_some_and(|its| its != *extent)
        {
            found.push(Mention { address, file: (*file).into() });
        }
    }
    found.sort_by_key(|its| its.address);
    found
}

/// Where the code takes an address relative to its own (`lea reg, [rip + distance]`), and which.
fn loads(code: &[u8], code_at: u64) -> impl Iterator<Item = (u64, u64)> {
    let is_load = |at: &[u8]| matches!(at[0], 0x48 | 0x4c) && at[1] == 0x8d && at[2] & 0xc7 == 0x05;
    relative::<3>(code, code_at, is_load)
}

/// Where the code branches on a condition (`jcc distance`), and where to.
fn branches(code: &[u8], code_at: u64) -> impl Iterator<Item = (u64, u64)> {
    relative::<2>(code, code_at, |at: &[u8]| at[0] == 0x0f && at[1] & 0xf0 == 0x80)
}

/// Where such an instruction is, and what its last four bytes point to, from the next one on.
fn relative<const BEFORE: usize>(
    code: &[u8],
    code_at: u64,
    is_meant: impl Fn(&[u8]) -> bool,
) -> impl Iterator<Item = (u64, u64)> {
    let length = BEFORE + size_of::<i32>();
    let instructions = code.windows(length).zip(code_at..).filter(move |(at, _)| is_meant(at));
    instructions.filter_map(move |(bytes, address)| {
        let distance = i32::from_le_bytes(bytes[BEFORE..].try_into().ok()?);
        let target = (address + length as u64).checked_add_signed(distance.into())?;
        Some((address, target))
    })
}

/// The texts that are paths of source files, by their addresses.
fn files_in(texts: &[u8], starts_at: u64) -> Vec<(u64, &str)> {
    let mut at = starts_at;
    let mut files = Vec::new();
    for text in texts.split(|&byte| byte == 0) {
        if let Some(file) = str::from_utf8(text).ok().and_then(with_folder) {
            files.push((at, file));
        }
        at += text.len() as u64 + 1;
    }
    files
}

/// The last two parts of a source file's path; None if it is none, or has no folder.
fn with_folder(path: &str) -> Option<&str> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_-+./".contains(&byte);
    let is_source = ENDINGS.iter().any(|ending| path.ends_with(ending));
    if !is_source || !path.bytes().all(is_part) {
        return None;
    }
    let (folders, _) = path.rsplit_once('/')?;
    Some(&path[folders.rfind('/').map_or(0, |at| at + 1)..])
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::hint::black_box;

    use object::ReadCache;

    use super::*;

    #[test]
    fn a_source_file_is_known_by_its_folder_and_its_ending() {
        assert_eq!(with_folder("./storage/innobase/row/row0sel.cc"), Some("row/row0sel.cc"));
        assert_eq!(with_folder("sql/log.cc"), Some("sql/log.cc"));
        assert_eq!(with_folder("nbtinsert.c"), None);
        assert_eq!(with_folder("include/ut0lst.h"), None);
        assert_eq!(with_folder("cannot open sql/log.cc"), None);
    }

    #[test]
    fn instructions_point_relative_to_the_next_one() {
        // nop; lea rdi, [rip + 0x10]; je -6
        let code = [0x90, 0x48, 0x8d, 0x3d, 0x10, 0, 0, 0, 0x0f, 0x84, 0xfa, 0xff, 0xff, 0xff];
        assert_eq!(loads(&code, 0x1000).collect::<Vec<_>>(), [(0x1001, 0x1018)]);
        assert_eq!(branches(&code, 0x1000).collect::<Vec<_>>(), [(0x1008, 0x1008)]);
    }

    #[test]
    fn paths_keep_their_addresses() {
        let texts = b"nothing\0a/b/one.cc\0\0b/two.c\0rest";
        assert_eq!(files_in(texts, 0x100), [(0x108, "b/one.cc"), (0x114, "b/two.c")]);
    }

    #[inline(never)]
    fn mentioning() -> *const u8 {
        black_box(&raw const b"\0planted/mention.c\0"[1])
    }

    #[test]
    fn code_mentions_the_file_it_comes_from() {
        assert!(!mentioning().is_null());
        let parts = ReadCache::new(File::open("/proc/self/exe").unwrap());
        let elf = ElfFile64::<Endianness, _>::parse(&parts).unwrap();
        let found = mentions(&elf, |address| Some(address..address));
        let is_planted = |its: &Mention| &*its.file == "planted/mention.c";
        assert_eq!(found.iter().any(is_planted), cfg!(target_arch = "x86_64"), "{found:?}");
    }
}
