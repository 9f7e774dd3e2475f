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
    """Facts, then the settings as tables."""
    described = dict(run.as_recorded.server)
    lists = {name: described.pop(name, ()) for name in _TABLES}
    pairs = readable_pairs(described)
    facts: list[Block] = [Facts(pairs=pairs)] if pairs else []
    return [*facts, *(_table(_TABLES[name], rows) for name, rows in lists.items() if rows)]


def _table(caption: str, settings: Sequence[Mapping[str, Any]]) -> Table:
    """One column for each property of the settings, with the unit beside the value."""
    rows = [_with_unit(setting) for setting in settings]
    names = list(rows[0])
    return Table(
        caption=caption,
        columns=[name.capitalize() for name in names],
        rows=[[_written(setting.get(name)) for name in names] for setting in rows],
        code=frozenset({0, 1}),
    )


def _with_unit(setting: Mapping[str, Any]) -> dict[str, Any]:
    row = dict(setting)
    unit = row.pop("unit", None)
    return {**row, "value": setting_text(str(row["value"]), unit)} if unit else row


def _written(value: object) -> str:
    return NOTHING if value is None or value == "" else str(value)


SECTION = Section(id="server", title="Server", build=build)
