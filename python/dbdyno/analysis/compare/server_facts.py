"""What a server is besides its settings, as named values: its build, its schema, its plans.

Plain values in, texts out, so that two runs can be compared name by name. Nothing is judged here.
"""

from collections.abc import Mapping, Sequence

from dbdyno.model.recorded_schema import RecordedSchema
from dbdyno.model.telemetry import PlanFacts

_CUT = 90
_ASSERTIONS = "debug_assertions"
_CONFIGURE = "its configure line"
# The names under which the parts of a build are shown.
_BUILD = {
    "debug assertions": _ASSERTIONS,
    "CFLAGS": "the value of CFLAGS",
    "CONFIGURE": _CONFIGURE,
    "version_comment": "who built it",
    "version_compile_machine": "the machine for which it was built",
    "version_compile_os": "the system for which it was built",
}
REMARKS = {
    _ASSERTIONS: ": assertions make every operation slower, by a large and uneven factor; compare "
    "only builds without them",
    _CONFIGURE: ": a part of a difference in speed may come from how they were built",
}
"""What a reader must know of a difference, by its name."""


def cut(text: str) -> str:
    """The beginning of a long text."""
    return text if len(text) <= _CUT else text[: _CUT - 1] + "…"


def build_facts(build: Mapping[str, str], dbdyno_version: str) -> dict[str, str]:
    """How the server was built, and the version of dbdyno.

    PostgreSQL says ``PostgreSQL 18.1 on x86_64-pc-linux-gnu, compiled by gcc …``; its version is
    compared elsewhere.
    """
    found = {_BUILD[name]: value for name, value in build.items() if name in _BUILD}
    if platform := build.get("version", "").partition(" on ")[2]:
        found["the platform of its build"] = platform
    if dbdyno_version:
        found["the version of dbdyno"] = dbdyno_version
    return found


def schema_facts(all_schemas: Sequence[RecordedSchema], schema: RecordedSchema) -> dict[str, str]:
    """Definitions of tables, of the parts of those that all schemas have, and of routines.

    If not everything was recorded somewhere, what is missing there may exist: then only the tables
    of all schemas count.
    """
    tables = schema.tables
    common = [name for name in tables if all(name in of.tables for of in all_schemas)]
    is_whole = not any(of.left_out for of in all_schemas)
    definitions = {name: tables[name].definition for name in (tables if is_whole else common)}
    found = {
        name: f"{'an' if definition.startswith('u') else 'a'} {definition}"
        for name, definition in definitions.items()
    }
    for name in common:
        for part, definition in tables[name].parts.items():
            kind, _, own = part.partition(" ")
            found[f"{kind} {own} of {name}"] = definition
    return {**found, **(schema.routines if is_whole else {})}


def plan_facts(plans: Sequence[PlanFacts], statements: Sequence[str]) -> dict[str, str]:
    """The steps of each statement's plan; both if a prepared one has two that differ."""
    steps: dict[str, dict[str, str]] = {}
    for plan in plans:
        if plan.statement < len(statements):
            text = " ".join(statements[plan.statement].split())
            # ``Index Scan on orders using orders_pkey, Seq Scan on lines``: without its estimates.
            indexes = plan.indexes or [""] * len(plan.nodes)
            steps.setdefault(f"that of “{cut(text)}”", {})[plan.variant] = ", ".join(
                kind + (f" on {table}" if table else "") + (f" using {index}" if index else "")
                for (kind, table, _), index in zip(plan.nodes, indexes, strict=True)
                if kind != "ModifyTable"
            )
    return {
        statement: next(iter(variants.values()))
        if len({*variants.values()}) == 1
        else "; ".join(f"{variant}: {its}" for variant, its in sorted(variants.items()))
        for statement, variants in steps.items()
    }
