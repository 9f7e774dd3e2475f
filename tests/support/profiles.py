"""Made-up profiles of a server's CPU time."""

from collections.abc import Mapping

from dbdyno.model.record import ProcessorPart, ServerProfile

Functions = Mapping[tuple[str, str], float]
"""Microseconds per transaction, by subsystem and function."""


def profile(functions: Functions, processes: str = "client") -> ServerProfile:
    """A profile of one kind of processes."""
    whole = sum(functions.values())

    def part(us: float, subsystem: str = "", function: str = "") -> ProcessorPart:
        return ProcessorPart(
            processes=processes,
            subsystem=subsystem,
            function=function,
            file="postgres" if function else "",
            us=us,
            low=us * 0.9,
            high=us * 1.1,
            share=us / whole,
        )

    subsystems = dict.fromkeys(subsystem for subsystem, _ in functions)
    together = {
        one: sum(us for (of, _), us in functions.items() if of == one) for one in subsystems
    }
    return ServerProfile(
        sampled_s=19.5,
        counted_s=20.0,
        processes=[part(whole)],
        subsystems=sorted((part(us, one) for one, us in together.items()), key=_size),
        functions=sorted(
            (part(us, subsystem, name) for (subsystem, name), us in functions.items()), key=_size
        ),
    )


def _size(part: ProcessorPart) -> float:
    return -part.us
