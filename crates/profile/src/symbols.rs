//! Which function of an object file an address belongs to.
//!
//! Names come from the symbol tables of the file and of its debug file. A stripped binary exports
//! its global functions only; `.eh_frame`, which unwinding needs, delimits the static ones too.
//! The linker keeps the functions of one source file together, so that a function without a name
//! is called after its nearest neighbour with a name; or, where a library hides all of its names,
//! after the source file that it or its nearest neighbour mentions.

use std::fmt::Write;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use gimli::{BaseAddresses, EhFrame, LittleEndian, UnwindSection};
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, ReadCache, ReadRef, SymbolKind};

use crate::source_files::{Mention, mentions};

/// How far a name is worth more than a source file that is mentioned nearer by.
const NEIGHBOURHOOD: u64 = 16 << 10;
/// The beginnings of names of templates of C++'s own library, which lie in any file that uses them.
const OF_ANY_FILE: [&str; 4] = ["_ZSt", "_ZNSt", "_ZNKSt", "_ZN9__gnu_cxx"];
/// Where debug files are installed, by build id.
const DEBUG_FILES: &str = "/usr/lib/debug/.build-id";

/// The functions of one object file.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    /// By their first address, each once.
    functions: Vec<Known>,
    /// By their address.
    mentions: Vec<Mention>,
    segments: Vec<Segment>,
}

#[derive(Debug)]
struct Known {
    starts_at: u64,
    /// Zero if it is not known: it ends where the next one starts.
    length: u64,
    /// As the table has it; None for a function that `.eh_frame` delimits and no table names.
    name: Option<Box<str>>,
}

#[derive(Debug)]
struct Segment {
    offset: u64,
    length: u64,
    address: u64,
}

/// What is known of the function at an address.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// Its own name.
    Exact(String),
    /// It has none here: its nearest neighbour's, or a source file with its folder.
    Near(String),
}

impl Symbols {
    /// Read an object file's functions; none at all if it is no ELF file of this machine's width.
    pub(crate) fn read(file: File) -> Self {
        // A debug file may be larger than memory: only what is needed is read.
        let parts = ReadCache::new(file);
        let Ok(elf) = ElfFile64::<Endianness, _>::parse(&parts) else {
            return Self::default();
        };
        let mut functions = Vec::new();
        let debug = debug_file(&elf).and_then(|path| File::open(path).ok()).map(ReadCache::new);
        if let Some(debug) = &debug
            && let Ok(debug) = ElfFile64::<Endianness, _>::parse(debug)
        {
            add_named(&debug, &mut functions);
        }
        add_named(&elf, &mut functions);
        add_delimited(&elf, &mut functions);
        // Of functions at one address, the first that has a name is kept.
        functions.sort_by_key(|known| (known.starts_at, known.name.is_none()));
        functions.dedup_by_key(|known| known.starts_at);
        let segments = elf.elf_program_headers().iter().filter_map(|header| {
            let endian = elf.endian();
            (header.p_type(endian) == object::elf::PT_LOAD).then(|| Segment {
                offset: header.p_offset(endian),
                length: header.p_filesz(endian),
                address: header.p_vaddr(endian),
            })
        });
        let segments = segments.collect();
        let mut symbols = Self { functions, mentions: Vec::new(), segments };
        symbols.mentions = mentions(&elf, |address| symbols.nameless(address));
        symbols
    }

    /// Name the function that contains a byte of the file; None if there is none.
    pub(crate) fn at_offset(&self, offset: u64) -> Option<Named> {
        let segment = self
            .segments
            .iter()
            .find(|its| offset.checked_sub(its.offset).is_some_and(|at| at < its.length))?;
        self.at_address(offset - segment.offset + segment.address)
    }

    fn at_address(&self, address: u64) -> Option<Named> {
        let index = self.index_at(address)?;
        let own = self.own_name(index, address).map(|name| Named::Exact(readable(name)));
        own.or_else(|| self.neighbour(index, address).map(Named::Near))
    }

    fn index_at(&self, address: u64) -> Option<usize> {
        self.functions.partition_point(|known| known.starts_at <= address).checked_sub(1)
    }

    fn own_name(&self, index: usize, address: u64) -> Option<&str> {
        let found = &self.functions[index];
        let is_within = found.length == 0 || address - found.starts_at < found.length;
        found.name.as_deref().filter(|_| is_within)
    }

