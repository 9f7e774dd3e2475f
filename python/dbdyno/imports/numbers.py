"""The numbers of other tools' texts, with the separators that a page or a person put into them.

A tool prints a number with a fixed number of decimals. That tells a decimal comma from a comma
between thousands. Where it does not, both readings are returned: another figure decides.
"""

import re

NUMBER = r"[-+]?\d[\d.,'\u00a0 ]*(?:[eE][-+]?\d+)?|[-+]?(?i:nan|inf)"
"""What looks like a number; what it is, the functions below decide."""
_GROUPED = re.compile(r"\d{1,3}([.,' ])\d{3}(?:\1\d{3})*")
_PLAIN = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_COMMA = ","


def count_of(text: str) -> int | None:
    """A whole number; None if it is none."""
    text = text.strip()
    if text.isdecimal():
        return int(text)
    return int(re.sub(r"[.,' ]", "", text)) if _GROUPED.fullmatch(text) else None


def readings_of(text: str, decimals: int) -> tuple[float, ...]:
    """What a number may mean that its tool prints with so many decimals; nothing if it is none.

    With a point alone it is what it looks like.
    """
    text = text.strip()
    if _PLAIN.fullmatch(text):
        return (float(text),)
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    mark = next((one for one in reversed(digits) if one in ".,"), "")
    whole, _, fraction = digits.rpartition(mark) if mark else (digits, "", "")
    grouped = count_of(digits)
    found = []
    is_decimal = fraction.isdecimal() and (number := count_of(whole)) is not None
    if is_decimal and (len(fraction) == decimals or grouped is None or decimals > len(fraction)):
        found.append(sign * float(f"{number}.{fraction}"))
    if grouped is not None and (mark != _COMMA or len(fraction) != decimals):
        found.append(float(sign * grouped))
    return tuple(found)


def number_of(text: str, decimals: int) -> float | None:
    """The same if there is one reading; None if there are two or none."""
    found = readings_of(text, decimals)
    return found[0] if len(found) == 1 else None
