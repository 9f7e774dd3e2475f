"""Events on a server during a run of the engine, and when the run then ends.

A run that must see the end of an event does not end by its clock: on a slow host it would end too
early.
"""

import time

from dbdyno.engine import EngineProcess
from tests.engine.mariadb import MariaDB
from tests.engine.postgres import Postgres
from tests.engine.running import Happening
from tests.support.patience import wait_until

OUTAGE_S = 0.3
AGAIN_S = 0.5  # of load once all are back
RETURN_S = 3.0  # the longest pause before a client retries is 1 s; a host may stall


def dies_and_comes_back(server: Postgres | MariaDB, sessions: int | None) -> Happening:
    """Kill the server and restart it; stop the run when its clients are back.

    The load has ``sessions`` sessions while the server runs. With None its clients connect for each
    transaction, so that nothing shows whether they are back: they are given the time for it.
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
