"""Provides a workload's data: loads it, uses what exists, or refuses.

Nothing that dbdyno did not create is dropped, emptied or overwritten without ``replace``.
"""

from collections.abc import Callable, Mapping

from msgspec import Struct

from dbdyno.databases.adapter import Adapter
from dbdyno.databases.connection import Connection
from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Endpoint
from dbdyno.workloads.base import Workload
from dbdyno.workloads.load_notes import fingerprint, notes_of
from dbdyno.workloads.loading import Bulk, Loader, LoadOrder, LoadProgress, LoadReport
from dbdyno.workloads.parameters import Value
from dbdyno.workloads.status import STORAGE, DataStatus, Mark, data_status


class LoadOptions(Struct, frozen=True, kw_only=True):
    """How to load if that is necessary; ``checkpoint`` is for private servers."""

    seed: int
    jobs: int
    replace: bool = False
    checkpoint: bool = False


class Prepared(Struct, frozen=True, kw_only=True):
    """Data on which a run can start. ``values`` contains every parameter, with the actual scale."""

    values: dict[str, Value]
    made_by: str
    report: LoadReport | None = None

    @property
    def is_loaded_by_dbdyno(self) -> bool:
        """Whether dbdyno loaded it: invariants are then checked by default."""
        return self.made_by == "dbdyno"


class Place(Struct, frozen=True):
    """Where data is prepared: the target, a control connection, and the endpoint for the engine."""

    target: Adapter
    connection: Connection
    endpoint: Endpoint


def prepare_data(  # noqa: PLR0913 (they are independent)
    workload: Workload,
    given: Mapping[str, Value],
    place: Place,
    *,
    bulk: Bulk,
    options: LoadOptions,
    watch: Callable[[LoadProgress], None],
) -> Prepared:
    """Return data for these parameters, existing or loaded. ``given`` are the user's parameters."""
    read = workload.read(given)
    _refuse_impossible_storage(workload, read, place.target)
    routines = workload.routines(workload.complete(read), place.target.sql_dialect)
    status = data_status(workload, place.target, place.connection, read)
    if status.state == "compatible" and not options.replace:
        _create(routines, place)
        return Prepared(values=status.values(workload, read), made_by=status.made_by or "")
    if status.unfinished and not options.replace:
        order, values = _continued(workload, read, place, options, status.unfinished)
    else:
        _refuse_other_data(workload, read, status, options)
        order, values = _begun(workload, read, options, status)
    if why := place.target.refuses_writes(place.connection):
        raise DbdynoError(
            "read_only",
            f"{why}: the data of {workload.name} cannot be loaded",
            "Load it on the primary server, or as a user who may write.",
        )
    report = Loader(place.target, place.connection, order, watch).load(place.endpoint, bulk)
    _create(routines, place)
    return Prepared(values=values, made_by="dbdyno", report=report)


def _create(routines: tuple[str, ...], place: Place) -> None:
    with place.target.understood("create procedures"):
        for statement in routines:
            place.connection.execute(statement)


def _begun(
    workload: Workload, read: Mapping[str, Value], options: LoadOptions, status: DataStatus
) -> tuple[LoadOrder, dict[str, Value]]:
    """Return what to load, and the value of each parameter."""
    drawn = workload.drawn_with(options.seed)
    values = workload.complete({**read, **drawn})
    tables = workload.tables(values)
    mark = Mark(
        data=workload.data,
        scale=int(values.get(workload.scale_name, 1)),
        loaded=False,
        drawn=tuple(drawn.items()),
        seed=options.seed,
        plan=fingerprint(tables, options.seed),
    )
    order = LoadOrder(
        tables=tables,
        mark=mark,
        jobs=options.jobs,
        replace=status.state != "absent",
        checkpoint=options.checkpoint,
    )
    return order, values


def _continued(
    workload: Workload, read: Mapping[str, Value], place: Place, options: LoadOptions, mark: Mark
) -> tuple[LoadOrder, dict[str, Value]]:
    """Return what an interrupted load lacks, if it was one of the same rows, stored alike.

    Its scale and its seed are those of the rows that are there.
    """
    values = workload.complete({workload.scale_name: mark.scale, **read, **dict(mark.drawn)})
    tables = workload.tables(values)
    order = LoadOrder(
        tables=tables,
        mark=mark,
        jobs=options.jobs,
        replace=False,
        checkpoint=options.checkpoint,
        continues=True,
    )
    notes = notes_of(mark).name
    with place.target.understood("inspect the tables"):
        is_noted = notes in place.target.find_tables(place.connection, [notes])
    if not is_noted or mark.plan != fingerprint(tables, mark.seed):
        names = ", ".join(table.name for table in tables)
        raise DbdynoError(
            "data_in_the_way",
            f"data for {workload.name} exists, but its loading was interrupted, and not with the "
            f"same parameters (its {workload.scale_name} is {mark.scale})",
            f"with those of the interrupted load it is continued; --replace drops {names} and "
            "loads them again",
        )
    return order, values


def _refuse_other_data(
    workload: Workload, read: Mapping[str, Value], status: DataStatus, options: LoadOptions
) -> None:
    """Refuse to load where something else is, unless that is to be replaced."""
    if options.replace:
        return
    names = ", ".join(table.name for table in workload.tables(workload.complete(read)))
    if status.is_of_other_tool:
        raise DbdynoError(
            "data_in_the_way",
            f"{workload.name} cannot use the data that is there: {status.why}",
            f"give {workload.name} a database of its own; --replace drops {names}, whoever made "
            "them, and loads its own",
        )
    if status.state == "incompatible":
        raise DbdynoError(
            "data_in_the_way",
            f"data for {workload.name} exists, but {status.why}",
            f"--replace drops {names} and loads them again",
        )


def _refuse_impossible_storage(
    workload: Workload, read: Mapping[str, Value], target: Adapter
) -> None:
    """Refuse parameters by which this server cannot store the tables."""
    for name, value in read.items():
        if name in STORAGE and name not in target.storage:
            raise DbdynoError(
                "bad_parameter",
                f"{target.title} cannot store tables with {name} = {value}",
                f"leave {name} out on these servers",
            )
    tables = workload.tables(workload.complete(read))
    divided = {table.name for table in tables if table.partitioning}
    related = {
        name
        for table in tables
        for key in table.foreign_keys
        for name in (table.name, key.references)
    }
    if divided & related and not target.relates_partitions:
        raise DbdynoError(
            "bad_parameter",
            f"{target.title} cannot store partitioned tables with foreign keys",
            "leave out partitions or foreign_keys on these servers",
        )
