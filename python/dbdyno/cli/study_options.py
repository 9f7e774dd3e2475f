"""The options of the commands of ``dbdyno study``, each declared once. Reads and checks nothing."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from dbdyno.model.study import Size

Name = Annotated[str, Parameter(help="A study that comes with dbdyno, or a TOML file.")]
SizeOption = Annotated[
    Size,
    Parameter(
        name="--size",
        show_default=True,
        help="Size of the study: tiny takes minutes on any host, full is as published.",
    ),
]
Repeats = Annotated[int | None, Parameter(help="Number of blocks; overrides the study's file.")]
ServerOption = Annotated[
    str | None,
    Parameter(metavar="SPEC", help="Server, as for dbdyno run; overrides the study's file."),
]

MADE = "A study that was run: its name, a part of it, or last."
Made = Annotated[str, Parameter(show_default=True, help=MADE)]
ReportOption = Annotated[
    Path | None,
    Parameter(name="--report", metavar="FILE", help="Write the HTML report to this file."),
]
