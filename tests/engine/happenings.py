"""What happens to a server while the engine works on it, and when the run is over then.

A run that is to see the end of something does not end by its clock: on a slow machine the clock
would be first.
"""

import time

from dbdyno.engine import EngineProcess
from tests.engine.mariadb import MariaDB
from tests.engine.postgres import Postgres
from tests.engine.running import Happening
from tests.support.patience import wait_until

OUTAGE_S = 0.3
AGAIN_S = 0.5  # of load once all are back
RETURN_S = 3.0  # the longest pause before a client tries again is a second; a machine may stall


def dies_and_comes_back(server: Postgres | MariaDB, sessions: int | None) -> Happening:
    """It is killed and started anew; the run is stopped when its clients are back.

    The load holds so many sessions while the server is there; with None its clients connect for
    each transaction, and who of them is back is not to be seen: they are given the time for it.
    """

    def happen(engine: EngineProcess) -> None:
        time.sleep(0.5)
        server.kill()
        time.sleep(OUTAGE_S)
        server.start()
        if sessions is None:
            time.sleep(RETURN_S)
        else:
            wait_until(lambda: len(server.backends()) >= sessions, "the clients are back")
            time.sleep(AGAIN_S)
        engine.stop()

    return happen
