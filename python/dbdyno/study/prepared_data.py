"""Prepared data for points: loaded once, kept as a data set, then copied for each server.

A data set is loaded by a server with durability ``none`` (its contents are on disk once it has been
shut down), under its own settings: a variant that does not start must not affect the data of the
others. Two builds of one PostgreSQL may report the same version and differ in the catalog: one does
not start on the other's files. Builds with the same catalog share data, to the byte, as comparing
them requires.
"""

import hashlib
from dataclasses import replace as replace_fields
from time import monotonic

import msgspec
from msgspec.structs import replace

from dbdyno.model.study import DataLoad
from dbdyno.run.connected_server import connect_to
from dbdyno.run.data_preparation import prepare
from dbdyno.run.observer import Observer
from dbdyno.run.target import New
from dbdyno.run.tools import Tools
from dbdyno.servers.cluster import draw_blueprint
from dbdyno.servers.data_sets import About, DataSet, find_data_set, keep_data
from dbdyno.servers.private import start_private
from dbdyno.servers.product import Blueprint
from dbdyno.servers.spec import ServerSpec
from dbdyno.study.resolved_point import ResolvedPoint

SEED = 0
"""Seed of the data: the same for every study, so that studies can share data."""

LOADING_CONNECTIONS = 20


class PreparedData:
    """The data sets from which a study's points start."""

    def __init__(self, tools: Tools, observer: Observer) -> None:
        self._tools = tools
        self._observer = observer
        self.loads: dict[str, DataLoad] = {}
        """The loading of each point's data, by the point's key."""

    def data_for(self, point: ResolvedPoint, server: New) -> tuple[DataSet, float]:
        """Return the data set for a point on its server, and how long it took to create it.

        One that exists took no time.
        """
        blueprint = draw_blueprint("private", server.spec, LOADING_CONNECTIONS, tcp=False)
        key = _key(point, server.spec, blueprint)
        began_s = monotonic()
        found = find_data_set(key)
        data = found or self._made(point, server.spec, blueprint, key)
        self.loads[point.key] = msgspec.convert(data.about.load, DataLoad)
        return data, 0.0 if found else monotonic() - began_s

    def _made(
        self, point: ResolvedPoint, spec: ServerSpec, blueprint: Blueprint, key: str
    ) -> DataSet:
        # The same server as far as its files are concerned, but tuned for loading.
        product, chosen = blueprint.product, blueprint.settings
        settings = {**product.shape_of(chosen), **product.loading(chosen)}
        loading = replace(spec, settings=settings, durability="none", standbys=0)
        with start_private(loading, LOADING_CONNECTIONS) as server:
            with connect_to(server) as connected:
                prepared = prepare(
                    connected,
                    replace_fields(point.job, seed=SEED),
                    bulk=self._tools.load,
                    watch=self._observer.loading,
                    say=self._observer.say,
                )
            report = prepared.report
            assert report is not None  # there was no data before
            load = DataLoad(
                rows=report.rows,
                rows_per_s=report.rows_per_s,
                phases_s={phase.name: phase.elapsed_s for phase in report.phases},
            )
            about = About(
                workload=point.job.work.name,
                parameters=dict(prepared.values),
                load=msgspec.to_builtins(load),
            )
            return keep_data(server, key, about)


def _key(point: ResolvedPoint, spec: ServerSpec, blueprint: Blueprint) -> str:
    """Return a key of all that the files depend on: their contents, and the server's program."""
    assert point.job.work.workload is not None
    product, binaries = blueprint.product, blueprint.binaries
    files = (product.shape_of(blueprint.settings), product.format_of(binaries.server))
    digest = hashlib.sha256(msgspec.json.encode((*files, point.shapes))).hexdigest()[:12]
    return f"{spec.kind}-{binaries.version}-{point.job.work.workload.data}-{point.rows}-{digest}"
