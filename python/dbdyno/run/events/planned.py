"""Events as ``--event`` says them: at which instant of the measurement what happens.

``30s:kill-server``, ``30s:restart``, ``30s:promote:1``, ``30s:cut:2s`` or ``30s:exec:COMMAND``.
Text in, values out.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from dbdyno.run.options.grammar import span_ns, span_text

Action: TypeAlias = Literal["kill-server", "restart", "promote", "cut", "exec"]
FORMS = "TIME:kill-server, TIME:restart, TIME:promote:N, TIME:cut:TIME or TIME:exec:COMMAND"


@dataclass(frozen=True, kw_only=True)
class PlannedEvent:
    """One event; ``at_ns`` counts from the end of the warm-up."""

    at_ns: int
    action: Action
    cut_ns: int = 0
    """For how long a ``cut`` lasts."""
    standby: int = 0
    """The number of the standby that ``promote`` is about, from 1."""
    command: str = ""
    """What ``exec`` has a shell execute."""

    @property
    def name(self) -> str:
        """It without its instant: ``cut:2s``."""
        details = {"cut": span_text(self.cut_ns), "promote": str(self.standby)}
        detail = details.get(self.action, self.command)
        return f"{self.action}:{detail}" if detail else self.action

    def __str__(self) -> str:
        """Return it as it can be written."""
        return f"{span_text(self.at_ns)}:{self.name}"


def planned_event(text: str) -> PlannedEvent:
    """Parse one event: ``30s:kill-server``, ``30s:cut:2s``, ``30s:exec:pg_ctl promote``."""
    at, _, what = text.partition(":")
    action, _, detail = what.partition(":")
    if action not in get_args(Action) or bool(detail.strip()) != (
        action in {"promote", "cut", "exec"}
    ):
        raise ValueError(f'"{text}" is not an event: write {FORMS}')
    at_ns = span_ns(at)
    if action == "exec":
        return PlannedEvent(at_ns=at_ns, action="exec", command=detail)
    if action == "cut":
        cut_ns = span_ns(detail)
        if not cut_ns:
            raise ValueError(f'"{text}": a cut lasts longer than 0')
        return PlannedEvent(at_ns=at_ns, action="cut", cut_ns=cut_ns)
    if action == "promote":
        if not detail.isdecimal() or not int(detail):
            raise ValueError(f'"{text}": promote:1 promotes the first standby, and so on')
        return PlannedEvent(at_ns=at_ns, action="promote", standby=int(detail))
    return PlannedEvent(at_ns=at_ns, action="kill-server" if action == "kill-server" else "restart")