    /// The extent of the function at an address, if it has no name: else that says more.
    fn nameless(&self, address: u64) -> Option<Range<u64>> {
        let found = &self.functions[self.index_at(address)?];
        let extent = found.starts_at..found.starts_at + found.length;
        (found.name.is_none() && extent.contains(&address)).then_some(extent)
    }

    /// The nearest function that has a name, or source file that is mentioned.
    fn neighbour(&self, index: usize, address: u64) -> Option<String> {
        let named = self.nearest_name(index, address, |name| !is_of_any_file(name));
        let mentioned = self.nearest_mention(address);
        match (named, mentioned) {
            (Some((far, _)), Some((near, file))) if far > NEIGHBOURHOOD.max(near) => {
                Some(file.to_owned())
            }
            (Some((_, name)), _) => Some(readable(name)),
            (None, Some((_, file))) => Some(file.to_owned()),
            (None, None) => {
                self.nearest_name(index, address, |_| true).map(|(_, name)| readable(name))
            }
        }
    }

    /// With its distance.
    fn nearest_name(
        &self,
        index: usize,
        address: u64,
        is_meant: impl Fn(&str) -> bool,
    ) -> Option<(u64, &str)> {
        let (before, after) = self.functions.split_at(index + 1);
        let mut before = before.iter().rev().filter_map(|its| its.named(address));
        let mut after = after.iter().filter_map(|its| its.named(address));
        let is_meant = |found: &(u64, &str)| is_meant(found.1);
        let nearest = [before.find(is_meant), after.find(is_meant)];
        nearest.into_iter().flatten().min_by_key(|&(distance, _)| distance)
    }

    /// With its distance.
    fn nearest_mention(&self, address: u64) -> Option<(u64, &str)> {
        let next = self.mentions.partition_point(|its| its.address <= address);
        let around = &self.mentions[next.saturating_sub(1)..self.mentions.len().min(next + 1)];
        let distances = around.iter().map(|its| (its.address.abs_diff(address), &*its.file));
        distances.min_by_key(|&(distance, _)| distance)
    }
}

impl Known {
    /// Its name, if it has one, and how far from its beginning an address is.
    fn named(&self, address: u64) -> Option<(u64, &str)> {
        Some((self.starts_at.abs_diff(address), self.name.as_deref()?))
    }
}

fn is_of_any_file(name: &str) -> bool {
    OF_ANY_FILE.iter().any(|beginning| name.starts_with(beginning))
}

fn add_named<'a>(elf: &ElfFile64<'a, Endianness, impl ReadRef<'a>>, functions: &mut Vec<Known>) {
    for symbol in elf.symbols().chain(elf.dynamic_symbols()) {
        if symbol.kind() != SymbolKind::Text || symbol.is_undefined() {
            continue;
        }
        let Ok(name) = symbol.name() else { continue };
        functions.push(Known {
            starts_at: symbol.address(),
            length: symbol.size(),
            name: Some(name.into()),
        });
    }
}

/// Add what `.eh_frame` delimits. One that cannot be read ends the list: the rest has its names.
fn add_delimited<'a>(
    elf: &ElfFile64<'a, Endianness, impl ReadRef<'a>>,
    functions: &mut Vec<Known>,
) {
    let Some(section) = elf.section_by_name(".eh_frame") else {
        return;
    };
    let Ok(data) = section.data() else { return };
    let frames = EhFrame::new(data, LittleEndian);
    let text = elf.section_by_name(".text").map_or(0, |text| text.address());
    let bases = BaseAddresses::default().set_eh_frame(section.address()).set_text(text);
    let mut entries = frames.entries(&bases);
    while let Ok(Some(entry)) = entries.next() {
        let gimli::CieOrFde::Fde(partial) = entry else {
            continue;
        };
        let Ok(description) = partial.parse(EhFrame::cie_from_offset) else {
            return;
        };
        functions.push(Known {
            starts_at: description.initial_address(),
            length: description.len(),
            name: None,
        });
    }
}

fn debug_file<'a>(elf: &ElfFile64<'a, Endianness, impl ReadRef<'a>>) -> Option<PathBuf> {
    let id = elf.build_id().ok()??;
    let mut hex = String::new();
    for byte in id {
        write!(hex, "{byte:02x}").ok()?;
    }
    let (folder, file) = hex.split_at_checked(2)?;
    Some(Path::new(DEBUG_FILES).join(folder).join(format!("{file}.debug")))
}

