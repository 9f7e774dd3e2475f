"""Who serves whom: what the engine must know to let clients run beside the server's threads.

A session of PostgreSQL is a process, whose number the engine learns as it logs in. Elsewhere only
the server knows which of its threads serves a session, and here it is asked.
"""

from dbdyno.run.measure import Engine
from dbdyno.run.scene import Scene


def tell_tasks(scene: Scene, engine: Engine) -> None:
    """Asks a server on this machine, once all clients are connected, and tells the engine.

    What the server does not tell leaves the clients where they are.
    """
    telemetry = scene.target.telemetry
    is_here = scene.server.process_id is not None
    if not is_here or telemetry is None or telemetry.sessions_are_processes:
        return
    try:
        tasks = telemetry.tasks(scene.control)
    except Exception:  # whatever it is, the run goes on
        return
    engine.served_by(tasks)
