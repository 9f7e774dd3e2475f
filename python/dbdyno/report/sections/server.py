"""The server: version, durability, and every setting that is not the default."""

from collections.abc import Mapping, Sequence
from typing import Any

from dbdyno.formatting import NOTHING
from dbdyno.model.run import Run
from dbdyno.report.content import Block, Facts, Section, Table
from dbdyno.report.facts import readable_pairs, setting_text

_TABLES = {
    "chosen": "Settings chosen for this server, and why",
    "settings": "Settings that differ from the server's defaults",
}


def build(run: Run) -> Sequence[Block]:
    """Facts, then the settings as tables: one column for each property of the settings."""
    described = dict(run.as_recorded.server)
    lists = {caption: described.pop(name, ()) for name, caption in _TABLES.items()}
    pairs = readable_pairs(described)
    blocks: list[Block] = [Facts(pairs=pairs)] if pairs else []
    for caption, settings in lists.items():
        if rows := [_with_unit(setting) for setting in settings]:
            blocks.append(
                Table(
                    caption=caption,
                    columns=[name.capitalize() for name in rows[0]],
                    rows=[
                        [
                            NOTHING if (value := row.get(name)) in (None, "") else str(value)
                            for name in rows[0]
                        ]
                        for row in rows
                    ],
                    code=frozenset({0, 1}),
                )
            )
    return blocks


def _with_unit(setting: Mapping[str, Any]) -> dict[str, Any]:
    """A setting with its unit beside the value."""
    row = dict(setting)
    unit = row.pop("unit", None)
    return {**row, "value": setting_text(str(row["value"]), unit)} if unit else row


SECTION = Section(id="server", title="Server", build=build)
