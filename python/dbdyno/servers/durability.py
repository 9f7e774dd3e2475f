"""``--durability``: one durability level, implemented by each kind of server with its settings.

Only for private servers; the durability of other servers is not changed.
"""

from collections.abc import Iterator

from dbdyno.servers.settings import Setting
from dbdyno.targets.durability import MEANING, SETTINGS, Promise, settings_of
from dbdyno.targets.registry import find_target


def promised_settings(protocol: str, promise: Promise | None) -> list[Setting]:
    """Return the settings for a durability level; none if none was requested."""
    if promise is None:
        return []
    source = f"durability {promise}"
    return [Setting(name, value, source) for name, value in settings_of(protocol, promise).items()]


def settings_by_level(promise: Promise) -> list[str]:
    """Describe the level, and the settings of each kind of server for it."""
    return [f"durability {promise}: {MEANING[promise]}", *_lines(promise)]


def _lines(promise: Promise) -> Iterator[str]:
    titles = {protocol: find_target(protocol).title for protocol in SETTINGS}
    width = max(map(len, titles.values()))
    for protocol, title in titles.items():
        settings = settings_of(protocol, promise)
        text = ", ".join(f"{name}={value}" for name, value in settings.items())
        yield f"  {title:{width}}  {text}"
