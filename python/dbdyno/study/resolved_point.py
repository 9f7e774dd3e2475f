"""A point as an executable run: its job, and the data that it needs.

Invalid points are refused here, by name. Starts nothing, and reads only scripts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace as with_options
from functools import cached_property
from pathlib import Path

from msgspec.structs import replace

from dbdyno.databases.schema import Table
from dbdyno.errors import DbdynoError, errors_about
from dbdyno.model.study import OptionTable, Point
from dbdyno.run.job import Job, check_scripts, read_job
from dbdyno.run.options.run_options import SECOND_NS
from dbdyno.run.options.words import (
    SCRIPTS,
    arguments_of,
    command_of,
    items_from,
    options_from,
    script_path,
)
from dbdyno.run.plan import DURATION_DEFAULT_NS, warmup_ns
from dbdyno.run.target import New
from dbdyno.run.tools import Tools
from dbdyno.run.work import STANDARD_INPUT
from dbdyno.workloads.size import estimated_bytes


@dataclass(frozen=True)
class ResolvedPoint:
    """A point of a study with its parsed options."""

    point: Point
    job: Job

    @property
    def key(self) -> str:
        """The point's name."""
        return self.point.key

    @property
    def run_s(self) -> float | None:
        """Warm-up and measured time; None when it counts transactions."""
        options = self.job.options
        if options.transactions:
            return None
        planned_ns = sum(stage.duration_ns or 0 for stage in options.stages or ()) or (
            options.duration_ns or DURATION_DEFAULT_NS
        )
        return (warmup_ns(options) + planned_ns) / SECOND_NS

    @property
    def server(self) -> New | None:
        """The server that the study starts for it, with data that it may restore.

        None if the point names a running one.
        """
        return self.job.server if isinstance(self.job.server, New) else None

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """The tables loaded for it; none for scripts without a workload's data."""
        work = self.job.work
        return work.workload.tables(work.complete()) if work.workload else ()

    @cached_property
    def data_bytes(self) -> int:
        """Estimated size of its tables."""
        return estimated_bytes(self.tables)

    @property
    def rows(self) -> int:
        """Number of rows that are loaded."""
        return sum(table.rows for table in self.tables)

    @cached_property
    def shapes(self) -> tuple[Table, ...]:
        """Equal for points that can start from copies of the same data, on one server.

        The expressions that fill columns are omitted: they may contain the time of loading.
        """
        shapes = []
        for table in self.tables:
            columns = (replace(column, generator="null", default="") for column in table.columns)
            shapes.append(replace(table, columns=tuple(columns)))
        return tuple(shapes)

    def command(self, scripts_folder: Path) -> str:
        """Return the command that runs it alone, from the folder of the study's scripts."""
        files = tuple(
            file._replace(name=file.name.removeprefix(f"{scripts_folder}/"))
            for file in self.job.options.script_files
        )
        options = with_options(self.job.options, script_files=files)
        return command_of(arguments_of(self.job.items, options))


def resolve(point: Point, scripts_folder: Path, say: Callable[[str], None]) -> ResolvedPoint:
    """Parse a point; an error names it. Warnings are passed to ``say``."""
    with errors_about(point.key):
        items = items_from(point.options)
        given = options_from(point.options, scripts_folder)
        if any(file.name == STANDARD_INPUT for file in given.script_files):
            raise DbdynoError(
                "bad_option",
                "a study's script cannot come from standard input: resuming could not read it "
                "again",
                f"Name a file, or write the text in the study: [base.{SCRIPTS}] NAME.text.",
            )
        return ResolvedPoint(point, read_job(items, given, say))


def with_alike_servers(points: Sequence[ResolvedPoint]) -> list[ResolvedPoint]:
    """Return the points with servers that all have the same part of the host.

    What a standby costs is found by comparing a server that has one with a server that has none.
    """
    parts = max((one.server.spec.parts for one in points if one.server), default=1)
    alike = []
    for one in points:
        job = one.job
        if one.server:
            server = with_options(one.server, spec=replace(one.server.spec, sharing=parts))
            job = with_options(job, server=server)
        alike.append(with_options(one, job=job))
    return alike


def with_checked_scripts(
    point: ResolvedPoint, tools: Tools, say: Callable[[str], None]
) -> ResolvedPoint:
    """Return the point with a job that can be run; an error names the point."""
    with errors_about(point.key):
        return with_options(point, job=check_scripts(point.job, tools, say))


def script_texts(option_tables: Sequence[OptionTable]) -> dict[str, str]:
    """Return the scripts written in the study file, by file name."""
    texts: dict[str, str] = {}
    for options in option_tables:
        scripts: Mapping[str, Mapping[str, str]] = options.get(SCRIPTS, {})
        for name, script in scripts.items():
            file = script_path(Path(), name).name
            if texts.setdefault(file, script["text"]) != script["text"]:
                raise DbdynoError(
                    "bad_study",
                    f"two different scripts are named {name!r}",
                    "Give each script its own name.",
                )
    return texts
