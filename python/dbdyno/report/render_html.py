"""A page as one HTML file that needs no network: style, script and data are inside.

Everything that came from a server, a script or a file is escaped by the template; the data of
charts is in JSON script elements in which no character can end a script. A policy inside the page
forbids the browser to load or to run anything else.
"""

import base64
import hashlib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from markupsafe import Markup

from dbdyno.errors import DbdynoError
from dbdyno.formatting import THIN_SPACE
from dbdyno.layout import STEERING
from dbdyno.report.charts.time_chart import time_chart
from dbdyno.report.content import Figure, Page

if TYPE_CHECKING:
    import jinja2

_HERE = Path(__file__).parent
_STATIC = _HERE / "static"
_SHEETS = ("report.css", "curves.css", "page.css")
_CODE = re.compile(r"`([^`]+)`")
_COMMAND = "dbdyno "
_PERCENT = re.compile(r"(?<=\d) (?=%)")
_JSON_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&'\u2028\u2029"}

# Controls, and the marks and overrides of writing direction, with which a name could make the text
# around it read differently. As str.translate this took fifteen times as long.
_STEERING = re.compile(rf"[\x00-\x08\x0b-\x1f{STEERING}]")


def render_html(page: Page, links: Sequence[tuple[str, str]] = ()) -> str:
    """Render the whole page; it has the script if one of its charts has values to point at.

    ``links`` are addresses with their names, above the title: a page in a file has none.
    """
    blocks = (block for section in page.sections for block in section.blocks)
    script = (
        bundle("report") if any(isinstance(one, Figure) and one.chart for one in blocks) else ""
    )
    script_hash = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    template = environment().get_template("page.html")
    return rendered(
        template, page=page, script=Markup(script), script_hash=script_hash, links=links
    )


def rendered(template: "jinja2.Template", **values: Any) -> str:
    """The template with these values, without anything that could steer what surrounds it."""
    return _STEERING.sub(" ", template.render(**values))


@cache
def bundle(name: str) -> str:
    """A script of pages, which is built and not kept with the sources."""
    path = _STATIC / f"{name}.js"
    try:
        return path.read_text(encoding="utf-8").strip()
    except FileNotFoundError as error:
        raise DbdynoError(
            "not_built",
            f"{path} is missing: the scripts of pages were not built.",
            "Run: make build (or in frontend/: npm ci && npm run build)",
        ) from error


def safe_json(value: object) -> Markup:
    """JSON that is safe inside a script element, whatever strings it contains."""
    return Markup(msgspec.json.encode(value).decode().translate(_JSON_ESCAPES))


@cache
def environment(*folders: Path) -> "jinja2.Environment":
    """The templates of this folder and of others, with the page's style and with autoescaping."""
    import jinja2  # noqa: PLC0415 - not during a load, whose result needs no page

    folder = _HERE / "templates"
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader([*folders, folder]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    known: dict[str, Any] = {
        "phrases": phrases,
        "safe_json": safe_json,
        "style": Markup(style()),
        "time_chart": time_chart,
    }
    made.globals.update(known)
    return made


def style() -> str:
    """The style sheet of every page."""
    return "".join((_HERE / "templates" / name).read_text("utf-8") for name in _SHEETS)


def phrases(text: str) -> list[tuple[str, bool]]:
    """The parts of a sentence in order, each with whether it is code.

    Findings mark code with backticks; a text that begins as a command is code as a whole. A number
    stays on one line with its percent sign.
    """
    if text.startswith(_COMMAND) and "`" not in text:
        return [(text, True)]
    parts = _CODE.split(text)  # text between backticks is at the odd indexes
    return [
        (part, True) if place % 2 else (_PERCENT.sub(THIN_SPACE, part), False)
        for place, part in enumerate(parts)
        if part
    ]
