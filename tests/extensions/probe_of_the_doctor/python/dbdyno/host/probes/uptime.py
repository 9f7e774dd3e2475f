"""Whether the host has just started."""

from pathlib import Path

from dbdyno.host.doctor import ProbeResult, probe


@probe("uptime", meaning="A host that has just started is busy with services that start late.")
def uptime(root: Path) -> ProbeResult:
    """Read how long it has been up."""
    seconds = float((root / "proc/uptime").read_text(encoding="utf-8").split()[0])
    return ProbeResult(level="ok", found=f"up for {seconds:.0f} s")
