"""Which thread serves which session: the engine needs this to run clients on the same cores.

A PostgreSQL session is a process, whose number the engine learns at login. With other servers only
the server knows which of its threads serves a session, and this module asks it.
"""

from dbdyno.run.connected_server import ConnectedServer
from dbdyno.run.measure import Engine


def send_server_tasks(connected: ConnectedServer, engine: Engine) -> None:
    """Ask a server on this host, once all clients are connected, and send the answer to the engine.

    Without an answer the clients stay where they are.
    """
    telemetry = connected.target.telemetry
    is_here = connected.server.process_id is not None
    if not is_here or telemetry is None or telemetry.sessions_are_processes:
        return
    try:
        tasks = telemetry.tasks(connected.control)
    except Exception:  # whatever the error is, the run continues
        return
    engine.served_by(tasks)
