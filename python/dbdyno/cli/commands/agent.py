"""``dbdyno agent``: an engine for a load that hosts share, as its caller starts it there."""

import os
import sys
from typing import NoReturn

from dbdyno.cli.app import command
from dbdyno.fleet.words import AGENT

app = command(
    "agent",
    "dbdyno agent                      as --workers starts it",
    "dbdyno run tpcb --target URL --workers \"exec:'ssh l{n} dbdyno agent'*4\"",
)


@app.default
def agent() -> NoReturn:
    """Make a part of a load, for a dbdyno elsewhere that starts this by --workers.

    It takes its part on standard input, the password included, and answers on standard output. It
    ends with its caller: nothing of the load is left a second after its input has ended.
    """
    # Without site-packages: it needs none, and whatever they print would be in the way.
    os.execv(sys.executable, [sys.executable, "-I", "-S", str(AGENT)])
