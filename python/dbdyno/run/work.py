"""What clients run: a workload, script files, or both, distinguished by how they are written.

Reads script files and knows no server. If a workload's name and files are given together, the
workload supplies the data and, by its weight, a share of the transactions. A sysbench script runs
alone, and creates its data itself.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from dbdyno.errors import DbdynoError, why_unreadable
from dbdyno.model.plan import ClientGroup, Lua, Scalar, Script
from dbdyno.run.lua.script_files import ENDING, find_script, modules_for, read_script
from dbdyno.run.options.grammar import Role, WeightedName, scalar
from dbdyno.run.options.run_options import SizeOptions
from dbdyno.workloads.base import Workload
from dbdyno.workloads.parameters import Value, Values
from dbdyno.workloads.registry import all_workloads, find_workload

STANDARD_INPUT = "-"  # after -f, as in pgbench


@dataclass(frozen=True, kw_only=True)
class Work:
    """What was requested. ``given`` are the workload's parameters, ``variables`` the scripts'.

    With ``lua``, the only file is a sysbench script.
    """

    workload: Workload | None
    weight: int
    role: Role = "write"
    """Where the workload's scripts run."""
    files: tuple[Script, ...]
    given: dict[str, Value]
    variables: dict[str, Scalar]
    lua: Lua | None = None

    @property
    def name(self) -> str:
        """Name of the run: the workload, or the scripts.

        A workload's name stands for its data, too: a script of the same name keeps its ending.
        """
        if self.workload is not None:
            return self.workload.name
        stems = "+".join(Path(script.name).stem for script in self.files)
        return stems if stems not in all_workloads() else Path(self.files[0].name).name

    def complete(self) -> Mapping[str, Value]:
        """Return a value for each of the workload's parameters."""
        return self.workload.complete(self.given) if self.workload else {}

    def scripts(self, values: Values, sql_dialect: str) -> list[Script]:
        """Return all scripts with their weights, the workload's in this SQL dialect."""
        if self.workload is None:
            return list(self.files)
        own = self.workload.scripts(values, sql_dialect) if self.weight else []
        weighted = [
            replace(
                script, weight=script.weight * self.weight, is_on_standby=_on_standby(self.role)
            )
            for script in own
        ]
        return [*weighted, *self.files]

    @property
    def reads_on_standbys(self) -> bool:
        """Whether any script runs on a standby."""
        return self.role == "read" or any(script.is_on_standby for script in self.files)

    def is_deck(self, values: Values) -> bool:
        """Whether each client deals its transactions from a shuffled deck."""
        return self.workload is not None and self.workload.is_deck(values)

    def beside(self, values: Values) -> ClientGroup | None:
        """Return the clients with scripts of their own, besides those of the command line."""
        group = self.workload.beside(values) if self.workload else None
        if group and self.files:
            raise DbdynoError(
                "usage",
                f"{self.name} has clients of its own beside those of -c, and cannot share a run "
                "with other scripts",
                "Leave the scripts out, or those clients, by the workload's parameter for them.",
            )
        return group

    def executors(self, values: Values) -> int:
        """Return the number of clients beside those of ``-c`` that execute what these defer."""
        return self.workload.executors(values) if self.workload and self.weight else 0

    def misses_allowed(self, values: Values) -> dict[str, float]:
        """Return the workload's scripts, with the share of lookups that may find no row."""
        if self.workload is None:
            return {}
        # Their names are the same in each dialect.
        names = (script.name for script in self.workload.scripts(values, ""))
        return dict.fromkeys(names, self.workload.misses_allowed(values))

    def only_reads(self, values: Values) -> bool:
        """Whether no transaction writes; of the user's own scripts, that is for them to say."""
        return (
            self.workload is not None
            and self.is_the_workloads_alone
            and self.workload.only_reads(values)
        )

    def all_variables(self, values: Values, clients: int, seed: int) -> dict[str, Scalar]:
        """Return the initial values of the scripts' variables."""
        own = self.workload.variables(values, clients, seed) if self.workload else {}
        return {**own, **self.variables}

    @property
    def is_the_workloads_alone(self) -> bool:
        """Whether the workload's invariants cover every transaction."""
        return self.workload is not None and not self.files


