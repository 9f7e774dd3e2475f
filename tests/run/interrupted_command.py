"""A command in a process of its own, with an engine that goes on until it is interrupted.

The first argument says in which phase; the others are the command's.
"""

import sys

from dbdyno.cli import main, run
from tests.support.engine import Endless, load_for_ever, tools

PHASES = {
    "load": lambda: tools(bulk=load_for_ever),
    "measure": lambda: tools(Endless),
}

if __name__ == "__main__":
    run.engine_tools = PHASES[sys.argv[1]]
    sys.exit(main(sys.argv[2:]))
