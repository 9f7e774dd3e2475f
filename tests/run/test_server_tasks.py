"""The engine learns which of a server's threads serve its clients, where only the server knows."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from dbdyno.model.frame import Frame
from dbdyno.run.connected_server import connect_to
from dbdyno.run.watching import send_server_tasks


class Listener:
    """Stands in for an engine, or for telemetry, and records what it receives."""

    def __init__(self) -> None:
        self.received: list[Mapping[int, int]] = []

    def served_by(self, tasks: Mapping[int, int]) -> None:
        self.received.append(tasks)

    def __iter__(self) -> Iterator[tuple[bytes, Frame]]:
        return iter(())

    def stop(self) -> None:
        pass

    kill = abandon = stop


def test_the_engine_receives_the_threads_of_all_sessions(mariadb_server):
    listener, follower = Listener(), Listener()
    with connect_to(mariadb_server) as connected, mariadb_server.connect() as other:
        ids = {
            connection.execute("select connection_id()").fetchone()[0]
            for connection in (connected.control, other)
        }
        send_server_tasks(connected, listener, follower)
    (tasks,) = listener.received
    assert follower.received == [tasks]
    assert ids <= tasks.keys()
    threads = Path(f"/proc/{mariadb_server.process_id}/task").iterdir()
    assert {tasks[number] for number in ids} <= {int(thread.name) for thread in threads}


def test_the_engine_receives_nothing_that_it_knows(postgres_server):
    listener, follower = Listener(), Listener()
    with connect_to(postgres_server) as connected:
        send_server_tasks(connected, listener, follower)
    assert not listener.received
    assert not follower.received
