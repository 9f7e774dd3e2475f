//! The kernel's functions, by address: `/proc/kallsyms`, which shows zeros to those without rights.

use std::collections::HashMap;
use std::fs;

/// The kernel's functions; empty if their addresses are hidden.
#[derive(Debug, Default)]
pub(crate) struct Kernel {
    functions: Vec<(u64, Box<str>)>,
}

impl Kernel {
    pub(crate) fn read() -> Self {
        Self::parse(&fs::read_to_string("/proc/kallsyms").unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let mut by_address = HashMap::new();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some(address), Some(kind), Some(name)) =
                (words.next(), words.next(), words.next())
            else {
                continue;
            };
            let Ok(address) = u64::from_str_radix(address, 16) else {
                continue;
            };
            if address != 0 && matches!(kind, "t" | "T" | "w" | "W") {
                by_address.entry(address).or_insert(name);
            }
        }
        let mut functions: Vec<_> =
            by_address.into_iter().map(|(address, name)| (address, name.into())).collect();
        functions.sort_unstable();
        Self { functions }
    }

    /// Whether the kernel shows its addresses.
    pub(crate) fn is_known(&self) -> bool {
        !self.functions.is_empty()
    }

    pub(crate) fn at(&self, address: u64) -> Option<&str> {
        let next = self.functions.partition_point(|(start, _)| *start <= address);
        next.checked_sub(1).map(|index| &*self.functions[index].1)
    }
}

/// How a task came into the kernel, by the functions of a sample from the innermost outwards.
///
/// It is the outermost function that is not the entry itself: `recvfrom` for a system call, else
/// the handler of a fault or of an interrupt (`exc_page_fault`). What reads or writes a socket as a
/// file, as OpenSSL does, receives or sends.
pub(crate) fn entry<'a>(functions: &[&'a str]) -> Option<&'a str> {
    let outermost = functions.iter().rev().find(|name| !is_gate(name))?;
    for (of_socket, call) in [("sock_read_iter", "recv"), ("sock_write_iter", "send")] {
        if functions.contains(&of_socket) {
            return Some(call);
        }
    }
    // A handler that only calls another leaves no frame of its own: `ksys_write` for `write`.
    let call = ["__x64_sys_", "__arm64_sys_", "__ia32_sys_", "__se_sys_", "__sys_", "ksys_"]
        .iter()
        .find_map(|prefix| outermost.strip_prefix(prefix));
    Some(call.unwrap_or(outermost))
}

/// Code through which every task passes on its way in.
fn is_gate(name: &str) -> bool {
    const GATES: [&str; 11] = [
        "entry_SYSCALL",
        "do_syscall_64",
        "x64_sys_call",
        "asm_",
        "el0",
        "invoke_syscall",
        "do_el0_svc",
        "ret_from_fork",
        "syscall_return_via_sysret",
        "__pi___x86_indirect_thunk",
        "__x86_indirect_thunk",
    ];
    GATES.iter().any(|gate| name.starts_with(gate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_named_by_the_function_before_it() {
        let text = "ffff10 T schedule\nffff20 t futex_wait\nffff18 D jiffies\n";
        let kernel = Kernel::parse(text);
        assert_eq!(kernel.at(0xff_ff1f), Some("schedule"));
        assert_eq!(kernel.at(0xff_ff20), Some("futex_wait"));
        assert_eq!(kernel.at(0xff_ff0f), None);
    }

    #[test]
    fn hidden_addresses_are_none() {
        assert!(!Kernel::parse("0000000000000000 T schedule\n").is_known());
    }

    #[test]
    fn a_system_call_is_the_way_in() {
        let inward = ["schedule", "sock_recvmsg", "__x64_sys_recvfrom", "do_syscall_64"];
        assert_eq!(entry(&inward), Some("recvfrom"));
        assert_eq!(entry(&["vfs_write", "ksys_write", "do_syscall_64"]), Some("write"));
        let on_socket = ["sock_sendmsg", "sock_write_iter", "vfs_write", "ksys_write"];
        assert_eq!(entry(&on_socket), Some("send"));
        let fault = ["clear_page", "exc_page_fault", "asm_exc_page_fault"];
        assert_eq!(entry(&fault), Some("exc_page_fault"));
        assert_eq!(entry(&["asm_exc_page_fault"]), None);
    }
}
