"""Plain values read as a structure, without those of another kind than it declares.

What a server tells is recorded by one version of dbdyno and read by another, and one odd value in
it must not cost the rest.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, get_args

import msgspec

Structure = TypeVar("Structure", bound=msgspec.Struct)


class Fitted(NamedTuple):
    """A structure, and the names of its fields whose elements are not all in it."""

    value: Any
    incomplete: list[str]


def fit(plain: Mapping[str, Any], kind: type[Structure]) -> Fitted:
    """Return the structure without the elements of its lists and mappings that do not fit.

    Raises :class:`msgspec.ValidationError` if the other fields do not fit either.
    """
    kept, incomplete = dict(plain), []
    for field in msgspec.structs.fields(kind):
        elements, value = get_args(field.type), plain.get(field.name)
        if isinstance(value, Mapping) and elements:
            kept[field.name] = {
                name: one
                for name, one in value.items()
                if _fits(name, elements[0]) and _fits(one, elements[1])
            }
        elif isinstance(value, Sequence) and not isinstance(value, str) and elements:
            kept[field.name] = [one for one in value if _fits(one, elements[0])]
        else:
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
