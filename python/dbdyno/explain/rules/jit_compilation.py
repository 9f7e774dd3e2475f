"""The server compiles expressions to machine code, for statements that are over sooner.

Looks for: CPU time in the compiler, or in code that it made, in backends that serve the load.

Arithmetic: samples of the profile in the compiler's library or in memory without a file, and their
part of what memory and libraries took, over all samples of these backends; that part of the
clients' time on a CPU, and, of their time waiting for one, the part of the CPU time in use.

Source: PostgreSQL manual, *When to JIT?*

Wrong when: statements are long, and compiled code saves more than its compilation costs.
"""

from typing import ClassVar

from dbdyno.explain.resources.server_work import WorkClaim, claim_of, with_services, work_on
from dbdyno.explain.rule import NotFound, Rule
from dbdyno.model.run import Run


class JitCompilation(WorkClaim, frozen=True, kw_only=True):
    """Compilation, and the compiled code."""

    what: ClassVar[str] = "JIT compilation"
    why: ClassVar[str] = (
        "Compilation takes tens of milliseconds, once for each execution and backend: "
        "only statements that run for longer gain from it."
    )
    advice: ClassVar[list[str]] = [
        ("Set jit = off, or raise jit_above_cost above the estimated cost of these statements.")
    ]
    refute: ClassVar[str] = "Run again with jit = off: throughput must rise."


def look(run: Run) -> WorkClaim | NotFound:
    """By the profile alone."""
    compilation = work_on("compilation")
    served = with_services(run, compilation)
    return claim_of(run, JitCompilation, compilation, served=served)


RULE = Rule(
    id="jit_compilation",
    title="JIT compilation of short statements",
    look=look,
    accounts_for=frozenset({"cpu", "cpu_queue"}),
)