def find_work(
    items: Sequence[WeightedName], files: Sequence[WeightedName], options: SizeOptions
) -> Work:
    """Return the work that ``items`` (a workload, script files) and ``files`` name."""
    all_items = [*items, *files]
    if lua := next((path for item in all_items if (path := _lua_script(item.name))), None):
        return _lua_work(lua, all_items, options)
    workloads = [item for item in items if not looks_like_file(item.name)]
    if len(workloads) > 1:
        raise DbdynoError(
            code="usage",
            message=f"a run takes one workload: {' and '.join(w.name for w in workloads)} given",
            hint="To mix a workload with your own scripts: dbdyno run tpcb@9 mine.sql@1",
        )
    scripts = [*(item for item in items if looks_like_file(item.name)), *files]
    if not workloads and not scripts:
        raise DbdynoError(
            code="usage",
            message="nothing to run",
            hint=f"Name a workload ({', '.join(all_workloads())}), a script file, "
            "or a sysbench script.",
        )
    workload = find_workload(workloads[0].name) if workloads else None
    own = tuple(map(_read, scripts))
    given, variables = _assigned(options, workload, own)
    return Work(
        workload=workload,
        weight=workloads[0].weight if workloads else 0,
        role=workloads[0].role if workloads else "write",
        files=own,
        given=given,
        variables=variables,
    )


def _lua_script(name: str) -> Path | None:
    """Return the path of a sysbench script, unless a workload has that name."""
    if name in all_workloads() or (looks_like_file(name) and not name.endswith(ENDING)):
        return None
    return find_script(name)


def _lua_work(path: Path, items: Sequence[WeightedName], options: SizeOptions) -> Work:
    if len(items) > 1:
        raise DbdynoError(
            code="usage",
            message=f"{path.name} cannot share a run with other scripts",
            hint="A sysbench script runs alone.",
        )
    if any(item.role == "read" for item in items):
        raise DbdynoError(
            code="usage",
            message=f"{path.name}: a sysbench script does not run on standbys",
            hint="Only scripts in pgbench's language have the role read.",
        )
    if options.define or options.scale is not None:
        raise DbdynoError(
            code="usage",
            message="-D and -s do not apply to a sysbench script",
            hint=f"Give its options after --: dbdyno run {path.name} -- --table-size=100000",
        )
    text = read_script(path)
    return Work(
        workload=None,
        weight=0,
        files=(Script(name=path.name, text=text),),
        given={},
        variables={},
        lua=Lua(path=str(path), modules=modules_for(path, text)),
    )


def looks_like_file(name: str) -> bool:
    """Whether a name is a file's: with a folder or ending, or existing; a workload's is a word."""
    return "/" in name or "." in name or Path(name).is_file()


def _assigned(
    options: SizeOptions, workload: Workload | None, files: Sequence[Script]
) -> tuple[dict[str, Value], dict[str, Scalar]]:
    """Separate ``-s`` and ``-D`` into the workload's parameters and the scripts' variables.

    Without scripts of the user nothing could read a variable: the name is then taken for a misspelt
    parameter, which the workload reports. Scripts that read ``:scale`` get pgbench's default; of
    others, a scale would say nothing.
    """
    assigned = dict(options.define)
    if options.scale is not None:
        assigned["scale"] = str(options.scale)
    if workload is None:
        default = {"scale": 1} if any("scale" in script.text for script in files) else {}
        return {}, {**default, **_scalars(assigned)}
    known = {parameter.name for parameter in workload.parameters}
    own = {name: value for name, value in assigned.items() if name in known or not files}
    others = {name: value for name, value in assigned.items() if name not in own}
    return workload.read(own), _scalars(others)


def _scalars(assigned: Mapping[str, str]) -> dict[str, Scalar]:
    return {name: scalar(value) for name, value in assigned.items()}


def _read(script: WeightedName) -> Script:
    is_piped = script.name == STANDARD_INPUT
    try:
        raw = sys.stdin.buffer.read() if is_piped else Path(script.name).read_bytes()
        text = raw.decode("utf-8-sig")  # without a byte order mark
    except (OSError, UnicodeDecodeError) as error:
        raise DbdynoError(
            code="script_unreadable",
            message=f"cannot read the script {script.name}: {why_unreadable(error)}",
            hint="Give a pgbench script as a file of UTF-8 text, or a sysbench script as FILE.lua "
            "or by the name of one that comes with sysbench.",
        ) from error
    name = "stdin" if is_piped else script.name
    return Script(
        name=name, weight=script.weight, text=text, is_on_standby=_on_standby(script.role)
    )


def _on_standby(role: Role) -> bool | UnsetType:
    return True if role == "read" else UNSET
