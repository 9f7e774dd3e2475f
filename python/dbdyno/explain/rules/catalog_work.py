"""Sessions look up definitions of tables, types and functions that they do not have yet.

Looks for: CPU time in the caches of definitions and plans and in making sessions, in backends that
serve the load.

Arithmetic: samples of the profile in these functions, over all samples of these backends; that part
of the clients' time on a CPU, and, of their time waiting for one, the part of the CPU time in use.
A session that has what it needs spends a little there as well.

Source: PostgreSQL source tree, utils/cache; MySQL manual, *How MySQL Opens and Closes Tables*.

Wrong when: the load changes definitions (temporary tables), which empties these caches.
"""

from typing import ClassVar

from dbdyno.explain.resources.server_work import WorkClaim, claim_of, work_on
from dbdyno.explain.rule import NotFound, Rule
from dbdyno.model.run import Run

ORDINARY = 0.12
"""Of the CPU time for a load: what one without such a problem spends on it as well."""


class CatalogWork(WorkClaim, frozen=True, kw_only=True):
    """Caches of definitions and plans, and making sessions."""

    what: ClassVar[str] = "Definitions, plans and new sessions"
    why: ClassVar[str] = (
        "Each session has caches of its own, which are empty when it begins and are "
        "filled by queries of the catalog."
    )
    advice: ClassVar[list[str]] = [
        (
            "Keep connections open (a pool) instead of making new ones; with very many "
            "tables, enlarge the caches of the server (MariaDB, MySQL: table_open_cache)."
        )
    ]
    refute: ClassVar[str] = "Run again with connections that stay: this part must shrink."


def look(run: Run) -> WorkClaim | NotFound:
    """By the profile alone."""
    return claim_of(
        run,
        CatalogWork,
        work_on("catalog", "connecting"),
        ORDINARY,
    )


RULE = Rule(
    id="catalog_work",
    title="Definitions and plans looked up anew",
    look=look,
    accounts_for=frozenset({"cpu", "cpu_queue"}),
)
