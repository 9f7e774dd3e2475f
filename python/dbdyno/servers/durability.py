"""``--durability``: one promise, kept by each kind of server with its own settings.

For servers of our own; what another server promises is not ours to change.
"""

from collections.abc import Iterator

from dbdyno.servers.settings import Setting
from dbdyno.targets.durability import MEANING, SETTINGS, Promise, settings_of
from dbdyno.targets.registry import find_target


def promised_settings(protocol: str, promise: Promise | None) -> list[Setting]:
    """What makes a server keep the promise; nothing when none was asked for."""
    if promise is None:
        return []
    told = f"durability {promise}"
    return [Setting(name, value, told) for name, value in settings_of(protocol, promise).items()]


def told_side_by_side(promise: Promise) -> list[str]:
    """The promise, and how each kind of server is made to keep it."""
    return [f"durability {promise}: {MEANING[promise]}", *_lines(promise)]


def _lines(promise: Promise) -> Iterator[str]:
    titles = {protocol: find_target(protocol).title for protocol in SETTINGS}
    width = max(map(len, titles.values()))
    for protocol, title in titles.items():
        settings = settings_of(protocol, promise)
        told = ", ".join(f"{name}={value}" for name, value in settings.items())
        yield f"  {title:{width}}  {told}"
