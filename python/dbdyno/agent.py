"""The engine's process, started by :mod:`dbdyno.engine`, here or on another host.

``python -I -S agent.py FD`` takes a job on standard input and writes frames to descriptor FD.
It starts for each load, beside what is measured: it imports nothing but the Rust module, and
refuses to do anything that the module can do.
"""

import os
import signal
import sys

# Isolated, the interpreter looks for nothing beside this file.
sys.path.append(os.path.dirname(os.path.dirname(__file__)))  # noqa: PTH120 - pathlib is slow to import

from dbdyno import _engine


def main() -> int:
    """Do the job. Interrupts are the parent's business: it says when to stop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    frames = int(sys.argv[1])
    os.set_inheritable(frames, False)  # else a script's background job keeps the reader waiting
    return _engine.agent_main(frames)


if __name__ == "__main__":
    sys.exit(main())
