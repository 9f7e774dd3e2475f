"""The host, and what the engine reported about itself on it."""

from collections.abc import Sequence

from dbdyno.formatting import count, significant
from dbdyno.report.content import Block, Facts, Section, Subject
from dbdyno.report.facts import readable_pairs

_ENGINE_FACTS = ("io", "io_reason", "threads")


def build(subject: Subject) -> Sequence[Block]:
    """Host facts, then the engine's."""
    pairs = readable_pairs(subject.recording.host) + _engine(subject)
    return [Facts(pairs=pairs)] if pairs else []


def _engine(subject: Subject) -> list[tuple[str, str]]:
    hello = subject.recording.engine.get("hello", {})
    facts = {name: hello[name] for name in _ENGINE_FACTS if hello.get(name)}
    pairs = readable_pairs({"engine": facts})
    client = subject.record.client
    if client and client.cpu_us_per_transaction is not None:
        cost = f"{significant(client.cpu_us_per_transaction)}\u202fµs per transaction"
        pairs.append(("Engine CPU", cost))
    switches = subject.recording.tables["intervals"]["involuntary_switches"]
    if len(switches):
        pairs.append(("Engine involuntary context switches", count(int(switches.sum()))))
    return pairs


SECTION = Section(id="host", title="Host", order=80, build=build)
