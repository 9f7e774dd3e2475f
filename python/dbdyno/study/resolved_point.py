"""A point as an executable run: its options, its work, and the server and data that it needs.

Invalid points are refused here, by name. Starts nothing, and reads only scripts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace as with_options
from functools import cached_property
from pathlib import Path

from msgspec.structs import replace

from dbdyno.errors import DbdynoError, errors_about
from dbdyno.model.study import OptionTable, Point
from dbdyno.run.command_line import arguments_of, command_of
from dbdyno.run.draft_plan import draft
from dbdyno.run.grammar import WeightedName
from dbdyno.run.lua.arguments import equip
from dbdyno.run.option_tables import SCRIPTS, items_from, options_from, script_path
from dbdyno.run.options import SECOND_NS, RunOptions
from dbdyno.run.placement import refuse_missing_engine_cpus
from dbdyno.run.plan import (
    DURATION_DEFAULT_NS,
    client_count,
    refuse_contradictions,
    warmup_ns,
)
from dbdyno.run.refusals import refuse_bad_scripts, refuse_unknown_mode
from dbdyno.run.target import is_passing, protocol_of, spec_of
from dbdyno.run.tools import Tools
from dbdyno.run.work import STANDARD_INPUT, Work, find_work
from dbdyno.servers.spec import ServerSpec
from dbdyno.targets.schema import Table
from dbdyno.workloads.size import estimated_bytes


@dataclass(frozen=True)
class ResolvedPoint:
    """A point of a study with its parsed options."""

    point: Point
    items: tuple[WeightedName, ...]
    options: RunOptions
    work: Work

    @property
    def key(self) -> str:
        """The point's name."""
        return self.point.key

    @property
    def clients(self) -> int:
        """Number of connections of its load."""
        return client_count(self.options)

    @property
    def run_s(self) -> float | None:
        """Warm-up and measured time; None when it counts transactions."""
        if self.options.transactions:
            return None
        stages = self.options.stages or ()
        planned_ns = sum(stage.duration_ns or 0 for stage in stages) or (
            self.options.duration_ns or DURATION_DEFAULT_NS
        )
        return (warmup_ns(self.options) + planned_ns) / SECOND_NS

    @property
    def is_private(self) -> bool:
        """Whether the study starts its server, and may restore its data."""
        return is_passing(self.options)

    @property
    def server(self) -> ServerSpec:
        """The private server on which it runs."""
        return spec_of(self.options)

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """The tables loaded for it; none for scripts without a workload's data."""
        workload = self.work.workload
        return workload.tables(self.work.complete()) if workload else ()

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
        return tuple(_shape(table) for table in self.tables)

    def command(self, scripts_folder: Path) -> str:
        """Return the command that runs it alone, from the folder of the study's scripts."""
        files = tuple(
            file._replace(name=file.name.removeprefix(f"{scripts_folder}/"))
            for file in self.options.script_files
        )
        return command_of(arguments_of(self.items, with_options(self.options, script_files=files)))


def resolve(point: Point, scripts_folder: Path, say: Callable[[str], None]) -> ResolvedPoint:
    """Parse a point; an error names it. Warnings are passed to ``say``."""
    with errors_about(point.key):
        items = items_from(point.options)
        given = options_from(point.options, scripts_folder)
        _refuse_standard_input(given)
        options, work = equip(given, find_work(items, given.script_files, given), say)
        refuse_contradictions(options)
        refuse_missing_engine_cpus(options)
        return ResolvedPoint(point, tuple(items), options, work)


def _refuse_standard_input(options: RunOptions) -> None:
    if any(file.name == STANDARD_INPUT for file in options.script_files):
        raise DbdynoError(
            "bad_option",
            "a study's script cannot come from standard input: resuming could not read it again",
            f"Name a file, or write the text in the study: [base.{SCRIPTS}] NAME.text.",
        )


def check_scripts(point: ResolvedPoint, tools: Tools, warn: Callable[[str], None]) -> None:
    """Let the engine check the scripts, as it will have to run them."""
    with errors_about(point.key):
        protocol = protocol_of(point.options)
        refuse_unknown_mode(point.options.query_mode, protocol)
        drafted = draft(point.options, point.work, protocol, seed=0)
        refuse_bad_scripts(tools, drafted, warn)


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


def _shape(table: Table) -> Table:
    columns = tuple(replace(column, generator="null", default="") for column in table.columns)
    return replace(table, columns=columns)
