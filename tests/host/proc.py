"""Made-up processes: the kernel's files about them."""


def stat(
    parent: int,
    user: int = 0,
    system: int = 0,
    *,
    buried: int = 0,
    name: str = "x",
    state: str = "S",
    threads: int = 1,
    started: int = 77,
    flags: int = 0,
    faults: tuple[int, int, int, int] = (0, 0, 0, 0),
) -> str:
    """Return ``/proc/PID/stat`` with times in ticks; ``buried`` is user time of exited children.

    ``faults`` are minor faults, those of exited children, major faults, those of exited children.
    """
    some = " ".join(map(str, faults))
    return (
        f"1 ({name}) {state} {parent} 0 0 0 0 {flags} {some} "
        f"{user} {system} {buried} 0 20 0 {threads} 0 {started} 0 9"
    )


def status(voluntary: int, involuntary: int, *, private_kb: int = 0, shared_kb: int = 0) -> str:
    """Return the relevant part of ``/proc/PID/status``."""
    return (
        f"Name:\tx\nRssAnon:\t{private_kb} kB\nRssFile:\t7 kB\nRssShmem:\t{shared_kb} kB\n"
        f"voluntary_ctxt_switches:\t{voluntary}\nnonvoluntary_ctxt_switches:\t{involuntary}\n"
    )


def io(read: int) -> str:
    """Return ``/proc/PID/io``."""
    return f"rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: {read}\nwrite_bytes: 5\n"
