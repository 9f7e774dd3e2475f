"""Made-up processes: the lines that the kernel tells of them."""


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
    """``/proc/PID/stat``: times in ticks; ``buried`` is user time of dead children.

    ``faults`` are minor, those of dead children, major, those of dead children.
    """
    some = " ".join(map(str, faults))
    return (
        f"1 ({name}) {state} {parent} 0 0 0 0 {flags} {some} "
        f"{user} {system} {buried} 0 20 0 {threads} 0 {started} 0 9"
    )


def status(voluntary: int, involuntary: int, *, private_kb: int = 0, shared_kb: int = 0) -> str:
    """``/proc/PID/status``, as far as it matters."""
    return (
        f"Name:\tx\nRssAnon:\t{private_kb} kB\nRssFile:\t7 kB\nRssShmem:\t{shared_kb} kB\n"
        f"voluntary_ctxt_switches:\t{voluntary}\nnonvoluntary_ctxt_switches:\t{involuntary}\n"
    )


def io(read: int) -> str:
    """``/proc/PID/io``."""
    return f"rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: {read}\nwrite_bytes: 5\n"
