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
AGAIN_S = 0.5  # of load once all are back; those of a driver of others are not seen to be
RETURN_S = 1.5  # the longest pause before a client tries again is a second


def dies_and_comes_back(server: Postgres | MariaDB) -> Happening:
    """It is killed and started anew; the run is stopped when its clients must be back."""

    def happen(engine: EngineProcess) -> None:
        time.sleep(0.5)
        clients = len(server.backends())
        server.kill()
        time.sleep(OUTAGE_S)
        server.start()
        wait_until(lambda: len(server.backends()) >= clients, "the clients are back")
        time.sleep(AGAIN_S if clients else RETURN_S)
        engine.stop()

    return happen
