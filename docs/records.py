"""Describes the JSON objects that are declared as structs: their fields, types and meanings.

Types are those of JSON, from msgspec's schema of the structs. The meaning of a field is the text
below it in the code, which Python itself does not keep.
"""

import ast
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

Schema = Mapping[str, Any]

_REFERENCE = "#/$defs/"
_CODE = re.compile(r"``(.+?)``")


class Field(NamedTuple):
    """A field of a JSON object, as a row of its table."""

    name: str
    type: str
    meaning: str


class JsonObject(NamedTuple):
    """An object; ``summary`` is the docstring of its struct."""

    name: str
    summary: str
    fields: list[Field]


def json_objects(roots: Sequence[type[msgspec.Struct]]) -> list[JsonObject]:
    """Return these objects and, each below the one that first names it, those inside them."""
    _, schemas = msgspec.json.schema_components(roots, ref_template=_REFERENCE + "{name}")
    structs = _by_name(roots)
    order: dict[str, None] = {}
    for root in roots:
        _visit(root.__name__, schemas, order)
    return [_described(structs[name], schemas[name]) for name in order]


def _visit(name: str, schemas: Mapping[str, Schema], order: dict[str, None]) -> None:
    if name not in order:
        order[name] = None
        for inside in _names_in(schemas[name]):
            _visit(inside, schemas, order)


def _names_in(schema: object) -> Iterator[str]:
    """Yield the names of the objects to which a schema refers."""
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"].removeprefix(_REFERENCE)
        for part in schema.values():
            yield from _names_in(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from _names_in(part)


def _by_name(roots: Sequence[type[msgspec.Struct]]) -> dict[str, type[msgspec.Struct]]:
    """Return all structs of the modules that declare the roots."""
    modules = {inspect.getmodule(root) for root in roots}
    found = (value for module in modules for value in vars(module).values())
    return {
        value.__name__: value
        for value in found
        if isinstance(value, type) and issubclass(value, msgspec.Struct)
    }


def _described(struct: type[msgspec.Struct], schema: Schema) -> JsonObject:
    meanings = _meanings(struct)
    fields = [
        Field(
            its.encode_name,
            _type_text(schema["properties"][its.encode_name]),
            meanings.get(its.name, ""),
        )
        for its in msgspec.structs.fields(struct)
    ]
    return JsonObject(struct.__name__, _plain(inspect.getdoc(struct) or ""), fields)


def _meanings(struct: type[msgspec.Struct]) -> dict[str, str]:
    """Return the text below each field in the source."""
    (declaration,) = ast.parse(inspect.getsource(struct)).body
    assert isinstance(declaration, ast.ClassDef)  # it is the source of a class
    below = zip(declaration.body, declaration.body[1:], strict=False)
    return {
        field.target.id: _plain(inspect.cleandoc(text.value.value))
        for field, text in below
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


def _type_text(schema: Schema) -> str:
    """Return a type in words; an object inside has its own chapter."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(_REFERENCE)
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type_text(one) for one in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f'`"{value}"`' for value in schema["enum"])
    if schema.get("type") == "array":
        return f"array of {_type_text(schema['items'])}"
    if schema.get("type") == "object" and "type" in schema.get("additionalProperties", {}):
        return f"object of {_type_text(schema['additionalProperties'])}"
    return str(schema.get("type", "any"))


def _plain(docstring: str) -> str:
    """Return it in Markdown, with JSON's word for None."""
    return _CODE.sub(r"`\1`", docstring).replace("None", "`null`")
