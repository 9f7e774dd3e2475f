"""CPU steal: the host gave the processors to somebody else.

Looks for: time in which this virtual machine was ready to run and its host ran another.

Arithmetic: stolen over (busy + stolen) is how much longer work on a processor took. It weighs
as much of the clients' time as was spent on processors or in line for them (the budget); where
that is not known, as the processors were in use.

Source: the kernel's account of steal time, /proc/stat in proc(5).

Wrong when: the host does not tell (many do not): steal is then hidden in the server's own time
and this rule sees nothing.
"""

from dbdyno.explain.case import Case
from dbdyno.explain.processors import ProcessorTime, processor_time
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found
from dbdyno.explain.words import gain_words
from dbdyno.words import percent


def look(case: Case) -> Outcome:
    """The slowdown of processor work, by the part of such work."""
    used = processor_time(case)
    slower = used.stolen / max(used.in_use, 1e-9)
    share = slower * _processor_bound(case, used)
    if share < NOTICED:
        return NotFound(f"{percent(used.stolen)} of processor time was stolen")
    return found(
        f"The host withheld the processors for {percent(slower)} of the time in which they "
        "were wanted.",
        share=share,
        share_of="client time",
        certainty="likely",
        evidence={"stolen_share": used.stolen, "of_wanted": slower},
        seen=[f"{percent(used.stolen)} of {used.cores:.0f} processors was stolen."],
        why="Work takes longer by that much, at times that no setting of the server explains.",
        advice=["Measure on a machine, or a class of it, whose processors are its own."],
        gain=gain_words(case, share),
        refute="Run it at another hour or host: steal and loss must go together.",
    )


def _processor_bound(case: Case, used: ProcessorTime) -> float:
    """The share of the clients' time that was spent on processors or in line for them."""
    if case.budget is None:
        return used.in_use
    return case.budget.share("cpu") + case.budget.share("cpu_queue")


RULE = Rule(
    id="cpu_steal",
    title="CPU steal: the host withholds the processors",
    look=look,
    covers=frozenset({"cpu_server", "too_many_connections"}),
    accounts_for=frozenset({"cpu", "cpu_queue"}),
)
