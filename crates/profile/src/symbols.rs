//! Which function of an object file an address belongs to.
//!
//! Names come from the symbol tables of the file and of its debug file. A stripped binary exports
//! its global functions only; `.eh_frame`, which unwinding needs, delimits the static ones too.
//! The linker keeps the functions of one source file together, so that a function without a name
//! is called after its nearest named neighbour.

use std::fmt::Write;
use std::fs::File;
use std::path::{Path, PathBuf};

use gimli::{BaseAddresses, EhFrame, LittleEndian, UnwindSection};
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, ReadCache, ReadRef, SymbolKind};

/// Where debug files are installed, by build id.
const DEBUG_FILES: &str = "/usr/lib/debug/.build-id";

/// The functions of one object file.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    /// By their first address, each once.
    functions: Vec<Known>,
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
    /// It has none here; its nearest neighbour's.
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
        Self { functions, segments: segments.collect() }
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
        let next = self.functions.partition_point(|known| known.starts_at <= address);
        let index = next.checked_sub(1)?;
        let found = &self.functions[index];
        match &found.name {
            Some(name) if found.length == 0 || address - found.starts_at < found.length => {
                Some(Named::Exact(readable(name)))
            }
            _ => self.neighbour(index, address).map(|name| Named::Near(readable(name))),
        }
    }

    /// The nearest function that has a name, on either side.
    fn neighbour(&self, index: usize, address: u64) -> Option<&str> {
        let distance = |known: &&Known| known.starts_at.abs_diff(address);
        let is_named = |known: &&Known| known.name.is_some();
        let before = self.functions[..=index].iter().rev().find(is_named);
        let after = self.functions[index + 1..].iter().find(is_named);
        let nearest = before.into_iter().chain(after).min_by_key(distance)?;
        nearest.name.as_deref()
    }
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
            segments: vec![Segment { offset: 0x100, length: 0x100, address: 0x1000 }],
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
    fn an_address_outside_of_all_segments_has_no_name() {
        let symbols = with(vec![known(0x1000, 0, Some("a"))]);
        assert_eq!(symbols.at_offset(0xff), None);
        assert_eq!(symbols.at_offset(0x200), None);
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
