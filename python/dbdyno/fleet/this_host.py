"""Which agents run on this host, and by which numbers their processes are known here."""

from pathlib import Path

from dbdyno.model.frame.parts import Greeting


def is_here(greeting: Greeting) -> bool:
    """Whether an agent runs on this host, perhaps in a container."""
    own_boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return greeting.boot == own_boot


def pid_here(greeting: Greeting) -> int | None:
    """Return the number of an agent's process here; None if it is elsewhere or in a container."""
    has_our_numbers = greeting.pid_namespace == str(Path("/proc/self/ns/pid").readlink())
    return greeting.pid if has_our_numbers and is_here(greeting) else None
