"""The tables that tools are compared on: each tool has its own copy, in a database of its own."""

from collections.abc import Callable
from dataclasses import dataclass

from bench.process import run_to_end
from bench.tool import dbdyno_path
from dbdyno.databases.connecting import url_of
from dbdyno.model.plan import Endpoint


@dataclass(frozen=True, kw_only=True)
class Data:
    """``load`` creates and fills the tables once; ``settle`` brings them to where a run starts."""

    name: str
    load: Callable[[Endpoint], None]
    settle: Callable[[Endpoint], None]


def load_data(endpoint: Endpoint, *arguments: str) -> None:
    """``dbdyno load``, silent on success."""
    run_to_end([dbdyno_path(), "load", *arguments, "--target", url_of(endpoint)])