/// A C++ name as it was written, without its arguments; any other name as it is.
///
/// What a compiler adds to the parts of a function that it split (`.cold`, `.constprop.0`) and
/// what a linker adds (`@@VERSION`) is no part of the name.
fn readable(name: &str) -> String {
    let name = name.split('@').next().unwrap_or(name);
    let (base, _) = name.split_once('.').unwrap_or((name, ""));
    let base = if base.is_empty() { name } else { base };
    if !base.starts_with("_Z") {
        return base.to_owned();
    }
    let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
    cpp_demangle::Symbol::new(base)
        .ok()
        .and_then(|symbol| symbol.demangle_with_options(&options).ok())
        .unwrap_or_else(|| base.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(functions: Vec<Known>) -> Symbols {
        Symbols {
            functions,
            mentions: Vec::new(),
            segments: vec![Segment { offset: 0x100, length: 0x10_0000, address: 0x1000 }],
        }
    }

    fn known(starts_at: u64, length: u64, name: Option<&str>) -> Known {
        Known { starts_at, length, name: name.map(Into::into) }
    }

    #[test]
    fn an_address_is_named_by_its_function() {
        let symbols = with(vec![known(0x1000, 0x10, Some("a")), known(0x1010, 0x10, Some("b"))]);
        assert_eq!(symbols.at_offset(0x10f), Some(Named::Exact("a".into())));
        assert_eq!(symbols.at_offset(0x110), Some(Named::Exact("b".into())));
    }

    #[test]
    fn a_static_function_is_called_after_its_nearest_neighbour() {
        let symbols = with(vec![
            known(0x1000, 0x10, Some("a")),
            known(0x1010, 0x40, None),
            known(0x1050, 0x40, None),
            known(0x1090, 0x10, Some("b")),
        ]);
        assert_eq!(symbols.at_offset(0x118), Some(Named::Near("a".into())));
        assert_eq!(symbols.at_offset(0x170), Some(Named::Near("b".into())));
    }

    #[test]
    fn a_library_without_names_is_known_by_the_source_files_it_mentions() {
        let mut symbols = with(vec![
            known(0x1000, 0x10, Some("exported")),
            known(0x2000, 0x10, None),
            known(0x2_0000, 0x10, Some("_ZNSt6vectorIjE17_M_realloc_insertEv")),
            known(0x2_0010, 0x40, None),
        ]);
        symbols.mentions.push(Mention { address: 0x2_1000, file: "row/row0sel.cc".into() });
        let near = |address: u64| symbols.at_offset(address - 0x1000 + 0x100);
        assert_eq!(near(0x2000), Some(Named::Near("exported".into())));
        assert_eq!(near(0x2_0010), Some(Named::Near("row/row0sel.cc".into())));
        symbols.mentions.clear();
        assert_eq!(symbols.at_offset(0x1_f110), Some(Named::Near("exported".into())));
    }

    #[test]
    fn an_address_outside_of_all_segments_has_no_name() {
        let symbols = with(vec![known(0x1000, 0, Some("a"))]);
        assert_eq!(symbols.at_offset(0xff), None);
        assert_eq!(symbols.at_offset(0x10_0100), None);
    }

    #[test]
    fn names_are_as_they_were_written() {
        assert_eq!(readable("ExecInitNode"), "ExecInitNode");
        assert_eq!(readable("heap_page_prune.constprop.0"), "heap_page_prune");
        assert_eq!(readable("memcpy@@GLIBC_2.14"), "memcpy");
        assert_eq!(readable("_ZN4JOIN8optimizeEv"), "JOIN::optimize");
        assert_eq!(readable("_Znotcpp"), "_Znotcpp");
    }

    #[test]
    fn what_is_no_object_file_has_no_functions() {
        for path in ["Cargo.toml", "/dev/null"] {
            assert!(Symbols::read(File::open(path).unwrap()).functions.is_empty());
        }
    }

    #[test]
    fn what_delimits_functions_agrees_with_their_names() {
        let own = || File::open("/proc/self/exe").unwrap();
        let parts = ReadCache::new(own());
        let elf = ElfFile64::<Endianness, _>::parse(&parts).unwrap();
        let mut delimited = Vec::new();
        add_delimited(&elf, &mut delimited);
        let symbols = Symbols::read(own());
        let unnamed = symbols.functions.iter().filter(|known| known.name.is_none()).count();
        assert!(delimited.len() > 100, "{}", delimited.len());
        assert!(unnamed * 10 < delimited.len(), "{unnamed} of {}", delimited.len());
    }
}
