"""Main memory, from ``/proc/meminfo``."""

from pathlib import Path

from dbdyno.host import files
from dbdyno.model.host import Memory


def describe(root: Path) -> Memory:
    """Describe the memory below ``root``."""
    fields = files.keyed(files.text(root / "proc/meminfo") or "")
    return Memory(
        total_bytes=_bytes(fields, "MemTotal"),
        available_bytes=_bytes(fields, "MemAvailable"),
        swap_total_bytes=_bytes(fields, "SwapTotal"),
        huge_pages_total=int(fields.get("HugePages_Total", "0")),
        transparent_huge_pages=_chosen(
            files.text(root / "sys/kernel/mm/transparent_hugepage/enabled")
        ),
    )


def _bytes(fields: dict[str, str], key: str) -> int:
    return int(fields.get(key, "0 kB").split()[0]) * 1024


def _chosen(content: str | None) -> str | None:
    """Return the word in brackets of ``always [madvise] never``."""
    _, bracket, rest = (content or "").partition("[")
    return rest.partition("]")[0] if bracket else None
