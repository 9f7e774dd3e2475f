"""Verdicts as JUnit XML, the form in which systems for continuous integration read test results.

Each verdict is a test case: passed, failed, or skipped where the data cannot tell.
"""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias
from xml.etree import ElementTree as Xml

from msgspec import Struct

from dbdyno.formatting import plain
from dbdyno.layout import visible

Outcome: TypeAlias = Literal["passed", "failed", "skipped"]


class Case(Struct, frozen=True, kw_only=True):
    """One verdict; ``message`` says why it failed or was skipped, ``seconds`` what it took."""

    name: str
    outcome: Outcome
    message: str = ""
    seconds: float = 0.0


def render_junit(command: str, suite: str, cases: Sequence[Case]) -> str:
    """The cases of one suite, whose names begin with the command that judged them."""
    numbers: dict[str, Any] = {
        "tests": str(len(cases)),
        "failures": str(sum(case.outcome == "failed" for case in cases)),
        "errors": "0",
        "time": _seconds(sum(case.seconds for case in cases)),
    }
    skipped = str(sum(case.outcome == "skipped" for case in cases))
    root = Xml.Element("testsuites", name="dbdyno", **numbers)
    inner = Xml.SubElement(root, "testsuite", name=_text(suite), skipped=skipped, **numbers)
    for case in cases:
        element = Xml.SubElement(
            inner,
            "testcase",
            classname=f"dbdyno.{command}",
            name=_text(case.name),
            time=_seconds(case.seconds),
        )
        message = _text(case.message)
        if case.outcome == "failed":
            failure = Xml.SubElement(element, "failure", message=message, type="verdict")
            failure.text = message
        elif case.outcome == "skipped":
            Xml.SubElement(element, "skipped", message=message)
    Xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, "unicode") + "\n"


def _seconds(value: float) -> str:
    return f"{value:.3f}"


def _text(text: str) -> str:
    """One line without the control characters that XML cannot contain."""
    return " ".join(visible(plain(text)).split())
