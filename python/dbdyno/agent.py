"""The engine's process, started by :mod:`dbdyno.engine`, or for a load that hosts share.

``python -I -S agent.py FD`` takes a job on standard input and writes frames to descriptor FD.
Without FD it may be on another host than its caller, to which it has nothing but its standard
streams: frames go to the output, what scripts print to the error output. It starts for each load,
on the host that is measured: it imports nothing but the Rust module, and does nothing that the
module can do.
"""

import os
import signal
import sys

# An isolated interpreter does not look for modules beside this file.
sys.path.append(os.path.dirname(os.path.dirname(__file__)))  # noqa: PTH120 - pathlib is slow to import

from dbdyno import _engine


def main() -> int:
    """Do the job. Ignores interrupts: the parent process says when to stop.

    Terminals, shells, ``timeout`` and supervisors send theirs to all processes of a command.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if len(sys.argv) > 1:
        frames = int(sys.argv[1])
        os.set_inheritable(frames, False)  # else a script's background job keeps the reader waiting
        return _engine.agent_main(frames)
    from dbdyno.build import build_of  # noqa: PLC0415 - its caller's own agent is not asked

    frames = os.dup(1)
    os.dup2(2, 1)
    return _engine.agent_main(frames, build_of(_engine.__file__))


if __name__ == "__main__":
    sys.exit(main())
