"""Keeps passwords out of run folders: everything that is recorded passes through here first."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from dbdyno.model.plan import Plan
from dbdyno.model.record import RunRecord
from dbdyno.model.secrets import MASK, SECRET_NAME, names_secret

TARGET = "--target"
# As in libpq, everything before the @ is the login, unless there is a / before it.
_IN_URL = re.compile(r"(?P<before>://[^/@:\s]*:)[^/]*(?=@)")
_NAME = rf"(?P<before>{SECRET_NAME}\s*=\s*)"
# Of servers, also those of extensions. A command may contain a secret in any form.
_SECRET_SETTING = re.compile(
    r"(?<![a-z])(?:password|pwd|secret|token|auth|command)$", re.IGNORECASE
)
# Where a value ends, by the beginning of the text that contains it.
_VALUES = {
    "odbc:": r"(?:\{(?:[^}]|\}\})*\}|[^;]*)",
    "--": ".*",
    "": r"(?:'(?:[^'\\]|\\.)*'|(?:[^\s\\]|\\.)*)",
}
_PARAMETERS = re.compile(r"(?:[?&][a-z_-]+=[^&]*)*")
_VALUE_IN_QUERY = "[^&]*"


def without_password(target: str) -> str:
    """Mask the password in a target's URL or connection string."""
    masked = _IN_URL.sub(rf"\g<before>{MASK}", target)
    value = _VALUE_IN_QUERY
    if "://" not in target:
        value = next(one for begin, one in _VALUES.items() if target.lower().startswith(begin))
    return re.sub(_NAME + value, rf"\g<before>{MASK}", masked, flags=re.IGNORECASE | re.DOTALL)


def record_to_keep(record: RunRecord) -> RunRecord:
    """Return the record as it is written to the folder.

    In the command, the target is replaced by its normalized URL, which never contained the
    password, unless it is that URL with parameters whose names can be read: this is safer than
    guessing how the URL that was typed is parsed.
    """
    target = without_password(record.target)
    before = [None, *record.command]
    command = [
        without_password(target if last == TARGET and not _extends(target, argument) else argument)
        for last, argument in zip(before, record.command, strict=False)
    ]
    return msgspec.structs.replace(record, target=target, command=command)


def _extends(target: str, argument: str) -> bool:
    rest = argument.removeprefix(target)
    return argument.startswith(target) and _PARAMETERS.fullmatch(rest) is not None


def plan_to_keep(plan: Plan) -> dict[str, Any]:
    """Return the plan as it is written to the folder: complete, but for passwords.

    Those of scripts are known by the names of their variables and options.
    """
    kept: dict[str, Any] = msgspec.to_builtins(plan)
    del kept["endpoint"]["password"]
    _mask_named(kept["variables"])
    if kept["lua"] is not None:
        _mask_named(kept["lua"]["arguments"])
    return kept


def _mask_named(values: dict[str, Any]) -> None:
    for name in filter(names_secret, values):
        values[name] = MASK


def server_to_keep(server: Mapping[str, Any]) -> dict[str, Any]:
    """Return a server's description as it is written to the folder: without settings' secrets.

    Of a standby, for example, ``primary_conninfo`` has the password for its primary.
    """
    kept = dict(server)
    for listing in ("settings", "chosen"):
        if listing in kept:
            kept[listing] = [dict(setting) for setting in kept[listing]]
            for setting in filter(lambda setting: setting["value"], kept[listing]):
                is_secret = _SECRET_SETTING.search(setting["name"])
                setting["value"] = MASK if is_secret else without_password(setting["value"])
    return kept
