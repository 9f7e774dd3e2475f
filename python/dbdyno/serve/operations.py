"""The interface for programs as a list of operations, and its description made of that list.

An operation declares what it takes (a structure of query parameters) and what it returns; both are
the types that ``--json`` has.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import msgspec
from starlette.requests import Request

from dbdyno.errors import DbdynoError

Query = TypeVar("Query", bound=msgspec.Struct)
VERSION = "/api/v1"
BODY_MAX = 1 << 16
_PATH_PARAMETERS = {
    "run_id": "The name of a run, or last.",
    "study_id": "The name of a study.",
    "start_id": "The name of what was started.",
}


class NoQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An operation that takes no parameters."""


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """What a program can ask for. ``answer`` gets the query, and the names in the path."""

    path: str
    answer: Callable[..., Any]
    returns: Any
    takes: type[msgspec.Struct] = NoQuery
    method: Literal["GET", "POST", "DELETE"] = "GET"
    status: int = 200
    body: type[msgspec.Struct] | None = None
    """What a request contains, as JSON; given to ``answer`` instead of the query."""
    media_type: str = "application/json"

    @property
    def summary(self) -> str:
        """What it does: the first line of its function's description."""
        return (inspect.getdoc(self.answer) or "").split("\n")[0]

    @property
    def names(self) -> list[str]:
        """The names in its path."""
        return [part[1:-1] for part in self.path.split("/") if part.startswith("{")]


def query_of(given: Sequence[tuple[str, str]], kind: type[Query]) -> Query:
    """The parameters of a request; one that is not known, or has a wrong value, is refused."""
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    values: dict[str, Any] = {}
    for name, value in given:
        if name not in fields:
            known = f"There are: {', '.join(fields)}." if fields else "There are none here."
            raise DbdynoError("usage", f"no parameter {name!r}", known)
        if "list" in str(fields[name]) or "tuple" in str(fields[name]):
            values.setdefault(name, []).append(value)
        else:
            values[name] = value
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        raise DbdynoError("usage", f"parameters: {error}", "See /openapi.json.") from error


async def body_of(request: Request) -> bytes:
    """What a request contains, which is never much."""
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > BODY_MAX:
            raise DbdynoError(
                "usage", "the request is too long", f"At most {BODY_MAX} bytes are taken."
            )
    return content


def object_from(content: bytes, kind: type[Query]) -> Query:
    """The object in a request."""
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.DecodeError as error:
        raise DbdynoError("usage", f"the request: {error}", "See /openapi.json.") from error


def described(operations: Sequence[Operation], problem: type, version: str) -> dict[str, Any]:
    """The description of all operations, as OpenAPI 3.1 has it."""
    queries = [one.takes for one in operations]
    bodies = [one.body for one in operations if one.body]
    kinds = [*(one.returns for one in operations), *queries, *bodies, problem]
    schemas, components = msgspec.json.schema_components(
        kinds, ref_template="#/components/schemas/{name}"
    )
    shown = dict(zip(map(id, kinds), schemas, strict=True))
    failure = {
        "description": "A problem (RFC 9457).",
        "content": {"application/problem+json": {"schema": shown[id(problem)]}},
    }
    paths: dict[str, dict[str, Any]] = {}
    for one in operations:
        paths.setdefault(VERSION + one.path, {})[one.method.lower()] = {
            "summary": one.summary,
            "operationId": one.answer.__name__,
            "parameters": [*_in_path(one), *_in_query(one, components)],
            **_body(one, shown),
            "responses": {
                str(one.status): {
                    "description": one.summary,
                    "content": {one.media_type: {"schema": shown[id(one.returns)]}},
                },
                "default": failure,
            },
        }
    taken = {kind.__name__ for kind in queries}
    return {
        "openapi": "3.1.0",
        "info": {"title": "dbdyno", "version": version},
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            "schemas": {name: its for name, its in components.items() if name not in taken},
        },
    }


def _body(operation: Operation, shown: Mapping[int, Any]) -> dict[str, Any]:
    if operation.body is None:
        return {}
    content = {"application/json": {"schema": shown[id(operation.body)]}}
    return {"requestBody": {"required": True, "content": content}}


def _in_path(operation: Operation) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": _PATH_PARAMETERS[name],
            "schema": {"type": "string"},
        }
        for name in operation.names
    ]


def _in_query(operation: Operation, components: Mapping[str, Any]) -> list[dict[str, Any]]:
    schema = components[operation.takes.__name__]
    required = schema.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in required, "schema": its}
        for name, its in schema.get("properties", {}).items()
    ]
