"""A study in its own process, which is killed in the middle of its third turn."""

import os
import signal
import sys
from pathlib import Path

from dbdyno.model.frame import Frame, Started
from dbdyno.study.execute import execute
from dbdyno.study.folder import begin_study
from dbdyno.study.rates import Rates
from dbdyno.study.spec import AS_WRITTEN, read_study
from tests.study.watcher import Watcher
from tests.support.engine import Astray, tools


class Killing(Astray):
    """Kills this process when its third run starts."""

    runs = 0

    def meet(self, frame: Frame) -> None:
        Killing.runs += isinstance(frame, Started)
        if Killing.runs == 3:
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    spec = read_study(path, "tiny")
    with begin_study(path, spec, AS_WRITTEN) as writer:
        execute(writer, tools(Killing), Watcher(), Rates())
