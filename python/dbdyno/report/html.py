"""The report as one HTML file that needs no network: style, script and data are inside.

Everything that came from a server, a script or a file is escaped by the template; the data of
charts is in JSON script elements in which no character can end a script. A policy inside the page
forbids the browser to load or to run anything else.
"""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from markupsafe import Markup

from dbdyno import formatting
from dbdyno.errors import DbdynoError
from dbdyno.model.recording import Histograms, Recording, UnreadableTableError
from dbdyno.report import costs, verdict
from dbdyno.report.content import Block, Section, Subject, Text
from dbdyno.report.phrases import phrases
from dbdyno.report.registry import all_sections
from dbdyno.report.server_label import server_label
from dbdyno.report.time_chart import time_chart

if TYPE_CHECKING:
    import jinja2

_HERE = Path(__file__).parent
_BUNDLE = _HERE / "static" / "report.js"
_JSON_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&'\u2028\u2029"}

# Controls, and the marks and overrides of writing direction, with which a name could make the text
# around it read differently.
_STEERING = dict.fromkeys(
    [
        *(sign for sign in (*range(0x20), *range(0x7F, 0xA0)) if chr(sign) not in "\n\t"),
        *(0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)),
    ],
    " ",
)


def render_html(recording: Recording, histograms: Histograms) -> str:
    """Render the whole page."""
    script = bundle()
    subject = Subject(recording, histograms)
    sections = [(section, _built(section, subject)) for section in all_sections()]
    return rendered(
        "report.html",
        record=subject.record,
        plan=recording.plan,
        sections=[(section, blocks) for section, blocks in sections if blocks],
        style=style("report.css"),
        script=Markup(script),
        script_hash=_hash(script),
    )


def _built(section: Section, subject: Subject) -> Sequence[Block]:
    """Return a section's blocks; if a table that it needs is damaged, it says so instead."""
    try:
        return section.build(subject)
    except UnreadableTableError as error:
        return [Text(text=f"Not shown: {error}", note=True)]


@cache
def bundle() -> str:
    """The script that draws the charts, which is built and not kept with the sources."""
    try:
        return _BUNDLE.read_text(encoding="utf-8").strip()
    except FileNotFoundError as error:
        raise DbdynoError(
            "not_built",
            f"{_BUNDLE} is missing: the report's script was not built.",
            "Run: make build (or in frontend/: npm ci && npm run build)",
        ) from error


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def safe_json(value: object) -> Markup:
    """JSON that is safe inside a script element, whatever strings it contains."""
    return Markup(msgspec.json.encode(value).decode().translate(_JSON_ESCAPES))


def style(*names: str) -> Markup:
    """Style sheets of the pages, concatenated."""
    texts = ((_HERE / "templates" / name).read_text(encoding="utf-8") for name in names)
    return Markup("".join(texts))


def rendered(name: str, **values: object) -> str:
    """Render a template; no character of the page steers the direction or the end of its text."""
    return template(name).render(**values).translate(_STEERING)


@cache
def template(name: str) -> "jinja2.Template":
    """A template with autoescaping, with the formatting functions of pages."""
    import jinja2  # noqa: PLC0415 - not during a load, whose result needs no page

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    helpers: dict[str, Any] = {
        "formatting": formatting,
        "server_label": server_label,
        "verdict": verdict,
        "costs": costs,
        "phrases": phrases,
        "safe_json": safe_json,
        "time_chart": time_chart,
    }
    environment.globals.update(helpers)
    return environment.get_template(name)
