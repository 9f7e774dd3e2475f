"""Plain values read as a structure, without those of another kind than it declares.

What a server tells is recorded by one version of dbdyno and read by another, and one odd value in
it must not cost the rest.
"""

from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Any, Generic, NamedTuple, TypeVar, get_args

import msgspec

Structure = TypeVar("Structure", bound=msgspec.Struct)


class Fitted(NamedTuple, Generic[Structure]):
    """A structure, and the names of its fields that do not have all that was told."""

    value: Structure
    incomplete: list[str]


def fit(plain: Mapping[str, Any], kind: type[Structure]) -> Fitted[Structure]:
    """Return the structure without the elements of its lists and mappings that do not fit.

    Another field that does not fit has its default. Raises :class:`msgspec.ValidationError` if it
    has none.
    """
    kept, incomplete = dict(plain), []
    for field in msgspec.structs.fields(kind):
        if field.name not in plain:
            continue
        value = plain[field.name]
        elements = () if isinstance(field.type, UnionType) else get_args(field.type)
        if isinstance(value, Mapping) and elements:
            kept[field.name] = {
                name: one
                for name, one in value.items()
                if _fits(name, elements[0]) and _fits(one, elements[1])
            }
        elif isinstance(value, Sequence) and not isinstance(value, str | bytes) and elements:
            kept[field.name] = [one for one in value if _fits(one, elements[0])]
        elif field.required or _fits(value, field.type):
            continue
        else:
            del kept[field.name]
            incomplete.append(field.name)
            continue
        if len(kept[field.name]) < len(value):
            incomplete.append(field.name)
    return Fitted(msgspec.convert(kept, kind), incomplete)


def _fits(value: object, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except (msgspec.ValidationError, OverflowError):
        return False
    return True
