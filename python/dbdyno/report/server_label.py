"""How a report names the server of a run: its product, version and address."""

import re
from collections.abc import Mapping
from typing import Any

from dbdyno.formatting import PRODUCTS


def server_label(target: str, server: Mapping[str, Any]) -> str:
    """The run's server: its product, and its address if that outlives the run.

    The address of a private server is a socket that is gone when the report is read.
    """
    product = PRODUCTS.get(server.get("product", "postgres"))
    kind, version = server.get("kind"), re.split("[ -]", str(server.get("version", "")))[0]
    if product is None or not version:
        return target
    if kind in ("private", "kept"):
        return f"{product} {version}, {kind}"
    return f"{target} ({product} {version})"
