"""What the server was: version, durability, and every setting that is not the default."""

from collections.abc import Mapping, Sequence
from typing import Any

from dbdyno.report.content import Block, Facts, Section, Subject, Table
from dbdyno.report.facts import readable_pairs


def build(subject: Subject) -> Sequence[Block]:
    """Facts, then the settings as a table."""
    described = dict(subject.recording.server)
    settings = described.pop("settings", ())
    pairs = readable_pairs(described)
    blocks: list[Block] = [Facts(pairs=pairs)] if pairs else []
    if settings:
        blocks.append(_settings(settings))
    return blocks


def _settings(settings: Sequence[Mapping[str, Any]]) -> Table:
    return Table(
        caption="Settings that are not the server's default",
        columns=("Setting", "Value", "Unit", "Source"),
        rows=[
            tuple(str(setting.get(name, "")) for name in ("name", "value", "unit", "source"))
            for setting in settings
        ],
        code=frozenset({0, 1}),
    )


SECTION = Section(id="server", title="Server", order=90, build=build)
