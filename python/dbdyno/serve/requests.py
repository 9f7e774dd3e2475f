"""What can be started from here: runs, studies and searches, each as the command that it is.

A request has names and values only. Servers are named as dbdyno knows them, so no address and no
password is taken; each value is one word with its flag, so none becomes an option of its own. The
command line checks the rest.
"""

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeAlias

import msgspec

from dbdyno.errors import DbdynoError, nearest
from dbdyno.model.record import RunRecord
from dbdyno.model.study import Size
from dbdyno.run.options.grammar import objective
from dbdyno.run.options.words import command_of, option_table, parse_arguments
from dbdyno.servers.kept import list_kept
from dbdyno.study.file import catalogue
from dbdyno.workloads.registry import all_workloads

Kind: TypeAlias = Literal["run", "study", "search"]
PRIVATE = ("postgres", "mariadb")
AGAIN = "again"
"""The tag of a run that repeats another one, with that run's name."""
_SPAN = re.compile(r"\d+(\.\d+)?(ms|s|m|min|h)?", re.ASCII)
_TAG = re.compile(r"[\w.-]+=[^\x00-\x1f]{1,100}")


class _LoadRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run and a search have in common: a load on a server."""

    workload: str
    server: str = "postgres"
    """A product, for a private server, or the name of a kept one."""
    scale: int | None = None
    clients: int | None = None
    time: str

    def check(self) -> None:
        """Refuse what is no name and no value."""
        _check_names(workload=self.workload, server=self.server)
        if not _SPAN.fullmatch(self.time):
            raise DbdynoError("usage", f"{self.time!a} is no length of time", "Write 30s or 5m.")

    def options(self) -> list[str]:
        """The options that both commands have."""
        return _options(server=self.server, scale=self.scale, clients=self.clients, time=self.time)


class RunRequest(_LoadRequest, frozen=True, kw_only=True):
    """A run to be started: each field is the option of ``dbdyno run`` with its name."""

    kind: ClassVar[Kind] = "run"
    time: str = "30s"
    rate: float | None = None
    telemetry: str | None = None
    tags: list[str] = []

    def check(self) -> None:
        """Refuse what is no name and no value."""
        super().check()
        if self.telemetry not in (None, "off", "basic", "full"):
            raise DbdynoError("usage", "telemetry is off, basic or full")
        for tag in self.tags:
            if not _TAG.fullmatch(tag):
                raise DbdynoError("usage", f"{tag!a} is no tag", "Write NAME=VALUE.")

    def words(self) -> list[str]:
        """The words of the command line after ``dbdyno``."""
        own = _options(rate=self.rate, telemetry=self.telemetry)
        tags = [f"--tag={tag}" for tag in self.tags]
        return ["run", self.workload, *self.options(), *own, *tags]


class SearchRequest(_LoadRequest, frozen=True, kw_only=True):
    """A search for the highest rate: each field is the option of ``dbdyno search``."""

    kind: ClassVar[Kind] = "search"
    slo: list[str]
    """Objectives, such as p99<10ms: all must be met."""
    time: str = "10s"
    """For each rate."""
    rate_max: float | None = None

    def check(self) -> None:
        """Refuse what is no name and no value."""
        super().check()
        for text in self.slo:
            try:
                objective(text)
            except ValueError as error:
                raise DbdynoError("usage", str(error)) from error

    def words(self) -> list[str]:
        """The words of the command line after ``dbdyno``."""
        objectives = [f"--slo={text}" for text in self.slo]
        own = _options(rate_max=self.rate_max)
        return ["search", self.workload, *objectives, *self.options(), *own]


class StudyRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A study to be started: each field is the option of ``dbdyno study run``."""

    kind: ClassVar[Kind] = "study"
    study: str
    """A study that comes with dbdyno."""
    size: Size = "tiny"
    repeats: int | None = None
    server: str | None = None

    def check(self) -> None:
        """Refuse what is no name."""
        _check_names(study=self.study)
        if self.server is not None:
            _check_names(server=self.server)

    def words(self) -> list[str]:
        """The words of the command line after ``dbdyno``."""
        options = _options(size=self.size, repeats=self.repeats, server=self.server)
        return ["study", "run", self.study, *options]


Request: TypeAlias = RunRequest | StudyRequest | SearchRequest
REQUESTS: Mapping[str, type[Request]] = {
    one.kind: one for one in (RunRequest, StudyRequest, SearchRequest)
}


def known_names() -> dict[str, list[str]]:
    """The names that a request can have, by its field."""
    servers = [*PRIVATE, *(kept.name for kept in list_kept())]
    return {"workload": [*all_workloads()], "server": servers, "study": [*catalogue()]}


def again(record: RunRecord) -> RunRequest:
    """The request for the same run; refused for one with options that a request cannot have."""
    items, options = parse_arguments(record.command)
    usual = option_table(parse_arguments([])[1])  # also by the environment
    table: dict[str, Any] = {
        name: value for name, value in option_table(options).items() if usual.get(name) != value
    }
    fields = {field.name for field in msgspec.structs.fields(RunRequest)}
    names = [item.name for item in items if item.weight == 1]
    if len(names) != 1 or len(items) != 1 or not table.keys() <= fields - {"workload", "tags"}:
        raise DbdynoError(
            "not_in_form",
            "This run has options that the form does not have",
            f"In a terminal: {command_of(record.command, '--tag', f'{AGAIN}={record.run_id}')}",
        )
    words = {name: values[-1] for name, values in table.items()}
    tags = [f"{AGAIN}={record.run_id}"]
    try:
        found = {"workload": names[0], **words, "tags": tags}
        return msgspec.convert(found, RunRequest, strict=False)
    except msgspec.ValidationError as error:
        raise DbdynoError("not_in_form", f"the form cannot have this run: {error}") from error


def _check_names(**given: str) -> None:
    known = known_names()
    for field, name in given.items():
        if name not in known[field]:
            raise DbdynoError("usage", f"no {field} {name!a}", nearest(name, known[field]))


def _options(**given: object) -> list[str]:
    """Each with its value as one word."""
    return [
        f"--{name.replace('_', '-')}={value}" for name, value in given.items() if value is not None
    ]
