"""Writes reports to the requested files, and detects beforehand what would prevent it.

The ending of a file's name says in which form.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from stat import S_IMODE
from typing import Annotated, Literal, TypeAlias

from cyclopts import Parameter

from dbdyno.cli.folders import fill_folder
from dbdyno.cli.output import print_aside, print_result, refuse_several_forms, screen
from dbdyno.errors import DbdynoError
from dbdyno.formatting import counted
from dbdyno.home import home, home_folder
from dbdyno.report.content import Page
from dbdyno.report.render_csv import render_csv
from dbdyno.report.render_json import render_json
from dbdyno.report.render_markdown import render_markdown
from dbdyno.report.render_text import render_text
from dbdyno.report.text_charts.canvas import ASCII, UNICODE, Glyphs
from dbdyno.store.files import replace_bytes

Form: TypeAlias = Literal["html", "text", "markdown", "json"]
_FORMS: dict[str, Form] = {
    ".json": "json",
    ".markdown": "markdown",
    ".md": "markdown",
    ".txt": "text",
}
"""Forms by the endings of files; a file with any other ending is a page of HTML."""
FormOption: TypeAlias = Annotated[
    Form | None,
    Parameter(
        name="--format",
        help="Print the whole page in this form; default its text without what a page folds away.",
    ),
]
JunitFile: TypeAlias = Annotated[
    Path | None,
    Parameter(
        name="--junit",
        metavar="FILE",
        help="Write the verdicts to this file as JUnit XML, for continuous integration.",
    ),
]
ReportFile: TypeAlias = Annotated[Path | None, Parameter(name="--report", metavar="FILE")]
RUN_KEPT = "The run is kept; write its report to another file: dbdyno report last -o FILE"
ANOTHER_FILE = "Name a file in an existing folder: --report FILE. All runs are kept."


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PageParts:
    """Parts of a page that are written as files of their own."""

    charts: Annotated[Path | None, Parameter(metavar="DIR")] = None
    """Write every chart into this folder, as SVG and as PNG."""

    tables: Annotated[Path | None, Parameter(metavar="DIR")] = None
    """Write every table into this folder, as CSV."""

    @property
    def are_wanted(self) -> bool:
        """Whether there is a folder to write to."""
        return self.charts is not None or self.tables is not None

    def write(self, page: Page) -> None:
        """Write what is wanted; of the files in a folder, only dbdyno's own are replaced."""
        if self.charts is not None:
            from dbdyno.report.render_svg import (  # noqa: PLC0415 - as the page in HTML
                has_png,
                png_of,
                render_svg,
            )

            files: dict[str, bytes] = {}
            drawings = render_svg(page)
            for name, svg in drawings.items():
                files[name] = svg.encode()
                if has_png():
                    files[name.replace(".svg", ".png")] = png_of(svg)
            fill_folder(self.charts, "charts", files)
            print_aside(f"{counted(len(drawings), 'chart')}: {self.charts}")
            if not has_png():
                print_aside("as SVG only; PNG needs: pip install 'dbdyno[charts]'")
        if self.tables is not None:
            tables = {name: text.encode() for name, text in render_csv(page).items()}
            fill_folder(self.tables, "tables", tables)
            print_aside(f"{counted(len(tables), 'table')}: {self.tables}")


def refuse_page_beside_text(  # noqa: PLR0913 - one for each option
    command: str,
    *,
    output: Path | None,
    form: Form | None,
    parts: PageParts,
    text: bool,
    json: bool,
) -> None:
    """Raise an error if a page or a part of it is requested together with ``--text`` or ``--json``.

    A page goes together with its parts: these are files of their own.
    """
    asked_for = {
        "--output": output,
        "--format": form,
        "--charts": parts.charts,
        "--tables": parts.tables,
    }
    for flag, value in asked_for.items():
        refuse_several_forms(command, {flag: value is not None, "--text": text, "--json": json})


def rendered(page: Page, form: Form, screen: int | None = None, glyphs: Glyphs = UNICODE) -> str:
    """The page in one of its forms; as text for a screen of this width that has these glyphs."""
    if form == "text":
        return render_text(page, screen, glyphs=glyphs)
    if form == "markdown":
        return render_markdown(page)
    if form == "json":
        return render_json(page)
    from dbdyno.report.render_html import render_html  # noqa: PLC0415 - not for the other forms

    return render_html(page)


def print_page(page: Page, form: Form | None = None) -> None:
    """Print a page in one of its forms; by default as text, without what is behind a fold."""
    columns = screen(sys.stdout)
    if form is None:
        print_result(render_text(page, columns, is_brief=True).rstrip())
    else:
        print_result(rendered(page, form, columns, glyphs_of_locale()).rstrip())


def glyphs_of_locale() -> Glyphs:
    """What charts consist of where the user reads them; other text is UTF-8 in any locale."""
    names = (os.environ.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    locale = next(filter(None, names), "utf-8")
    return UNICODE if "utf" in locale.lower() else ASCII


def print_or_write(
    page: Page, path: Path | None, form: Form | None, *, usual: Path, otherwise: str
) -> None:
    """Print text, Markdown and JSON if no file is given; else write it, and print its path."""
    if path is None and form not in (None, "html"):
        print_page(page, form)
    else:
        write_page(page, path or usual, otherwise, form)
        print_result(str(path or usual))


def refuse_unwritable(path: Path | None) -> None:
    """Raise an error before anything is measured if the page could not be written afterwards."""
    if path is None:
        return
    if path.absolute().parent == home():
        home_folder()  # otherwise the first run would create it
    if path.is_dir():
        raise _unwritable(path, "is a folder")
    if not path.parent.is_dir():
        raise _unwritable(path, f"folder {path.parent} does not exist")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise _unwritable(path, "permission denied")


def write_page(
    page: Page, path: Path, otherwise: str = ANOTHER_FILE, form: Form | None = None
) -> None:
    """Write a page into an existing folder; ``otherwise`` says how to get it if this fails."""
    write_text(rendered(page, form or _FORMS.get(path.suffix.lower(), "html")), path, otherwise)


def write_text(text: str, path: Path, otherwise: str = ANOTHER_FILE) -> None:
    """Write a file whole, or leave it as it was."""
    try:
        # A new file can take the place of no device, and of nothing in a folder closed to us.
        if not path.exists() or (path.is_file() and os.access(path.resolve().parent, os.W_OK)):
            _replace(path.resolve(), text)
        else:
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error), otherwise) from error


def _replace(path: Path, text: str) -> None:
    """Write the text beside an old one, which a full disk must not cut off, and keep its rights."""
    rights = S_IMODE(path.stat().st_mode) if path.exists() else None
    replace_bytes(path, text.encode())
    if rights is not None:
        path.chmod(rights)


def print_report_path(path: Path) -> None:
    """Report where the page is, in addition to the result."""
    print_aside(f"report: {path}")


def _unwritable(path: Path, why: str, otherwise: str = ANOTHER_FILE) -> DbdynoError:
    return DbdynoError("report_unwritable", f"cannot write {path}: {why}", otherwise)
