"""The engine's process, started by :mod:`dbdyno.engine`, here or on another host.

``python -m dbdyno.agent FD`` takes a job on standard input and writes frames to descriptor FD.
"""

import os
import signal
import sys

from dbdyno import _engine


def main() -> int:
    """Do the job. Interrupts are the parent's business: it says when to stop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    frames = int(sys.argv[1])
    os.set_inheritable(frames, False)  # else a script's background job keeps the reader waiting
    return _engine.agent_main(frames)


if __name__ == "__main__":
    sys.exit(main())
